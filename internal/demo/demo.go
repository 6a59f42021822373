// Package demo holds the dataset that Grense serves when it is given none: the 15 counties and 357 municipalities of
// Norway in force since 1 January 2024, with their real numbers and areas, official names, and schematic borders of
// our own making.
//
// The borders follow from three facts of each municipality: a point inside it, its area and its county. It has its
// part of the power diagram (Laguerre diagram) of the points, weighted by area, as far as that lies within a coarse
// outline of the country; where the outline misses its point, an island as well. A county is the union of its
// municipalities. Weights are lowered where a part would not hold its point. So the picture looks like Norway,
// neighbours share their borders vertex by vertex, nothing overlaps, and no border in it is the true one.
//
// The register's generator puts places into cells: the same parts, but cut by discs of 1.6 times the radius that has
// the area, with vertices within 100 m made one. A place may so lie off the outline.
//
// Coordinates are whole metres of EPSG:25833, x (east) before y (north). All of Norway is drawn in this one zone. The
// result is the same on every machine: what is rounded differently by different processors is rounded to whole metres
// before it decides anything.
package demo

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
)

// Version names the content of the demo. It changes whenever a feature or the description of a collection does, so
// that a copy of the demo that bears another version is rebuilt.
const Version = "1c2e00347734"

// The licence of the demo.
const (
	TimeZone    = "Europe/Oslo" // of days in requests
	LicenceName = "CC BY 4.0"
	LicenceURL  = "https://creativecommons.org/licenses/by/4.0/"
)

// Set is one division of the country. It is immutable and safe for concurrent use; nobody changes what it points to.
type Set struct {
	Fylker   []Fylke   // by Nr
	Kommuner []Kommune // by Nr
}

// Fylke is a county.
type Fylke struct {
	Nr       string           // two digits
	Navn     string           // official names, those of several languages joined by " - "
	AreaKm2  int              // sum of the areas of its municipalities
	Geometry orb.MultiPolygon // EPSG:25833, whole metres; exteriors counter-clockwise, holes clockwise, rings closed
}

// Kommune is a municipality.
type Kommune struct {
	Nr       string           // four digits, the first two of them FylkeNr
	Navn     string           // official names, those of several languages joined by " - "
	FylkeNr  string           // Nr of its county
	AreaKm2  int              // real area within the coastline, square kilometres; not the area of Geometry
	Point    orb.Point        // a point inside it, EPSG:25833, whole metres
	Geometry orb.MultiPolygon // EPSG:25833, whole metres; exteriors counter-clockwise, rings closed

	cell Cell
}

// Cell returns the area that places are put into.
func (k *Kommune) Cell() Cell { return k.cell }

// Facts returns the divisions with their numbers, names and real areas, without points and geometries, which take a
// hundred times as long. The caller keeps the Set.
func Facts() (*Set, error) {
	fylker, kommuner, err := readFacts()
	if err != nil {
		return nil, err
	}
	set := &Set{Fylker: make([]Fylke, len(fylker)), Kommuner: make([]Kommune, len(kommuner))}
	areas := map[string]int{}
	for i, f := range kommuner {
		set.Kommuner[i] = Kommune{Nr: f.nr, Navn: f.navn, FylkeNr: f.fylke, AreaKm2: f.km2}
		areas[f.fylke] += f.km2
	}
	for i, f := range fylker {
		set.Fylker[i] = Fylke{Nr: f.nr, Navn: f.navn, AreaKm2: areas[f.nr]}
	}
	return set, nil
}

// Divisions draws the divisions; some tens of milliseconds. The caller keeps the Set.
func Divisions() (*Set, error) {
	fylker, kommuner, err := readFacts()
	if err != nil {
		return nil, err
	}
	points, err := project(kommuner)
	if err != nil {
		return nil, err
	}
	sites := placeSites(kommuner, points)
	settleWeights(sites)
	rings := cellRings(sites)
	coast, err := readShore()
	if err != nil {
		return nil, err
	}
	shown := landRings(sites, coast)

	set := &Set{}
	parts := map[string][][]vertex{}
	areas := map[string]int{}
	for i, f := range kommuner {
		if len(rings[i]) < 3 {
			return nil, fmt.Errorf("demo: municipality %s has no cell", f.nr)
		}
		polygons, err := union(shown[i])
		if err != nil {
			return nil, fmt.Errorf("demo: municipality %s: %w", f.nr, err)
		}
		parts[f.fylke] = append(parts[f.fylke], shown[i]...)
		areas[f.fylke] += f.km2
		set.Kommuner = append(set.Kommuner, Kommune{
			Nr: f.nr, Navn: f.navn, FylkeNr: f.fylke, AreaKm2: f.km2,
			Point:    orb.Point{float64(sites[i].at.x), float64(sites[i].at.y)},
			Geometry: polygons,
			cell:     newCell(rings[i]),
		})
	}
	for _, f := range fylker {
		polygons, err := union(parts[f.nr])
		if err != nil {
			return nil, fmt.Errorf("demo: county %s: %w", f.nr, err)
		}
		set.Fylker = append(set.Fylker, Fylke{Nr: f.nr, Navn: f.navn, AreaKm2: areas[f.nr], Geometry: polygons})
	}
	return set, nil
}

// project brings the points of the facts to EPSG:25833, metres.
func project(kommuner []kommuneFact) ([]orb.Point, error) {
	toUTM, err := crs.Between(crs.CRS84, crs.UTM33)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	points := make([]orb.Point, len(kommuner))
	for i, f := range kommuner {
		points[i][0], points[i][1] = toUTM(f.lon, f.lat)
	}
	return points, nil
}

// placeSites rounds the points to whole metres, which hides the last bits that processors do not agree on.
func placeSites(kommuner []kommuneFact, points []orb.Point) []site {
	sites := make([]site, len(kommuner))
	for i, p := range points {
		sites[i] = newSite(vertex{int64(math.Round(p[0])), int64(math.Round(p[1]))}, kommuner[i].km2)
	}
	return sites
}
