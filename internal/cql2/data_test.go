package cql2_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
)

// shared returns a path of the shared test data, and skips the test when it is absent.
func shared(t testing.TB, name string) string { return sharedtest.Path(t, "data", "cql2", name) }

// table is a feature table of the test data, all in memory. It is its own schema.
type table struct {
	names   []string
	types   map[string]cql2.Type
	records []cql2.Record
}

func (c *table) Property(name string) (cql2.Type, bool) { t, ok := c.types[name]; return t, ok }
func (c *table) Names() []string                        { return c.names }

// columns is a schema for small tests. A property whose name starts with '_' is hidden.
type columns map[string]cql2.Type

func (c columns) Property(name string) (cql2.Type, bool) { t, ok := c[name]; return t, ok }

func (c columns) Names() []string {
	var names []string
	for n := range c {
		if !strings.HasPrefix(n, "_") {
			names = append(names, n)
		}
	}
	return names
}

// record is a row of values; geometries are WKB in the CRS in.
type record struct {
	values map[string]any
	wkb    map[string][]byte
	in     crs.ID
	rows   map[string][]cql2.Record
}

func (r record) Value(name string) (any, error) {
	v, ok := r.values[name]
	if !ok {
		return nil, fmt.Errorf("no value %q", name)
	}
	return v, nil
}

func (r record) Geometry(name string) ([]byte, crs.ID, error) { return r.wkb[name], r.in, nil }

func (r record) Rows(relation string) ([]cql2.Record, error) { return r.rows[relation], nil }

// tables reads the three layers of the test data once.
var tables = sync.OnceValues(func() (map[string]*table, error) {
	conn, err := sqlite.OpenConn("file:"+tablesPath+"?immutable=1", sqlite.OpenReadOnly|sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	out := map[string]*table{}
	for _, name := range []string{"ne_110m_admin_0_countries", "ne_110m_populated_places_simple",
		"ne_110m_rivers_lake_centerlines"} {
		if out[name], err = readTable(conn, name); err != nil {
			return nil, err
		}
	}
	return out, nil
})

var tablesPath string

func openTables(t testing.TB) map[string]*table {
	t.Helper()
	path := shared(t, "ne110m4cql2.gpkg")
	tablesOnce.Do(func() { tablesPath = path })
	all, err := tables()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var tablesOnce sync.Once

func readTable(conn *sqlite.Conn, name string) (*table, error) {
	c := &table{types: map[string]cql2.Type{}}
	err := sqlitex.ExecuteTransient(conn, `PRAGMA table_info("`+name+`")`,
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			c.names = append(c.names, s.ColumnText(1))
			c.types[s.ColumnText(1)] = columnType(s.ColumnText(2))
			return nil
		}})
	if err != nil {
		return nil, err
	}
	return c, sqlitex.ExecuteTransient(conn, `SELECT * FROM "`+name+`"`,
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			r := record{values: map[string]any{}, wkb: map[string][]byte{}, in: crs.WGS84}
			for i, n := range c.names {
				if c.types[n] == cql2.TypeGeometry {
					b := make([]byte, s.ColumnLen(i))
					s.ColumnBytes(i, b)
					r.wkb[n] = stripHeader(b)
					continue
				}
				r.values[n] = columnValue(s, i)
			}
			c.records = append(c.records, r)
			return nil
		}})
}

func columnType(declared string) cql2.Type {
	declared, _, _ = strings.Cut(declared, "(")
	switch declared {
	case "INTEGER", "MEDIUMINT", "INT", "SMALLINT":
		return cql2.TypeInteger
	case "REAL", "DOUBLE", "FLOAT":
		return cql2.TypeNumber
	case "BOOLEAN":
		return cql2.TypeBool
	case "DATE":
		return cql2.TypeDate
	case "DATETIME":
		return cql2.TypeTimestamp
	case "TEXT":
		return cql2.TypeText
	}
	return cql2.TypeGeometry
}

func columnValue(s *sqlite.Stmt, i int) any {
	switch s.ColumnType(i) {
	case sqlite.TypeInteger:
		return s.ColumnInt64(i)
	case sqlite.TypeFloat:
		return s.ColumnFloat(i)
	case sqlite.TypeText:
		return s.ColumnText(i)
	}
	return nil
}

// stripHeader removes the header of a GeoPackage geometry (OGC 12-128r19, 2.1.3).
func stripHeader(b []byte) []byte {
	if len(b) < 8 {
		return nil
	}
	return b[8+[]int{0, 32, 48, 48, 64}[b[3]>>1&7]:]
}

// must parses and checks a filter.
func must(t testing.TB, filter string, s cql2.Schema) cql2.Expr {
	t.Helper()
	e, err := cql2.ParseText(filter)
	if err == nil {
		e, err = cql2.Check(e, s)
	}
	if err != nil {
		t.Fatalf("%s: %v", filter, err)
	}
	return e
}

// truths evaluates a filter over all records.
func truths(t testing.TB, e cql2.Expr, records []cql2.Record) []cql2.Truth {
	t.Helper()
	m := cql2.NewMatcher(e)
	out := make([]cql2.Truth, len(records))
	for i, r := range records {
		var err error
		if out[i], err = m.Eval(r); err != nil {
			t.Fatalf("%s: record %d: %v", cql2.FormatText(e), i, err)
		}
	}
	return out
}

func count(list []cql2.Truth) (n int) {
	for _, x := range list {
		if x == cql2.True {
			n++
		}
	}
	return n
}

// floats makes bytes of numbers, for WKB by hand.
func floats(order binary.AppendByteOrder, b []byte, v ...float64) []byte {
	for _, f := range v {
		b = order.AppendUint64(b, bits(f))
	}
	return b
}
