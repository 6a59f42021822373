package writer_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/writer"
)

// TestReplacedTablesKeepTheUsersIndexes: their names still say what they are.
func TestReplacedTablesKeepTheUsersIndexes(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	again := func(c *store.Collection) { create(t, url, func(w store.Writer) { fill(t, w, c, true, "x") }) }
	again(collection("a", "tabell"))
	const names = `SELECT relname::text FROM pg_class WHERE relnamespace = 'grense'::regnamespace AND relkind = 'i' AND oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'grense.tabell'::regclass)
		UNION ALL SELECT conname::text FROM pg_constraint WHERE conrelid = 'grense.tabell'::regclass AND contype = 'c' ORDER BY 1`
	ours := []string{"tabell_geom_check", "tabell_geom_idx", "tabell_pkey"}
	if got := lines(t, url, names); !slices.Equal(got, ours) {
		t.Fatalf("names %q, want %q", got, ours)
	}
	run(t, url, `CREATE INDEX brukerens ON grense.tabell (lower(navn)); ALTER TABLE grense.tabell ADD CONSTRAINT `+
		`bare_en UNIQUE (navn); CREATE INDEX av_ekstra ON grense.tabell (id) WHERE navn > 'a'`)
	for range 2 {
		again(collection("a", "tabell"))
		if got, want := lines(t, url, names),
			append([]string{"av_ekstra", "bare_en", "brukerens"}, ours...); !slices.Equal(got, want) {
			t.Fatalf("names %q, want %q", got, want)
		}
	}
	other := collection("a", "tabell")
	other.Properties[0].Column = "navn2"
	create(t, url, func(w store.Writer) {
		if err := w.Define(context.Background(), other, true); err != nil {
			t.Fatal(err)
		}
	})
	if got := lines(t, url, names); !slices.Equal(got, ours) {
		t.Errorf("without the column: names %q, want %q", got, ours)
	}
}

// TestReplacedTablesKeepWhatIsTiedToThem where their columns stay, and are refused where they do not.
func TestReplacedTablesKeepWhatIsTiedToThem(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	again := func(name string) {
		create(t, url, func(w store.Writer) { fill(t, w, collection("a", "tabell"), true, name) })
	}
	again("x")
	run(t, url,
		`CREATE VIEW brukerens AS SELECT navn FROM grense.tabell; CREATE FUNCTION stor() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.navn := upper(NEW.navn); RETURN NEW; END';
		CREATE TRIGGER stor BEFORE INSERT ON grense.tabell FOR EACH ROW EXECUTE FUNCTION stor()`)
	s := openStore(t, url, postgis.Options{})
	again("y")
	if got := lines(t, url, "SELECT navn FROM brukerens"); !slices.Equal(got, []string{"Y"}) {
		t.Errorf("the view shows %q", got)
	}
	if got := nameOf(t, s); got != "Y" {
		t.Errorf("served: %v", got)
	}
	w, err := writer.Create(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := collection("a", "tabell")
	c.Properties = append(c.Properties, store.Property{Name: "ny", Column: "ny", Type: cql2.TypeText})
	if err := w.Define(context.Background(), c, true); err == nil || !strings.Contains(err.Error(), "trigger") {
		t.Errorf("other columns: %v", err)
	}
}
