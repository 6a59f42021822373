package tile

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"

	"grense/internal/geo/coverage"
)

// Extent is the number of cells along a side of a tile, and Buffer the number of cells that geometries may extend
// beyond it (Mapbox Vector Tile 2.1, 4.1).
const (
	Extent = 4096
	Buffer = 64
)

// Layer encodes a layer of a vector tile (Mapbox Vector Tile 2.1, 4.1). Features are written in the order in which they
// are added.
type Layer struct {
	name     string
	features []byte
	keys     map[string]uint32
	values   map[string]uint32 // index in valList by encoded value
	keyList  []string
	valList  []string
	count    int

	tags     []byte
	geometry []byte
	message  []byte
	value    []byte
	x, y     int32 // position of the cursor

	width, height int32 // in cells
	margin        int32 // cells at each side without areas
	shift         uint  // by how many levels the level that is drawn is finer
}

// NewLayer returns a layer without features.
func NewLayer(name string) *Layer {
	return &Layer{name: name, keys: map[string]uint32{}, values: map[string]uint32{}, width: Extent, height: Extent}
}

// Features returns the number of features.
func (l *Layer) Features() int { return l.count }

// Tag is a property of a feature: a string, int64, float64 or bool. A nil value is omitted, as the format has no null.
type Tag struct {
	Key   string
	Value any
	raw   []byte // encoded value, instead of Value
}

// anonymous is the id of a feature that has none.
const anonymous = math.MaxUint64

