package sqlq_test

import (
	"testing"

	"grense/internal/cql2"
	"grense/internal/store/sqlq"
)

// fields is the schema of a Source.
type fields struct{ *sqlq.Source }

func (s fields) Property(name string) (cql2.Type, bool) {
	if name == s.Geometry.Name {
		return cql2.TypeGeometry, true
	}
	f, ok := s.Fields[name]
	if !ok {
		return 0, false
	}
	return f.Type, true
}

func (s fields) Names() []string { return []string{"navn", "tall", "dag", s.Geometry.Name} }

// BenchmarkCompile is all that is done with a filter before the database is asked.
func BenchmarkCompile(b *testing.B) {
	const filter = "CASEI(navn) LIKE CASEI('%berg%') AND tall BETWEEN 1000 AND 50000 AND dag >= DATE('2020-01-01') " +
		"AND S_INTERSECTS(geometry, BBOX(4,58,12,64))"
	s := source()
	schema := fields{s}
	b.ReportAllocs()
	for b.Loop() {
		e, err := cql2.ParseText(filter)
		if err == nil {
			e, err = cql2.Check(e, schema)
		}
		if err != nil {
			b.Fatal(err)
		}
		f := sqlq.Compile(sqlq.SQLite{}, s, "t", e)
		if sql, _ := sqlq.New(sqlq.SQLite{}).Add(f.Where).SQL(); sql == "" {
			b.Fatal("no SQL")
		}
	}
}
