package tile_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/await"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
	"grense/internal/tile"
)

// written is a store into which somebody writes between two queries.
type written struct {
	store.Store
	asked func()
}

func (w written) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	w.asked()
	return w.Store.Page(ctx, q)
}

func (w written) Fetch(
	ctx context.Context,
	collection string,
	rows []store.Row,
	want store.Want,
	fn func(*store.Feature) error,
) error {
	w.asked()
	return w.Store.Fetch(ctx, collection, rows, want, fn)
}

func (w written) Snapshot(ctx context.Context) (store.Snapshot, error) {
	w.asked()
	snap, err := w.Store.Snapshot(ctx)
	return writtenSnapshot{snap, w.asked}, err
}

type writtenSnapshot struct {
	store.Snapshot
	asked func()
}

func (w writtenSnapshot) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	w.asked()
	return w.Snapshot.Page(ctx, q)
}

func (w writtenSnapshot) Fetch(
	ctx context.Context,
	collection string,
	rows []store.Row,
	want store.Want,
	fn func(*store.Feature) error,
) error {
	w.asked()
	return w.Snapshot.Fetch(ctx, collection, rows, want, fn)
}

func (w written) Version(ctx context.Context, collections ...string) (store.Version, error) {
	if w.Catalog().Live {
		w.asked()
	}
	return w.Store.Version(ctx, collections...)
}

