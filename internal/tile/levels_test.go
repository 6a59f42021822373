package tile_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/clip"
	"github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/planar"

	"grense/internal/await"
	"grense/internal/cql2"
	"grense/internal/demo"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
	"grense/internal/tile"
)

var cluster storetest.Cluster

func TestMain(m *testing.M) {
	code := m.Run()
	cluster.Stop()
	os.Exit(code)
}

// checked reads a filter for a collection.
func checked(t testing.TB, st store.Store, collection, filter string) cql2.Expr {
	t.Helper()
	c, _ := st.Catalog().Collection(collection)
	e, err := cql2.ParseText(filter)
	if err == nil {
		e, err = cql2.Check(e, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func sideFiles(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "tiles", "*.levels"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSideFileServesAgainAndIsMadeAnewWhenDamaged(t *testing.T) {
	t.Parallel()
	st, dir := demoStore(t), t.TempDir()
	ask := tile.Ask{
		Set:    find(t, "utm33n"),
		Tile:   tile.Tile{Z: 2, Row: 1, Col: 1},
		Layers: []tile.Query{{Collection: "kommuner"}},
	}
	var first *tile.Made
	serve := func() {
		t.Helper()
		m := tile.NewMaker(tile.Options{Dir: dir})
		defer m.Close()
		ready(t, m, st, "utm33n", "kommuner")
		made, err := m.Tile(t.Context(), st, ask)
		if err != nil || !made.Keep || made.Rev != m.Rev(st, ask.Set, "kommuner") {
			t.Fatalf("%+v, %v", made, err)
		}
		if first == nil {
			first = made
		}
		if !bytes.Equal(made.Data, first.Data) || made.Rev != first.Rev {
			t.Error("the tile is another")
		}
	}
	serve()
	files := sideFiles(t, dir)
	if len(files) != 2 || !strings.Contains(files[1], "kommuner") {
		// that of fylker, which has the same borders, as well
		t.Fatal(files)
	}
	files = files[1:]
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(files[0])
	serve()
	if after, _ := os.Stat(files[0]); !os.SameFile(before, after) {
		t.Error("a good side file was made anew")
	}
	for name, b := range map[string][]byte{
		"cut": whole[:len(whole)/2], "empty": nil,
		"of another version": append([]byte("grense levels 0\n"), whole[16:]...),
		"a bit":              func() []byte { b := slices.Clone(whole); b[len(b)/3] ^= 4; return b }(),
	} {
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		serve()
		if now, _ := os.ReadFile(files[0]); !bytes.Equal(now, whole) {
			t.Errorf("%s: it was not made anew", name)
		}
	}
}

func TestLevelsFollowTheData(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	fill := func(n int) {
		t.Helper()
		storetest.Write(t, func(w store.Writer) {
			c := &store.Collection{
				ID:       "areas",
				Table:    "areas",
				Public:   true,
				Key:      store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
				Geometry: &store.Geom{Name: "geom", Column: "geom", CRS: crs.UTM33},
			}
			if err := w.Define(t.Context(), c, true); err != nil {
				t.Fatal(err)
			}
			insert, err := w.Insert(t.Context(), "areas", []string{"geom"})
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if err := insert(store.Geometry{WKB: wkb.Append(nil,
					orb.Polygon{square(float64(1000*i), 6_500_000, 1000, 1000)})}); err != nil {
					t.Fatal(err)
				}
			}
		})(gpkg.Create(t.Context(), path))
	}
	fill(2)
	st := open(t, path)
	m := tile.NewMaker(tile.Options{Dir: t.TempDir()})
	defer m.Close()
	ready(t, m, st, "utm33n", "areas")
	ask := tile.Ask{
		Set:    find(t, "utm33n"),
		Tile:   tile.Tile{Z: 8, Row: 117, Col: 115},
		Layers: []tile.Query{{Collection: "areas"}},
	}
	if l := decoded(t, m, st, ask); l == nil || len(l.Features) != 2 {
		t.Fatalf("%+v", l)
	}
	rev := m.Rev(st, ask.Set, "areas")
	fill(3)
	if err := st.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	made, err := m.Tile(t.Context(), st, ask) // at once, by the slow way or by the new levels
	if err != nil {
		t.Fatal(err)
	}
	if l, err := unlabelled(made.Data); err != nil || len(l[0].Features) != 3 {
		t.Errorf("%v, %v", l, err)
	}
	ready(t, m, st, "utm33n", "areas")
	if l := decoded(t, m, st, ask); len(l.Features) != 3 || m.Rev(st, ask.Set, "areas") == rev {
		t.Errorf("%d features", len(l.Features))
	}
}

func TestFilterOnLevelsHasTheSameBorders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	st := demoStore(t)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	ready(t, m, st, "WebMercatorQuad", "kommuner")
	ask := tile.Ask{
		Set:    find(t, "WebMercatorQuad"),
		Tile:   tile.Tile{Z: 4, Row: 4, Col: 8},
		Layers: []tile.Query{{Collection: "kommuner"}},
	}
	all := map[any]orb.Geometry{}
	for _, f := range decoded(t, m, st, ask).Features {
		all[f.Properties["id"]] = f.Geometry
	}
	ask.Layers[0].Filter = checked(t, st, "kommuner", "fylke_nr = '31'")
	some := decoded(t, m, st, ask)
	if len(some.Features) == 0 || len(some.Features) == len(all) {
		t.Fatalf("%d features of %d", len(some.Features), len(all))
	}
	for _, f := range some.Features {
		if f.Properties["fylke_nr"] != "31" || !orb.Equal(f.Geometry, all[f.Properties["id"]]) {
			t.Error(f.Properties)
		}
	}
}

func TestHintsHoldForAllFinerTiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	st := demoStore(t)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	set := find(t, "utm33n")
	r := ready(t, m, st, "utm33n", "fylker")
	seen := map[string]int{}
	for _, l := range []tile.Limits{r.Limits[2], r.Limits[5], r.Limits[8]} {
		for row := l.MinRow; row <= l.MaxRow; row += 1 + l.Z/2 {
			for col := l.MinCol; col <= l.MaxCol; col += 1 + l.Z/4 {
				made, err := m.Tile(t.Context(), st,
					tile.Ask{Set: set, Tile: tile.Tile{Z: l.Z, Row: row, Col: col},
						Layers: []tile.Query{{Collection: "fylker"}}})
				if err != nil {
					t.Fatal(err)
				}
				seen[made.Hint]++
				if made.Hint == "" {
					continue
				}
				for _, d := range [][2]int{{0, 0}, {3, 5}, {7, 7}} {
					at := tile.Tile{Z: l.Z + 3, Row: row*8 + d[0], Col: col*8 + d[1]}
					finer, err := m.Tile(t.Context(), st,
						tile.Ask{Set: set, Tile: at, Layers: []tile.Query{{Collection: "fylker"}}})
					if err != nil || finer.Hint != made.Hint || finer.Empty != (made.Hint == "empty") {
						t.Fatalf("%d/%d/%d is %s, %v is %q, %v", l.Z, row, col, made.Hint, at, finer.Hint, err)
					}
				}
			}
		}
	}
	if seen["empty"] == 0 || seen["full"] == 0 || seen[""] == 0 {
		t.Error(seen)
	}
}

// TestPointsAreThinnedByImportance: few in a tile, the important ones on all levels, and no cell with points that
// shows none.
func TestPointsAreThinnedByImportance(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	path := filepath.Join(t.TempDir(), "x.gpkg")
	const n, side = 20_000, 142
	storetest.Write(t, func(w store.Writer) {
		c := &store.Collection{
			ID:     "steder",
			Table:  "steder",
			Public: true,
			Key:    store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
			Geometry: &store.Geom{
				Name:   "geom",
				Column: "geom",
				CRS:    crs.UTM33,
			},
			Properties: []store.Property{{Name: "folketall", Column: "folketall", Type: cql2.TypeInteger}},
		}
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), "steder", []string{"folketall", "geom"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			p := orb.Point{float64(i%side) * 5000, 6_500_000 + float64(i/side)*5000}
			if err := insert(int64(i*7919%n), store.Geometry{WKB: wkb.Append(nil, p)}); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(t.Context(), path))
	st := open(t, path)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	r := ready(t, m, st, "utm33n", "steder")
	set := find(t, "utm33n")
	coarser := map[any]bool{}
	for _, l := range r.Limits[:5] {
		shown, most := map[any]bool{}, 0
		for row := l.MinRow; row <= l.MaxRow; row++ {
			for col := l.MinCol; col <= l.MaxCol; col++ {
				layer := decoded(t, m, st,
					tile.Ask{Set: set, Tile: tile.Tile{Z: l.Z, Row: row, Col: col},
						Layers: []tile.Query{{Collection: "steder"}}})
				if layer == nil {
					continue
				}
				most = max(most, len(layer.Features))
				last := 1e9
				for _, f := range layer.Features {
					shown[f.Properties["id"]] = true
					if v := f.Properties["folketall"].(float64); v > last {
						t.Fatalf("level %d: %v comes after %v", l.Z, v, last)
					} else {
						last = v
					}
				}
			}
		}
		if most > 1500 {
			t.Errorf("level %d: %d in a tile", l.Z, most)
		}
		for id := range coarser {
			if !shown[id] {
				t.Fatalf("level %d lacks %v of the level above", l.Z, id)
			}
		}
		if len(shown) <= len(coarser) && len(shown) < n {
			t.Errorf("level %d: %d points", l.Z, len(shown))
		}
		coarser = shown
	}
	if len(coarser) == 0 {
		t.Error("no points")
	}
}

// demoDatabase opens the demo in a database.
func demoDatabase(t testing.TB) (url string, st store.Store) {
	t.Helper()
	url = cluster.Database(t)
	storetest.Write(t, func(w store.Writer) {
		if err := demo.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	})(writer.Create(t.Context(), url))
	return url, storetest.Opened[*postgis.Store](t)(postgis.Open(t.Context(), url, postgis.Options{}))
}

func TestBothStoresGiveTheSameTiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	_, pg := demoDatabase(t)
	file := demoStore(t)
	m, n := tile.NewMaker(tile.Options{}), tile.NewMaker(tile.Options{})
	defer m.Close()
	defer n.Close()
	for _, set := range []string{"WebMercatorQuad", "utm33n"} {
		for _, collection := range []string{"kommuner", "fylker"} {
			r := ready(t, m, file, set, collection)
			ready(t, n, pg, set, collection)
			full := 0
			for col := range 64 {
				l := r.Limits[3]
				ask := tile.Ask{
					Set:    find(t, set),
					Tile:   tile.Tile{Z: l.Z, Row: col / 8, Col: col % 8},
					Layers: []tile.Query{{Collection: collection}},
				}
				a, err := m.Tile(t.Context(), file, ask)
				if err != nil {
					t.Fatal(err)
				}
				b, err := n.Tile(t.Context(), pg, ask)
				if err != nil || !bytes.Equal(a.Data, b.Data) {
					t.Errorf("%s of %s, %v: %d and %d bytes, %v", collection, set, ask.Tile, len(a.Data),
						len(b.Data), err)
				}
				if !a.Empty {
					full++
				}
			}
			if full == 0 {
				t.Errorf("%s of %s: no tile", collection, set)
			}
		}
	}
}

// copied writes a collection, all of its columns and rows, into a database.
func copied(t *testing.T, from store.Store, collection string) store.Store {
	t.Helper()
	c, _ := from.Catalog().Collection(collection)
	to := *c
	to.Table, to.Key = "copied", store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}
	to.Properties = nil
	columns, at := []string{"fid"}, []int{}
	for i, p := range c.Properties {
		if p.Column != c.Key.Column {
			to.Properties, columns, at = append(to.Properties, p), append(columns, p.Column), append(at, i)
		}
	}
	url := cluster.Database(t)
	storetest.Write(t, func(w store.Writer) {
		if err := w.Define(t.Context(), &to, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), to.Table, append(columns, c.Geometry.Column))
		if err != nil {
			t.Fatal(err)
		}
		page, err := from.Page(t.Context(), store.Query{Collection: collection, Limit: 100_000, Count: store.CountNone})
		if err == nil {
			err = from.Fetch(t.Context(), collection, page.Rows, store.Want{}, func(f *store.Feature) error {
				id, err := strconv.ParseInt(f.ID, 10, 64)
				if err != nil {
					return err
				}
				row := []any{id}
				for _, i := range at {
					row = append(row, f.Values[i])
				}
				return insert(append(row, f.Geometry)...)
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	})(writer.Create(t.Context(), url))
	return storetest.Opened[*postgis.Store](t)(postgis.Open(t.Context(), url, postgis.Options{}))
}

// TestSoakBothStoresGiveTheSameTiles: a file and a copy of it in a database make the same archive, byte by byte, and
// the same tiles in a grid of the country.
func TestSoakBothStoresGiveTheSameTiles(t *testing.T) {
	if sharedtest.Soak(t) == 0 {
		t.Skip("part of make soak")
	}
	for _, x := range []struct {
		name, collection, set string
		last                  int
		open                  func() store.Store
	}{
		{"N1000", "kommune", "utm33n", 12, func() store.Store {
			return open(t, sharedFile(t, "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"))
		}},
		{"France", "areas", "WorldCRS84Quad", 11, func() store.Store {
			return layer(t, "france/france-communes-2018.geojsonl.gz", "code")
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			file := x.open()
			var archives [][]byte
			var tiles [][]*tile.Made
			for _, st := range []store.Store{file, copied(t, file, x.collection)} {
				m := tile.NewMaker(tile.Options{Dir: t.TempDir()})
				defer m.Close()
				archives = append(
					archives,
					exported(t, m, st,
						tile.Export{Path: filepath.Join(t.TempDir(), "x.pmtiles"), Collections: []string{x.collection},
							Last: x.last}),
				)
				tiles = append(tiles, allTo(t, m, st, x.set, x.collection, 7))
			}
			if len(archives[0]) < 1<<20 || !bytes.Equal(archives[0], archives[1]) {
				t.Errorf("archives of %d and %d bytes", len(archives[0]), len(archives[1]))
			}
			full := 0
			for i, made := range tiles[0] {
				if !made.Empty {
					full++
				}
				if i >= len(tiles[1]) || !bytes.Equal(made.Data, tiles[1][i].Data) {
					t.Fatalf("tile %d of %s differs", i, x.set)
				}
			}
			t.Logf("archives of %d bytes; %d tiles of %s", len(archives[0]), full, x.set)
			if full < 100 {
				t.Errorf("%d tiles hold something", full)
			}
		})
	}
}

// allTo makes all tiles of a collection in a set to a level.
func allTo(t *testing.T, m *tile.Maker, st store.Store, set, collection string, last int) (list []*tile.Made) {
	t.Helper()
	for _, l := range ready(t, m, st, set, collection).Limits {
		for row := l.MinRow; row <= l.MaxRow && l.Z <= last; row++ {
			for col := l.MinCol; col <= l.MaxCol; col++ {
				made, err := m.Tile(
					t.Context(),
					st,
					tile.Ask{
						Set:    find(t, set),
						Tile:   tile.Tile{Z: l.Z, Row: row, Col: col},
						Layers: []tile.Query{{Collection: collection}},
					},
				)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, made)
			}
		}
	}
	return list
}

// TestManyAsk: a request while levels are built gets an answer of one kind or the other.
func TestManyAskWhileLevelsAreMade(t *testing.T) {
	t.Parallel()
	st := demoStore(t)
	m := tile.NewMaker(tile.Options{Dir: t.TempDir()})
	errs := make(chan error)
	for i := range 8 {
		go func() {
			for k := range 10 {
				made, err := m.Tile(
					t.Context(),
					st,
					tile.Ask{
						Set:    find(t, "utm33n"),
						Tile:   tile.Tile{Z: 1, Row: 0, Col: i % 2},
						Layers: []tile.Query{{Collection: "fylker"}},
					},
				)
				if err == nil && made.Keep && made.Rev == "" {
					err = fmt.Errorf("%d: %+v", k, made)
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// small is a row of n squares of a kilometre, so many metres to the east.
func small(t testing.TB, n int, east float64) store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	storetest.Write(t, func(w store.Writer) {
		insert := define(t, w, &store.Geom{Name: "geom", Column: "geom", CRS: crs.UTM33}, "navn")
		for i := range n {
			if err := insert(fmt.Sprint(i),
				store.Geometry{WKB: wkb.Append(nil,
					orb.Polygon{square(east+float64(1000*i), 6_500_000, 1000, 1000)})}); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(t.Context(), path))
	return open(t, path)
}

// TestTilesBelowTheFirstLevelHaveMoreBelowThem: features that are too small for a tile do not make it empty all the
// way down.
func TestTilesBelowTheFirstLevelHaveMoreBelowThem(t *testing.T) {
	t.Parallel()
	st := small(t, 2, 0)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	r, set := ready(t, m, st, "utm33n", "areas"), find(t, "utm33n")
	if r.First == 0 {
		t.Fatalf("squares of a kilometre from level %d on", r.First)
	}
	estimate, err := m.Estimate(st, set, "areas")
	if err != nil || !estimate.Contains(tile.Tile{}) || r.Contains(tile.Tile{}) {
		t.Fatalf("%+v and before %+v, %v", r, estimate, err)
	}
	for filter, hint := range map[string]string{"": "", "navn = 'none'": "empty"} {
		q := tile.Query{Collection: "areas"}
		if filter != "" {
			q.Filter = checked(t, st, "areas", filter)
		}
		made, err := m.Tile(t.Context(), st, tile.Ask{Set: set, Layers: []tile.Query{q}})
		if err != nil || !made.Empty || made.Hint != hint {
			t.Errorf("%q: %+v, %v", filter, made, err)
		}
	}
}

func TestLayersThatAreNoCoverageAreSimplifiedAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	storetest.Write(t, func(w store.Writer) {
		insert := define(t, w, &store.Geom{Name: "geom", Column: "geom", CRS: crs.UTM33}, "navn")
		for i := range 60 { // bars that all cross each other
			at := float64(i) * 3000
			for _, r := range []orb.Ring{square(0, 6_500_000+at, 180_000, 1000), square(at, 6_500_000, 1000, 180_000)} {
				if err := insert(fmt.Sprint(i), store.Geometry{WKB: wkb.Append(nil, orb.Polygon{r})}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})(gpkg.Create(t.Context(), path))
	st := open(t, path)
	var log strings.Builder
	m := tile.NewMaker(tile.Options{Log: logger(&log)})
	r := ready(t, m, st, "utm33n", "areas")
	l := decoded(
		t,
		m,
		st,
		tile.Ask{
			Set:    find(t, "utm33n"),
			Tile:   tile.Tile{Z: r.First, Row: r.Limits[0].MinRow, Col: r.Limits[0].MinCol},
			Layers: []tile.Query{{Collection: "areas"}},
		},
	)
	if err := m.Close(); err != nil || l == nil || len(l.Features) < 60 {
		t.Errorf("%+v, %v", l, err)
	}
	if !strings.Contains(log.String(), "coverage=false") {
		t.Error(log.String())
	}
	for _, f := range l.Features {
		if p, ok := f.Geometry.(orb.Polygon); !ok || len(p[0]) != 5 {
			t.Errorf("%v", f.Geometry)
		}
	}
}

func logger(w *strings.Builder) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// gate is a log whose writer waits at each line until it is let go on.
type gate struct {
	at   chan struct{}
	open chan struct{}
}

func (g gate) Write(b []byte) (int, error) {
	select {
	case g.at <- struct{}{}:
		<-g.open
	case <-g.open:
	}
	return len(b), nil
}

// TestQueueOfLevelsIsBounded: what has no place in it is started by a later request.
func TestQueueOfLevelsIsBounded(t *testing.T) {
	t.Parallel()
	st := demoStore(t)
	g := gate{make(chan struct{}), make(chan struct{})}
	m := tile.NewMaker(tile.Options{Queue: 2, Log: slog.New(slog.NewTextHandler(g, nil))})
	defer m.Close()
	begin(t, m, st, "utm33n", "fylker")
	<-g.at // the first is being made, and stands still
	for _, set := range tile.All() {
		begin(t, m, st, set.ID, "kommuner")
	}
	busy := 0
	for _, p := range m.Progress() {
		if p.Busy {
			busy++
		}
	}
	if busy != 2 {
		t.Errorf("%d levels are made or wait for that", busy)
	}
	close(g.open)
	for _, set := range []string{"utm33n", "utm32n", "utm35n"} {
		ready(t, m, st, set, "kommuner")
	}
}

// TestLinesAreThinnedAlone: their ends stay, what is too short for a level is not on it, and coarser levels have
// fewer positions.
func TestLinesAreThinnedAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	w, err := gpkg.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	insert := define(t, w, &store.Geom{Name: "geom", Column: "geom", CRS: crs.UTM33}, "navn")
	var river orb.LineString // 400 km with bends of all sizes
	for i := range 4001 {
		x := float64(i) * 100
		river = append(river, orb.Point{x, 6_600_000 + 20_000*math.Sin(x/50_000) + 300*math.Sin(x/900)})
	}
	for name, g := range map[string]orb.Geometry{"elv": river, "bekk": orb.LineString{{1000, 6_650_000},
		{1900, 6_650_000}}, "to": orb.MultiLineString{{{5e4, 6.7e6}, {5e4, 6.8e6}}, {{6e4, 6.7e6}, {6e4, 6.8e6}}}} {
		if err := insert(name, store.Geometry{WKB: wkb.Append(nil, g)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := open(t, path)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	r, set := ready(t, m, st, "utm33n", "areas"), find(t, "utm33n")
	last, shown := math.MaxInt, map[string]int{} // level from which on each is there
	for z := r.Last; z >= r.First; z-- {
		positions, length := 0, 0.0
		for _, l := range r.Limits {
			for row := l.MinRow; l.Z == z && z <= 9 && row <= l.MaxRow; row++ {
				for col := l.MinCol; col <= l.MaxCol; col++ {
					layer := decoded(t, m, st,
						tile.Ask{Set: set, Tile: tile.Tile{Z: z, Row: row, Col: col},
							Layers: []tile.Query{{Collection: "areas"}}})
					if layer == nil {
						continue
					}
					for _, f := range layer.Features {
						name := f.Properties["navn"].(string)
						shown[name] = z
						if name != "elv" {
							continue
						}
						lines, ok := f.Geometry.(orb.MultiLineString)
						if line, one := f.Geometry.(orb.LineString); one {
							lines, ok = orb.MultiLineString{line}, true
						}
						if !ok {
							t.Fatalf("%T", f.Geometry)
						}
						for _, line := range lines {
							positions += len(line)
						}
						length += planar.Length(
							clip.MultiLineString(orb.Bound{Max: orb.Point{tile.Extent, tile.Extent}}, lines))
					}
				}
			}
		}
		if z > 9 {
			continue
		}
		b := set.Bound(tile.Tile{Z: z})
		if km := length * (b.Max[0] - b.Min[0]) / tile.Extent / 1000; km < 400 || km > 560 {
			t.Errorf("level %d has %.0f km of the river", z, km)
		}
		if positions >= last && z < 6 {
			t.Errorf("level %d has %d positions, the finer one %d", z, positions, last)
		}
		last = positions
	}
	if shown["elv"] != r.First || shown["to"] != r.First || shown["bekk"] <= r.First {
		t.Errorf("from level %d on: %v", r.First, shown)
	}
	made, err := m.Tile(
		t.Context(),
		st,
		tile.Ask{
			Set:    set,
			Tile:   tile.Tile{Z: r.First, Row: r.Limits[0].MinRow, Col: r.Limits[0].MinCol},
			Layers: []tile.Query{{Collection: "areas", Filter: checked(t, st, "areas", "navn = 'to'")}},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := unlabelled(made.Data); err != nil || len(l) != 1 || len(l[0].Features) != 1 {
		t.Errorf("%v, %v", l, err)
	}
}

// rowsOfDatabase opens the table grense.areas of a new database, with squares of a kilometre in a row, each with its
// number as id and name.
func rowsOfDatabase(t *testing.T, n int) (url string, st store.Store) {
	t.Helper()
	url = cluster.Database(t)
	storetest.Write(t, func(w store.Writer) {
		define(t, w, &store.Geom{Name: "geom", Column: "geom", CRS: crs.UTM33}, "navn")
		insert, err := w.Insert(t.Context(), "areas", []string{"fid", "navn", "geom"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := insert(int64(i), fmt.Sprint(i),
				store.Geometry{WKB: wkb.Append(nil,
					orb.Polygon{square(float64(1000*i), 6_500_000, 1000, 1000)})}); err != nil {
				t.Fatal(err)
			}
		}
	})(writer.Create(t.Context(), url))
	return url, storetest.Opened[*postgis.Store](t)(postgis.Open(t.Context(), url, postgis.Options{}))
}

// TestTilesOfRowsThatChangeAreOfOneState: what a filter chooses in a database is drawn as the filter saw it, never as
// it was when the levels were made, and has them rebuilt.
func TestTilesOfRowsThatChangeAreOfOneState(t *testing.T) {
	t.Parallel()
	url, st := rowsOfDatabase(t, 4)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	l := ready(t, m, st, "utm33n", "areas").Limits[3]
	outlines, err := m.Outlines(t.Context(), st, tile.Scale{Set: find(t, "utm33n"), Collection: "areas", Cell: 50})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		_, err = conn.Exec(t.Context(), `UPDATE grense.areas SET navn = 'ny' WHERE fid = 1;
			UPDATE grense.areas SET geom = ST_Translate(geom, 0, 1000) WHERE fid = 2;
			INSERT INTO grense.areas (fid, navn, geom) SELECT 9, '9', ST_Translate(geom, 0, 1000) FROM grense.areas WHERE fid = 0;
			DELETE FROM grense.areas WHERE fid = 3`)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	moved := func(f *store.Feature) error {
		b, err := outlines.Geometry(f)
		if err != nil {
			return err
		}
		g, err := wkb.Decode(b)
		if south := g.Bound().Min[1]; err != nil || math.Abs(south-6_501_000) > 1 {
			t.Errorf("a feature that was moved is simplified at %.0f, %v", south, err)
		}
		return nil
	}
	if page, err := st.Page(t.Context(), store.Query{Collection: "areas", Filter: checked(t, st, "areas", "navn = '2'"),
		Limit: 2}); err != nil ||
		len(page.Rows) != 1 {
		t.Error(page, err)
	} else if err := st.Fetch(t.Context(), "areas", page.Rows, store.Want{}, moved); err != nil {
		t.Error(err)
	}
	shown := func(filter string) (list []string) {
		q := tile.Query{Collection: "areas"}
		if filter != "" {
			q.Filter = checked(t, st, "areas", filter)
		}
		for row := l.MinRow - 1; row <= l.MaxRow; row++ {
			for col := l.MinCol; col <= l.MaxCol; col++ {
				made, err := m.Tile(t.Context(), st,
					tile.Ask{Set: find(t, "utm33n"), Tile: tile.Tile{Z: l.Z, Row: row, Col: col},
						Layers: []tile.Query{q}})
				if err != nil {
					t.Fatalf("%s: %v", filter, err)
				}
				layers, err := unlabelled(made.Data)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range featuresOf(layers) {
					list = append(list, fmt.Sprint(f.Properties["navn"]))
				}
			}
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	if got := shown(""); !slices.Equal(got, []string{"0", "2", "9", "ny"}) {
		t.Errorf("before the levels are made anew: %q", got)
	}
	for filter, want := range map[string][]string{"navn = 'ny'": {"ny"}, "navn = '1'": nil, "navn = '9'": {"9"},
		"navn = '3'": nil, "navn = '0'": {"0"}, "navn <> '0'": {"2", "9", "ny"}} {
		if got := shown(filter); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", filter, got, want)
		}
	}
	await.Success(t, "new levels", func() error {
		if got := shown(""); !slices.Equal(got, []string{"0", "2", "9", "ny"}) {
			return fmt.Errorf("the old ones show %q", got)
		}
		return nil
	})
}

// TestRowsOfADatabaseAreSeen: a row that somebody changes is in the tiles after Options.Check, and an archive from
// before is left aside.
func TestRowsOfADatabaseAreSeen(t *testing.T) {
	t.Parallel()
	url, st := rowsOfDatabase(t, 2)
	archive := filepath.Join(t.TempDir(), "x.mbtiles")
	m := tile.NewMaker(tile.Options{Check: time.Millisecond})
	defer m.Close()
	exported(t, m, st, tile.Export{Path: archive, Collections: []string{"areas"}, Last: 14})
	a, err := tile.OpenArchive(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	n := tile.NewMaker(tile.Options{Check: time.Millisecond, Archive: a})
	defer n.Close()
	set := find(t, "WebMercatorQuad")
	r := ready(t, m, st, "WebMercatorQuad", "areas")
	l := r.Limits[2]
	names := func(m *tile.Maker) (list []string) {
		for i := range (l.MaxRow - l.MinRow + 1) * (l.MaxCol - l.MinCol + 1) {
			at := tile.Tile{Z: l.Z, Row: l.MinRow + i/(l.MaxCol-l.MinCol+1), Col: l.MinCol + i%(l.MaxCol-l.MinCol+1)}
			made, err := m.Tile(t.Context(), st,
				tile.Ask{Set: set, Tile: at, Layers: []tile.Query{{Collection: "areas"}}})
			if err != nil {
				t.Fatal(err)
			}
			if layers, err := unlabelled(made.Data); err == nil && len(layers) == 1 {
				for _, f := range layers[0].Features {
					list = append(list, fmt.Sprint(f.Properties["navn"]))
				}
			}
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	if !slices.Equal(names(m), []string{"0", "1"}) || !slices.Equal(names(n), []string{"0", "1"}) ||
		len(n.Progress()) > 0 {
		t.Fatal(names(m), names(n), n.Progress())
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "UPDATE grense.areas SET navn = 'ny' WHERE navn = '1'"); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*tile.Maker{"levels": m, "archive": n} {
		await.Success(t, name, func() error {
			if got := names(m); !slices.Equal(got, []string{"0", "ny"}) {
				return fmt.Errorf("names %v", got)
			}
			return nil
		})
	}
}

// featuresOf are those of all layers.
func featuresOf(layers mvt.Layers) (list []*geojson.Feature) {
	for _, l := range layers {
		list = append(list, l.Features...)
	}
	return list
}
