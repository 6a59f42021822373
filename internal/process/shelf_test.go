package process_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/process"
	"grense/internal/store"
)

// shelf is a store of collections in memory. It evaluates filters row by row, sorts, and selects versions by the text
// of their days. A page has as many rows as the query allows, but two if it allows more than 100.
type shelf struct {
	store.Store
	layers []*layer
	broken error // what Fetch returns after the first feature, if set
}

type layer struct {
	c    *store.Collection
	rows []store.Feature // with the values of all properties
}

// field is a row as the evaluator of filters sees it.
type field struct {
	l *layer
	f *store.Feature
}

func (x field) Value(name string) (any, error) {
	for i, p := range x.l.c.Properties {
		if p.Name == name {
			return x.f.Values[i], nil
		}
	}
	return nil, fmt.Errorf("there is no column %s", name)
}

func (x field) Geometry(string) ([]byte, crs.ID, error) {
	return x.f.Geometry.WKB, x.l.c.Geometry.CRS, nil
}

func (field) Rows(string) ([]cql2.Record, error) { return nil, nil }

func (s *shelf) Catalog() *store.Catalog {
	cat := &store.Catalog{Modified: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, l := range s.layers {
		cat.Collections = append(cat.Collections, l.c)
	}
	return cat
}

func (s *shelf) layer(id string) *layer {
	i := slices.IndexFunc(s.layers, func(l *layer) bool { return l.c.ID == id })
	return s.layers[i]
}

// isOn reports whether a row is the version of a day.
func (l *layer) isOn(f *store.Feature, at time.Time) bool {
	if l.c.Versions == nil || at.IsZero() {
		return true
	}
	start, _ := field{l, f}.Value(l.c.Versions.Start)
	end, _ := field{l, f}.Value(l.c.Versions.End)
	day := at.Format(time.DateOnly)
	return start.(string) <= day && (end == nil || day < end.(string))
}

func (s *shelf) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := s.layer(q.Collection)
	var found []*store.Feature
	for i := range l.rows {
		f := &l.rows[i]
		hit := cql2.True
		if q.Filter != nil {
			var err error
			if hit, err = cql2.NewMatcher(q.Filter).Eval(field{l, f}); err != nil {
				return nil, err
			}
		}
		if hit == cql2.True && l.isOn(f, q.AsOf) {
			found = append(found, f)
		}
	}
	for _, by := range slices.Backward(q.SortBy) {
		slices.SortStableFunc(found, func(a, b *store.Feature) int {
			x, _ := field{l, a}.Value(by.Property)
			y, _ := field{l, b}.Value(by.Property)
			if x == nil || y == nil {
				return map[bool]int{true: 1}[x == nil] - map[bool]int{true: 1}[y == nil]
			}
			c, _ := cql2.CompareValues(x, y)
			return c
		})
	}
	from, _ := strconv.Atoi(string(q.Cursor))
	size := q.Limit
	if size > 100 {
		size = 2
	}
	p := &store.Page{Matched: -1}
	for _, f := range found[from:min(from+size, len(found))] {
		p.Rows = append(p.Rows, store.Row{ID: f.ID, Rev: 1})
	}
	if from+size < len(found) {
		p.Next = store.Cursor(strconv.Itoa(from + size))
	}
	return p, nil
}

func (s *shelf) Fetch(ctx context.Context, id string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	l := s.layer(id)
	if want.Properties == nil {
		for _, p := range l.c.Properties {
			if !p.Hidden {
				want.Properties = append(want.Properties, p.Name)
			}
		}
	}
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		i := slices.IndexFunc(l.rows, func(f store.Feature) bool { return f.ID == r.ID })
		if i < 0 && want.SkipMissing {
			continue
		}
		if i < 0 {
			return store.ErrNotFound
		}
		f := l.rows[i]
		f.Rev, f.Values = 1, nil
		for _, name := range want.Properties {
			v, err := field{l, &l.rows[i]}.Value(name)
			if err != nil {
				return err
			}
			f.Values = append(f.Values, v)
		}
		if want.NoGeometry {
			f.Geometry = store.Geometry{}
		}
		if err := fn(&f); err != nil {
			return err
		}
		if s.broken != nil {
			return s.broken
		}
	}
	return nil
}

func (*shelf) Holds() bool  { return false }
func (*shelf) Close() error { return nil }

func (s *shelf) env() *process.Env {
	return &process.Env{Catalog: s.Catalog(), Store: s, Base: "https://example.com", Lang: "en",
		Now:      time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC),
		Snapshot: func(context.Context) (store.Snapshot, error) { return s, nil },
		Progress: func(int, string) {}}
}

