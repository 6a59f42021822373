package history_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/history"
	"grense/internal/store/gpkg"
)

// country is a history made at random, in which divisions merge, split, come back, move territory, begin and end.
type country struct {
	r       *rand.Rand
	live    []string
	parts   map[string][]string // what a code was merged from, of those that may come back
	next    int
	changes strings.Builder
}

func (c *country) code() string { c.next++; return fmt.Sprintf("%03d", c.next) }

// take removes a code at random; "" when there is none.
func (c *country) take() string {
	if len(c.live) == 0 {
		return ""
	}
	i := c.r.IntN(len(c.live))
	code := c.live[i]
	c.live = slices.Delete(c.live, i, i+1)
	return code
}

func (c *country) row(date, from, to, of string, transfer bool, people int) {
	n := ""
	if people > 0 {
		n = fmt.Sprint(people)
	}
	fmt.Fprintf(&c.changes, "%s,%s,%s,%s,%t,%s\n", date, from, to, of, transfer, n)
}

// year lets something happen on one day. Codes that begin are in use from the next year on.
func (c *country) year(date string) {
	var begun []string
	for range 1 + c.r.IntN(3) {
		a := c.take()
		if a == "" {
			break
		}
		switch kind := c.r.IntN(8); {
		case kind == 0: // a new code
			b := c.code()
			c.row(date, a, b, "", false, 0)
			begun = append(begun, b)
		case kind <= 2 && len(c.live) > 0: // a merger, under a new code or the old one
			m := a
			if c.r.IntN(2) == 0 {
				m = c.code()
			}
			c.parts[m] = []string{a}
			c.row(date, a, m, "", false, 0)
			for range 1 + c.r.IntN(2) {
				if b := c.take(); b != "" {
					c.row(date, b, m, "", false, 0)
					c.parts[m] = append(c.parts[m], b)
				}
			}
			begun = append(begun, m)
		case kind <= 4 && len(c.parts[a]) > 1: // a merger is undone
			all := c.parts[a]
			for i, p := range all {
				of := p
				if i == 0 && c.r.IntN(2) == 0 {
					of = "" // the rest
				}
				c.row(date, a, p, of, false, 0)
				begun = append(begun, p)
			}
			delete(c.parts, a)
		case kind == 5: // a split, with numbers or without
			b, known := c.code(), c.r.IntN(2)
			c.row(date, a, a, "", false, known*(1+c.r.IntN(9)))
			c.row(date, a, b, "", false, known*(1+c.r.IntN(9)))
			begun = append(begun, a, b)
			delete(c.parts, a)
		case kind == 6 && len(c.live) > 0: // territory moves
			b := c.take()
			c.row(date, a, b, "", true, c.r.IntN(3))
			begun = append(begun, a, b)
		case kind == 7 && c.r.IntN(4) == 0: // an end, and a beginning
			b := c.code()
			c.row(date, a, "", "", false, 0)
			c.row(date, "", b, "", false, 0)
			begun = append(begun, b)
		default:
			begun = append(begun, a)
		}
	}
	c.live = append(c.live, begun...)
}

// randomScheme is the history of a country from 2001 to 2020.
func randomScheme(t *testing.T, r *rand.Rand) (s *history.Scheme, table string) {
	t.Helper()
	c := &country{r: r, parts: map[string][]string{}}
	list := &history.List{At: 20000601}
	for range 4 + r.IntN(8) {
		code := c.code()
		c.live = append(c.live, code)
		list.Codes = append(list.Codes, history.Listed{Code: code})
	}
	for y := range 20 {
		c.year(fmt.Sprintf("%d-01-01", 2001+y))
	}
	table = "date,from,to,made_of,transfer,people\n" + c.changes.String()
	rows, _, err := readChanges(strings.NewReader(table))
	if err != nil {
		t.Fatalf("%v\n%s", err, table)
	}
	built, err := history.Replay("x", rows, list)
	if err != nil {
		t.Fatalf("%v\n%s", err, table)
	}
	h, err := history.New(built)
	if err != nil {
		t.Fatalf("%v\n%s", err, table)
	}
	return h.Scheme("x"), table
}

// translated is what a code of a day is on another, each in use then, and each leading back.
func translated(t *testing.T, s *history.Scheme, code string, from, to history.Date) []string {
	t.Helper()
	all, err := s.Translate(code, from, to)
	if err != nil {
		t.Fatalf("%s of %s on %s: %v", code, from, to, err)
	}
	for _, v := range all {
		if !v.Holds(to) {
			t.Fatalf("%s of %s is %s on %s, which is not in use then", code, from, v.Code, to)
		}
	}
	return codes(all)
}

