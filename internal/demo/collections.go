package demo

import (
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// Ids of the collections, and names of their tables.
const (
	FylkerID   = "fylker"
	KommunerID = "kommuner"
)

// Collections returns new descriptions of the demo's collections, without Count and Extent.
func Collections() []*store.Collection {
	return []*store.Collection{
		{
			ID: FylkerID, Table: FylkerID, Public: true,
			Title: store.Text{"nb": "Fylker", "nn": "Fylke", "en": "Counties"},
			Description: describe(
				"De 15 fylkene i Norge fra 1. januar 2024, med riktige numre og offisielle navn.",
				"Dei 15 fylka i Noreg frå 1. januar 2024, med rette nummer og offisielle namn.",
				"The 15 counties of Norway since 1 January 2024, with their real numbers and official names."),
			Keywords:      keywords("fylker", "counties"),
			Key:           store.FeatureKey{Column: "nr", Type: cql2.TypeText, Property: "nr"},
			Geometry:      geometry(),
			Properties:    []store.Property{fylkesnummer("nr"), navn()},
			TitleProperty: "navn",
		},
		{
			ID: KommunerID, Table: KommunerID, Public: true,
			Title: store.Text{"nb": "Kommuner", "nn": "Kommunar", "en": "Municipalities"},
			Description: describe(
				"De 357 kommunene i Norge fra 1. januar 2024, med riktige numre og arealer og offisielle navn.",
				"Dei 357 kommunane i Noreg frå 1. januar 2024, med rette nummer og areal og offisielle namn.",
				"The 357 municipalities of Norway since 1 January 2024, with their real numbers and areas and "+
					"official names."),
			Keywords:      keywords("kommuner", "municipalities"),
			Key:           store.FeatureKey{Column: "nr", Type: cql2.TypeText, Property: "nr"},
			Geometry:      geometry(),
			Properties:    []store.Property{kommunenummer(), navn(), ofFylke(), areal()},
			TitleProperty: "navn",
		},
	}
}

// describe adds to a description that the borders are schematic and how to publish the official ones.
func describe(nb, nn, en string) store.Text {
	note := store.SchematicBorders
	return store.Text{
		"nb": nb + " " + note["nb"] +
			" Grense har beregnet dem ut fra ett punkt i hver kommune, kommunens areal og et grovt omriss av landet." +
			" Slik publiserer du de offisielle grensene: last ned «Administrative enheter» fra Kartverket på " +
			"geonorge.no, lagre dem som" +
			" GeoPackage, og start «grense serve FIL.gpkg».",
		"nn": nn + " " + note["nn"] + " Grense har rekna dei ut frå eitt punkt i kvar kommune, arealet til kommunen " +
			"og eit grovt omriss av landet." +
			" Slik publiserer du dei offisielle grensene: last ned «Administrative enheter» frå Kartverket på " +
			"geonorge.no, lagre" +
			" dei som GeoPackage, og start «grense serve FIL.gpkg».",
		"en": en + " " + note["en"] +
			" Grense computes them from one point in each municipality, its area and a coarse outline of the country." +
			" To publish the official borders, download “Administrative enheter” of Kartverket from geonorge.no, " +
			"save them as a" +
			" GeoPackage, and start “grense serve FILE.gpkg”.",
	}
}

func keywords(nb, en string) []string {
	return []string{
		nb,
		en,
		"administrative enheter",
		"administrative units",
		"Norge",
		"Noreg",
		"Norway",
		"skjematisk",
		"schematic",
	}
}

func geometry() *store.Geom {
	return &store.Geom{Name: "geometry", Column: "geom", Type: "MultiPolygon", CRS: crs.UTM33}
}

func fylkesnummer(name string) store.Property {
	return store.Property{
		Name: name, Column: name, Type: cql2.TypeText, NotNull: true,
		Title: store.Text{"nb": "Fylkesnummer", "nn": "Fylkesnummer", "en": "County number"},
		Description: store.Text{
			"nb": "To siffer, også for nummer som begynner med null.",
			"nn": "To siffer, òg for nummer som byrjar med null.",
			"en": "Two digits, leading zero included.",
		},
	}
}

func kommunenummer() store.Property {
	return store.Property{
		Name: "nr", Column: "nr", Type: cql2.TypeText, NotNull: true,
		Title: store.Text{"nb": "Kommunenummer", "nn": "Kommunenummer", "en": "Municipality number"},
		Description: store.Text{
			"nb": "Fire siffer. De to første er fylkesnummeret.",
			"nn": "Fire siffer. Dei to første er fylkesnummeret.",
			"en": "Four digits. The first two are the county number.",
		},
	}
}

func navn() store.Property {
	return store.Property{
		Name: "navn", Column: "navn", Type: cql2.TypeText, NotNull: true,
		Title: store.Text{"nb": "Navn", "nn": "Namn", "en": "Name"},
		Description: store.Text{
			"nb": "Offisielt navn. Navn på flere språk er skilt med « - ».",
			"nn": "Offisielt namn. Namn på fleire språk er skilde med « - ».",
			"en": "Official name. Names in several languages are joined by “ - ”.",
		},
	}
}

func ofFylke() store.Property {
	p := fylkesnummer("fylke_nr")
	p.Ref = FylkerID
	return p
}

func areal() store.Property {
	return store.Property{
		Name: "areal_km2", Column: "areal_km2", Type: cql2.TypeInteger, NotNull: true, Unit: "km2",
		Title: store.Text{"nb": "Areal", "nn": "Areal", "en": "Area"},
		Description: store.Text{
			"nb": "Kommunens virkelige areal innenfor kystlinjen i hele kvadratkilometer, ikke arealet av den " +
				"skjematiske flaten.",
			"nn": "Det verkelege arealet til kommunen innanfor kystlinja i heile kvadratkilometer, ikkje arealet av " +
				"den skjematiske flata.",
			"en": "Real area of the municipality within the coastline in whole square kilometres, not the area of " +
				"the schematic outline.",
		},
	}
}
