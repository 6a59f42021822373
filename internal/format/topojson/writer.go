package topojson

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"grense/internal/feature"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/problem"
	"grense/internal/store"
)

// Losses lists what a reader may not get back. Outer rings run clockwise, as programs that draw on a sphere need;
// the specification leaves it open.
var Losses = []string{output.LossPrecision, output.LossHeights, "the name of the reference system, which is CRS84",
	"where rings begin and which way they run",
	"GDAL leaves out features without geometry and collections of geometries"}

// unit is the grid of positions: with as many decimals of degrees as GeoJSON has, nothing is lost.
const unit = 1e7

// mostTogether is the number of positions among which shared lines are found; then a new topology begins.
// It bounds the memory, some 40 bytes for each.
const mostTogether = 3 << 20

// writer writes a topology (TopoJSON 1.0): lines and rings as references to arcs, which neighbours share if they have
// the same positions. Arcs come last in the file. Until then it stores the features as text, with a zero byte in place
// of the references of a run of positions.
type writer struct {
	w      io.Writer
	id     string
	enc    *feature.Encoder
	shaper *output.Shaper
	topology
	text, refs, arcs *output.Scratch
	features         int
	together         int // number of positions after which the topology is settled
	buf              []byte
	bad              bool // some position does not fit the grid
}

func New(w io.Writer, o output.Options) (output.Writer, error) {
	return NewTogether(w, o, mostTogether)
}

// NewTogether begins a topology whose arcs are settled after that many positions.
func NewTogether(w io.Writer, o output.Options, together int) (output.Writer, error) {
	enc, err := feature.NewEncoder(o.Collection,
		feature.Options{Properties: o.Properties, SkipGeometry: o.SkipGeometry})
	if err != nil {
		return nil, err
	}
	o.CRS = crs.CRS84
	_, s, err := o.Prepare(-1)
	if err != nil {
		return nil, err
	}
	t := &writer{w: w, id: o.Collection.ID, enc: enc, shaper: s, together: together}
	for _, to := range []**output.Scratch{&t.text, &t.refs, &t.arcs} {
		if *to, err = output.NewScratch(o.Temp); err != nil {
			t.close()
			return nil, err
		}
	}
	return t, nil
}

func (t *writer) close() {
	for _, s := range []*output.Scratch{t.text, t.refs, t.arcs} {
		if s != nil {
			s.Close()
		}
	}
}

func (t *writer) Want() store.Want { return t.enc.Want() }

func (t *writer) Write(f *store.Feature) error {
	b := t.buf[:0]
	if t.features++; t.features > 1 {
		b = append(b, ',')
	}
	b, err := t.enc.AppendProperties(append(b, "\n{"...), f)
	if err != nil {
		return err
	}
	g, ok, err := t.shaper.Shape(f.Geometry.WKB)
	if err != nil {
		return err
	}
	if ok {
		b = t.geometry(append(b, ','), &g)
	} else {
		b = append(b, `,"type":null`...)
	}
	t.buf = append(b, '}')
	if t.bad {
		return problem.Invalidf("f", "topojson",
			"the feature %q has a position beyond 214 degrees, which this format cannot hold; ask for f=json",
			f.Public())
	}
	if _, err = t.text.Write(t.buf); err == nil && len(t.at) >= t.together {
		err = t.settle(t.refs, t.arcs)
	}
	return err
}

// typeNames are the names of kinds.
var typeNames = map[wkb.Kind]string{wkb.Point: "Point", wkb.LineString: "LineString", wkb.Polygon: "Polygon",
	wkb.MultiPoint:      "MultiPoint",
	wkb.MultiLineString: "MultiLineString", wkb.MultiPolygon: "MultiPolygon", wkb.Collection: "GeometryCollection"}

