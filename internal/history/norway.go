package history

import (
	"embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// IDs of the Norwegian schemes, and the sources of their data.
const (
	Kommune = "kommune" // municipalities since 1838
	Fylke   = "fylke"   // counties since 1972

	norwaySource = "Statistics Norway, Klass 131"
)

// norway holds the versions and changes of municipalities and the versions of counties. The file of details is a table
// of changes in our own format.
//
//go:embed norway/*.csv
var norway embed.FS

// Norway returns the history of the municipalities since 1838 and the counties since 1972. The first call takes some
// tens of milliseconds; the result is kept.
var Norway = sync.OnceValues(func() (*History, error) {
	rows, err := NorwayRows()
	if err != nil {
		return nil, err
	}
	return New(rows...)
})

// NorwayRows returns the rows from which Norway is built.
func NorwayRows() ([]*Rows, error) {
	k := &Rows{Scheme: Kommune}
	err := eachFact("kommune-versions.csv", func(line int, f []string) (err error) {
		v := VersionRow{Line: line, Code: f[0], Name: f[1], ParentScheme: Fylke, Parent: f[0][:2]}
		v.From, v.To, err = span(f[2], f[3])
		k.Versions = append(k.Versions, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	type change struct {
		date     Date
		from, to string
	}
	at := map[change]int{}
	err = eachFact("kommune-changes.csv", func(line int, f []string) error {
		d, err := ParseDate(f[0])
		at[change{d, f[1], f[3]}] = len(k.Edges)
		k.Edges = append(k.Edges, EdgeRow{Line: line, Date: d, From: f[1], To: f[3], Source: norwaySource})
		return err
	})
	if err != nil {
		return nil, err
	}
	details, err := norwayDetails()
	if err != nil {
		return nil, err
	}
	for _, c := range details {
		i, ok := at[change{c.Date, c.From, c.To}]
		switch {
		case c.Transfer:
			k.Edges = append(k.Edges, c)
		case !ok:
			return nil, fmt.Errorf("history: %s to %s on %s is no change", c.From, c.To, c.Date)
		case k.Edges[i].complete(c) != "":
			return nil, fmt.Errorf("history: %s to %s on %s stands twice", c.From, c.To, c.Date)
		}
	}
	fy := &Rows{Scheme: Fylke}
	err = eachFact("fylke-versions.csv", func(line int, f []string) (err error) {
		v := VersionRow{Line: line, Code: f[0], Name: f[1]}
		v.From, v.To, err = span(f[2], f[3])
		fy.Versions = append(fy.Versions, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	fy.Edges = LargerEdges(k, fy)
	return []*Rows{k, fy}, nil
}

// norwayDetails reads what the table of changes lacks: the parts of mergers that were undone, and the transfers between
// municipalities that continued to exist. For three transfers the source does not state the direction; these are listed
// in both directions.
func norwayDetails() (out []EdgeRow, err error) {
	err = eachFact("kommune-details.csv", func(line int, f []string) (err error) {
		e := EdgeRow{Line: line, From: f[1], To: f[2], Of: strings.Fields(f[3]), Transfer: f[5] == "true",
			Source: f[6], Recorded: f[7]}
		if e.Date, err = ParseDate(f[0]); err == nil && f[4] != "" {
			e.People.Known = true
			e.People.N, err = strconv.ParseInt(f[4], 10, 64)
		}
		out = append(out, e)
		return err
	})
	return out, err
}

// LargerEdges derives the edges of larger divisions, such as counties, from those of the smaller ones: there is an edge
// from A to B on each day on which a smaller division of A became one of B.
func LargerEdges(smaller, larger *Rows) (out []EdgeRow) {
	parent := map[string]map[Date]string{} // by code and first day; the last day has an entry too
	ends := map[string]map[Date]string{}
	put := func(m map[string]map[Date]string, v VersionRow, d Date) {
		if m[v.Code] == nil {
			m[v.Code] = map[Date]string{}
		}
		m[v.Code][d] = v.Parent
	}
	for _, v := range smaller.Versions {
		put(parent, v, v.From)
		put(ends, v, v.To)
	}
	holds := func(code string, ok func(VersionRow) bool) bool {
		for _, v := range larger.Versions {
			if v.Code == code && ok(v) {
				return true
			}
		}
		return false
	}
	at := map[string]int{}
	for _, e := range smaller.Edges {
		a, b := ends[e.From][e.Date], parent[e.To][e.Date]
		before := holds(a, func(v VersionRow) bool { return v.From < e.Date && (v.To == 0 || v.To >= e.Date) })
		after := holds(b, func(v VersionRow) bool { return v.From <= e.Date && (v.To == 0 || v.To > e.Date) })
		if a == b || !before || !after {
			continue
		}
		ended := holds(a, func(v VersionRow) bool { return v.To == e.Date })
		begun := holds(b, func(v VersionRow) bool { return v.From == e.Date })
		key := e.Date.String() + a + " " + b
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, EdgeRow{Date: e.Date, From: a, To: b, Transfer: !ended || !begun, Source: e.Source})
		}
		out[i].Units++
	}
	return out
}

// span parses the first day and the end of a version.
func span(from, to string) (f, t Date, err error) {
	if f, err = ParseDate(from); err != nil || to == "" {
		return f, 0, err
	}
	t, err = ParseDate(to)
	return f, t, err
}

// eachFact calls fn with each record of an embedded table, without the header line, and with its line number.
func eachFact(name string, fn func(line int, fields []string) error) error {
	file, err := norway.Open("norway/" + name)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer file.Close()
	all, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return fmt.Errorf("history: %s: %w", name, err)
	}
	for i, f := range all[1:] {
		if err := fn(i+2, f); err != nil {
			return fmt.Errorf("history: %s, line %d: %w", name, i+2, err)
		}
	}
	return nil
}