// NumericID returns the numeric id of a feature: the number itself if the id is a decimal number below 2^52, else a
// hash between 2^52 and 2^53. JavaScript represents both exactly. The result depends on the id alone.
func NumericID(id string) uint64 {
	if n, err := strconv.ParseUint(id, 10, 64); err == nil && n < 1<<52 && strconv.FormatUint(n, 10) == id {
		return n
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	return 1<<52 | h.Sum64()>>12
}

// Polygons adds a feature of a level, clipped to the tile and its buffer. It returns false, and adds nothing, if the
// feature lies outside. origin is the upper left corner of the tile on the grid of the level, whose cells are those of
// the tile.
func (l *Layer) Polygons(
	c *coverage.Clipper,
	level *coverage.Level,
	feature int,
	origin coverage.Point,
	id uint64,
	tags []Tag,
) (bool, error) {
	l.geometry, l.x, l.y = l.geometry[:0], 0, 0
	whole := frame{corner: origin, width: l.width << l.shift, height: l.height << l.shift}
	low, high := whole.within(l.margin << l.shift).box()
	c.Feature(level, feature, low, high, func(rings [][]coverage.Point) {
		for _, r := range rings {
			l.ring(r, origin)
		}
	})
	if len(l.geometry) == 0 {
		return false, nil
	}
	const polygon = 3
	return true, l.add(id, polygon, tags)
}

// Points adds a feature with points on the grid of a level; origin is the upper left corner of the tile on that grid.
func (l *Layer) Points(points []coverage.Point, origin coverage.Point, id uint64, tags []Tag) error {
	l.geometry, l.x, l.y = l.geometry[:0], 0, 0
	l.command(moveTo, len(points))
	for _, p := range points {
		l.to(p.X-origin.X, origin.Y-p.Y)
	}
	const point = 1
	return l.add(id, point, tags)
}

// Lines adds a feature with lines on the grid of a level, each of at least two positions; origin is the upper left
// corner of the tile on that grid.
func (l *Layer) Lines(lines [][]coverage.Point, origin coverage.Point, id uint64, tags []Tag) error {
	l.geometry, l.x, l.y = l.geometry[:0], 0, 0
	for _, line := range lines {
		l.command(moveTo, 1)
		l.to(line[0].X-origin.X, origin.Y-line[0].Y)
		l.command(lineTo, len(line)-1)
		for _, p := range line[1:] {
			l.to(p.X-origin.X, origin.Y-p.Y)
		}
	}
	const lineString = 2
	return l.add(id, lineString, tags)
}

// Geometry commands (Mapbox Vector Tile 2.1, 4.3.1).
const (
	moveTo    = 1
	lineTo    = 2
	closePath = 7
)

func (l *Layer) command(id, count int) {
	l.geometry = binary.AppendUvarint(l.geometry, uint64(id&7|count<<3))
}

func (l *Layer) to(x, y int32) {
	x, y = x>>l.shift, y>>l.shift
	l.geometry = binary.AppendVarint(l.geometry, int64(x-l.x)) // zigzag encoding
	l.geometry = binary.AppendVarint(l.geometry, int64(y-l.y))
	l.x, l.y = x, y
}

// ring adds a ring in reverse order. Outer rings must have a positive area with the y axis pointing down (Mapbox Vector
// Tile 2.1, 4.3.4.4).
func (l *Layer) ring(r []coverage.Point, origin coverage.Point) {
	last := len(r) - 1
	l.command(moveTo, 1)
	l.to(r[last].X-origin.X, origin.Y-r[last].Y)
	l.command(lineTo, last)
	for i := last - 1; i >= 0; i-- {
		l.to(r[i].X-origin.X, origin.Y-r[i].Y)
	}
	l.command(closePath, 1)
}

// Wire types of protocol buffers.
const (
	varint   = 0
	fixed    = 1
	lengthed = 2
)

func field(dst []byte, number, wire int) []byte {
	return binary.AppendUvarint(dst, uint64(number<<3|wire))
}

func appendBytes[T string | []byte](dst []byte, number int, v T) []byte {
	dst = binary.AppendUvarint(field(dst, number, lengthed), uint64(len(v)))
	return append(dst, v...)
}

// add writes a feature with the geometry in l.geometry.
func (l *Layer) add(id uint64, kind int, tags []Tag) error {
	l.tags = l.tags[:0]
	for _, t := range tags {
		raw := t.raw
		if raw == nil {
			var err error
			if l.value, err = appendValue(l.value[:0], t.Value); err != nil {
				return fmt.Errorf("tile: property %s: %w", t.Key, err)
			}
			raw = l.value
		}
		if len(raw) == 0 {
			continue
		}
		k, ok := l.keys[t.Key]
		if !ok {
			k = uint32(len(l.keyList))
			l.keys[t.Key], l.keyList = k, append(l.keyList, t.Key)
		}
		n, ok := l.values[string(raw)]
		if !ok {
			n = uint32(len(l.valList))
			text := string(raw)
			l.values[text], l.valList = n, append(l.valList, text)
		}
		l.tags = binary.AppendUvarint(binary.AppendUvarint(l.tags, uint64(k)), uint64(n))
	}
	m := l.message[:0]
	if id != anonymous {
		m = binary.AppendUvarint(field(m, 1, varint), id)
	}
	if len(l.tags) > 0 {
		m = appendBytes(m, 2, l.tags)
	}
	m = binary.AppendUvarint(field(m, 3, varint), uint64(kind))
	l.message = appendBytes(m, 4, l.geometry)
	l.features = appendBytes(l.features, 2, l.message)
	l.count++
	return nil
}

// Append appends the encoded layer to a tile. It appends nothing if there are no features, since a layer must have at
// least one (Mapbox Vector Tile 2.1, 4.1).
func (l *Layer) Append(dst []byte) []byte {
	if l.count == 0 {
		return dst
	}
	m := binary.AppendUvarint(field(nil, 15, varint), 2)
	m = appendBytes(m, 1, l.name)
	m = append(m, l.features...)
	for _, k := range l.keyList {
		m = appendBytes(m, 3, k)
	}
	for _, v := range l.valList {
		m = appendBytes(m, 4, v)
	}
	m = binary.AppendUvarint(field(m, 5, varint), Extent)
	return appendBytes(dst, 3, m)
}

// appendValue appends an encoded value; nothing for nil, NaN and infinities.
func appendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
	case string:
		dst = appendBytes(dst, 1, v)
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			dst = binary.LittleEndian.AppendUint64(field(dst, 3, fixed), math.Float64bits(v))
		}
	case int64:
		dst = binary.AppendVarint(field(dst, 6, varint), v)
	case bool:
		dst = field(dst, 7, varint)
		if v {
			return append(dst, 1), nil
		}
		dst = append(dst, 0)
	default:
		return dst, fmt.Errorf("a value of %T", v)
	}
	return dst, nil
}