// holdsTogether translates codes at random: none is lost or invented, each way back leads to where it began, and the
// direct way is within the way over a day between.
func holdsTogether(t *testing.T, r *rand.Rand, s *history.Scheme, days []history.Date, times int) {
	t.Helper()
	day := func() history.Date { return days[r.IntN(len(days))] }
	on := map[history.Date][]*history.Version{}
	for range times {
		a, b, c := day(), day(), day()
		b = min(max(b, min(a, c)), max(a, c)) // between them
		if on[a] == nil {
			on[a] = s.On(a)
		}
		v := on[a][r.IntN(len(on[a]))]
		direct := translated(t, s, v.Code, a, c)
		var over []string
		for _, code := range translated(t, s, v.Code, a, b) {
			over = append(over, translated(t, s, code, b, c)...)
		}
		for _, code := range direct {
			if !slices.Contains(over, code) {
				t.Fatalf("%s of %s is %s on %s, but not over %s", v.Code, a, code, c, b)
			}
			if !slices.Contains(translated(t, s, code, c, a), v.Code) {
				t.Fatalf("%s of %s is %s on %s, which does not lead back", v.Code, a, code, c)
			}
		}
		if len(direct) == 0 && !endsOrBegins(s, v, a, c) {
			t.Fatalf("%s of %s is lost on %s", v.Code, a, c)
		}
	}
}

// TestImportedHistoriesHoldTogether translates at random over the histories in the GeoPackages of
// GRENSE_TEST_HISTORIES, and converts series with them. Paths are separated as in PATH.
func TestImportedHistoriesHoldTogether(t *testing.T) {
	t.Parallel()
	files := filepath.SplitList(os.Getenv("GRENSE_TEST_HISTORIES"))
	if len(files) == 0 {
		t.Skip("GRENSE_TEST_HISTORIES names no GeoPackage that lineage import wrote; no foreign register is tried")
	}
	seed := rand.Uint64()
	for _, file := range files {
		st, err := gpkg.Open(t.Context(), file, gpkg.Options{DataDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		h, err := history.Load(t.Context(), st)
		if err != nil || h == nil {
			t.Fatalf("%s: no history: %v", file, err)
		}
		larger := map[string]bool{}
		for _, s := range h.Schemes() {
			for i := range s.Versions {
				larger[s.Versions[i].ParentScheme] = true
			}
		}
		for _, s := range h.Schemes() {
			t.Run(s.ID, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 4))
				days := daysOfEvents(r, s, 60)
				holdsTogether(t, r, s, days, 100_000)
				for range 20 {
					if larger[s.ID] {
						break // its values are added up from those of smaller divisions
					}
					conservesTotals(t, r, s, days[r.IntN(len(days))], days[r.IntN(len(days))],
						fmt.Sprintf("seed %d, %s", seed, file))
				}
				t.Logf("seed %d: %d versions, %d events, days %v", seed, len(s.Versions), len(s.Events), days)
			})
		}
	}
}

// daysOfEvents returns up to n days on which codes are in use, as many before an event as on the day of one.
func daysOfEvents(r *rand.Rand, s *history.Scheme, n int) (days []history.Date) {
	for range 100 * n {
		d := s.Events[r.IntN(len(s.Events))].Date
		if r.IntN(2) == 0 {
			d = history.DateOf(d.Time(time.UTC).AddDate(0, 0, -1))
		}
		if len(days) < n && !slices.Contains(days, d) && len(s.On(d)) > 0 {
			days = append(days, d)
		}
	}
	return days
}

// endsOrBegins reports whether a version, or what became of it by a day, ends without a successor, or begins without a
// predecessor.
func endsOrBegins(s *history.Scheme, v *history.Version, from, to history.Date) bool {
	met := map[*history.Version]bool{}
	var ends func(*history.Version) bool
	ends = func(v *history.Version) bool {
		if met[v] {
			return false
		}
		met[v] = true
		edges := s.Out(v)
		if to < from {
			edges = s.In(v)
		}
		return slices.ContainsFunc(edges, func(e *history.Edge) bool {
			next := e.To
			if to < from {
				next = e.From
			}
			switch d := e.Event.Date; {
			case e.Event.Kind == history.Transfer, d <= min(from, to), d > max(from, to):
				return false
			case next == nil:
				return true
			}
			return ends(next)
		})
	}
	return ends(v)
}

