package storetest

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	orbwkb "github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// dataset is the data of the contract.
type dataset struct{ sets []*set }

// set is a collection with its rows.
type set struct {
	c    *store.Collection
	rows []*feature
}

// feature is a row as plain values. It is a cql2.Record.
type feature struct {
	id     string
	text   bool  // the id is a text; else it is number
	number int64 // the key of relations
	values map[string]any
	shape  orb.Geometry
	crs    crs.ID
	rels   map[string][]*feature
}

// Value returns a value in its served form.
func (f *feature) Value(name string) (any, error) {
	v, ok := f.values[name]
	switch {
	case ok:
		return v, nil
	case name != store.IDName:
		return nil, fmt.Errorf("no property %q", name)
	case f.text:
		return f.id, nil
	}
	return f.number, nil
}

func (f *feature) Geometry(string) ([]byte, crs.ID, error) {
	if f.shape == nil {
		return nil, f.crs, nil
	}
	return orbwkb.MustMarshal(f.shape), f.crs, nil
}

func (f *feature) Rows(relation string) ([]cql2.Record, error) {
	var rows []cql2.Record
	for _, r := range f.rels[relation] {
		rows = append(rows, r)
	}
	return rows, nil
}

func text(name string) store.Property { return prop(name, cql2.TypeText) }

func prop(name string, t cql2.Type) store.Property {
	return store.Property{Name: name, Column: name, Type: t}
}

// properties returns the properties of every collection.
func properties() []store.Property {
	return []store.Property{
		text("navn"), prop("antall", cql2.TypeInteger), prop("areal", cql2.TypeNumber), prop("aktiv", cql2.TypeBool),
		prop("dag", cql2.TypeDate),
		prop("tid", cql2.TypeTimestamp), prop("gyldig_til", cql2.TypeDate), prop("liste", cql2.TypeJSON),
		prop("objekt", cql2.TypeJSON),
		{Name: "skjult", Column: "skjult", Type: cql2.TypeInteger, Hidden: true}, text("sær \"navn\".æ"),
	}
}

// newDataset returns the same data each time: a collection with text ids in degrees, one with numbers in metres,
// and one without geometry.
func newDataset() *dataset {
	name := text("tekst")
	name.Search = store.Search{Exact: "eksakt", Norm: "norm", Rev: "rev", Gram: "navn_fts", Texts: "navn_tekst"}
	names := store.Relation{
		Name: "navn", Table: "sted_navn", Owner: "sted_id", Key: "nr",
		Columns: []store.Property{name, prop("nummer", cql2.TypeInteger)},
		Relations: []store.Relation{{
			Name: "merke", Table: "navn_merke", Owner: "navn_id", Key: "navn_nr",
			Columns: []store.Property{text("merke"), prop("dag", cql2.TypeDate)},
		}},
	}
	d := &dataset{sets: []*set{
		{c: &store.Collection{
			ID: "steder", Table: "steder", Public: true, Title: store.Text{"nb": "Steder", "nn": "Stader"},
			Key: store.FeatureKey{Column: "kode", Type: cql2.TypeText}, Properties: properties(),
			Relations:     []store.Relation{names},
			Geometry:      &store.Geom{Name: "geometry", Column: "geometry", CRS: crs.CRS84},
			IntervalStart: "dag", IntervalEnd: "gyldig_til",
		}},
		{c: &store.Collection{
			ID: "punkter", Table: "punkter", Key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
			Properties: properties(),
			Geometry:   &store.Geom{Name: "geometry", Column: "geom", CRS: crs.UTM33}, Instant: "tid",
		}},
		{c: &store.Collection{
			ID: "tabell", Table: "tabell", Public: true, Key: store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
			Properties: properties(),
		}},
	}}
	for i, s := range d.sets {
		s.fill(rand.New(rand.NewPCG(20260101, uint64(i))))
	}
	return d
}

// words are names that differ in case, accents, spelling and code point order.
var words = []string{
	"Oslo", "oslo", "Å", "Aa", "Bø", "Bo", "bø", "Ås", "Šiljus", "Čohkka", "Nord-Fron", "nord fron", "100 %", "a_b",
	`c\d`, "*?[x]", "ẞtraße", "", "øy",
	"\U0001F3D4 fjell", "Zürich", "zurich", "o'hara", `"q"`,
}

