package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// mostOfThePast is how many times as much CPU a page as of a day may cost as the same page of now.
const mostOfThePast = 1.3

// pastAndNow are questions of the same number of features of now and as of days.
// day comes from the same source of chance in both.
func pastAndNow() []struct {
	name string
	page func(rng *rand.Rand, day string) string
} {
	items := func(query func(*rand.Rand) string) func(*rand.Rand, string) string {
		return func(rng *rand.Rand, day string) string {
			return "/collections/places/items?" + query(rng) + day
		}
	}
	return []struct {
		name string
		page func(rng *rand.Rand, day string) string
	}{
		{"25,000 features of two versions: 10", items(func(*rand.Rand) string { return "limit=10" })},
		{"25,000 features of two versions: 100", items(func(*rand.Rand) string { return "limit=100" })},
		{"25,000 features of two versions: a fresh box, at most 10", items(func(rng *rand.Rand) string {
			return "limit=10&" + alongNorway(rng)
		})},
		{"25,000 features of two versions: one by its id", func(rng *rand.Rand, day string) string {
			return fmt.Sprintf("/collections/places/items/p%05d?f=json%s", rng.IntN(25_000), day)
		}},
	}
}

// writeTwoVersions imports 25,000 places along Norway into target, each with a version until 2010 and one since.
func writeTwoVersions(t *testing.T, target string) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("nr,name,validFrom,validTo,lon,lat\n")
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 25_000 {
		lat := 58 + 12*rng.Float64()
		at := fmt.Sprintf("%.5f,%.5f", 5.5+(lat-58)*1.5+3*rng.Float64(), lat)
		fmt.Fprintf(&b, "p%05d,Before %d,1990-01-01,2010-01-01,%s\np%05d,Since %d,2010-01-01,,%s\n", i, i, at, i, i, at)
	}
	dir := t.TempDir()
	table := filepath.Join(dir, "places.csv")
	if err := os.WriteFile(table, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := program(t, context.Background(), dir, "import", table, "--into", target, "--collection", "places",
		"--id-field", "nr").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// compareTimes adds a row for each question: of now, as of the day on which the versions before hold, and as of a day
// that is another each time. With the address of the superuser of a database, its CPU is counted as well.
func compareTimes(t *testing.T, table io.Writer, s *serving, admin string) {
	t.Helper()
	what := "features with versions"
	if admin != "" {
		what += ", PostGIS, server and database"
	}
	fmt.Fprintf(table, "\n| Request of %s | As of µs | Now µs | Ratio | Bar |\n|---|---:|---:|---:|---|\n", what)
	spent := func(m *measured, q question, rng *rand.Rand) float64 {
		if admin == "" {
			return m.round(t, q, rng)
		}
		before := databaseCPU(t, admin)
		server := m.round(t, q, rng)
		return server + float64(databaseCPU(t, admin)-before)/float64(m.n)/1000
	}
	for _, q := range pastAndNow() {
		for _, x := range []struct {
			name string
			day  func(*rand.Rand) string
		}{
			{", as of a day", func(*rand.Rand) string { return "&datetime=2005-06-01" }},
			{", as of a fresh day", func(rng *rand.Rand) string {
				return fmt.Sprintf("&datetime=%d-%02d-%02d", 1990+rng.IntN(19), 1+rng.IntN(12), 1+rng.IntN(28))
			}},
		} {
			past := question{name: q.name + x.name, next: func(rng *rand.Rand) string {
				return q.page(rng, x.day(rng))
			}}
			now := question{name: q.name, next: func(rng *rand.Rand) string { return q.page(rng, "") }}
			if !past.asked() {
				continue
			}
			rng := rand.New(rand.NewPCG(5, 6))
			record(t, s, past.next(rng))
			record(t, s, now.next(rng))
			one, other := &measured{addr: s.addr, pid: s.cmd.Process.Pid, key: s.key},
				&measured{addr: s.addr, pid: s.cmd.Process.Pid, key: s.key}
			one.calibrate(t, past, rng)
			other.calibrate(t, now, rng)
			measure := func() [][]float64 {
				return roundsOf(func() float64 {
					return spent(one, past, rng)
				}, func() float64 { return spent(other, now, rng) })
			}
			took, told := [][]float64(nil), "–"
			if admin == "" {
				took, told = hold(t, past.name, func(took [][]float64) float64 {
					return median(took[0]) / median(took[1]) / mostOfThePast
				}, measure)
				told = fmt.Sprintf("%.1f: %s", mostOfThePast, told)
			} else { // totals of the database are kept for a time only, so that one side may have one and the other not
				took = measure()
			}
			fmt.Fprintf(table, "| %s | %s | %s | %.2f | %s |\n", past.name, spread(took[0]), spread(took[1]),
				median(took[0])/median(took[1]), told)
			t.Logf("%s: %.1f µs, now %.1f µs", past.name, median(took[0]), median(took[1]))
		}
	}
}
