package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"grense/internal/cql2"
)

// CollectionID converts the name of a layer to an id that is safe in a URL: in lower case, without accents, with ae, o
// and a for æ, ø and å. Letters and digits of other scripts become their code point in hexadecimal, such as _u65e5; any
// other run of characters becomes one underscore.
func CollectionID(name string) string {
	var b strings.Builder
	run := false
	for _, r := range norm.NFC.String(strings.ToLower(name)) {
		s := string(r)
		switch base := norm.NFD.String(s); {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
		case r == 'æ':
			s = "ae"
		case r == 'ø':
			s = "o"
		case r == 'å':
			s = "a"
		case len(base) > 1 && base[0] >= 'a' && base[0] <= 'z':
			s = base[:1]
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			s = fmt.Sprintf("_u%04x", r)
		default:
			if !run {
				b.WriteByte('_')
			}
			run = true
			continue
		}
		run = false
		b.WriteString(s)
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// bookkeeping lists tables without geometry that programs use internally, in lower case: QGIS, GDAL, osm2pgsql,
// and tools that migrate databases.
var bookkeeping = map[string]bool{
	"layer_styles": true, "qgis_projects": true, "qgis_layer_metadata": true,
	"ogr_system_tables.metadata": true, "ogr_system_tables.event_trigger_metadata": true, "ogr_empty_table": true,
	"osm2pgsql_properties": true,
	"schema_migrations":    true, "ar_internal_metadata": true, "flyway_schema_history": true, "schema_version": true,
	"alembic_version":   true,
	"databasechangelog": true, "databasechangeloglock": true, "django_migrations": true, "knex_migrations": true,
	"knex_migrations_lock":  true,
	"__efmigrationshistory": true, "goose_db_version": true, "_prisma_migrations": true, "_sqlx_migrations": true,
	"gorp_migrations": true,
}

// IsBookkeeping reports whether a table without geometry belongs to a program such as QGIS and holds no data. It is
// served only if the configuration names it. schema is "" in files.
func IsBookkeeping(schema, table string) bool {
	name := strings.ToLower(table)
	return bookkeeping[name] || bookkeeping[strings.ToLower(schema)+"."+name]
}

// Unique returns id, or id with _2, _3 and so on if it is taken.
func Unique(id string, taken func(string) bool) string {
	for n, next := 2, id; ; n++ {
		if !taken(next) {
			return next
		}
		next = id + "_" + strconv.Itoa(n)
	}
}

// LikelyTitle guesses the property with the names of features: one with a usual name such as navn, else one named after
// the collection, such as kommunenavn in n1000_kommune, else the only one that ends in such a word. It returns "" if
// there is none, or if several end so.
func (c *Collection) LikelyTitle() string {
	of, other := "", ""
	several := false
	best := len(likelyTitles)
	for _, p := range c.Properties {
		if p.Hidden || p.Type != cql2.TypeText {
			continue
		}
		name := strings.ToLower(p.Name)
		if i := slices.Index(likelyTitles, name); i >= 0 && i < best {
			best, of = i, p.Name
		}
		if name == "fulltekst" { // of a place name: the whole name; other properties have its parts
			several = other != ""
			other = p.Name
		}
		for _, end := range []string{"navn", "namn", "name", "_nom", "nombre"} {
			stem, ok := strings.CutSuffix(name, end)
			if stem = strings.Trim(stem, "_ -"); !ok || stem == "" || best < len(likelyTitles) {
				continue
			}
			if strings.Contains(strings.ToLower(c.ID+" "+c.Table), strings.TrimSuffix(stem, "s")) {
				// such as fylkesnavn in fylke
				if of == "" {
					of = p.Name
				}
				continue
			}
			several = other != ""
			other = p.Name
		}
	}
	if of == "" && !several {
		return other
	}
	return of
}

// likelyTitles are usual names of properties with titles, the likeliest first.
var likelyTitles = []string{"navn", "namn", "name", "nom", "nombre", "nome", "naam", "title", "tittel"}
