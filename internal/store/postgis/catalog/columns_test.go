package catalog_test

import (
	"testing"

	"grense/internal/cql2"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/sqlq"
)

func TestColumnsAreServedByTheirTypes(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		base, category string
		want           cql2.Type
		normal         string
		stored         sqlq.Stored
	}{
		{"int2", "N", cql2.TypeInteger, "", sqlq.StoredOther},
		{"float4", "N", cql2.TypeNumber, sqlq.PostgresSingle, sqlq.StoredOther},
		{"numeric", "N", cql2.TypeNumber, sqlq.PostgresNumeric, sqlq.StoredOther},
		{"bool", "B", cql2.TypeBool, "", sqlq.StoredOther},
		{"date", "D", cql2.TypeDate, sqlq.PostgresDay, sqlq.StoredOther},
		{"timestamp", "D", cql2.TypeTimestamp, sqlq.PostgresStamp, sqlq.StoredOther},
		{"jsonb", "U", cql2.TypeJSON, "", sqlq.StoredOther},
		{"_text", "A", cql2.TypeJSON, catalog.ArrayColumn, sqlq.StoredOther},
		{"uuid", "U", cql2.TypeText, sqlq.PostgresText, sqlq.StoredUUID},
		{"farge", "E", cql2.TypeText, sqlq.PostgresText, sqlq.StoredEnum},
		{"bpchar", "S", cql2.TypeText, sqlq.PostgresText, sqlq.StoredPadded},
		{"citext", "S", cql2.TypeText, sqlq.PostgresText, sqlq.StoredRoughly},
	} {
		c := catalog.Column{Name: "x", Base: x.base, Category: x.category}
		typ, ok := c.Type()
		if f := c.Field(typ); !ok || typ != x.want || f.Normal != x.normal || f.Stored != x.stored || !f.Nulls {
			t.Errorf("%s: type %v %v, %+v", x.base, typ, ok, f)
		}
	}
	for _, base := range []string{"bytea", "raster", "xml"} {
		if typ, ok := (catalog.Column{Base: base, Category: "U"}).Type(); ok {
			t.Errorf("%s is served as %v", base, typ)
		}
	}
}

func TestNamesOfTables(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ schema, name, layer, quoted string }{
		{"public", "sted", "sted", `"public"."sted"`},
		{catalog.OwnSchema, "sted", "sted", `"grense"."sted"`},
		{"kart", `a "b"`, `kart.a "b"`, `"kart"."a ""b"""`},
	} {
		table := catalog.Table{Schema: x.schema, Name: x.name}
		if table.Layer() != x.layer || table.Quoted() != x.quoted {
			t.Errorf("%s, %s", table.Layer(), table.Quoted())
		}
	}
}
