package geojson

import (
	"io"
	"strconv"

	"grense/internal/feature"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// Losses and geoJSONSeqLosses list what a reader may not get back.
var (
	Losses         = []string{output.LossPrecision}
	SequenceLosses = []string{output.LossPrecision,
		"the name of a reference system other than CRS84, which the header Content-Crs has"}
)

// New begins a FeatureCollection, of JSON-FG if the profile asks for it.
func New(w io.Writer, o output.Options) (output.Writer, error) {
	if o.Profile == "jsonfg" || o.Profile == "jsonfg-plus" {
		return newJSONFG(w, o)
	}
	return newWriter(w, o, writer{})
}

// NewSequence begins a text sequence (RFC 8142). It cannot name a system other than CRS84,
// but a client may request one.
func NewSequence(w io.Writer, o output.Options) (output.Writer, error) {
	return newWriter(w, o, writer{seq: true, mark: true})
}

// NewLines begins a text with one feature a line, for tools without record separators: DuckDB, polars, jq.
func NewLines(w io.Writer, o output.Options) (output.Writer, error) {
	return newWriter(w, o, writer{seq: true})
}

// writer writes a FeatureCollection (RFC 7946, 3.3) or a sequence of features, each ended by a line feed and,
// with mark, begun by a record separator (RFC 8142, 2).
type writer struct {
	output.Buffered
	enc  *feature.Encoder
	seq  bool
	mark bool
	some bool
}

func newWriter(w io.Writer, o output.Options, g writer) (output.Writer, error) {
	enc, err := feature.NewEncoder(o.Collection,
		feature.Options{CRS: o.CRS, Properties: o.Properties, SkipGeometry: o.SkipGeometry, Precision: o.Precision})
	if err != nil {
		return nil, err
	}
	g.W, g.enc = w, enc
	if !g.seq {
		g.Buf = append(g.Buf, `{"type":"FeatureCollection",`...)
		if o.CRS != crs.CRS84 && !o.SkipGeometry {
			// Not part of RFC 7946, which knows only CRS84. Without it readers take metres for degrees.
			g.Buf = append(g.Buf, `"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::`...)
			g.Buf = append(strconv.AppendInt(g.Buf, int64(o.CRS), 10), `"}},`...)
		}
		g.Buf = append(g.Buf, `"features":[`...)
	}
	return &g, nil
}

func (g *writer) Want() store.Want { return g.enc.Want() }

func (g *writer) Write(f *store.Feature) error {
	switch {
	case g.mark:
		g.Buf = append(g.Buf, 0x1e)
	case g.seq:
	case g.some:
		g.Buf = append(g.Buf, ",\n"...)
	default:
		g.Buf = append(g.Buf, '\n')
	}
	g.some = true
	var err error
	if g.Buf, err = g.enc.AppendGeoJSON(g.Buf, f); err != nil {
		return err
	}
	if g.seq {
		g.Buf = append(g.Buf, '\n')
	}
	return g.Flush(output.FlushAt)
}

// Close writes the rest of the text, unless the file is aborted.
func (g *writer) Close(abort bool) error {
	if g.seq {
		return g.End("", abort)
	}
	return g.End("\n]}\n", abort)
}
