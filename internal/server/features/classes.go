package features

import (
	"strings"

	"grense/internal/store"
	"grense/openapi"
)

func featuresSchema(coll *store.Collection) string { return openapi.SchemaOf(coll.ID, false) }

func fileSchema(coll *store.Collection) string { return openapi.FileOf(coll.ID) }

func featureSchema(coll *store.Collection) string { return openapi.SchemaOf(coll.ID, true) }

// cql2Classes are the classes of OGC 21-065r2 that filters have.
func cql2Classes() []string {
	var out []string
	for c := range strings.FieldsSeq("basic-cql2 cql2-text cql2-json advanced-comparison-operators " +
		"case-insensitive-comparison accent-insensitive-comparison basic-spatial-functions " +
		"basic-spatial-functions-plus spatial-functions temporal-functions property-property functions arithmetic " +
		"array-functions") {
		out = append(out, cql2Base+c)
	}
	return out
}
