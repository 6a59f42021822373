package crs

import (
	_ "embed"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/paulmach/orb"
)

// system describes a CRS. It is immutable.
type system struct {
	id         ID
	name       string
	northFirst bool
	datum      *datum
	domain     orb.Bound
	area       orb.Bound
	conversion
	proj projection // nil: the system is geographic
}

// datum is a geodetic datum with its two-dimensional geographic system, whose coordinates are treated as WGS 84.
type datum struct {
	code      int    // of the geographic system, EPSG
	name      string // of the geographic system
	authority int    // code of the datum, EPSG
	long      string // name of the datum
	esri      string // name of the datum in ESRI's WKT, without D_
	ellipsoid string // name of the ellipsoid
	shape     int    // code of the ellipsoid, EPSG
	el        ellipsoid
	off       float64 // accuracy of the transformation to WGS 84 or ETRS89, in metres
}

// The systems of the EPSG dataset that conversion can express, and their datums, which need no shift to WGS 84 or
// ETRS89.
var (
	//go:embed systems.txt
	systemLines string
	//go:embed datums.txt
	datumLines string
)

// register holds the systems by code. Lines of systems are parsed on first use.
type register struct {
	datums map[int]*datum
	lines  map[ID][]string // code, e or n for the first axis, code of the datum, method, parameters, name
}

var registered = sync.OnceValue(func() *register {
	r := &register{datums: map[int]*datum{}, lines: map[ID][]string{}}
	for line := range strings.Lines(datumLines) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		r.datums[int(number(f[0]))] = &datum{
			code:      int(number(f[0])),
			name:      f[1],
			authority: int(number(f[2])),
			long:      f[3],
			esri:      f[4],
			ellipsoid: f[5],
			shape:     int(number(f[6])),
			el:        ellipsoid{number(f[7]), number(f[8])},
			off:       number(f[9]),
		}
	}
	for line := range strings.Lines(systemLines) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		r.lines[ID(number(f[0]))] = f
	}
	return r
})

// number parses a number in the embedded files.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("crs: an embedded file holds " + strconv.Quote(s))
	}
	return v
}

// conversionOf parses the parameters of a line.
func conversionOf(line []string) conversion {
	v := func(i int) float64 { return number(line[4+i]) }
	return conversion{
		method:    method(line[3]),
		lat0:      v(0),
		lon0:      v(1),
		scale:     v(2),
		parallels: [2]float64{v(3), v(4)},
		fe:        v(5),
		fn:        v(6),
	}
}

// built caches systems by ID, and IDs of systems without a code by datum and conversion. Entries never change.
type built struct {
	byID sync.Map // ID to *system
	mu   sync.Mutex
	keys map[string]ID
}

var cached = &built{keys: map[string]ID{}}

// find returns the system of id; nil if it is unknown.
func (id ID) find() *system {
	if s, ok := cached.byID.Load(id); ok {
		return s.(*system)
	}
	s := registered().build(id)
	if s == nil {
		return nil
	}
	found, _ := cached.byID.LoadOrStore(id, s)
	return found.(*system)
}

// build returns a system with a code; nil if it is unknown.
func (r *register) build(id ID) *system {
	geographic := func(name string, northFirst bool, d int) *system {
		return &system{id: id, name: name, northFirst: northFirst, datum: r.datums[d], domain: degrees, area: degrees}
	}
	switch id {
	case CRS84:
		return geographic("WGS 84 (CRS84)", false, int(WGS84))
	case WGS84, ETRS89:
		return geographic(r.datums[int(id)].name, true, int(id))
	case WebMercator:
		return &system{
			id:         id,
			name:       "WGS 84 / Pseudo-Mercator",
			datum:      r.datums[int(WGS84)],
			domain:     mercator,
			area:       orb.Bound{Min: orb.Point{-180, -85.06}, Max: orb.Point{180, 85.06}},
			conversion: conversion{method: methodMercator, scale: 1},
			proj:       sphericalMercator{},
		}
	}
	line := r.lines[id]
	if line == nil {
		return nil
	}
	s := newSystem(id, line[11], r.datums[int(number(line[2]))], conversionOf(line))
	s.northFirst = line[1] == "n"
	return s
}

func newSystem(id ID, name string, d *datum, c conversion) *system {
	s := &system{id: id, name: name, datum: d, conversion: c, proj: c.projection(d.el)}
	s.domain, s.area = c.extents(s.proj)
	return s
}

// firstOwn is the first ID of systems without a code. GeoPackages use them as srs_id, which has 32 bits.
const firstOwn ID = 1 << 30

// Own reports whether id is a system without a code. Coordinates may be stored in it, but clients cannot request it,
// since it has no URI.
func (id ID) Own() bool { return id >= firstOwn }

