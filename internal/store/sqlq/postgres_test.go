package sqlq_test

import (
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store/sqlq"
)

func TestPostgreSQLText(t *testing.T) {
	t.Parallel()
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	box := cql2.BBox{Prop: "geometry", CRS: crs.UTM33, Box: orb.Bound{Min: orb.Point{1, 2}, Max: orb.Point{3, 4}}}
	const missing = `(t."geom" IS NULL OR ST_IsEmpty(t."geom") OR ST_XMin(t."geom") = 'NaN' AND NOT EXISTS (SELECT ` +
		`FROM ST_DumpPoints(t."geom") p WHERE ST_X(p.geom) < 'NaN'))`
	const envelope = "ST_MakeEnvelope($1::double precision, $2::double precision, $3::double precision, " +
		"$4::double precision)"
	tests := map[string]struct {
		e     cql2.Expr
		sql   string
		exact bool
	}{
		"nothing": {nil, "TRUE", true},
		"text":    {cql2.Compare{Op: cql2.Ne, L: prop("navn"), R: cql2.Text("x")}, `t."navn" <> $1::text`, true},
		"types differ": {cql2.In{X: prop("tall"), List: []cql2.Expr{cql2.Int(1), cql2.Number(2.5)}},
			`t."tall" IN ($1::bigint)`, true},
		"date": {cql2.Compare{Op: cql2.Ge, L: prop("dag"), R: cql2.Date{T: noon}}, `t."dag" >= $1::date`,
			true},
		"moment": {cql2.Compare{Op: cql2.Ge, L: prop("tid"), R: cql2.Timestamp{T: noon}},
			`t."tid" >= $1::timestamptz`, true},
		"too fine": {cql2.Compare{Op: cql2.Ge, L: prop("tid"), R: cql2.Timestamp{T: noon.Add(1)}}, "TRUE", false},
		"arithmetic": {cql2.Compare{Op: cql2.Gt, L: cql2.Arith{Op: cql2.Add, L: prop("tall"), R: cql2.Int(1)},
			R: cql2.Int(0)}, "TRUE", false},
		"fold": {cql2.Compare{Op: cql2.Eq, L: fn("casei", prop("navn")), R: cql2.Text("x")},
			`lower(t."navn" COLLATE "C") = $1::text`, true},
		"not a fold": {cql2.Not{X: cql2.Compare{Op: cql2.Eq, L: fn("casei", prop("navn")), R: cql2.Text("x")}},
			`NOT (lower(t."navn" COLLATE "C") = $1::text)`, true},
		"folds in list": {cql2.In{X: fn("casei", prop("navn")), List: []cql2.Expr{cql2.Text("x"), cql2.Text("k")}},
			`lower(t."navn" COLLATE "C") IN ($1::text, $2::text, $3::text)`, true},
		"fold, prefix": {cql2.Like{X: fn("casei", prop("navn")), Pattern: cql2.Text("x%")},
			`(lower(t."navn" COLLATE "C") LIKE $1::text) AND ` +
				`(NOT (t."navn" !~ '[^\u0001-\u007f]') OR (lower(t."navn" COLLATE "C") LIKE $2::text))`, false},
		"two folds": {cql2.Like{X: fn("casei", fn("accenti", prop("navn"))), Pattern: cql2.Text("x%")},
			`NOT (t."navn" !~ '[^\u0001-\u007f]') OR (lower(t."navn" COLLATE "C") LIKE $1::text)`, false},
		"fold unknown": {cql2.Compare{Op: cql2.Eq, L: fn("norm", prop("navn")), R: cql2.Text("x")}, "TRUE", false},
		"words": {related(cql2.Search{Props: []string{"tekst"}, Terms: []string{"nord fr", "b"}}),
			relatedHead + `(r1."norm" ~ $1::text OR r1."norm" ~ $2::text)))`, false},
		"words, no fold": {cql2.Search{Props: []string{"navn"}, Terms: []string{"x"}}, "TRUE", false},
		"prefix":         {cql2.Like{X: prop("navn"), Pattern: cql2.Text(`O\%%`)}, `t."navn" LIKE $1::text`, true},
		"search suffix": {related(cql2.Like{X: fn("norm", prop("tekst")), Pattern: cql2.Text(`%a\_b`)}),
			relatedHead + `r1."rev" LIKE $1::text))`, true},
		"search column": {related(cql2.Compare{Op: cql2.Eq, L: fn("norm", prop("tekst")), R: fn("norm",
			cql2.Text("BØ"))}), relatedHead + `r1."norm" = $1::text))`, true},
		"bbox":     {box, `t."geom" && ` + envelope + ` OR ` + missing, false},
		"not bbox": {cql2.Not{X: box}, `NOT (t."geom" @ ` + envelope + ` OR ` + missing + `)`, false},
		"not intersects": {cql2.Not{X: cql2.Spatial{Op: cql2.SIntersects, L: prop("geometry"),
			R: cql2.Geom{G: orb.Point{1, 2}, CRS: crs.UTM33}}}, "TRUE", false},
		"array": {cql2.Array{Op: cql2.AEquals, L: prop("liste"), R: cql2.List{}}, "TRUE", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := sqlq.Compile(sqlq.PostgreSQL{}, source(), "t", tt.e)
			sql, args := sqlq.New(sqlq.PostgreSQL{}).Add(f.Where).SQL()
			if sql != tt.sql {
				t.Errorf("SQL\n got %s\nwant %s", sql, tt.sql)
			}
			if strings.Count(sql, "$") != len(args) || (f.Residue == nil) != tt.exact {
				t.Errorf("%d arguments, residue %#v", len(args), f.Residue)
			}
		})
	}
}

// TestEnvelopeRoundsInwards: what surely lies inside is asked of a box that single precision cannot widen.
func TestEnvelopeRoundsInwards(t *testing.T) {
	t.Parallel()
	b := orb.Bound{Min: orb.Point{0.1, 59.9}, Max: orb.Point{0.3, 60.1}}
	f, ok := sqlq.PostgreSQL{}.Inside("t", source().Geometry, b)
	_, args := sqlq.New(sqlq.PostgreSQL{}).Add(f).SQL()
	if !ok || len(args) != 4 {
		t.Fatalf("%v, %v", ok, args)
	}
	for i, limit := range []float64{b.Min[0], b.Min[1], b.Max[0], b.Max[1]} {
		v := args[i].(float64)
		if float64(float32(v)) != v || i < 2 && v < limit || i >= 2 && v > limit {
			t.Errorf("side %d: %v of %v", i, v, limit)
		}
	}
	if _, ok := (sqlq.PostgreSQL{}).Inside("t", source().Geometry,
		orb.Bound{Min: orb.Point{0.1, 0.1}, Max: orb.Point{0.1, 0.1}}); ok {
		t.Error("a box between two numbers of single precision has something inside")
	}
}

func TestPostgreSQLDays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		t    time.Time
		want sqlq.Date
	}{{time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), "2024-02-29"},
		{time.Date(0, 3, 15, 0, 0, 0, 0, time.UTC), "0001-03-15 BC"}} {
		if got := (sqlq.PostgreSQL{}).Day(tt.t); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.t, got, tt.want)
		}
	}
	if _, ok := (sqlq.PostgreSQL{}).Stamp(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), ""); ok {
		t.Error("a moment before the year 1")
	}
}
