package main_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"grense/internal/await"
	"grense/internal/cql2/fold"
	"grense/internal/sharedtest"
)

const (
	soakPlaces  = 100_000
	soakTime    = 30 * time.Second // for each round
	soakClients = 4
	soakSample  = 20   // one in so many answers is compared
	soakMaxHits = 5000 // as the server is configured
	soakMemory  = 512 << 20
	soakGrowth  = 64 << 20 // bytes by which resident memory may be larger at the end than after half of the time
)

// naivePlace is a place as the oracle sees it.
type naivePlace struct {
	id, rang           int64
	types, updated     string
	kommuner           string   // JSON, as stored
	spellings, exactly []string // folded, and with case folded only
}

// naive answers findSteder by looking at every place.
type naive []naivePlace

func readNaive(s sampled) naive {
	byID := map[string]int{}
	var all naive
	for _, r := range s.list("SELECT id, rang, navneobjekttype, oppdatert, kommuner FROM sted ORDER BY rang") {
		id, _ := strconv.ParseInt(r[0], 10, 64)
		rang, _ := strconv.ParseInt(r[1], 10, 64)
		byID[r[0]] = len(all)
		all = append(all, naivePlace{id: id, rang: rang, types: r[2], updated: r[3], kommuner: r[4]})
	}
	for _, r := range s.list("SELECT sted_id, langnavn FROM skrivemaate") {
		p := &all[byID[r[0]]]
		p.spellings, p.exactly = append(p.spellings, fold.Norm(r[1])), append(p.exactly, fold.CaseI(r[1]))
	}
	return all
}

// wish is a search for places; what is "" is not asked.
type wish struct{ name, kommune, types, after, before string }

func (w wish) body() string {
	var b strings.Builder
	for _, d := range [][2]string{{"oppdatertEtter", w.after}, {"oppdatertFoer", w.before}} {
		if d[1] != "" {
			fmt.Fprintf(&b, "<t:%s><d:timestamp>%s</d:timestamp></t:%[1]s>", d[0], d[1])
		}
	}
	if w.name != "" {
		b.WriteString(byName(w.name))
	}
	if w.types != "" {
		b.WriteString(codeList("navneobjekttyperIds", w.types))
	}
	if w.kommune != "" {
		b.WriteString(codeList("kommunerIds", w.kommune))
	}
	return findPlaces(b.String())
}

// answer returns the ids in their order; false when there are too many.
func (n naive) answer(w wish) (ids []string, ok bool) {
	folded, exact := "", ""
	var pattern *regexp.Regexp
	if strings.ContainsAny(w.name, "*?") {
		// the names that are requested are folded
		pattern = regexp.MustCompile("^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").
			Replace(regexp.QuoteMeta(fold.CaseI(w.name))) + "$")
	} else {
		folded, exact = fold.Norm(w.name), fold.CaseI(w.name)
	}
	var found []*naivePlace
	for i := range n {
		p := &n[i]
		switch {
		case w.kommune != "" && !strings.Contains(p.kommuner, `"`+w.kommune+`"`),
			w.types != "" && p.types != w.types,
			w.after != "" && p.updated <= w.after,
			w.before != "" && p.updated >= w.before,
			w.name != "" && pattern == nil && !slices.Contains(p.spellings, folded),
			pattern != nil && !slices.ContainsFunc(p.spellings, pattern.MatchString):
			continue
		}
		found = append(found, p)
	}
	if len(found) > soakMaxHits {
		return nil, false
	}
	if exact != "" {
		slices.SortStableFunc(found, func(a, b *naivePlace) int {
			return cmp.Compare(later(a.exactly, exact), later(b.exactly, exact))
		})
	}
	for _, p := range found {
		ids = append(ids, strconv.FormatInt(p.id, 10))
	}
	return ids, true
}

func later(texts []string, exact string) int {
	if slices.Contains(texts, exact) {
		return 0
	}
	return 1
}

