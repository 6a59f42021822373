package register

import (
	"context"
	"fmt"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// StorageCRS is the CRS of the stored positions, which are rounded to whole centimetres.
const StorageCRS = crs.UTM33

// Collections returns the collections of the register, including the codes. sted and stedsnavn are public. The others
// serve the searches; a service may also publish those with a title. The caller owns the result.
func Collections() []*store.Collection {
	return []*store.Collection{
		sted(), stedsnavn(),
		named(
			skrivemaate(),
			[3]string{"Skrivemåter", "Skrivemåtar", "Spellings"},
			[3]string{
				"Skrivemåtene av navnene, med status.",
				"Skrivemåtane av namna, med status.",
				"The spellings of the names, with their status.",
			},
			"langnavn",
		),
		matrikkelSted(), matrikkelStedsnavn(), matrikkelSkrivemaate(),
		named(navnesak(), [3]string{"Navnesaker", "Namnesaker", "Name cases"},
			[3]string{"Saker om skrivemåten av navn.", "Saker om skrivemåten av namn.",
				"Cases about the spelling of names."},
			"beskrivelse"),
		named(vedtak(), [3]string{"Vedtak", "Vedtak", "Decisions"},
			[3]string{"Vedtak om skrivemåter.", "Vedtak om skrivemåtar.", "Decisions on spellings."}, "skrivemaater"),
		named(samlevedtak(), [3]string{"Samlevedtak", "Samlevedtak", "Combined decisions"},
			[3]string{"Vedtak om mange navn samtidig.", "Vedtak om mange namn samstundes.",
				"Decisions on many names at once."},
			"beskrivelse"),
		named(
			bok(),
			[3]string{"Bøker", "Bøker", "Books"},
			[3]string{
				"Bøker som dokumenterer skrivemåter.",
				"Bøker som dokumenterer skrivemåtar.",
				"Books that document spellings.",
			},
			"tittel",
		),
		named(
			kartprodukt(),
			[3]string{"Kartprodukter", "Kartprodukt", "Map products"},
			[3]string{
				"Kart som dokumenterer skrivemåter.",
				"Kart som dokumenterer skrivemåtar.",
				"Maps that document spellings.",
			},
			"kartblad",
		),
		kode(),
	}
}

// field is a property while it is being described.
type field store.Property

func prop(t cql2.Type, name string) field { return field{Name: name, Column: name, Type: t} }
func text(name string) field              { return prop(cql2.TypeText, name) }
func integer(name string) field           { return prop(cql2.TypeInteger, name) }
func boolean(name string) field           { return prop(cql2.TypeBool, name) }
func date(name string) field              { return prop(cql2.TypeDate, name) }
func timestamp(name string) field         { return prop(cql2.TypeTimestamp, name) }
func jsonText(name string) field          { return prop(cql2.TypeJSON, name) }

// titled sets the titles of the property in three languages.
func (f field) titled(nb, nn, en string) field {
	f.Title = store.Text{"nb": nb, "nn": nn, "en": en}
	return f
}

// code declares that the values are codes of a list.
func (f field) code(list string) field {
	f.CodeList = "/codelists/" + list
	return f
}

// folded declares which search columns the property has: those of exact, norm, rev and gram that are not "".
func (f field) folded(s store.Search) field {
	f.Search = s
	return f
}

// norm declares that the column NAME_norm holds the folded text.
func (f field) norm() field {
	f.Search.Norm = f.Column + "_norm"
	return f
}

func properties(fs ...field) []store.Property {
	out := make([]store.Property, len(fs))
	for i, f := range fs {
		out[i] = store.Property(f)
	}
	return out
}

// hidden returns properties that are not published.
func hidden(fs ...field) []store.Property {
	out := properties(fs...)
	for i := range out {
		out[i].Hidden = true
	}
	return out
}

// internal returns a collection that serves searches only.
func internal(table string, fs ...field) *store.Collection {
	return &store.Collection{
		ID:         table,
		Table:      table,
		Key:        store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
		Properties: properties(fs...),
	}
}

// langnavn returns the text of a spelling with its search columns.
func langnavn() field {
	return text(
		"langnavn",
	).folded(store.Search{Exact: "eksakt", Norm: "norm", Rev: "rev", Gram: "skrivemaate_fts",
		Texts: "skrivemaate_tekst"})
}

// relation returns a relation to the rows of table whose column owner equals the column key of the owning table. If key
// is "", it is the id of the owning row.
func relation(name, table, owner, key string, fs []store.Property, nested ...store.Relation) store.Relation {
	return store.Relation{Name: name, Table: table, Owner: owner, Key: key, Columns: fs, Relations: nested}
}

// kommuner returns the relation from places to their municipalities. key is "rang", or the column that holds the id of
// the place.
func kommuner(key string) store.Relation {
	owner := "sted_id"
	if key == "rang" {
		owner = key
	}
	return relation("kommuner", "sted_kommune", owner, key,
		properties(text("kommunenummer"), text("navneobjekttype"), integer("rang")))
}

// skrivemaater returns a relation to spellings. Those of a place or a name are in its order.
func skrivemaater(name, owner, key string) store.Relation {
	r := relation(name, "skrivemaate", owner, key, properties(
		langnavn(),
		integer("skrivemaatenummer"),
		text("skrivemaatestatus"),
		date("skrivemaatestatusdato"),
		boolean("prioritert"),
		text("spraak"),
		text("navnestatus"),
		text("navnesakstatus"),
	))
	if key == "" {
		r.Order = "rang"
	}
	return r
}

func tilleggsopplysninger(table, owner string) store.Relation {
	return relation("tilleggsopplysninger", table, owner, "",
		properties(text("tilleggsopplysningstype"), text("tekst").norm()))
}

// historikk returns a relation to the former values of a property.
func historikk(of string) store.Relation {
	return relation("historikk", of+"_historikk", of+"_id", "", properties(text("art"), date("fra_dato"), text("kode")))
}

func merknader(table, owner string) store.Relation {
	return relation("merknader", table, owner, "",
		properties(text("merknadstype"), text("tekst").norm(), boolean("fellesarkiv")))
}

// matrikkelreferanser returns the relation from places to their cadastral units.
func matrikkelreferanser(key string) store.Relation {
	return relation("matrikkelreferanser", "matrikkel_sted", "sted_id", key, properties(enhet()...))
}

// enhet returns the columns of a cadastral unit. A number that the unit does not have is 0.
func enhet() []field {
	return []field{
		text(
			"kommunenummer",
		), integer("gaardsnummer"), integer("bruksnummer"), integer("festenummer"), integer("seksjonsnummer"),
		text("tilleggsopplysning").norm(),
	}
}

func geometry() *store.Geom { return &store.Geom{Name: "geometry", Column: "geom", CRS: StorageCRS} }

// Define creates the collections of a register in w. If replace is set, existing ones are replaced.
func Define(ctx context.Context, w store.Writer, replace bool) error {
	for _, c := range Collections() {
		if err := w.Define(ctx, c, replace); err != nil {
			return fmt.Errorf("register: collection %s: %w", c.ID, err)
		}
	}
	return nil
}
