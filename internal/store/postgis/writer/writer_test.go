package writer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

func collection(id, table string) *store.Collection {
	return &store.Collection{ID: id, Table: table, Public: true,
		Key:        store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
		Geometry:   &store.Geom{Name: "geometry", Column: "geom", CRS: crs.UTM33},
		Properties: []store.Property{{Name: "navn", Column: "navn", Type: cql2.TypeText}}}
}

// fill writes one feature with a name.
func fill(t *testing.T, w store.Writer, c *store.Collection, replace bool, name string) {
	t.Helper()
	if err := w.Define(context.Background(), c, replace); err != nil {
		t.Fatal(err)
	}
	insert, err := w.Insert(context.Background(), c.Table, []string{"id", "navn", "geom"})
	if err != nil {
		t.Fatal(err)
	}
	if err := insert(int64(1), name, store.Geometry{WKB: wkb.MustMarshal(orb.Point{250000, 6700000})}); err != nil {
		t.Fatal(err)
	}
}

func TestImportIsAllOrNothing(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	create(t, url, func(w store.Writer) { fill(t, w, collection("a", "tabell"), false, "før") })
	s := openStore(t, url, postgis.Options{})
	w, err := writer.Create(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, w, collection("a", "tabell"), true, "etter")
	if got := nameOf(t, s); got != "før" {
		t.Errorf("before Commit readers see %v", got)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if got := nameOf(t, s); got != "før" {
		t.Errorf("after Close without Commit: %v", got)
	}
	role, asRole := storetest.Role(t, url, "")
	run(t, url, "GRANT USAGE ON SCHEMA grense TO "+role+"; GRANT SELECT ON grense.tabell, grense.collection TO "+role)
	create(t, url, func(w store.Writer) { fill(t, w, collection("a", "tabell"), true, "etter") })
	eventually(t, "the new rows", func() bool {
		return s.Ready(context.Background()) == nil && nameOf(t, s) == "etter"
	})
	reader := openStore(t, asRole, postgis.Options{})
	if got := nameOf(t, reader); got != "etter" {
		t.Errorf("a role that could read the table before: %v", got)
	}
	w, err = writer.Create(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Define(context.Background(), collection("a", "annen"), false); !errors.Is(err, store.ErrExists) {
		t.Errorf("a collection that exists: %v", err)
	}
}

func TestImportMakesIndexesAndStatistics(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	c := collection("a", "tabell")
	c.Properties = append(c.Properties, store.Property{Name: "dag", Column: "dag", Type: cql2.TypeDate})
	c.Instant = "dag"
	create(t, url, func(w store.Writer) { fill(t, w, c, false, "x") })
	db, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	for what, sql := range map[string]string{
		"a primary key": "SELECT EXISTS (SELECT 1 FROM pg_index WHERE indrelid = 'grense.tabell'::regclass AND " +
			"indisprimary)",
		"a spatial index": "SELECT EXISTS (SELECT 1 FROM pg_indexes WHERE schemaname = 'grense' AND tablename = " +
			"'tabell' AND indexdef LIKE '%USING gist (geom)')",
		"an index of moments": "SELECT EXISTS (SELECT 1 FROM pg_indexes WHERE schemaname = 'grense' AND tablename = " +
			"'tabell' AND indexdef LIKE '%USING btree (dag)')",
		"statistics": "SELECT reltuples = 1 AND EXISTS (SELECT 1 FROM pg_stats WHERE schemaname = 'grense' " +
			"AND tablename = 'tabell') FROM pg_class WHERE oid = 'grense.tabell'::regclass",
	} {
		var there bool
		if err := db.QueryRow(context.Background(), sql).Scan(&there); err != nil || !there {
			t.Errorf("the import left no %s (%v)", what, err)
		}
	}
}

func TestImportTouchesNoTableOfTheUser(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	run(t, url, "CREATE TABLE sted (id INT PRIMARY KEY); INSERT INTO sted VALUES (1), (2), (3)")
	create(t, url, func(w store.Writer) { fill(t, w, collection("sted", "lag_sted"), false, "vår") })
	s := openStore(t, url, postgis.Options{})
	for id, want := range map[string]int{"sted": 3, "grense_sted": 1} {
		if p, err := s.Page(t.Context(), store.Query{Collection: id, Limit: 9}); err != nil || p.Matched != want {
			t.Errorf("%s: %+v, %v; want %d matches", id, p, err, want)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	w, err := writer.Create(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fill(t, w, collection("a", "tabell"), false, "x")
	insert, err := w.Insert(context.Background(), "tabell", []string{"id", "navn", "geom"})
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string][]any{
		"too few": {int64(2)}, "no text": {int64(2), "a\x00", nil}, "no geometry": {int64(2), "a",
			store.Geometry{WKB: []byte{1, 2, 3}}}, "no type": {int64(2), struct{}{}, nil},
	} {
		if err := insert(row...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, name := range []string{"migration", "collection", "api_key"} {
		if err := w.Define(context.Background(), collection("b", name), true); err == nil {
			t.Errorf("the table %q, which is ours: no error", name)
		}
	}
	if _, err := w.Insert(context.Background(), "tabell", []string{"finnes_ikke"}); err == nil {
		t.Error("a column that is not there")
	}
	if _, err := w.Insert(context.Background(), "finnes_ikke", []string{"id"}); err == nil {
		t.Error("a table that is not there")
	}
}
