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

// system is what is known of one CRS. It is immutable.
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

// datum is a geodetic datum with its geographic system of two dimensions. Its coordinates are taken as those of WGS 84.
type datum struct {
	code      int    // of the geographic system, EPSG
	name      string // of the geographic system
	authority int    // code of the datum, EPSG
	long      string // name of the datum
	esri      string // name of the datum in the texts of ESRI, without D_
	ellipsoid string // name of the ellipsoid
	shape     int    // code of the ellipsoid, EPSG
	el        ellipsoid
	off       float64 // accuracy of the transformation to WGS 84 or ETRS89, in metres
}

// The systems of the EPSG dataset that conversion can express, on datums without a shift to WGS 84 or ETRS89, and
// those datums.
var (
	//go:embed systems.txt
	systemLines string
	//go:embed datums.txt
	datumLines string
)

// register holds the systems by their codes. Lines of systems are read when they are requested.
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

// number reads a number of the embedded files.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("crs: an embedded file holds " + strconv.Quote(s))
	}
	return v
}

// conversionOf reads the parameters of a line.
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

// built caches systems by ID, and the IDs of systems without a code by their datum and conversion. Entries never
// change.
type built struct {
	byID sync.Map // ID to *system
	mu   sync.Mutex
	keys map[string]ID
}

var cached = &built{keys: map[string]ID{}}

// find returns the system of id; nil when it is not known.
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

// build returns a system that has a code; nil when it is not known.
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

// firstOwn is where the IDs of systems without a code begin. GeoPackages have them as srs_id, which has 32 bits.
const firstOwn ID = 1 << 30

// Own reports whether id is of a system without a code. It has no URI: coordinates are stored in it, but nobody can
// ask for them.
func (id ID) Own() bool { return id >= firstOwn }

// own returns the ID of a system by its parameters: the same ones always give the same ID.
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

// withConversion lists the systems with a code that have a datum and a conversion, in the order of their codes.
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

// degrees and mercator are limits of what transforms read, x before y.
var (
	degrees  = orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}
	mercator = orb.Bound{Min: orb.Point{-20037508.343, -242528681}, Max: orb.Point{20037508.343, 242528681}}
)

// square is a box around a point, in metres.
func square(x, y, half float64) orb.Bound {
	return orb.Bound{Min: orb.Point{x - half, y - half}, Max: orb.Point{x + half, y + half}}
}

// Served lists the systems that any collection is offered in where its features lie in their Area, CRS84 first. The
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

// Text returns the definition as well-known text (OGC 01-009), as a GeoPackage has it; "undefined" for an ID that is
// not known.
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
	case id == WebMercator: // the sphere, which this form cannot say
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

// wkt is the name of the datum in well-known text.
func (d *datum) wkt() string {
	if d.code == int(WGS84) {
		return "WGS_1984"
	}
	return underscored(d.long)
}

// underscored is a name with one underscore for each run of other characters than letters and digits.
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

// near reports whether two conversions are the same but for rounding in texts, whichever standard parallel stands
// first.
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
