package sqlq_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store/sqlq"
)

func source() *sqlq.Source {
	return &sqlq.Source{
		Table: `main."t"`,
		Fields: map[string]*sqlq.Field{
			"navn":  {Column: "navn", Type: cql2.TypeText, Nulls: true},
			"sær":   {Column: `a"b`, Type: cql2.TypeText},
			"tall":  {Column: "tall", Type: cql2.TypeInteger},
			"areal": {Column: "areal", Type: cql2.TypeNumber},
			"flagg": {Column: "flagg", Type: cql2.TypeBool},
			"dag":   {Column: "dag", Type: cql2.TypeDate},
			"tid":   {Column: "tid", Type: cql2.TypeTimestamp, Layout: "2006-01-02T15:04:05.000Z"},
			"liste": {Column: "liste", Type: cql2.TypeJSON},
		},
		Geometry: &sqlq.Geometry{Name: "geometry", Column: "geom", CRS: crs.UTM33, Pad: 10, Index: "rt", NoGeom: "ng",
			RowID: "rowid", HasNull: true, Indexed: true, HasEmpty: true},
		Relations: map[string]*sqlq.Relation{"navn": {
			Source: sqlq.Source{Table: `main."n"`, Fields: map[string]*sqlq.Field{
				"tekst": {Column: "tekst", Type: cql2.TypeText,
					Search: sqlq.SearchColumns{Exact: "eksakt", Norm: "norm", Rev: "rev", Gram: "fts"}},
			}},
			Owner: "t_id", Key: "id",
		}},
	}
}

func where(f sqlq.Filter) (string, []any) {
	return sqlq.New(sqlq.SQLite{}).Add(f.Where).SQL()
}

func prop(n string) cql2.Expr { return cql2.Prop{Name: n} }
func fn(n string, e cql2.Expr) cql2.Expr {
	return cql2.Func{Name: n, Args: []cql2.Expr{e}}
}
func related(e cql2.Expr) cql2.Expr { return cql2.Related{Relation: "navn", X: e} }

const relatedHead = `t."id" IS NOT NULL AND t."id" IN (SELECT r1."t_id" FROM main."n" AS r1 WHERE r1."t_id" IS NOT ` +
	`NULL AND (`

