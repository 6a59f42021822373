package demo_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/demo"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// tape is a store.Writer that records what it is given, and fails at the nth call when fail is n.
type tape struct {
	defined   []*store.Collection
	columns   map[string][]string
	rows      map[string][][]any
	calls     int
	fail      int
	committed bool
}

var errTape = errors.New("tape is full")

func (w *tape) step() error {
	w.calls++
	if w.calls == w.fail {
		return errTape
	}
	return nil
}

func (w *tape) Define(_ context.Context, c *store.Collection, replace bool) error {
	if !replace {
		return errors.New("define without replace")
	}
	w.defined = append(w.defined, c)
	return w.step()
}

func (w *tape) Insert(_ context.Context, table string, columns []string) (func(values ...any) error, error) {
	if w.columns == nil {
		w.columns, w.rows = map[string][]string{}, map[string][][]any{}
	}
	w.columns[table] = columns
	return func(values ...any) error {
		w.rows[table] = append(w.rows[table], slices.Clone(values))
		return w.step()
	}, w.step()
}

func (w *tape) Commit(context.Context) error { w.committed = true; return nil }
func (w *tape) Close() error                 { return nil }

func TestWriteFillsBothCollections(t *testing.T) {
	t.Parallel()
	set, w := load(t), &tape{}
	if err := demo.Write(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if len(w.defined) != 2 || w.defined[0].ID != "fylker" || w.defined[1].ID != "kommuner" {
		t.Fatalf("defined %v", w.defined)
	}
	if w.committed {
		t.Error("Write has committed")
	}
	for _, c := range w.defined {
		want := []string{}
		for _, p := range c.Properties {
			want = append(want, p.Column)
		}
		if want = append(want, c.Geometry.Column); !slices.Equal(w.columns[c.Table], want) {
			t.Errorf("%s: columns %v, want %v", c.ID, w.columns[c.Table], want)
		}
	}
	if len(w.rows["fylker"]) != 15 || len(w.rows["kommuner"]) != 357 {
		t.Fatalf("%d counties, %d municipalities", len(w.rows["fylker"]), len(w.rows["kommuner"]))
	}
	for i, f := range set.Fylker {
		checkRow(t, w.rows["fylker"][i], []any{f.Nr, f.Navn}, f.Geometry)
	}
	for i, k := range set.Kommuner {
		checkRow(t, w.rows["kommuner"][i], []any{k.Nr, k.Navn, k.FylkeNr, int64(k.AreaKm2)}, k.Geometry)
	}
}

func checkRow(t *testing.T, row, values []any, shape orb.MultiPolygon) {
	t.Helper()
	last := len(row) - 1
	if !slices.Equal(row[:last], values) {
		t.Errorf("row %v, want %v", row[:last], values)
	}
	g, err := wkb.Unmarshal(row[last].(store.Geometry).WKB)
	if err != nil || !orb.Equal(g, shape) {
		t.Errorf("%v: other geometry (%v)", values[0], err)
	}
}

func TestWriteEndsAtTheFirstErrorOfTheWriter(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 4, 18, 19, 20, 376} { // 2 definitions, 1 + 15 and 1 + 357 insertions
		w := &tape{fail: n}
		if err := demo.Write(t.Context(), w); !errors.Is(err, errTape) || w.calls != n {
			t.Errorf("call %d: got %v after %d calls", n, err, w.calls)
		}
	}
}

func TestWriteEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &tape{}
	if err := demo.Write(ctx, w); !errors.Is(err, context.Canceled) || len(w.rows["fylker"]) > 0 {
		t.Errorf("got %v after %d rows", err, len(w.rows["fylker"]))
	}
}

// The version is the start of a hash of all that Write writes, so a copy made by another version is never taken for
// this one. It also holds the geometry to the last bit, on every machine.
func TestVersionIsTheHashOfTheContent(t *testing.T) {
	t.Parallel()
	w := &tape{}
	if err := demo.Write(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	out := json.NewEncoder(h)
	write := func(v ...any) {
		if err := out.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range w.defined {
		write(c.ID, c.Table, c.Title, c.Description, c.Keywords, c.TitleProperty, c.Key.Column, c.Geometry.Column,
			c.Geometry.Type, c.StorageCRS())
		for _, p := range c.Properties {
			write(p.Name, p.Column, p.Type, p.Title, p.Description, p.Unit, p.Ref)
		}
		for _, row := range w.rows[c.Table] {
			write(row...)
		}
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)[:6]); got != demo.Version {
		t.Errorf("the content has changed: set Version to %q", got)
	}
}

func TestDivisionsAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	again, err := demo.Divisions()
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range load(t).Kommuner {
		if !k.Geometry.Equal(again.Kommuner[i].Geometry) {
			t.Errorf("%s is drawn otherwise", k.Nr)
		}
	}
	for i, f := range load(t).Fylker {
		if !f.Geometry.Equal(again.Fylker[i].Geometry) {
			t.Errorf("%s is drawn otherwise", f.Nr)
		}
	}
}

func TestCollectionsAreDescribed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		id    string
		names []string
	}{
		{"fylker", []string{"nr", "navn", "geometry"}},
		{"kommuner", []string{"nr", "navn", "fylke_nr", "areal_km2", "geometry"}},
	}
	words := map[string][]string{
		"nb": {"skjematiske", "geonorge.no", "grense serve"},
		"nn": {"skjematiske", "geonorge.no", "grense serve"},
		"en": {"schematic", "geonorge.no", "grense serve"},
	}
	all := demo.Collections()
	if len(all) != len(tests) {
		t.Fatalf("%d collections", len(all))
	}
	for i, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			c := all[i]
			if c.ID != tt.id || !slices.Equal(c.Names(), tt.names) {
				t.Fatalf("%s has %v, want %s with %v", c.ID, c.Names(), tt.id, tt.names)
			}
			if !c.Public || c.StorageCRS() != crs.UTM33 || c.TitleProperty != "navn" || c.DefaultSort != nil ||
				len(c.Keywords) == 0 {
				t.Errorf("%+v", c)
			}
			if c.Key != (store.FeatureKey{Column: "nr", Type: cql2.TypeText, Property: "nr"}) {
				t.Errorf("key %+v", c.Key)
			}
			for lang, want := range words {
				for _, word := range want {
					if !strings.Contains(c.Description[lang], word) {
						t.Errorf("the description in %s does not say %q", lang, word)
					}
				}
				if c.Title[lang] == "" {
					t.Errorf("no title in %s", lang)
				}
				for _, p := range c.Properties {
					if p.Title[lang] == "" || p.Description[lang] == "" {
						t.Errorf("property %s is not described in %s", p.Name, lang)
					}
				}
			}
		})
	}
	kommuner := all[1]
	if p, _ := kommuner.Find("areal_km2"); p.Unit != "km2" || p.Type != cql2.TypeInteger {
		t.Errorf("areal_km2 is %+v", p)
	}
	if p, _ := kommuner.Find("fylke_nr"); p.Ref != "fylker" || p.Type != cql2.TypeText {
		t.Errorf("fylke_nr is %+v", p)
	}
}
