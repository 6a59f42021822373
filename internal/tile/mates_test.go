package tile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt"

	"grense/internal/await"
	"grense/internal/problem"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
	"grense/internal/tile"
)

// inner are the vertices of a layer of a tile that lie within it, where nothing is cut.
func inner(layers mvt.Layers, name string) map[orb.Point]bool {
	out := map[orb.Point]bool{}
	for _, l := range layers {
		if l.Name != name {
			continue
		}
		for _, f := range l.Features {
			var polygons orb.MultiPolygon
			switch g := f.Geometry.(type) {
			case orb.Polygon:
				polygons = orb.MultiPolygon{g}
			case orb.MultiPolygon:
				polygons = g
			}
			for _, p := range polygons {
				for _, r := range p {
					for _, at := range r {
						if at[0] > 0 && at[0] < 4096 && at[1] > 0 && at[1] < 4096 {
							out[at] = true
						}
					}
				}
			}
		}
	}
	return out
}

// TestBordersOfLayersCoincideAtEveryZoom: whichever layer is requested first, by itself or with the other.
func TestBordersOfLayersCoincideAtEveryZoom(t *testing.T) {
	t.Parallel()
	st, set := demoStore(t), find(t, "WebMercatorQuad")
	for _, first := range []string{"fylker", "kommuner"} {
		m := tile.NewMaker(tile.Options{})
		defer m.Close()
		ready(t, m, st, set.ID, first)
		ready(t, m, st, set.ID, "fylker")
		r := ready(t, m, st, set.ID, "kommuner")
		for _, l := range r.Limits {
			if l.Z > 8 {
				break
			}
			counties, missing := 0, 0
			for row := l.MinRow; row <= l.MaxRow; row++ {
				for col := l.MinCol; col <= l.MaxCol; col++ {
					made, err := m.Tile(
						t.Context(),
						st,
						tile.Ask{
							Set:    set,
							Tile:   tile.Tile{Z: l.Z, Row: row, Col: col},
							Layers: []tile.Query{{Collection: "fylker"}, {Collection: "kommuner"}},
						},
					)
					if err != nil {
						t.Fatal(err)
					}
					layers, err := unlabelled(made.Data)
					if err != nil {
						t.Fatal(err)
					}
					fine := inner(layers, "kommuner")
					for at := range inner(layers, "fylker") {
						if counties++; !fine[at] {
							missing++
						}
					}
				}
			}
			if counties == 0 || missing > 0 {
				t.Errorf("%s first, level %d: %d of %d vertices of fylker are none of kommuner", first, l.Z,
					missing, counties)
			}
		}
	}
}

// stopped is a log that waits, once it has heard something, until it is let go on.
type stopped struct {
	slog.Handler
	at    string
	there chan struct{}
	goOn  chan struct{}
}

func (s stopped) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, s.at) {
		s.there <- struct{}{}
		<-s.goOn
	}
	return nil
}

// TestCoarseLevelsComeFirst: while the levels of a layer that is too large for tiles of its features are made, tiles
// of all levels are drawn from coarse ones.
func TestCoarseLevelsComeFirst(t *testing.T) {
	t.Parallel()
	st, set := demoStore(t), find(t, "WebMercatorQuad")
	log := stopped{
		Handler: slog.NewTextHandler(io.Discard, nil),
		at:      "tiles are drawn from coarse levels",
		there:   make(chan struct{}, 9),
		goOn:    make(chan struct{}),
	}
	for _, dir := range []string{"", t.TempDir()} {
		log.goOn = make(chan struct{})
		m := tile.NewMaker(tile.Options{Dir: dir, Coarse: 3000, Most: 5, Log: slog.New(log)})
		defer m.Close()
		ask := func(z, row, col int) tile.Ask {
			return tile.Ask{Set: set, Tile: tile.Tile{Z: z, Row: row, Col: col},
				Layers: []tile.Query{{Collection: "kommuner"}}}
		}
		var p *problem.Error
		if _, err := m.Tile(t.Context(), st, ask(0, 0, 0)); !errors.As(err, &p) || p.Kind != problem.Busy {
			t.Fatal("the tile is there at once", err)
		}
		<-log.there
		log.goOn <- struct{}{} // the first of two layers
		<-log.there
		if !m.Await(t.Context(), st, set, "kommuner") {
			t.Fatal("there are no coarse levels")
		}
		if r, err := m.Range(t.Context(), st, set, "kommuner"); err != nil || r.Settled {
			t.Errorf("the levels are taken for those that will be: %+v, %v", r, err)
		}
		for _, at := range []tile.Ask{ask(3, 2, 4), ask(5, 8, 16), ask(6, 18, 33), ask(9, 148, 271)} {
			made, err := m.Tile(t.Context(), st, at)
			if err != nil || made.Empty || made.Keep {
				t.Fatalf("%v: %+v, %v", at.Tile, made, err)
			}
			layers, err := unlabelled(made.Data)
			if err != nil || len(layers) != 1 || len(layers[0].Features) < 3 ||
				layers[0].Features[0].Properties["id"] == nil {
				t.Errorf("%v: %v, %v", at.Tile, layers, err)
			}
		}
		close(log.goOn)
		ready(t, m, st, set.ID, "kommuner")
		if made, err := m.Tile(t.Context(), st, ask(5, 8, 16)); err != nil || !made.Keep {
			t.Errorf("%+v, %v", made, err)
		}
	}
}

