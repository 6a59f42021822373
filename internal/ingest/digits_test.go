package ingest_test

import (
	"math/big"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/format/input"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

const digitsNote = "numbers of more digits than a number can hold; they are stored as text"

func TestNumbersThatNoDoubleHoldsBecomeTextWithANote(t *testing.T) {
	t.Parallel()
	geoJSON := func(a, b string) string {
		return `{"type":"FeatureCollection","features":[{"type":"Feature","geometry":null,"properties":{"n":` + a +
			`}},{"type":"Feature","geometry":null,"properties":{"n":` + b + `}}]}`
	}
	for name, tt := range map[string]struct {
		file, text string
		want       [2]any
		noted      bool
	}{
		"integers beyond 64 bits": {"a.geojson", geoJSON("12345678901234567890123", "1"),
			[2]any{"12345678901234567890123", "1"}, true},
		"decimals": {"a.geojson", geoJSON("1234567890123456789.0123456789", "1.5"),
			[2]any{"1234567890123456789.0123456789", "1.5"}, true},
		"small decimals": {"a.geojson", geoJSON("0.1234567890123456789", "1.5"),
			[2]any{"0.1234567890123456789", "1.5"}, true},
		"a large integer and a decimal": {"a.geojson", geoJSON("9007199254740993", "1.5"), [2]any{"9007199254740993",
			"1.5"}, true},
		"an integer written as a number": {"a.geojson", geoJSON("9007199254740993.0", "1.5"),
			[2]any{"9007199254740993.0",
				"1.5"}, true},
		"beyond doubles": {"a.geojson", geoJSON("1e400", "1.5"), [2]any{"1e400", "1.5"}, true},
		"integers of 64 bits": {"a.geojson", geoJSON("9007199254740993", "1"), [2]any{int64(9007199254740993),
			int64(1)}, false},
		"doubles as programs print them": {"a.geojson", geoJSON("0.10000000000000001", "123.45600000000000307"),
			[2]any{0.1,
				123.456}, false},
		"large doubles": {"a.geojson", geoJSON("1e300", "18446744073709552000.0"), [2]any{1e300, 0x1p64},
			false},
		"CSV": {"a.csv", "lon,lat,n\n10,60,12345678901234567891.25\n10,60,1.5\n",
			[2]any{"12345678901234567891.25", "1.5"}, true},
	} {
		plan, got := ingesttest.ImportText(t, tt.file, tt.text, ingest.Target{Collection: "x"})
		if len(got) != 2 || got[0].Values["n"] != tt.want[0] || got[1].Values["n"] != tt.want[1] {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if _, noted := ingesttest.Find(plan.Report, input.Warning, digitsNote); noted != tt.noted {
			t.Errorf("%s: a note: %v, want %v", name, noted, tt.noted)
		}
	}
}

func TestDecimalsOfParquetKeepTheirDigits(t *testing.T) {
	t.Parallel()
	n, _ := new(big.Int).SetString("12345678901234567891234567890", 10)
	plan, got := ingesttest.ImportText(t, "a.parquet",
		ingesttest.ParquetOf(t, parquet.Decimal(10, 38, parquet.FixedLenByteArrayType(16)),
			n.FillBytes(make([]byte, 16)), true),
		ingest.Target{Collection: "x"})
	if len(got) != 1 || got[0].Values["k"] != "1234567890123456789.1234567890" {
		t.Errorf("%v", got)
	}
	if _, noted := ingesttest.Find(plan.Report, input.Warning, digitsNote); !noted {
		t.Error("no note")
	}
}

// TestNumbersOfStoresKeepTheirDigits: also those of keys.
func TestNumbersOfStoresKeepTheirDigits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "in.gpkg")
	storetest.Write(t, func(store.Writer) {})(gpkg.Create(t.Context(), path))
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(db, `CREATE TABLE x (fid INTEGER PRIMARY KEY, n NUMERIC, m NUMERIC);
		INSERT INTO x VALUES (1, 9007199254740993, 1.5), (2, 1.5, 9007199254740992); INSERT INTO gpkg_contents (table_name,
			data_type) VALUES ('x', 'attributes')`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	st := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()}))
	for _, target := range []ingest.Target{{Collection: "x"}, {Collection: "x", IDField: "n"}} {
		plan, err := ingest.Survey(t.Context(), ingest.StoreLayers("in", st), target, ingest.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		c, _ := ingesttest.Fill(t, plan).Catalog().Collection("x")
		if n, _ := c.Find("n"); n.Type != cql2.TypeText {
			t.Errorf("n is %v", n.Type)
		}
		if m, _ := c.Find("m"); m.Type != cql2.TypeNumber {
			t.Errorf("m is %v", m.Type)
		}
		got := map[string]bool{}
		for _, f := range ingesttest.Features(t, ingesttest.Fill(t, plan), "x") {
			got[f.Values["n"].(string)] = true
			if target.IDField != "" && f.ID != f.Values["n"] {
				t.Errorf("id %s of %v", f.ID, f.Values["n"])
			}
		}
		if !got["9007199254740993"] || !got["1.5"] {
			t.Errorf("%v", got)
		}
		if _, noted := ingesttest.Find(plan.Report, input.Warning, digitsNote); !noted {
			t.Error("no note")
		}
	}
}