func (s *set) fill(r *rand.Rand) {
	const n = 70
	for i := range n {
		f := &feature{number: int64(i*3 + 1), crs: s.c.StorageCRS()}
		f.id = strconv.FormatInt(f.number, 10)
		if f.text = s.c.Key.Type == cql2.TypeText; f.text {
			f.id = fmt.Sprintf("%04d%s", r.IntN(1000), []string{"", "å", "A", "a", "z"}[i%5])
			f.id += strconv.Itoa(i)
		}
		f.values = s.values(r)
		if s.c.Geometry != nil {
			f.shape = shape(r, f.crs)
		}
		if len(s.c.Relations) > 0 {
			f.rels = map[string][]*feature{"navn": names(r, i)}
		}
		s.rows = append(s.rows, f)
	}
}

// values returns values from small domains, so that comparisons match, and some nulls.
func (s *set) values(r *rand.Rand) map[string]any {
	maybe := func(v any) any {
		if r.IntN(5) == 0 {
			return nil
		}
		return v
	}
	values := members(r)
	moment := time.Date(2024, 1, 1+r.IntN(4), r.IntN(3)*6, 0, 0, r.IntN(2)*250e6, time.UTC)
	maps.Copy(values, map[string]any{
		"navn": maybe(words[r.IntN(len(words))]), "antall": maybe(int64(r.IntN(9) - 4)),
		"areal": maybe(float64(r.IntN(9)-4) / 2),
		"aktiv": maybe(r.IntN(2) == 0), "dag": maybe(fmt.Sprintf("2024-01-%02d", 1+r.IntN(5))),
		"tid":        maybe(moment.Format(time.RFC3339Nano)),
		"gyldig_til": maybe(fmt.Sprintf("2024-01-%02d", 3+r.IntN(5))),
		"liste":      maybe(fmt.Sprintf(`["a",%d]`, r.IntN(3))),
		"skjult":     int64(r.IntN(5)), "sær \"navn\".æ": maybe(words[r.IntN(4)]),
	})
	return values
}

// memberNames are the names for filters inside the objects of a property, in the order of Collection.Names.
var memberNames = []string{"objekt.dyp.er", "objekt.dyp.navn", "objekt.tall"}

// members returns an object, null in one of five cases, and the values of its members.
func members(r *rand.Rand) map[string]any {
	deep, object := map[string]any{"er": r.IntN(2) == 0, "navn": words[r.IntN(len(words))]}, map[string]any{}
	numbers := []string{"1", "-2", "0.5", "9007199254740993", "12345678901234567891", "1e+300",
		"0.10000000000000000555"}
	number := numbers[r.IntN(len(numbers))]
	object["tall"], object["dyp"], object["sær.t"] = json.Number(number), deep, "x"
	object["blandet"] = []any{"x", 1.5, nil}[r.IntN(3)]
	if r.IntN(5) == 0 {
		object["dyp"], deep = nil, nil
	}
	if deep != nil && r.IntN(5) == 0 {
		deep["navn"] = nil
	}
	value := any(nil)
	switch n, _ := cql2.ParseNumber(number); n := n.(type) {
	case cql2.Int:
		value = int64(n)
	case cql2.Number:
		value = float64(n)
	case cql2.Decimal:
		value = n
	}
	if r.IntN(5) == 0 {
		return map[string]any{"objekt": nil, "objekt.dyp.er": nil, "objekt.dyp.navn": nil, "objekt.tall": nil}
	}
	text, _ := json.Marshal(object)
	return map[string]any{"objekt": string(text), "objekt.tall": value,
		"objekt.dyp.er": deep["er"], "objekt.dyp.navn": deep["navn"]}
}

