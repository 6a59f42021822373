package postgis_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// BenchmarkPage asks for pages of 10 rows; cpu-ns/op is what this process spends on each, without the database.
func BenchmarkPage(b *testing.B) {
	s := benchStore(b)
	for name, q := range map[string]store.Query{
		"all":       {Count: store.CountExact},
		"uncounted": {},
		"property": {Count: store.CountExact,
			Filter: cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "fylke", Type: cql2.TypeText}, R: cql2.Text("11")}},
	} {
		q.Collection, q.Limit = "kommune", 10
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := spent(b)
			for b.Loop() {
				if p, err := s.Page(b.Context(), q); err != nil || len(p.Rows) != 10 {
					b.Fatal(p, err)
				}
			}
			b.ReportMetric(float64(spent(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

func benchStore(b *testing.B) *postgis.Store {
	b.Helper()
	s, err := postgis.Open(context.Background(),
		base(b,
			`CREATE TABLE kommune (nr TEXT COLLATE "C" PRIMARY KEY, fylke TEXT COLLATE "C", navn TEXT, geom GEOMETRY(Point, 4258));
		INSERT INTO kommune SELECT to_char(n, 'FM0000'), to_char(n % 20, 'FM00'), 'Navn ' || n, ST_Point(10 + n / 1000.0, 60, 4258) FROM generate_series(1, 357) AS n; ANALYZE`),
		postgis.Options{Poll: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// spent returns the CPU time of this process.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
