// Package demo contains the dataset that Grense serves without a source: the 15 counties and 357 municipalities of
// Norway in force since 1 January 2024, with their real numbers, areas and official names, and with schematic borders.
//
// The borders are computed from three facts about each municipality: a point inside it, its area and its county. A
// municipality is its cell in the power diagram (Laguerre diagram) of the points, weighted by area, clipped to a coarse
// outline of the country. If the outline does not contain its point, it also gets an island. A county is the union of
// its municipalities. Weights are lowered where a cell would not contain its point. So the map resembles Norway,
// neighbours share their borders vertex by vertex, nothing overlaps, and no border in it is the real one.
//
// The generator of the register puts places into similar cells. They are not clipped to the outline, but to discs with
// 1.6 times the radius of the municipality's area, and vertices within 100 m are merged. So a place may lie off the
// outline.
//
// Coordinates are whole metres of EPSG:25833, x (east) before y (north), for all of Norway. The result is the same on
// every machine: values that processors round differently are rounded to whole metres before they are used.
package demo

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
)

// Version identifies the content of the demo. It must change with any feature or description, so that copies of another
// version are rebuilt.
const Version = "1c2e00347734"

// Licence of the demo, and its time zone.
const (
	TimeZone    = "Europe/Oslo" // of days in requests
	LicenceName = "CC BY 4.0"
	LicenceURL  = "https://creativecommons.org/licenses/by/4.0/"
)

// Set is a division of the country. It is immutable and safe for concurrent use.
type Set struct {
	Fylker   []Fylke   // by Nr
	Kommuner []Kommune // by Nr
}

// Fylke is a county.
type Fylke struct {
	Nr       string           // two digits
	Navn     string           // official names; several languages are joined by " - "
	AreaKm2  int              // sum of its municipalities
	Geometry orb.MultiPolygon // EPSG:25833, whole metres; exteriors counter-clockwise, holes clockwise, rings closed
}

// Kommune is a municipality.
type Kommune struct {
	Nr       string           // four digits, the first two of them FylkeNr
	Navn     string           // official names; several languages are joined by " - "
	FylkeNr  string           // Nr of its county
	AreaKm2  int              // real area within the coastline, square kilometres; not the area of Geometry
	Point    orb.Point        // a point inside it, EPSG:25833, whole metres
	Geometry orb.MultiPolygon // EPSG:25833, whole metres; exteriors counter-clockwise, rings closed

	cell Cell
}

// Cell returns the area for generated places.
func (k *Kommune) Cell() Cell { return k.cell }

// Facts returns numbers, names and real areas, without points and geometries, which is a hundred times faster than
// Divisions. The caller owns the Set.
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

// Divisions computes all divisions within some tens of milliseconds. The caller owns the Set.
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

// project transforms the points of the facts to EPSG:25833, metres.
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

// placeSites rounds the points to whole metres, since processors may differ in the last bits.
func placeSites(kommuner []kommuneFact, points []orb.Point) []site {
	sites := make([]site, len(kommuner))
	for i, p := range points {
		sites[i] = newSite(vertex{int64(math.Round(p[0])), int64(math.Round(p[1]))}, kommuner[i].km2)
	}
	return sites
}