// shape returns a geometry near Oslo, or none in one of six cases.
func shape(r *rand.Rand, id crs.ID) orb.Geometry {
	x, y, unit := 10+float64(r.IntN(8))/4, 59+float64(r.IntN(8))/4, 0.25
	if id != crs.CRS84 {
		x, y, unit = 200000+float64(r.IntN(8))*10000, 6600000+float64(r.IntN(8))*10000, 10000
	}
	p := func(dx, dy float64) orb.Point { return orb.Point{x + dx*unit, y + dy*unit} }
	switch r.IntN(6) {
	case 0:
		return nil
	case 1:
		return p(0, 0)
	case 2:
		return orb.LineString{p(0, 0), p(1, 2), p(3, 0.5)}
	case 3:
		return orb.Polygon{{p(0, 0), p(4, 0), p(4, 4), p(0, 4), p(0, 0)}, {p(1, 1), p(1, 3), p(3, 3), p(3, 1), p(1, 1)}}
	case 4:
		return orb.MultiPoint{p(0, 0), p(2, 2)}
	}
	return orb.MultiPolygon{{{p(0, 0), p(1, 0), p(0, 1), p(0, 0)}}, {{p(2, 2), p(3, 2), p(2, 3), p(2, 2)}}}
}

func names(r *rand.Rand, owner int) []*feature {
	var list []*feature
	for i := range r.IntN(4) {
		f := &feature{number: int64(owner*10 + i),
			values: map[string]any{"tekst": words[r.IntN(len(words))], "nummer": int64(i)}}
		if r.IntN(6) == 0 {
			f.values["tekst"] = nil
		}
		for range r.IntN(3) {
			f.rels = map[string][]*feature{"merke": append(f.rels["merke"], &feature{values: map[string]any{
				"merke": words[r.IntN(4)], "dag": fmt.Sprintf("2024-01-%02d", 1+r.IntN(5))}})}
		}
		list = append(list, f)
	}
	return list
}

// write writes the data with a Writer, with rows out of the order of ids.
func (d *dataset) write(t *testing.T, w store.Writer) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range d.sets {
		check(w.Define(context.Background(), s.c, true))
		columns := []string{s.c.Key.Column}
		if s.c.Geometry != nil {
			columns = append(columns, s.c.Geometry.Column)
		}
		for _, p := range s.c.Properties {
			columns = append(columns, p.Column)
		}
		if len(s.c.Relations) > 0 {
			columns = append(columns, "nr")
		}
		insert, err := w.Insert(context.Background(), s.c.Table, columns)
		check(err)
		for i := range s.rows {
			f := s.rows[(i*31+7)%len(s.rows)]
			check(insert(s.row(f)...))
		}
		if len(s.c.Relations) > 0 {
			check(s.writeNames(w))
		}
	}
}

func (s *set) row(f *feature) []any {
	row := []any{any(f.id)}
	if s.c.Key.Type == cql2.TypeInteger {
		row[0] = f.number
	}
	if s.c.Geometry != nil {
		g := store.Geometry{}
		if f.shape != nil {
			g.WKB = orbwkb.MustMarshal(f.shape)
		}
		row = append(row, g)
	}
	for _, p := range s.c.Properties {
		row = append(row, f.values[p.Name])
	}
	if len(s.c.Relations) > 0 {
		row = append(row, f.number)
	}
	return row
}

