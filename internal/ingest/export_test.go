package ingest

import (
	"bytes"
	"io"
	"strconv"

	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/geo/crs"
)

// inMemory is a file of these bytes.
func inMemory(name string, b []byte) *file {
	f := &file{name: name, size: int64(len(b))}
	f.open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	f.sibling = func(string) *file { return nil }
	return f
}

// GeoJSONLayer reads a text.
func GeoJSONLayer(b []byte) *Layer {
	f := inMemory("a.geojson", b)
	return &Layer{File: f.name, Name: "a", reader: &geoReader{open: f.open}, file: f, silent: crs.CRS84}
}

// CSVLayer reads a text.
func CSVLayer(b []byte) *Layer {
	f := inMemory("a.csv", b)
	return &Layer{File: f.name, Name: "a", reader: &csvReader{open: f.open}, file: f, silent: crs.CRS84}
}

// ShapefileLayer reads the parts of a Shapefile.
func ShapefileLayer(shp, dbf, prj, cpg []byte) *Layer {
	f := inMemory("a.shp", shp)
	r := &shapeReader{shp: f, dbf: inMemory("a.dbf", dbf), prj: inMemory("a.prj", prj), cpg: inMemory("a.cpg", cpg)}
	return &Layer{File: f.name, Name: "a", reader: r, file: f, silent: crs.WebMercator}
}

// TopoJSONLayer reads the object "k" of a text.
func TopoJSONLayer(b []byte) *Layer {
	f := inMemory("a.topojson", b)
	return &Layer{File: f.name, Name: "k", reader: &topoReader{open: f.open, object: "k"}, file: f, silent: crs.CRS84}
}

// Repair repairs a geometry of WKB as an import does: what becomes of it, why, and the WKB that is written.
func Repair(wkb []byte) (Action, string, []byte, error) {
	g, err := geom.UnmarshalWKB(wkb, geom.NoValidate{})
	if err != nil {
		return "", "", nil, err
	}
	s, _, wrong := normalize(g)
	if s == nil || wrong != "" {
		return Refused, wrong, wkb, nil
	}
	v := validate(s, s.append(nil))
	if v.shape != nil {
		s = v.shape
	}
	return v.action, v.reason, s.append(nil), nil
}

// PlainlyValid tells whether a geometry of WKB is seen to be valid at once, and what the library finds wrong with it; "" for nothing.
func PlainlyValid(wkb []byte) (plainly bool, wrong string, err error) {
	g, err := geom.UnmarshalWKB(wkb, geom.NoValidate{})
	if err != nil {
		return false, "", err
	}
	s, err := fromSimple(g)
	if err != nil {
		return false, "", err
	}
	if err := g.Validate(); err != nil {
		wrong = err.Error()
	} else {
		wrong = s.nestedHole()
	}
	return s.plainlyValid(), wrong, nil
}

// PlainlyValidOnly is PlainlyValid without the library.
func PlainlyValidOnly(wkb []byte) (bool, error) {
	g, err := geom.UnmarshalWKB(wkb, geom.NoValidate{})
	if err != nil {
		return false, err
	}
	s, err := fromSimple(g)
	return s.plainlyValid(), err
}

// ScanJSON walks a JSON text as imports do, and returns the sum of its numbers and the last line with one.
func ScanJSON(in io.Reader) (sum float64, line int, err error) {
	s := newJSONScanner(in, 0)
	var value func() error
	value = func() error {
		b, err := s.peek()
		if err != nil {
			return err
		}
		switch {
		case b == '[':
			return s.array(value)
		case b == '{':
			return s.object(func([]byte, place) error { return value() })
		case b == '-' || b >= '0' && b <= '9':
			line = s.here().line
			if _, err := s.number(); err != nil {
				return err
			}
			x, err := strconv.ParseFloat(string(s.tok), 64)
			sum += x
			return err
		}
		return s.skip(nil)
	}
	return sum, line, value()
}

// OtherLayers reads the layers of a file of FlatGeobuf, Parquet, XLSX or GML, by the ending of its name.
func OtherLayers(name string, b []byte) ([]*Layer, error) {
	f := inMemory(name, b)
	limits := Limits{Feature: 32 << 20}.withDefaults()
	open := func() (*opened, error) {
		return &opened{bytes.NewReader(b), int64(len(b)), func() error { return nil }}, nil
	}
	var out []*Layer
	add := func(r reader, flat bool) {
		out = append(out, &Layer{File: name, Name: "a", reader: r, file: f, silent: crs.CRS84, flat: flat})
	}
	m := memory(limits.Feature)
	switch suffixes[f.suffix()] {
	case "fgb":
		add(&flatReader{open: f.open, memory: m}, false)
	case "parquet":
		flat, err := parquetIsFlat(open)
		if err != nil {
			return nil, err
		}
		add(&parquetReader{open: open, memory: m}, flat)
	case "xlsx":
		sheets, err := xlsxSheets(open, limits)
		for _, s := range sheets {
			add(&xlsxReader{open: open, sheet: s, limits: limits, memory: m}, !s.located)
		}
		return out, err
	case "gml":
		names, err := gmlLayers(f)
		for _, n := range names {
			add(&gmlReader{open: f.open, kind: n, memory: m}, false)
		}
		return out, err
	}
	return out, nil
}