// square is a square of a side, by its south-western corner.
func square(x, y, side float64) orb.Geometry {
	return orb.Polygon{{{x, y}, {x + side, y}, {x + side, y + side}, {x, y + side}, {x, y}}}
}

// row is a feature with a geometry, which may be nil, and the values of all properties.
func row(id string, g orb.Geometry, values ...any) store.Feature {
	f := store.Feature{ID: id, Values: values}
	if g != nil {
		f.Geometry.WKB = wkb.Append(nil, g)
	}
	return f
}

func text(name string) store.Property { return store.Property{Name: name, Type: cql2.TypeText} }

// island has two counties of a side of 4 and 2, municipalities in them, places, a table without geometries, and
// a collection that is not public.
//
//	03 is x 0 to 4, y 0 to 4; 11 is x 4 to 6, y 0 to 2
func island() *shelf {
	areas := func() *store.Geom { return &store.Geom{Name: "geometry", Type: "MultiPolygon", CRS: crs.CRS84} }
	textKey := store.FeatureKey{Type: cql2.TypeText, Property: "nr"}
	return &shelf{layers: []*layer{
		{&store.Collection{ID: "fylker", Public: true, Key: textKey, Geometry: areas(), TitleProperty: "navn",
			Properties: []store.Property{text("nr"), text("navn")}}, []store.Feature{
			row("03", square(0, 0, 4), "03", "Nord"), row("11", square(4, 0, 2), "11", "Sør"),
			row("99", nil, "99", "Nowhere")}},
		{&store.Collection{ID: "kommuner", Public: true, Key: textKey, Geometry: areas(), TitleProperty: "navn",
			Properties: []store.Property{text("nr"), text("navn"), text("samisk"),
				{Name: "folk", Type: cql2.TypeInteger}, {Name: "skjult", Type: cql2.TypeText, Hidden: true}}},
			[]store.Feature{
				row("0301", square(0, 0, 2), "0301", "Våler", "Oslove", int64(5), "x"),
				row("0302", square(2, 0, 2), "0302", "Ås", nil, nil, "y"),
				row("0303", square(3, 3, 2), "0303", "Tvers", "Rasta", int64(-7), "z"), // beyond its county
				row("1101", square(4, 0, 2), "1101", "Våler", nil, int64(5), "x"),
				row("11_1", nil, "11_1", "A\u030as", nil, int64(0), "x")}},
		{&store.Collection{ID: "steder", Public: true, Key: store.FeatureKey{Type: cql2.TypeInteger}, TitleProperty: "",
			Geometry: &store.Geom{Name: "punkt", Type: "Point", CRS: crs.CRS84},
			Properties: []store.Property{text("navn"), text("FylkeSnummer"), {Name: "kommune", Type: cql2.TypeText,
				Ref: "kommuner"}}}, []store.Feature{
			row("1", orb.Point{1, 1}, "Midt", "03", "0301"), row("2", orb.Point{2, 1}, "På grensen", "03", "0302"),
			row("3", orb.Point{5, 1}, "Sør", "11", "1101"), row("4", nil, "Ingensteds", "11", nil),
			row("5", orb.Point{4.5, 4.5}, "Utenfor", nil, "0303")}},
		{&store.Collection{ID: "tall", Public: true, Key: store.FeatureKey{Type: cql2.TypeInteger},
			Properties: []store.Property{text("fylke_kode"), {Name: "verdi", Type: cql2.TypeNumber},
				{Name: "ja", Type: cql2.TypeBool}, {Name: "dag", Type: cql2.TypeDate}, {Name: "liste",
					Type: cql2.TypeJSON}}},
			[]store.Feature{row("1", nil, "03", 0.5, true, "2024-02-29", `["a"]`),
				row("2", nil, "11", 2.0, false, "2024-03-01", nil), row("3", nil, "03", -1e300, nil, "2024-02-29",
					`[]`),
				row("4", nil, nil, 0.5, true, nil, nil)}},
		{&store.Collection{ID: "hemmelig", Geometry: areas(), Key: textKey, Properties: []store.Property{text("nr")}},
			nil},
	}}
}

// records are the rows of a CSV file, each by column.
func records(t *testing.T, file string) (header []string, rows []map[string]string) {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	if err != nil || len(all) == 0 {
		t.Fatalf("%q is no CSV: %v", file, err)
	}
	for _, line := range all[1:] {
		r := map[string]string{}
		for i, v := range line {
			r[all[0][i]] = v
		}
		rows = append(rows, r)
	}
	return all[0], rows
}

// column is the values of a column, in order.
func column(rows []map[string]string, name string) string {
	var list []string
	for _, r := range rows {
		list = append(list, r[name])
	}
	return strings.Join(list, " ")
}
