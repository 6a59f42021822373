package register

import (
	"context"
	"fmt"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// StorageCRS is the system of the stored positions; they are whole centimetres.
const StorageCRS = crs.UTM33

// Collections returns the record kinds of the register and the codes. sted and stedsnavn are public, the others are
// for the searches; a service may show those with a title as well. Each call returns new ones; the caller owns them.
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

// field is a property under construction.
type field store.Property

func prop(t cql2.Type, name string) field { return field{Name: name, Column: name, Type: t} }
func text(name string) field              { return prop(cql2.TypeText, name) }
func integer(name string) field           { return prop(cql2.TypeInteger, name) }
func boolean(name string) field           { return prop(cql2.TypeBool, name) }
func date(name string) field              { return prop(cql2.TypeDate, name) }
func timestamp(name string) field         { return prop(cql2.TypeTimestamp, name) }
func jsonText(name string) field          { return prop(cql2.TypeJSON, name) }

// titled names the property in three languages.
func (f field) titled(nb, nn, en string) field {
	f.Title = store.Text{"nb": nb, "nn": nn, "en": en}
	return f
}

// code says that the values are codes of a list.
func (f field) code(list string) field {
	f.CodeList = "/codelists/" + list
	return f
}

// folded says which search columns there are: all of exact, norm, rev and gram that are not "".
func (f field) folded(s store.Search) field {
	f.Search = s
	return f
}

// norm says that the column NAME_norm holds the folded text.
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

// hidden returns properties for our own searches.
func hidden(fs ...field) []store.Property {
	out := properties(fs...)
	for i := range out {
		out[i].Hidden = true
	}
	return out
}

// internal makes a collection for the searches only.
func internal(table string, fs ...field) *store.Collection {
	return &store.Collection{
		ID:         table,
		Table:      table,
		Key:        store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
		Properties: properties(fs...),
	}
}

// langnavn is the text of a spelling with its search columns.
func langnavn() field {
	return text(
		"langnavn",
	).folded(store.Search{Exact: "eksakt", Norm: "norm", Rev: "rev", Gram: "skrivemaate_fts",
		Texts: "skrivemaate_tekst"})
}

// relation makes a relation to rows of table whose column owner refers to the column key of the owner's table; key ""
// is its id.
func relation(name, table, owner, key string, fs []store.Property, nested ...store.Relation) store.Relation {
	return store.Relation{Name: name, Table: table, Owner: owner, Key: key, Columns: fs, Relations: nested}
}

// kommuner relates places, by their rang, or what has the id of its place in key, to their municipalities.
func kommuner(key string) store.Relation {
	owner := "sted_id"
	if key == "rang" {
		owner = key
	}
	return relation("kommuner", "sted_kommune", owner, key,
		properties(text("kommunenummer"), text("navneobjekttype"), integer("rang")))
}

// skrivemaater relates to spellings. Those of a place or a name stand in its order.
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

// historikk relates to the values that were in force before.
func historikk(of string) store.Relation {
	return relation("historikk", of+"_historikk", of+"_id", "", properties(text("art"), date("fra_dato"), text("kode")))
}

func merknader(table, owner string) store.Relation {
	return relation("merknader", table, owner, "",
		properties(text("merknadstype"), text("tekst").norm(), boolean("fellesarkiv")))
}

// matrikkelreferanser relates places to the cadastral units that they are referred to.
func matrikkelreferanser(key string) store.Relation {
	return relation("matrikkelreferanser", "matrikkel_sted", "sted_id", key, properties(enhet()...))
}

// enhet are the columns of a cadastral unit; 0 where the unit has no such number.
func enhet() []field {
	return []field{
		text(
			"kommunenummer",
		), integer("gaardsnummer"), integer("bruksnummer"), integer("festenummer"), integer("seksjonsnummer"),
		text("tilleggsopplysning").norm(),
	}
}

func geometry() *store.Geom { return &store.Geom{Name: "geometry", Column: "geom", CRS: StorageCRS} }

// Define makes the collections of a register in w, in place of those that there are when replace is set.
func Define(ctx context.Context, w store.Writer, replace bool) error {
	for _, c := range Collections() {
		if err := w.Define(ctx, c, replace); err != nil {
			return fmt.Errorf("register: collection %s: %w", c.ID, err)
		}
	}
	return nil
}