// tileNames are the names in a tile of level 8 of rowsOfDatabase.
func tileNames(t *testing.T, m *tile.Maker, st store.Store, collection, filter string) (names []string, keep bool) {
	t.Helper()
	q := tile.Query{Collection: collection}
	if filter != "" {
		q.Filter = checked(t, st, collection, filter)
	}
	made, err := m.Tile(t.Context(), st,
		tile.Ask{Set: find(t, "utm33n"), Tile: tile.Tile{Z: 8, Row: 117, Col: 115}, Layers: []tile.Query{q}})
	if err != nil {
		t.Fatal(err)
	}
	layers, err := unlabelled(made.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range featuresOf(layers) {
		names = append(names, fmt.Sprint(f.Properties["navn"]))
	}
	slices.Sort(names)
	return slices.Compact(names), made.Keep
}

// TestTilesFollowTheRowsOfADatabaseAtOnce: also of views and with row security, whose versions is unknown; their
// tiles may not be kept.
func TestTilesFollowTheRowsOfADatabaseAtOnce(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	role, as := storetest.Role(t, url, "")
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), strings.ReplaceAll(sql, "ROLLE", role)); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TABLE tabell (fid integer PRIMARY KEY, navn text, geom geometry(Polygon, 25833));
		CREATE INDEX ON tabell USING gist (geom);
		INSERT INTO tabell SELECT i, i, ST_MakeEnvelope(1000 * i, 6500000, 1000 * i + 1000, 6501000, 25833) FROM generate_series(0, 5) i;
		CREATE TABLE hemmelig AS SELECT * FROM tabell; ALTER TABLE hemmelig ADD PRIMARY KEY (fid);
		CREATE VIEW utsnitt AS SELECT * FROM tabell;
		GRANT USAGE ON SCHEMA public TO ROLLE; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ROLLE;
		ALTER TABLE hemmelig ENABLE ROW LEVEL SECURITY; CREATE POLICY synlig ON hemmelig USING (fid < 9)`)
	st := storetest.Opened[*postgis.Store](t)(postgis.Open(t.Context(), as, postgis.Options{}))
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	all := []string{"0", "1", "2", "3", "4", "5"}
	for _, id := range []string{"tabell", "utsnitt", "hemmelig"} {
		ready(t, m, st, "utm33n", id)
		for _, filter := range []string{"", "navn <> '9'"} {
			if names, keep := tileNames(t, m, st, id, filter); !slices.Equal(names, all) || keep != (id == "tabell") {
				t.Errorf("%s, %q: %q, kept: %v", id, filter, names, keep)
			}
		}
	}
	set := find(t, "utm33n")
	before := m.Rev(st, set, "tabell")
	exec(
		"DELETE FROM tabell WHERE fid = 5; UPDATE tabell SET navn = 'ny' WHERE fid = 4; INSERT INTO tabell VALUES " +
			"(7, 'til', ST_MakeEnvelope(5000, 6500000, 6000, 6501000, 25833)); " +
			"UPDATE tabell SET geom = ST_MakeEnvelope(9000000, 6500000, 9001000, 6501000, 25833) WHERE fid = 3; " +
			"DROP POLICY synlig ON hemmelig; CREATE POLICY smalere ON hemmelig USING (fid < 2)",
	)
	if m.Rev(st, set, "tabell") == before {
		t.Error("the rows have changed, and the name of their state has not")
	}
	for id, want := range map[string][]string{"tabell": {"0", "1", "2", "ny", "til"},
		"utsnitt": {"0", "1", "2", "ny", "til"}, "hemmelig": {"0", "1"}} {
		for _, filter := range []string{"", "navn <> '9'"} {
			if names, _ := tileNames(t, m, st, id, filter); !slices.Equal(names, want) {
				t.Errorf("%s, %q: %q, want %q", id, filter, names, want)
			}
		}
	}
	await.True(t, "the levels are made anew", func() bool {
		names, keep := tileNames(t, m, st, "tabell", "")
		return keep && slices.Equal(names, []string{"0", "1", "2", "ny", "til"})
	})
}