func TestRandomTranslationsLoseAndInventNothing(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	var days []history.Date
	for y := range 21 {
		days = append(days, history.Date(20000601+10000*y))
	}
	for i := range 150 {
		s, table := randomScheme(t, r)
		if !t.Run(fmt.Sprint(i), func(t *testing.T) { holdsTogether(t, r, s, days, 100) }) {
			t.Fatalf("seed %d:\n%s", seed, table)
		}
	}
	kommune, fylke := norwayOf(t)
	days = nil
	for y := range 187 {
		days = append(days, history.Date(18380601+10000*y))
	}
	t.Run("kommune", func(t *testing.T) { holdsTogether(t, r, kommune, days, 10_000) })
	t.Run("fylke", func(t *testing.T) { holdsTogether(t, r, fylke, days[134:], 200) })
}

// TestRandomSeriesConserveTotals adds up to the last digit, and calls no cell exact that territory moved into or out
// of.
func TestRandomSeriesConserveTotals(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 3))
	for range 150 {
		s, table := randomScheme(t, r)
		from, to := history.Date(20000601+10000*r.IntN(20)), history.Date(20000601+10000*r.IntN(20))
		conservesTotals(t, r, s, from, to, fmt.Sprintf("seed %d, changes\n%s", seed, table))
	}
}

// conservesTotals converts a series with random values from a day to another.
func conservesTotals(t *testing.T, r *rand.Rand, s *history.Scheme, from, to history.Date, of string) {
	t.Helper()
	var rows strings.Builder
	var total int64
	for _, v := range s.On(from) {
		n := r.Int64N(1000)
		total += n
		fmt.Fprintf(&rows, "%s,%s,%d.%02d\n", v.Code, from, n/100, n%100)
	}
	o := history.SeriesOptions{
		To:      to,
		Weights: []history.Weights{history.RefuseWeights, history.PopulationWeights}[r.IntN(2)],
	}
	got, report := valuesOf(t, s, rows.String(), o)
	if want := fmt.Sprintf("%d.%02d", total/100, total%100); report.Total != want {
		t.Fatalf("total %s, want %s; %s", report.Total, want, of)
	}
	var placed int64
	for cell := range strings.SplitSeq(got, ", ") {
		f := strings.Fields(cell)
		if len(f) == 0 {
			continue
		}
		if len(f) == 3 {
			placed += cents(t, f[1])
		}
		if every := max(1, len(s.Versions)/2000); f[len(f)-1] == string(history.Exact) && r.IntN(every) == 0 &&
			isTouched(t, s, f[0], from, to) {
			t.Fatalf("%s of %s on %s; %s", cell, from, to, of)
		}
		if f[len(f)-1] == string(history.Estimated) && o.Weights == history.RefuseWeights {
			t.Fatalf("%s without weights; %s", cell, of)
		}
	}
	if placed+cents(t, report.LeftOut) != total || placed != cents(t, report.Placed) {
		t.Fatalf("%d placed of %d, %+v; %s", placed, total, report, of)
	}
}

// cents is a number with two digits behind the point, or none.
func cents(t *testing.T, s string) (n int64) {
	t.Helper()
	whole, part, ok := strings.Cut(s, ".")
	if !ok {
		part = "00"
	}
	if _, err := fmt.Sscanf(whole+part, "%d", &n); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return n
}

// isTouched reports whether something of a division of day to became several since day from, or went back to several,
// or whether territory moved to it or from it.
func isTouched(t *testing.T, s *history.Scheme, code string, from, to history.Date) bool {
	t.Helper()
	for _, p := range translated(t, s, code, to, from) {
		if len(translated(t, s, p, from, to)) > 1 {
			return true
		}
	}
	for i := range s.Edges {
		e := &s.Edges[i]
		if e.Event.Kind != history.Transfer || !e.Part || e.From == nil || e.To == nil ||
			e.Event.Date <= min(from, to) ||
			e.Event.Date > max(from, to) {
			continue
		}
		eve := history.DateOf(e.Event.Date.Time(time.UTC).AddDate(0, 0, -1))
		x, y := translated(t, s, e.From.Code, eve, to), translated(t, s, e.To.Code, e.Event.Date, to)
		if (slices.Contains(x, code) || slices.Contains(y, code)) && !(len(x) == 1 && slices.Equal(x, y)) {
			return true
		}
	}
	return false
}
