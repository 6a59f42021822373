package postgis_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// TestParcelsAreTheSameInBothStores asks a GeoPackage and a database of 300,000 and 3 million parcels for the pages
// of 1,000 random queries.
func TestParcelsAreTheSameInBothStores(t *testing.T) {
	for _, p := range storetest.ScaledParcels(t) {
		write := func(w store.Writer) { p.Fill(t, w) }
		path, url := filepath.Join(t.TempDir(), "teig.gpkg"), cluster.Database(t)
		storetest.Write(t, write)(gpkg.Create(t.Context(), path))
		file := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()}))
		create(t, url, write)
		base := openStore(t, url, postgis.Options{})
		g := parcelQueries{Rand: rand.New(rand.NewPCG(uint64(p.N), 47)), p: p}
		for i := range 1000 {
			text, q := g.query(t, file.Catalog().Collections[0])
			if q.Count = store.CountNone; i%10 == 0 {
				q.Count = store.CountExact
			}
			for turn := range 3 {
				got, err := file.Page(t.Context(), q)
				want, err2 := base.Page(t.Context(), q)
				if err != nil || err2 != nil {
					t.Fatalf("%s: %v, %v", text, err, err2)
				}
				if !slices.Equal(idsOf(got), idsOf(want)) || got.Matched != want.Matched ||
					(got.Next == "") != (want.Next == "") || (got.Prev == "") != (want.Prev == "") {
					t.Fatalf("%s, %v, offset %d, turn %d:\n file %v of %d\n base %v of %d", text, q.SortBy, q.Offset,
						turn, idsOf(got), got.Matched, idsOf(want), want.Matched)
				}
				next := want.Next
				if turn == 1 {
					next = want.Prev
				}
				if q.Cursor, q.Offset = next, 0; next == "" {
					break
				}
			}
		}
	}
}

func idsOf(p *store.Page) (ids []string) {
	for _, r := range p.Rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// parcelQueries makes random queries for parcels.
type parcelQueries struct {
	*rand.Rand
	p storetest.Parcels
}

// query returns a query, with its filter as text.
func (g parcelQueries) query(t *testing.T, c *store.Collection) (string, store.Query) {
	t.Helper()
	q := store.Query{Collection: c.ID, Limit: 1 + g.IntN(40)}
	switch g.IntN(4) {
	case 0:
		q.Offset = g.IntN(100)
	case 1:
		q.Offset = g.IntN(g.p.N / 20)
	}
	if g.IntN(4) == 0 {
		by := []string{"nummer", "navn", "areal", "dato", "art"}[g.IntN(5)]
		q.SortBy = []store.Sort{{Property: by, Desc: g.IntN(2) == 0}}
	}
	if g.IntN(12) == 0 {
		return "all", q
	}
	text := g.filter(2)
	e, err := cql2.ParseText(text)
	if err == nil && g.IntN(3) == 0 {
		b := g.box()
		box := cql2.BBox{Prop: c.Geometry.Name, CRS: crs.UTM33, Box: b}
		text = fmt.Sprint(b, " AND ", text)
		if e = (cql2.And{box, e}); g.IntN(2) == 0 {
			text, e = fmt.Sprint(b), box
		}
	}
	if err == nil {
		q.Filter, err = cql2.Check(e, c)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return text, q
}

// box is a box of any size, which may lie partly outside of the parcels.
func (g parcelQueries) box() (b orb.Bound) {
	all := g.p.Box()
	for side := range 2 {
		size := all[side+2] - all[side]
		b.Min[side] = all[side] + size*(1.1*g.Float64()-0.1)
		b.Max[side] = b.Min[side] + size*g.Float64()*g.Float64()*g.Float64()
	}
	return b
}

func (g parcelQueries) filter(depth int) string {
	pick := func(list ...string) string { return list[g.IntN(len(list))] }
	if depth > 0 && g.IntN(3) == 0 {
		return "(" + g.filter(depth-1) + pick(" AND ", " AND ", " OR ") + g.filter(depth-1) + ")"
	}
	op := pick(" = ", " < ", " <= ", " > ", " >= ")
	n := g.IntN(g.p.N + 10)
	switch g.IntN(10) {
	case 0:
		return fmt.Sprint("nummer", op, n)
	case 1:
		return fmt.Sprintf("nummer BETWEEN %d AND %d", n, n+g.IntN(1+g.IntN(g.p.N)))
	case 2:
		return fmt.Sprintf("nummer IN (%d, %d, %d)", n, g.IntN(g.p.N), -1)
	case 3:
		return fmt.Sprintf("navn = 'Gard %d/%d'", g.IntN(2000), n)
	case 4:
		return fmt.Sprintf("navn LIKE 'Gard %d%%'", g.IntN(3000))
	case 5:
		return fmt.Sprintf("navn LIKE '%%%d%s'", g.IntN(1000), pick("%", "/%", ""))
	case 6:
		return fmt.Sprint("areal", op, 8000+g.IntN(400_000)/100)
	case 7:
		return fmt.Sprintf("dato%sDATE('%d-%02d-01')", op, 1950+g.IntN(75), 1+g.IntN(12))
	case 8:
		return "art = '" + pick("bolig", "skog", "veg", "hav") + "'"
	}
	return pick("NOT ", "") + "CASEI(navn) LIKE CASEI('" + pick("%GARD 1%/2%", "gard 7%", "%zq%", "%9_9%") + "')"
}
