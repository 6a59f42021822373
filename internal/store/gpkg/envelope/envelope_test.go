package envelope_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg/envelope"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// rows is a layer of n rows with random boxes; every seventh has none. With gaps, ids are not consecutive.
func rows(t *testing.T, n, gap int) (*envelope.Table, map[int64]*orb.Bound) {
	t.Helper()
	c, err := sqlite.Open(filepath.Join(t.TempDir(), "x.gpkg"), sqlite.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.ExecAll([]string{"BEGIN", "CREATE TABLE x (id INTEGER PRIMARY KEY)",
		"CREATE TABLE none (id INTEGER PRIMARY KEY)",
		"CREATE VIRTUAL TABLE boxes USING rtree(id, minx, maxx, miny, maxy)"}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(uint64(n), uint64(gap)))
	want := map[int64]*orb.Bound{}
	for i := range n {
		id := int64(1 + i*gap)
		err := c.Exec("INSERT INTO x VALUES (?)", id)
		if i%7 == 6 {
			want[id] = nil
			if err == nil {
				err = c.Exec("INSERT INTO none VALUES (?)", id)
			}
		} else {
			p := orb.Point{float64(r.IntN(100)), float64(r.IntN(80))} // float32 holds them
			b := orb.Bound{Min: p, Max: orb.Point{p[0] + float64(r.IntN(4)), p[1] + float64(r.IntN(4))}}
			want[id] = &b
			if err == nil {
				err = c.Exec("INSERT INTO boxes VALUES (?, ?, ?, ?, ?)", id, b.Min[0], b.Max[0], b.Min[1], b.Max[1])
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l := &layer.Layer{Collection: &store.Collection{ID: "x", Count: n}, Keyed: true, IDColumn: "id", Boxes: "boxes",
		SQL: &sqlq.Source{Table: "main.x", Geometry: &sqlq.Geometry{RowID: "id", HasNull: true, NoGeom: "none"}}}
	table, err := envelope.Read(c, l)
	if err != nil {
		t.Fatal(err)
	}
	return table, want
}

// TestEnvelopesFindTheRowsOfABox: Find, Count and walks in both directions agree with a look at all rows.
func TestEnvelopesFindTheRowsOfABox(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 7, 16, 17, 300, 5000} {
		for _, gap := range []int{1, 3} {
			table, all := rows(t, n, gap)
			if table.IDs.Len() != n {
				t.Fatalf("%d ids, want %d", table.IDs.Len(), n)
			}
			for _, box := range []orb.Bound{{Min: orb.Point{10, 10}, Max: orb.Point{30, 25}},
				{Min: orb.Point{-5, -5}, Max: orb.Point{200, 200}}, {Min: orb.Point{150, 0}, Max: orb.Point{160, 9}}} {
				t.Run(fmt.Sprint(n, gap, box.Min), func(t *testing.T) { compare(t, table, all, box) })
			}
		}
	}
}

// compare compares a table with its rows in a box; rows without geometry match as well.
func compare(t *testing.T, table *envelope.Table, all map[int64]*orb.Bound, box orb.Bound) {
	filter := cql2.BBox{Prop: "geom", Box: box, CRS: crs.CRS84}
	test := cql2.NewBounds(filter, "geom", crs.CRS84, 0)
	var inside, want []int64
	for id, b := range all {
		if b != nil && b.Intersects(box) {
			inside = append(inside, id)
		}
		if b == nil || b.Intersects(box) {
			want = append(want, id)
		}
	}
	slices.Sort(inside)
	slices.Sort(want)
	var got []int64
	found, ok := table.Find(box, len(all), test)
	for _, x := range found {
		got = append(got, table.Rowid(x.Place))
	}
	slices.Sort(got)
	if !ok || !slices.Equal(got, inside) {
		t.Errorf("found %v, %t, want %v", got, ok, inside)
	}
	if sure, rest, ok := table.Count(box, len(all), test); !ok || sure+len(rest) != len(inside) {
		t.Errorf("counted %d and %d, %t, want %d", sure, len(rest), ok, len(inside))
	}
	if len(inside) > 0 {
		if _, ok := table.Find(box, len(inside)-1, test); ok {
			t.Error("more rows than wanted are found")
		}
	}
	for _, back := range []bool{false, true} {
		for _, from := range []int{0, len(all) / 2, len(all) - 1} {
			var walked []int64
			for w := table.Walk(test, box, int64(from), back, true); ; {
				x, ok := w.Next()
				if !ok {
					break
				}
				walked = append(walked, table.Rowid(x.Place))
			}
			rest := slices.DeleteFunc(slices.Clone(want), func(id int64) bool {
				place, _ := table.IDs.Place(id)
				return back && place > from || !back && place < from
			})
			if back {
				slices.SortFunc(rest, func(a, b int64) int { return cmp.Compare(b, a) })
			}
			if !slices.Equal(walked, rest) {
				t.Errorf("walked %v from %d (back: %t), want %v", walked, from, back, rest)
			}
		}
	}
}

// TestIDsArePlacesInOrder: every id has its place, and others the place where they would be.
func TestIDsArePlacesInOrder(t *testing.T) {
	t.Parallel()
	table, all := rows(t, 100, 3)
	for place := range 100 {
		id := int64(1 + 3*place)
		at, on := table.IDs.Place(id)
		_, known := all[id]
		if at != place || !on || !known || table.IDs.Text(uint32(place)) != strconv.FormatInt(id, 10) {
			t.Errorf("id %d is at %d, %t", id, at, on)
		}
		if at, on := table.IDs.Place(id + 1); at != place+1 || on {
			t.Errorf("id %d is at %d, %t", id+1, at, on)
		}
	}
	if at, on := table.IDs.Place(int64(-9)); at != 0 || on {
		t.Errorf("an id before all is at %d, %t", at, on)
	}
}
