package demo_test

import (
	"encoding/json"
	"testing"

	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
)

type official struct {
	Features []struct {
		Properties struct{ Kommunenummer, Kommunenavn, Fylkesnummer, Fylkesnavn string }
		Geometry   json.RawMessage // CRS84
	}
}

func readOfficial(t *testing.T, file string) (o official) {
	t.Helper()
	if err := json.NewDecoder(sharedtest.Open(t, "data", "norway", "robhop-2024", file)).Decode(&o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestFylkerAgreeWithTheOfficialDivision(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	for _, f := range readOfficial(t, "Fylker-S.geojson.gz").Features {
		names[f.Properties.Fylkesnummer] = f.Properties.Fylkesnavn
	}
	if len(names) != 15 {
		t.Fatalf("%d official counties", len(names))
	}
	for _, f := range load(t).Fylker {
		if names[f.Nr] != f.Navn {
			t.Errorf("%s is %q, officially %q", f.Nr, f.Navn, names[f.Nr])
		}
	}
}

// Numbers and names are the official ones, and the schematic picture lies upon the true one.
func TestKommunerAgreeWithTheOfficialDivision(t *testing.T) {
	t.Parallel()
	toUTM, err := crs.Between(crs.CRS84, crs.UTM33)
	if err != nil {
		t.Fatal(err)
	}
	set := load(t)
	type entry struct {
		name  string
		shape geom.Geometry
	}
	truth := map[string]entry{}
	for _, f := range readOfficial(t, "Kommuner-S.geojson.gz").Features {
		shape, err := geom.UnmarshalGeoJSON(f.Geometry, geom.NoValidate{})
		if err != nil {
			t.Fatal(err)
		}
		shape = shape.TransformXY(func(p geom.XY) geom.XY { x, y := toUTM(p.X, p.Y); return geom.XY{X: x, Y: y} })
		truth[f.Properties.Kommunenummer] = entry{f.Properties.Kommunenavn, shape}
	}
	if len(truth) != 357 {
		t.Fatalf("%d official municipalities", len(truth))
	}
	for _, k := range set.Kommuner {
		e, ok := truth[k.Nr]
		if !ok || e.name != k.Navn {
			t.Errorf("%s is %q, officially %q", k.Nr, k.Navn, e.name)
			continue
		}
		if c, ok := e.shape.Envelope().Center().XY(); !ok ||
			c.Sub(geom.XY{X: k.Point[0], Y: k.Point[1]}).Length() > 60_000 {
			t.Errorf("%s lies %v from its place", k.Nr, c)
		}
	}
}