// draw makes a search of values that some place has.
func (n naive) draw(r *rand.Rand) (w wish) {
	p, q := &n[r.IntN(len(n))], &n[r.IntN(len(n))]
	name := []rune(p.spellings[r.IntN(len(p.spellings))])
	switch r.IntN(8) {
	case 0:
		w.name = p.exactly[0]
	case 1:
		w.name = string(name)
	case 2:
		w.name = string(name[:min(len(name), 2+r.IntN(6))]) + "*"
	case 3:
		w.name = "*" + string(name[max(0, len(name)-2-r.IntN(6)):])
	case 4:
		at := r.IntN(max(1, len(name)-4))
		w.name = "*" + string(name[at:min(len(name), at+2+r.IntN(4))]) + "*"
	case 5:
		w.name = string(name[:1]) + "*" + string(name[len(name)-1:]) + "?"
		if r.IntN(2) == 0 {
			w.name = string(name[:len(name)/2]) + "?" + string(name[min(len(name), len(name)/2+1):])
		}
	}
	if r.IntN(3) == 0 {
		w.kommune = strings.Split(q.kommuner, `"`)[1]
	}
	if r.IntN(4) == 0 {
		w.types = q.types
	}
	if r.IntN(4) == 0 {
		w.after = q.updated
	}
	if r.IntN(8) == 0 {
		w.before = p.updated
	}
	if fits := strings.Trim(w.name, "*? "); len([]rune(strings.ReplaceAll(fits, " ", ""))) < 2 {
		w.name = "" // too short to be asked
	}
	if strings.ContainsAny(w.name, "*?") && strings.Contains(w.name, "aa") {
		w.name = "" // folded already: of Vegåa, and to be folded again, as of Aasen
	}
	return w
}

var placeID = regexp.MustCompile(`<(?:\w+:)?stedId>(?:<(?:\w+:)?value>)?(\d+)<`)

// resident returns the resident memory of a process in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Skipf("NOT MEASURED: the memory of a process is read from /proc as Linux has it: %v", err)
	}
	n, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return n * os.Getpagesize()
}

// TestSoakRegister asks mixed searches for a long time, compares a sample of the answers with those of a naive oracle,
// and looks whether memory grows. GRENSE_ACCEPT_REGISTER names a register to ask.
func TestSoakRegister(t *testing.T) {
	if sharedtest.Soak(t) == 0 {
		t.Skip("part of make soak")
	}
	lasts := time.Duration(sharedtest.Soak(t)) * soakTime
	dir, path := t.TempDir(), os.Getenv("GRENSE_ACCEPT_REGISTER")
	if path == "" {
		path = filepath.Join(dir, "register.gpkg")
		if out, err := program(t, t.Context(), dir, "register", "generate", "--places", strconv.Itoa(soakPlaces),
			"--out", path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	} else {
		dir = path + ".home" // its side files are kept
	}
	if out, err := program(t, t.Context(), dir, "check", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	oracle := readNaive(sampled{t, conn})
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	key := createKey(t, dir)
	s := serve(t, []string{"HOME=" + dir, "GRENSE_SOAP_MAX_HITS=" + strconv.Itoa(soakMaxHits), tellsMetrics,
		"GRENSE_LIMITS_MEMORY=" + strconv.Itoa(soakMemory)}, path)
	s.key = key
	s.rest(t) // levels for tiles take memory while they are built

	var asked, compared, refused, wrong atomic.Int64
	start := time.Now()
	var all sync.WaitGroup
	for i := range soakClients {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(lasts)))
			c := &soapClient{s: s, client: http.Client{Transport: &http.Transport{}}}
			for time.Since(start) < lasts && wrong.Load() < 10 {
				w := oracle.draw(rng)
				b, hits := c.ask(t, w.body())
				if hits < 0 {
					refused.Add(1)
				}
				if asked.Add(1)%soakSample != 0 {
					continue
				}
				compared.Add(1)
				want, ok := oracle.answer(w)
				var got []string
				for _, m := range placeID.FindAllSubmatch(b, -1) {
					got = append(got, string(m[1]))
				}
				if ok != (hits >= 0) || ok && !slices.Equal(got, want) {
					wrong.Add(1)
					t.Errorf("%+v: %d hits (refused %t), want %d (refused %t)\n%.300s", w, len(got), hits < 0,
						len(want), !ok, b)
				}
			}
		})
	}
	await.Pace(lasts / 2)
	early := resident(t, s.cmd.Process.Pid)
	all.Wait()
	late := resident(t, s.cmd.Process.Pid)
	t.Logf("%d searches in %v, %d refused, %d compared, %d wrong; resident memory %d MB after half of the time, "+
		"%d MB at the end",
		asked.Load(), time.Since(start).Round(time.Second), refused.Load(), compared.Load(), wrong.Load(),
		early>>20, late>>20)
	if late > early+soakGrowth || late > soakMemory {
		t.Errorf("resident memory grew from %d to %d MB, limits.memory is %d MB", early>>20, late>>20, soakMemory>>20)
	}
	if compared.Load() == 0 {
		t.Error("nothing was compared")
	}
}
