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

// CollectionID turns the name of a layer into an id that is safe in a URL: lower case, æ, ø, å as ae, o, a,
// letters with accents without them, letters and figures of other scripts by their number in Unicode, _u65e5,
// and other runs as one underscore.
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

// bookkeeping are tables without geometry that programs keep for themselves, in lower case: QGIS, GDAL, osm2pgsql,
// and what migrates databases.
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

// IsBookkeeping reports whether a table without geometry is one that a program keeps for itself.
// It is served only if the settings name it. schema is "" in files.
func IsBookkeeping(schema, table string) bool {
	name := strings.ToLower(table)
	return bookkeeping[name] || bookkeeping[strings.ToLower(schema)+"."+name]
}

// Unique returns id, or id with _2, _3 ... when it is taken.
func Unique(id string, taken func(string) bool) string {
	for n, next := 2, id; ; n++ {
		if !taken(next) {
			return next
		}
		next = id + "_" + strconv.Itoa(n)
	}
}

// LikelyTitle is the property that by its name holds the names of the features: one that is called so,
// or whose name says so of the collection, as kommunenavn does in n1000_kommune, or alone says so of anything.
// "" when there is none, or several might be meant.
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
		if name == "fulltekst" { // the name in full, beside its pieces
			several = other != ""
			other = p.Name
		}
		for _, end := range []string{"navn", "namn", "name", "_nom", "nombre"} {
			stem, ok := strings.CutSuffix(name, end)
			if stem = strings.Trim(stem, "_ -"); !ok || stem == "" || best < len(likelyTitles) {
				continue
			}
			if strings.Contains(strings.ToLower(c.ID+" "+c.Table), strings.TrimSuffix(stem, "s")) {
				// fylkesnavn in fylke
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

// likelyTitles are the names of properties that hold names, the likeliest first.
var likelyTitles = []string{"navn", "namn", "name", "nom", "nombre", "nome", "naam", "title", "tittel"}
