package format

import (
	"io"
	"strconv"

	"grense/internal/feature"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

var geoJSON = &Format{Name: "json", Media: "application/geo+json", Ext: ".geojson", Title: "GeoJSON", Streams: true, Precise: true, Losses: []string{lossPrecision},
	open: func(w io.Writer, o Options) (Writer, error) {
		if o.Profile == "jsonfg" || o.Profile == "jsonfg-plus" {
			return newJSONFG(w, o)
		}
		return newGeoJSON(w, o, geoJSONWriter{})
	}}

// A text sequence has no place for a system other than CRS84 (RFC 8142 holds RFC 7946 texts), but coordinates may be asked in one.
var geoJSONSeq = &Format{Name: "geojsonseq", Media: "application/geo+json-seq", Ext: ".geojsons", Title: "GeoJSON text sequence (RFC 8142)", Streams: true, Precise: true,
	Losses: []string{lossPrecision, "the name of a reference system other than CRS84, which the header Content-Crs has"},
	open: func(w io.Writer, o Options) (Writer, error) {
		return newGeoJSON(w, o, geoJSONWriter{seq: true, mark: true})
	}}

// ndJSON is read by tools that take one JSON text a line, and no record separator: DuckDB, polars, jq.
var ndJSON = &Format{Name: "ndjson", Media: "application/x-ndjson", Ext: ".ndjson", Title: "GeoJSON, a feature a line (NDJSON)", Streams: true, Precise: true,
	Losses: geoJSONSeq.Losses,
	open:   func(w io.Writer, o Options) (Writer, error) { return newGeoJSON(w, o, geoJSONWriter{seq: true}) }}

// flushAt is how many bytes are gathered before they are written.
const flushAt = 64 << 10

// geoJSONWriter writes a FeatureCollection (RFC 7946, 3.3), or a sequence of features, each before a line feed and, with mark, behind a
// record separator (RFC 8142, 2).
type geoJSONWriter struct {
	buffered
	enc  *feature.Encoder
	seq  bool
	mark bool
	some bool
}

func newGeoJSON(w io.Writer, o Options, g geoJSONWriter) (Writer, error) {
	enc, err := feature.NewEncoder(o.Collection, feature.Options{CRS: o.CRS, Properties: o.Properties, SkipGeometry: o.SkipGeometry, Precision: o.Precision})
	if err != nil {
		return nil, err
	}
	g.w, g.enc = w, enc
	if !g.seq {
		g.buf = append(g.buf, `{"type":"FeatureCollection",`...)
		if o.CRS != crs.CRS84 && !o.SkipGeometry {
			// Not of RFC 7946, which knows CRS84 alone; readers take metres for degrees without it.
			g.buf = append(g.buf, `"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::`...)
			g.buf = append(strconv.AppendInt(g.buf, int64(o.CRS), 10), `"}},`...)
		}
		g.buf = append(g.buf, `"features":[`...)
	}
	return &g, nil
}

func (g *geoJSONWriter) Want() store.Want { return g.enc.Want() }

func (g *geoJSONWriter) Write(f *store.Feature) error {
	switch {
	case g.mark:
		g.buf = append(g.buf, 0x1e)
	case g.seq:
	case g.some:
		g.buf = append(g.buf, ",\n"...)
	default:
		g.buf = append(g.buf, '\n')
	}
	g.some = true
	var err error
	if g.buf, err = g.enc.AppendGeoJSON(g.buf, f); err != nil {
		return err
	}
	if g.seq {
		g.buf = append(g.buf, '\n')
	}
	return g.flush(flushAt)
}

// flush writes what was gathered, if that is at least n bytes.
func (g *geoJSONWriter) Close(abort bool) error {
	if g.seq {
		return g.end("", abort)
	}
	return g.end("\n]}\n", abort)
}
