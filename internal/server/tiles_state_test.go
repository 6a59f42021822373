package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"grense/internal/config"
)

// TestTilesOfTheDatasetAreOfOneState changes two tables in one transaction after another. No tile has one table as
// before a transaction and the other as after it.
func TestTilesOfTheDatasetAreOfOneState(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	for _, table := range []string{"a", "b"} {
		_, err := db.Exec(t.Context(), fmt.Sprintf(`CREATE TABLE %[1]s (id int PRIMARY KEY, tall text NOT NULL, geom geometry(Polygon, 25833) NOT NULL);
			INSERT INTO %[1]s SELECT i, 'nr 0', ST_MakeEnvelope(1000 * i, 6500000, 1000 * i + 1000, 6501000, 25833) FROM generate_series(0, 9) i; CREATE INDEX ON %[1]s USING gist (geom)`, table))
		if err != nil {
			t.Fatal(err)
		}
	}
	a := serveStore(t, openURL(t, url), func(c *config.Config) { c.Limits.Rate = 0 })
	ctx, stop := context.WithCancel(t.Context())
	var writes atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if _, err := db.Exec(context.Background(), fmt.Sprintf("BEGIN; UPDATE a SET tall = 'nr %[1]d'; UPDATE b "+
				"SET tall = 'nr %[1]d'; COMMIT", writes.Load()+1)); err != nil {
				t.Error(err)
				return
			}
			writes.Add(1)
		}
	}()
	for i := range 150 {
		query := []string{"", "?filter=tall+LIKE+'nr%25'", "?collections=b,a", "?properties=tall"}[i%4]
		r := a.get("/tiles/utm33n/8/117/115" + query).wants(200)
		var seen []string
		layers := mvtLayers(t, r.plain())
		layers = slices.DeleteFunc(layers, func(l mvtLayer) bool { return strings.HasSuffix(l.name, "_label") })
		for _, l := range layers {
			for _, v := range l.texts {
				if strings.HasPrefix(v, "nr ") {
					seen = append(seen, v)
				}
			}
		}
		if len(layers) != 2 || layers[0].features != 10 || layers[1].features != 10 || len(seen) != 2 ||
			seen[0] != seen[1] {
			t.Fatalf("%s after %d transactions: %d layers with %q", query, writes.Load(), len(layers), seen)
		}
	}
	stop()
	<-ended
	if writes.Load() < 20 {
		t.Errorf("only %d transactions", writes.Load())
	}
}