// twoTables writes two collections, each of ten squares that bear the number 0.
func twoTables(t *testing.T, w store.Writer) {
	t.Helper()
	for _, id := range []string{"a", "b"} {
		c := &store.Collection{
			ID:         id,
			Table:      id,
			Public:     true,
			Key:        store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
			Geometry:   &store.Geom{Name: "geom", Column: "geom", CRS: crs.UTM33},
			Properties: []store.Property{{Name: "tall", Column: "tall", Type: cql2.TypeInteger}},
		}
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), id, []string{"fid", "tall", "geom"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if err := insert(int64(i), int64(0),
				store.Geometry{WKB: wkb.Append(nil,
					orb.Polygon{square(float64(1000*i), 6_500_000, 1000, 1000)})}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// changing is a store of two tables, whose numbers next makes one larger in one transaction.
type changing struct {
	st   store.Store
	next func()
	// is called before each query to the store, concurrently; nil: nothing is
	asked *atomic.Pointer[func()]
}

// before returns a function that calls the hook.
func before(asked *atomic.Pointer[func()]) func() {
	return func() {
		if f := asked.Load(); f != nil {
			(*f)()
		}
	}
}

func changingFile(t *testing.T) changing {
	path := filepath.Join(t.TempDir(), "x.gpkg")
	storetest.Write(t, func(w store.Writer) { twoTables(t, w) })(gpkg.Create(t.Context(), path))
	c := changing{asked: new(atomic.Pointer[func()])}
	c.st = written{open(t, path), before(c.asked)}
	c.next = func() {
		conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
		if err == nil {
			defer conn.Close()
			conn.SetBusyTimeout(10 * time.Second)
			// which the triggers of the index call
			for _, name := range []string{"ST_MinX", "ST_MaxX", "ST_MinY", "ST_MaxY", "ST_IsEmpty"} {
				f := func(sqlite.Context, []sqlite.Value) (sqlite.Value, error) { return sqlite.IntegerValue(0), nil }
				err = errors.Join(err,
					conn.CreateFunction(name, &sqlite.FunctionImpl{NArgs: 1, AllowIndirect: true, Scalar: f}))
			}
			// a script is one transaction
			err = errors.Join(err,
				sqlitex.ExecuteScript(conn, "UPDATE a SET tall = tall + 1; UPDATE b SET tall = tall + 1", nil))
		}
		if err != nil {
			t.Error(err)
		}
	}
	return c
}

func changingDatabase(t *testing.T) changing {
	url := cluster.Database(t)
	storetest.Write(t, func(w store.Writer) { twoTables(t, w) })(writer.Create(t.Context(), url))
	c := changing{asked: new(atomic.Pointer[func()])}
	st := storetest.Opened[*postgis.Store](t)(postgis.Open(t.Context(), url, postgis.Options{}))
	c.st = written{st, before(c.asked)}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	c.next = func() {
		if _, err := conn.Exec(context.Background(),
			"BEGIN; UPDATE grense.a SET tall = tall + 1; UPDATE grense.b SET tall = tall + 1; COMMIT"); err != nil {
			t.Error(err)
		}
	}
	return c
}

// numbersIn are the numbers in the layers of a tile, without repetition.
func numbersIn(t *testing.T, m *tile.Maker, st store.Store, a tile.Ask) (list []float64) {
	t.Helper()
	made, err := m.Tile(t.Context(), st, a)
	for n := 0; isChanged(err) && n < 5; n++ { // as the server retries
		made, err = m.Tile(t.Context(), st, a)
	}
	if err != nil {
		t.Fatal(err)
	}
	layers, err := unlabelled(made.Data)
	if err != nil || len(layers) != 2 || len(layers[0].Features) != 10 || len(layers[1].Features) != 10 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	for _, f := range featuresOf(layers) {
		list = append(list, f.Properties["tall"].(float64))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestLayersOfATileAreOfOneState: whatever is written between which queries, with levels of some layers or of all,
// and whichever of them a filter chooses from.
func TestLayersOfATileAreOfOneState(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]func(*testing.T) changing{"file": changingFile, "database": changingDatabase} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := made(t)
			set := find(t, "utm33n")
			for _, levels := range [][]string{nil, {"b"}, {"a", "b"}} {
				for _, filtered := range [][]string{nil, {"a"}, {"b"}, {"a", "b"}} {
					for n := range 7 {
						m := tile.NewMaker(tile.Options{})
						for _, id := range levels {
							ready(t, m, c.st, "utm33n", id)
							if n%2 == 1 { // between the levels of one and of the other
								c.next()
							}
						}
						ask := tile.Ask{Set: set, Tile: tile.Tile{Z: 8, Row: 117, Col: 115}}
						for _, id := range []string{"a", "b"} {
							q := tile.Query{Collection: id}
							if slices.Contains(filtered, id) {
								q.Filter = checked(t, c.st, id, "tall >= 0")
							}
							ask.Layers = append(ask.Layers, q)
						}
						var questions atomic.Int64
						write := func() {
							if questions.Add(1) == int64(n) {
								c.next()
							}
						}
						c.asked.Store(&write)
						got := numbersIn(t, m, c.st, ask)
						c.asked.Store(nil)
						if len(got) != 1 {
							t.Errorf("levels of %v, a filter on %v, written before question %d: numbers %v", levels,
								filtered, n, got)
						}
						if err := m.Close(); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		})
	}
}

// TestLayersOfATileBelowTheLevelsThatAreMadeAreOfOneState: where memory was too little for its level, a tile of a
// database comes from rows.
func TestLayersOfATileBelowTheLevelsThatAreMadeAreOfOneState(t *testing.T) {
	t.Parallel()
	c := changingDatabase(t)
	var log strings.Builder
	for n := range 9 {
		m := tile.NewMaker(tile.Options{Memory: 2000, Log: logger(&log)})
		ready(t, m, c.st, "utm33n", "a")
		ready(t, m, c.st, "utm33n", "b")
		var questions atomic.Int64
		write := func() {
			if questions.Add(1) == int64(n) {
				c.next()
			}
		}
		c.asked.Store(&write)
		got := numbersIn(
			t,
			m,
			c.st,
			tile.Ask{
				Set:    find(t, "utm33n"),
				Tile:   tile.Tile{Z: 8, Row: 117, Col: 115},
				Layers: []tile.Query{{Collection: "a"}, {Collection: "b"}},
			},
		)
		c.asked.Store(nil)
		if len(got) != 1 {
			t.Errorf("written before question %d: numbers %v", n, got)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(log.String(), "made_when_asked=1") {
		t.Error("all levels are made", log.String())
	}
}

// TestLevelsOfSeveralLayersFollowTogether: while rows of a database change again and again, and with them the levels,
// a tile never has one layer of the old version and another of the new.
func TestLevelsOfSeveralLayersFollowTogether(t *testing.T) {
	t.Parallel()
	c := changingDatabase(t)
	m := tile.NewMaker(tile.Options{Check: time.Millisecond})
	defer m.Close()
	ready(t, m, c.st, "utm33n", "a")
	ready(t, m, c.st, "utm33n", "b")
	ask := tile.Ask{
		Set:    find(t, "utm33n"),
		Tile:   tile.Tile{Z: 8, Row: 117, Col: 115},
		Layers: []tile.Query{{Collection: "a"}, {Collection: "b"}},
	}
	for i := range 20 {
		c.next()
		await.Success(t, "levels follow what is written", func() error {
			got := numbersIn(t, m, c.st, ask)
			if len(got) != 1 {
				t.Fatalf("numbers %v", got)
			}
			if got[0] != float64(i+1) {
				return fmt.Errorf("levels stay at %v, %d is written", got, i+1)
			}
			return nil
		})
	}
	await.True(t, "a tile of levels is cached", func() bool {
		made, err := m.Tile(t.Context(), c.st, ask)
		if err != nil {
			t.Fatal(err)
		}
		return made.Keep && made.Rev == m.Rev(c.st, ask.Set, "a", "b")
	})
}

func isChanged(err error) bool { return errors.Is(err, store.ErrChanged) }