func TestSQLText(t *testing.T) {
	t.Parallel()
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	far := cql2.Geom{G: orb.Point{200000, 6600000}, CRS: crs.UTM33}
	box := cql2.BBox{Prop: "geometry", CRS: crs.UTM33, Box: orb.Bound{Min: orb.Point{1, 2}, Max: orb.Point{3, 4}}}
	touch := "t.rowid IN (SELECT id FROM rt WHERE maxx >= ? AND minx <= ? AND maxy >= ? AND miny <= ?"
	tests := map[string]struct {
		e     cql2.Expr
		sql   string
		exact bool
	}{
		"nothing": {nil, "1", true},
		"false":   {cql2.Or{}, "0", true},
		"compare": {cql2.Compare{Op: cql2.Ne, L: prop("navn"), R: cql2.Text("x")}, `t."navn" <> ?`, true},
		"quoted":  {cql2.IsNull{X: prop("sær")}, `t."a""b" IS NULL`, true},
		"and, or, not": {cql2.And{cql2.Or{prop("flagg"), cql2.Bool(false)}, cql2.Not{X: prop("flagg")}},
			`((t."flagg" = 1) OR (0)) AND (NOT (t."flagg" = 1))`, true},
		"in": {cql2.In{X: prop("tall"), List: []cql2.Expr{cql2.Int(1), cql2.Number(2.5)}},
			`t."tall" IN (?)`, true},
		"between": {cql2.Between{X: prop("tall"), Lo: cql2.Int(1), Hi: prop("areal")},
			`t."tall" BETWEEN ? AND t."areal"`, true},
		"date": {cql2.Compare{Op: cql2.Ge, L: prop("dag"), R: cql2.Date{T: noon}}, `t."dag" >= ?`, true},
		"stamp as stored": {cql2.Compare{Op: cql2.Ge, L: prop("tid"), R: cql2.Timestamp{T: noon}},
			`t."tid" >= ?`, true},
		"stamp too fine": {cql2.Compare{Op: cql2.Ge, L: prop("tid"), R: cql2.Timestamp{T: noon.Add(1)}},
			`grense_time(t."tid") >= ?`, true},
		"prefix": {cql2.Like{X: prop("navn"), Pattern: cql2.Text("Os%")},
			`t."navn" >= ? AND t."navn" < ? AND (t."navn" GLOB ?)`, true},
		"bbox": {box, touch + " UNION ALL SELECT id FROM ng)", false},
		"not bbox": {cql2.Not{X: box},
			"NOT (t.rowid IN (SELECT id FROM rt WHERE minx >= ? AND maxx <= ? AND miny >= ? AND maxy <= ? UNION ALL " +
				"SELECT id FROM ng))", false},
		"intersects":     {cql2.Spatial{Op: cql2.SIntersects, L: prop("geometry"), R: far}, touch + ")", false},
		"not intersects": {cql2.Not{X: cql2.Spatial{Op: cql2.SIntersects, L: prop("geometry"), R: far}}, "1", false},
		"disjoint":       {cql2.Spatial{Op: cql2.SDisjoint, L: prop("geometry"), R: far}, "1", false},
		"or with residue": {cql2.Or{box, cql2.Compare{Op: cql2.Eq, L: fn("length", prop("navn")), R: cql2.Int(1)}},
			"(" + touch + " UNION ALL SELECT id FROM ng)) OR (1)", false},
		"null geometry": {cql2.IsNull{X: prop("geometry")}, "t.rowid IN (SELECT id FROM ng)", true},
		"array":         {cql2.Array{Op: cql2.AEquals, L: prop("liste"), R: cql2.List{}}, "1", false},
		"relation": {related(cql2.Compare{Op: cql2.Eq, L: fn("norm", prop("tekst")),
			R: fn("norm", cql2.Text("BØ"))}), relatedHead + `r1."norm" = ?))`, true},
		"exact": {related(cql2.Compare{Op: cql2.Eq, L: fn("exact", prop("tekst")), R: cql2.Text("bø")}),
			relatedHead + `r1."eksakt" = ?))`, true},
		"search prefix": {related(cql2.Like{X: fn("norm", prop("tekst")), Pattern: cql2.Text("ab%")}),
			relatedHead + `r1."norm" >= ? AND r1."norm" < ? AND (r1."norm" GLOB ?)))`, true},
		"search suffix": {related(cql2.Like{X: fn("norm", prop("tekst")), Pattern: cql2.Text("%ab")}),
			relatedHead + `r1."rev" >= ? AND r1."rev" < ? AND (r1."rev" GLOB ?)))`, true},
		"search infix": {related(cql2.Like{X: fn("norm", prop("tekst")), Pattern: cql2.Text("%abc%")}),
			relatedHead + `(r1.rowid IN (SELECT rowid FROM "fts" WHERE "fts" MATCH ?)) AND (r1."norm" GLOB ?)))`, true},
		"infix too short": {related(cql2.Like{X: fn("norm", prop("tekst")), Pattern: cql2.Text("%ab%")}),
			relatedHead + `r1."norm" GLOB ?))`, true},
		"infix under not": {related(cql2.Not{X: cql2.Like{X: fn("norm", prop("tekst")), Pattern: cql2.Text("%abc%")}}),
			relatedHead + `NOT (r1."norm" GLOB ?)))`, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := sqlq.Compile(sqlq.SQLite{}, source(), "t", tt.e)
			sql, args := where(f)
			if sql != tt.sql {
				t.Errorf("SQL\n got %s\nwant %s", sql, tt.sql)
			}
			if strings.Count(sql, "?") != len(args) {
				t.Errorf("%d arguments for %s", len(args), sql)
			}
			if (f.Residue == nil) != tt.exact {
				t.Errorf("residue %#v", f.Residue)
			}
		})
	}
}

// TestResidueIsSmall: what SQL can say is not evaluated again.
func TestResidueIsSmall(t *testing.T) {
	t.Parallel()
	slow := cql2.Array{Op: cql2.AEquals, L: prop("liste"), R: cql2.List{}}
	f := sqlq.Compile(sqlq.SQLite{}, source(), "t",
		cql2.And{cql2.Compare{Op: cql2.Eq, L: prop("navn"), R: cql2.Text("x")}, cql2.And{prop("flagg"), slow}})
	if _, ok := f.Residue.(cql2.Array); !ok {
		t.Errorf("residue %#v", f.Residue)
	}
	sure, _ := sqlq.New(sqlq.SQLite{}).Add(f.Sure).SQL()
	if sure != "0" {
		t.Errorf("sure %s", sure)
	}
}

