package render

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// errTile reports a vector tile that cannot be read.
var errTile = errors.New("render: not a vector tile")

// ReadTile adds the features of a vector tile (Mapbox Vector Tile 2.1) to sources, by the names of its layers. place
// moves positions of the tile to the picture.
func ReadTile(sources map[string][]Feature, tile []byte, place func(x, y int32) Point) error {
	return fields(tile, func(n int, v uint64, b []byte) error {
		if n != 3 {
			return nil
		}
		return readLayer(sources, b, place)
	})
}

// fields calls fn with the fields of a message: the value of a varint, or the bytes of any other one.
func fields(b []byte, fn func(n int, v uint64, b []byte) error) error {
	for len(b) > 0 {
		key, k := binary.Uvarint(b)
		if k <= 0 {
			return errTile
		}
		b = b[k:]
		var v uint64
		var part []byte
		size := 0
		switch key & 7 {
		case 0:
			if v, size = binary.Uvarint(b); size <= 0 {
				return errTile
			}
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			n, k := binary.Uvarint(b)
			if k <= 0 || n > uint64(len(b)-k) {
				return errTile
			}
			b, size = b[k:], int(n)
		default:
			return errTile
		}
		if size > len(b) {
			return errTile
		}
		part, b = b[:size:size], b[size:]
		if err := fn(int(key>>3), v, part); err != nil {
			return err
		}
	}
	return nil
}

func readLayer(sources map[string][]Feature, b []byte, place func(x, y int32) Point) error {
	name := ""
	var keys []string
	var values []any
	var messages [][]byte
	err := fields(b, func(n int, _ uint64, b []byte) error {
		switch n {
		case 1:
			name = string(b)
		case 2:
			messages = append(messages, b)
		case 3:
			keys = append(keys, string(b))
		case 4:
			v, err := readValue(b)
			values = append(values, v)
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	list := slices.Grow(sources[name], len(messages))
	for _, m := range messages {
		var f Feature
		var geometry []byte
		err := fields(m, func(n int, v uint64, b []byte) error {
			switch n {
			case 1:
				f.ID = v
			case 2:
				return readTags(&f, b, keys, values)
			case 3:
				f.Kind = Kind(min(v, 255))
			case 4:
				geometry = b
			}
			return nil
		})
		if err == nil {
			err = readGeometry(&f, geometry, place)
		}
		if err != nil {
			return err
		}
		list = append(list, f)
	}
	sources[name] = list
	return nil
}

func readTags(f *Feature, b []byte, keys []string, values []any) error {
	f.Tags = make([]Tag, 0, len(b)/2)
	for len(b) > 0 {
		k, n := binary.Uvarint(b)
		if n <= 0 || k >= uint64(len(keys)) {
			return errTile
		}
		b = b[n:]
		v, n := binary.Uvarint(b)
		if n <= 0 || v >= uint64(len(values)) {
			return errTile
		}
		b = b[n:]
		f.Tags = append(f.Tags, Tag{keys[k], values[v]})
	}
	return nil
}

func readValue(b []byte) (value any, err error) {
	err = fields(b, func(n int, v uint64, b []byte) error {
		switch {
		case n == 1:
			value = string(b)
		case n == 2 && len(b) == 4:
			value = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		case n == 3 && len(b) == 8:
			value = math.Float64frombits(binary.LittleEndian.Uint64(b))
		case n == 4:
			value = float64(int64(v))
		case n == 5:
			value = float64(v)
		case n == 6:
			value = float64(int64(v>>1) ^ -int64(v&1))
		case n == 7:
			value = v != 0
		}
		return nil
	})
	return value, err
}

// readGeometry reads commands (Mapbox Vector Tile 2.1, 4.3).
func readGeometry(f *Feature, b []byte, place func(x, y int32) Point) error {
	var x, y int32
	all := make([]Point, 0, len(b)/2)
	start := 0
	flush := func() {
		if len(all) > start {
			f.Parts = append(f.Parts, all[start:len(all):len(all)])
		}
		start = len(all)
	}
	for len(b) > 0 {
		c, n := binary.Uvarint(b)
		if n <= 0 {
			return errTile
		}
		b = b[n:]
		switch c & 7 {
		case 1, 2:
			if c&7 == 1 && f.Kind != Points {
				flush()
			}
			for range c >> 3 {
				dx, n := binary.Varint(b)
				if n <= 0 {
					return errTile
				}
				b = b[n:]
				dy, n := binary.Varint(b)
				if n <= 0 {
					return errTile
				}
				b = b[n:]
				x, y = x+int32(dx), y+int32(dy)
				all = append(all, place(x, y))
			}
		case 7:
			flush()
		default:
			return errTile
		}
	}
	flush()
	return nil
}