func (s *set) writeNames(w store.Writer) error {
	name, err := w.Insert(context.Background(), "sted_navn",
		[]string{"sted_id", "navn_nr", "tekst", "nummer", "eksakt", "norm", "rev"})
	if err != nil {
		return err
	}
	mark, err := w.Insert(context.Background(), "navn_merke", []string{"navn_id", "merke", "dag"})
	if err != nil {
		return err
	}
	for _, f := range s.rows {
		for _, n := range f.rels["navn"] {
			row := []any{f.number, n.number, nil, n.values["nummer"], nil, nil, nil}
			if tekst, ok := n.values["tekst"].(string); ok {
				rev := []rune(fold.Norm(tekst))
				slices.Reverse(rev)
				row[2], row[4], row[5], row[6] = tekst, fold.CaseI(tekst), fold.Norm(tekst), string(rev)
			}
			if err := name(row...); err != nil {
				return err
			}
			for _, m := range n.rels["merke"] {
				if err := mark(n.number, m.values["merke"], m.values["dag"]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// order returns the ids in an order, nulls last, ties by id.
func (s *set) order(sort []store.Sort) []string {
	rows := slices.Clone(s.rows)
	slices.SortFunc(rows, func(a, b *feature) int {
		for _, k := range sort {
			x, y := a.values[k.Property], b.values[k.Property]
			if x == nil || y == nil {
				if c := cmp.Compare(rank(x), rank(y)); c != 0 {
					return c
				}
				continue
			}
			c := compareValues(x, y)
			if k.Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		if s.c.Key.Type == cql2.TypeInteger {
			return cmp.Compare(a.number, b.number)
		}
		return strings.Compare(a.id, b.id)
	})
	ids := make([]string, len(rows))
	for i, f := range rows {
		ids[i] = f.id
	}
	return ids
}

func rank(v any) int {
	if v == nil {
		return 1
	}
	return 0
}

func compareValues(x, y any) int {
	switch x := x.(type) {
	case string:
		a, errA := time.Parse(time.RFC3339Nano, x)
		b, errB := time.Parse(time.RFC3339Nano, y.(string))
		if errA == nil && errB == nil {
			return a.Compare(b)
		}
		return strings.Compare(x, y.(string))
	case int64:
		return cmp.Compare(x, y.(int64))
	case float64:
		return cmp.Compare(x, y.(float64))
	case bool:
		if x == y.(bool) {
			return 0
		} else if x {
			return 1
		}
		return -1
	}
	panic(fmt.Sprintf("storetest: %T", x))
}

// matching returns the ids for which the reference evaluates e as true.
func (s *set) matching(t *testing.T, e cql2.Expr) map[string]bool {
	t.Helper()
	m := cql2.NewMatcher(e)
	hits := map[string]bool{}
	for _, f := range s.rows {
		v, err := m.Eval(f)
		if err != nil {
			t.Fatalf("reference: %v", err)
		}
		if v == cql2.True {
			hits[f.id] = true
		}
	}
	return hits
}

func (s *set) filter(t *testing.T, e cql2.Expr, sort []store.Sort) []string {
	t.Helper()
	ids := s.order(sort)
	if e == nil {
		return ids
	}
	hits := s.matching(t, e)
	return slices.DeleteFunc(ids, func(id string) bool { return !hits[id] })
}

// compare reports where a fetched feature differs from what was written.
func (s *set) compare(t *testing.T, got *store.Feature, names []string) {
	t.Helper()
	i := slices.IndexFunc(s.rows, func(f *feature) bool { return f.id == got.ID })
	if i < 0 {
		t.Errorf("%s: a feature %q that nobody wrote", s.c.ID, got.ID)
		return
	}
	want := s.rows[i]
	for i, n := range names {
		v := got.Values[i]
		if j, ok := v.(store.JSON); ok {
			v = string(j)
		}
		if !reflect.DeepEqual(v, want.values[n]) {
			t.Errorf("%s %s: %s is %#v, want %#v", s.c.ID, got.ID, n, v, want.values[n])
		}
	}
	if want.shape == nil || got.Geometry.IsNull() {
		return // other tests check whether it was wanted
	}
	g, err := got.Geometry.Orb()
	if err != nil || !orb.Equal(g, want.shape) {
		t.Errorf("%s %s: geometry %s, %v; want %v", s.c.ID, got.ID, hex.EncodeToString(got.Geometry.WKB),
			err, want.shape)
	}
}

// extent returns the box around all geometries in CRS84.
func (s *set) extent() (b orb.Bound, ok bool) {
	b = wkb.EmptyBound()
	f, err := crs.Between(s.c.StorageCRS(), crs.CRS84)
	for _, r := range s.rows {
		if r.shape == nil || err != nil {
			continue
		}
		err := wkb.Walk(wkb.Append(nil, r.shape), func(p wkb.Run) bool {
			for i := range p.Len() {
				lon, lat := f(p.XY(i))
				wkb.Extend(&b, lon, lat)
			}
			return true
		})
		if err != nil {
			panic(err) // a geometry of this suite is valid
		}
	}
	return b, !b.IsEmpty()
}