// TestEveryNode goes through the compiler without a panic, and no value of a client is in the text.
func TestEveryNode(t *testing.T) {
	t.Parallel()
	const evil = `x'); DROP TABLE t; --"`
	for _, e := range cql2.AllExprs {
		e := spoil(e, evil)
		if _, ok := e.(cql2.Related); ok {
			e = cql2.Related{Relation: "navn", X: cql2.Compare{Op: cql2.Eq, L: prop("tekst"), R: cql2.Text(evil)}}
		}
		if !isPredicate(e) {
			e = cql2.IsNull{X: e}
		}
		for _, e := range []cql2.Expr{e, cql2.Not{X: e}, cql2.And{e, cql2.Or{e}}} {
			f := sqlq.Compile(sqlq.SQLite{}, source(), "t", e)
			sql, _ := where(f)
			again, _ := where(sqlq.Compile(sqlq.SQLite{}, source(), "t", e))
			if strings.Contains(sql, "DROP") || sql != again || sql == "" {
				t.Errorf("%#v: %s, then %s", e, sql, again)
			}
		}
	}
}

func isPredicate(e cql2.Expr) bool {
	switch e.(type) {
	case cql2.Text, cql2.Number, cql2.Int, cql2.Decimal, cql2.Date, cql2.Timestamp, cql2.Span, cql2.Geom, cql2.List,
		cql2.Func, cql2.Arith, cql2.Prop:
		return false
	}
	return true
}

// spoil puts evil text into a node's literals and names.
func spoil(e cql2.Expr, evil string) cql2.Expr {
	switch e := e.(type) {
	case cql2.Text:
		return cql2.Text(evil)
	case cql2.Compare:
		return cql2.Compare{Op: e.Op, L: prop("navn"), R: cql2.Text(evil)}
	case cql2.Like:
		return cql2.Like{X: prop("navn"), Pattern: cql2.Text("%" + evil)}
	case cql2.In:
		return cql2.In{X: prop("navn"), List: []cql2.Expr{cql2.Text(evil)}}
	case cql2.Prop:
		return cql2.Prop{Name: evil}
	case cql2.IsNull:
		return cql2.IsNull{X: cql2.Prop{Name: evil}}
	}
	return e
}

func TestSplitPattern(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ prefix, suffix, longest string }{
		"":        {"", "", ""},
		"abc":     {"abc", "abc", "abc"},
		"abc%":    {"abc", "", "abc"},
		"%abc":    {"", "abc", "abc"},
		"a%bcd_e": {"a", "e", "bcd"},
		`a\%b%`:   {"a%b", "", "a%b"},
		`\\_\`:    {`\`, `\`, `\`},
		"%":       {"", "", ""},
		"å%øæ":    {"å", "øæ", "øæ"},
	}
	for pattern, want := range tests {
		p, ok := sqlq.SplitPattern(pattern)
		if !ok || p.Prefix != want.prefix || p.Suffix != want.suffix || p.Longest != want.longest {
			t.Errorf("%q: %+v, want %+v", pattern, p, want)
		}
	}
	if _, ok := sqlq.SplitPattern("\xff%"); ok {
		t.Error("a pattern that is not UTF-8 was taken")
	}
}

// TestNoIndexIsNoBound: without an index, or where edges may bend without limit, SQL promises nothing.
func TestNoIndexIsNoBound(t *testing.T) {
	t.Parallel()
	box := cql2.BBox{Prop: "geometry", CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{10, 59}, Max: orb.Point{11, 60}}}
	for name, change := range map[string]func(*sqlq.Geometry){
		"no index":     func(g *sqlq.Geometry) { g.Index = "" },
		"no known pad": func(g *sqlq.Geometry) { g.Pad = math.Inf(1) },
	} {
		s := source()
		change(s.Geometry)
		f := sqlq.Compile(sqlq.SQLite{}, s, "t", box)
		if sql, _ := where(f); sql != "1" || f.Residue == nil {
			t.Errorf("%s: %s, residue %v", name, sql, f.Residue)
		}
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	keys := []sqlq.Key{{Expr: sqlq.Ident("a"), Nulls: true}, {Expr: sqlq.Ident("b"), Desc: true},
		{Expr: sqlq.Ident("id")}}
	if got := orderText(keys, false); got != "(a IS NULL), a, b DESC, id" {
		t.Error(got)
	}
	if got := orderText(keys, true); got != "(a IS NULL) DESC, a DESC, b, id DESC" {
		t.Error(got)
	}
	sql, args := sqlq.New(sqlq.SQLite{}).Add(sqlq.After(sqlq.SQLite{}, keys, []any{nil, int64(1), "x"}, false)).SQL()
	if want := "(0) OR (a IS NULL AND (b <= ? AND ((b < ?) OR (b = ? AND (id > ?)))))"; sql != want || len(args) != 4 {
		t.Errorf("%s %v", sql, args)
	}
}

func orderText(keys []sqlq.Key, back bool) string {
	sql, _ := sqlq.New(sqlq.SQLite{}).Add(sqlq.Order(keys, back)).SQL()
	return sql
}