// geometry appends the members of a geometry object (TopoJSON 1.0, 2.2).
func (t *writer) geometry(b []byte, g *output.Shape) []byte {
	b = append(append(append(b, `"type":"`...), typeNames[g.Kind]...), '"')
	switch g.Kind {
	case wkb.Point, wkb.MultiPoint:
		return t.runs(append(b, `,"coordinates":`...), g)
	case wkb.Collection:
		b = append(b, `,"geometries":[`...)
		for i := range g.Parts {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(t.geometry(append(b, '{'), &g.Parts[i]), '}')
		}
		return append(b, ']')
	}
	return t.runs(append(b, `,"arcs":`...), g)
}

// runs appends the position of a point, a placeholder for the references of a line, or a list of the parts.
func (t *writer) runs(b []byte, g *output.Shape) []byte {
	switch g.Kind {
	case wkb.Point:
		p := t.cell(g.Line[0])
		b = strconv.AppendInt(append(b, '['), int64(p[0]), 10)
		return append(strconv.AppendInt(append(b, ','), int64(p[1]), 10), ']')
	case wkb.LineString:
		t.line(g)
		return append(b, 0)
	}
	b = append(b, '[')
	for i := range g.Parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = t.runs(b, &g.Parts[i])
		if g.Kind == wkb.Polygon {
			t.rings[len(t.rings)-1] = true
		}
	}
	return append(b, ']')
}

// line adds a run to the topology. A single position is repeated.
func (t *writer) line(g *output.Shape) {
	for _, p := range g.Line {
		t.at = append(t.at, t.cell(p))
	}
	if len(g.Line) == 1 {
		t.at = append(t.at, t.at[len(t.at)-1])
	}
	t.ends, t.rings = append(t.ends, int32(len(t.at))), append(t.rings, false)
}

func (t *writer) cell(p output.Position) cell {
	x, y := math.Round(p[0]*unit), math.Round(p[1]*unit)
	t.bad = t.bad || math.Abs(x) > math.MaxInt32 || math.Abs(y) > math.MaxInt32
	return cell{int32(x), int32(y)}
}

func (t *writer) Close(abort bool) error {
	defer t.close()
	if abort {
		return nil
	}
	if err := t.settle(t.refs, t.arcs); err != nil {
		return err
	}
	for _, s := range []*output.Scratch{t.text, t.refs, t.arcs} { // report a full disk before the first byte
		if err := s.W.Flush(); err != nil {
			return err
		}
	}
	out := bufio.NewWriterSize(t.w, output.FlushAt)
	name, err := json.Marshal(t.id)
	if err != nil {
		return err
	}
	out.WriteString(`{"type":"Topology","transform":{"scale":[1e-7,1e-7],"translate":[0,0]},"objects":{`)
	out.Write(name)
	out.WriteString(`:{"type":"GeometryCollection","geometries":[`)
	if err := t.writeObjects(out); err != nil {
		return err
	}
	out.WriteString("\n]}},\"arcs\":[")
	if err := t.arcs.CopyTo(out); err != nil {
		return err
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

// writeObjects writes the text of the features with the references in their places.
func (t *writer) writeObjects(out *bufio.Writer) error {
	text, err := t.text.Reader()
	if err != nil {
		return err
	}
	refs, err := t.refs.Reader()
	if err != nil {
		return err
	}
	for {
		piece, err := text.ReadSlice(0)
		full := err == bufio.ErrBufferFull
		if err != nil && !full && err != io.EOF {
			return err
		}
		if err == nil {
			piece = piece[:len(piece)-1]
		}
		if _, werr := out.Write(piece); werr != nil || err == io.EOF {
			return werr
		}
		if full {
			continue
		}
		if err := writeRefs(out, refs); err != nil {
			return err
		}
	}
}

// writeRefs writes the references of the next run.
func writeRefs(out *bufio.Writer, refs *bufio.Reader) error {
	n, err := binary.ReadUvarint(refs)
	var b [20]byte
	for i := range n {
		var v int64
		if v, err = binary.ReadVarint(refs); err != nil {
			break
		}
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		out.Write(strconv.AppendInt(append(b[:0], sep), v, 10))
	}
	if err != nil {
		return err
	}
	return out.WriteByte(']')
}