// own returns the ID of a system by its parameters. Equal parameters always give the same ID.
func own(name string, d *datum, c conversion) ID {
	key := fmt.Sprint(d.code, c)
	cached.mu.Lock()
	defer cached.mu.Unlock()
	if id, ok := cached.keys[key]; ok {
		return id
	}
	h := fnv.New32a()
	h.Write([]byte(key))
	id := firstOwn + ID(h.Sum32()%uint32(firstOwn))
	for id.find() != nil {
		id = firstOwn + (id+1)%firstOwn
	}
	cached.keys[key] = id
	cached.byID.Store(id, newSystem(id, name, d, c))
	return id
}

// withConversion returns the systems with a code that have a datum and a conversion, by code.
func (r *register) withConversion(d *datum, c conversion) (ids []ID) {
	code := strconv.Itoa(d.code)
	for id, line := range r.lines {
		if line[2] == code && line[3] == string(c.method) && conversionOf(line).near(c) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// degrees and mercator are the valid input coordinates of transformations, x before y.
var (
	degrees  = orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}
	mercator = orb.Bound{Min: orb.Point{-20037508.343, -242528681}, Max: orb.Point{20037508.343, 242528681}}
)

// square returns a box around a point, in metres.
func square(x, y, half float64) orb.Bound {
	return orb.Bound{Min: orb.Point{x - half, y - half}, Max: orb.Point{x + half, y + half}}
}

// Served returns the systems that are offered for any collection whose features lie in their Area, CRS84 first. The
// caller owns the slice.
func Served() []ID {
	return []ID{
		CRS84,
		WGS84,
		ETRS89,
		WebMercator,
		UTM32,
		UTM33,
		UTM35,
		WGS84UTM32,
		WGS84UTM33,
		WGS84UTM35,
		LAEAEurope,
		LAEANorthPole,
	}
}

// Text returns the definition as well-known text (OGC 01-009), as in a GeoPackage; "undefined" for an unknown ID.
func (id ID) Text() string {
	s := id.find()
	if s == nil {
		return "undefined"
	}
	base := s.datum.text()
	if s.proj == nil {
		return base
	}
	name, params := s.conversion.text()
	var b strings.Builder
	fmt.Fprintf(&b, `PROJCS["%s",%s,PROJECTION["%s"]`, s.name, base, name)
	for _, p := range params {
		fmt.Fprintf(&b, `,PARAMETER["%s",%s]`, p.name, strconv.FormatFloat(p.value, 'f', -1, 64))
	}
	b.WriteString(`,UNIT["metre",1,AUTHORITY["EPSG","9001"]]`)
	switch {
	case id == WebMercator: // this form cannot express its sphere
		b.WriteString(
			`,EXTENSION["PROJ4","+proj=merc +a=6378137 +b=6378137 +lat_ts=0 +lon_0=0 +x_0=0 +y_0=0 +k=1 +units=m ` +
				`+nadgrids=@null +wktext +no_defs"]`,
		)
	case id.Own():
		return b.String() + "]"
	}
	fmt.Fprintf(&b, `,AUTHORITY["EPSG","%d"]]`, int(id))
	return b.String()
}

// wkt returns the name of the datum in well-known text.
func (d *datum) wkt() string {
	if d.code == int(WGS84) {
		return "WGS_1984"
	}
	return underscored(d.long)
}

// underscored returns a name in which each run of characters other than letters and digits is one underscore.
func underscored(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x80
	}), "_")
}

func (d *datum) text() string {
	return fmt.Sprintf(
		`GEOGCS["%s",DATUM["%s",SPHEROID["%s",%s,%s,AUTHORITY["EPSG","%d"]],AUTHORITY["EPSG","%d"]],`+
			`PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],`+
			`UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],AXIS["Latitude",NORTH],AXIS["Longitude",`+
			`EAST],AUTHORITY["EPSG","%d"]]`,
		d.name,
		d.wkt(),
		d.ellipsoid,
		strconv.FormatFloat(d.el.a, 'f', -1, 64),
		strconv.FormatFloat(d.el.invf, 'f', -1, 64),
		d.shape,
		d.authority,
		d.code,
	)
}

// near reports whether two conversions are equal up to rounding in texts and the order of the standard parallels.
func (c conversion) near(o conversion) bool {
	same := func(a, b, slack float64) bool { return math.Abs(a-b) <= slack }
	const angle, length = 1e-9, 1e-6 // degrees, metres
	swapped := same(c.parallels[0], o.parallels[1], angle) && same(c.parallels[1], o.parallels[0], angle)
	return c.method == o.method && same(c.lat0, o.lat0, angle) && same(c.lon0, o.lon0, angle) &&
		same(c.scale, o.scale, 1e-12) &&
		same(c.fe, o.fe, length) &&
		same(c.fn, o.fn, length) &&
		(swapped || same(c.parallels[0], o.parallels[0], angle) && same(c.parallels[1], o.parallels[1], angle))
}
