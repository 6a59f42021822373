// Package archive stores tiles in one file: PMTiles, version 3, or MBTiles 1.3. It does not interpret the tiles.
//
// Tiles are gzipped vector tiles of WebMercatorQuad, with rows counted from the top. Equal tiles are stored once. A
// file is written as FILE.part in the same directory and renamed when it is complete. After an interruption, writing
// can continue.
package archive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MaxZoom is the greatest level of a file: tile ids of greater levels would exceed 2^63 (PMTiles 3, 4.1).
const MaxZoom = 31

// ErrFormat reports a file that is damaged, or not an archive of vector tiles that this package can read.
var ErrFormat = errors.New("archive: not a PMTiles 3 or MBTiles file of gzipped vector tiles")

// Metadata describes the tiles in a file. Coordinates are degrees, longitude before latitude.
type Metadata struct {
	Name, Attribution string
	First, Last       int        // range of levels
	Bounds            [4]float64 // west, south, east, north
	// Layers is a JSON object with the member vector_layers (MBTiles 1.3, Vector tileset metadata). It may have others.
	Layers []byte
}

// center returns a suggested start for a map: longitude, latitude and level.
func (m *Metadata) center() (lon, lat float64, z int) {
	return (m.Bounds[0] + m.Bounds[2]) / 2, (m.Bounds[1] + m.Bounds[3]) / 2, m.First
}

// ID returns the tile id of PMTiles: by level, then along a Hilbert curve (PMTiles 3, 4.1). The four tiles within a
// tile have consecutive ids.
func ID(z, row, col int) uint64 {
	id := (uint64(1)<<(2*z) - 1) / 3
	x, y := uint64(col), uint64(row)
	for s := uint64(1) << z >> 1; s > 0; s >>= 1 {
		var rx, ry uint64
		if x&s != 0 {
			rx = 1
		}
		if y&s != 0 {
			ry = 1
		}
		id += s * s * (3*rx ^ ry)
		if ry == 0 {
			if rx == 1 {
				x, y = s-1-x&(s-1), s-1-y&(s-1)
			}
			x, y = y, x
		}
	}
	return id
}

// Reader reads the tiles of a file. It is safe for concurrent use.
type Reader struct {
	Metadata
	tiles interface {
		tile(z, row, col int) ([]byte, error) // nil if there is no tile
		io.Closer
	}
}

// Open opens a file. Its first bytes determine the format.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	var magic [16]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil {
		f.Close()
		return nil, ErrFormat
	}
	r := &Reader{}
	if strings.HasPrefix(string(magic[:]), pmMagic) {
		r.tiles, err = openPM(f, &r.Metadata)
	} else {
		f.Close()
		r.tiles, err = openMB(path, &r.Metadata)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Tile returns a gzipped tile; nil if the file does not contain it.
func (r *Reader) Tile(z, row, col int) ([]byte, error) {
	if z < r.First || z > r.Last || z > MaxZoom || row < 0 || col < 0 || row >= 1<<z || col >= 1<<z {
		return nil, nil
	}
	return r.tiles.tile(z, row, col)
}

// Close closes the file. Tile must not be running.
func (r *Reader) Close() error { return r.tiles.Close() }

// IsPath reports whether the extension of a name is one of the formats.
func IsPath(path string) bool {
	return ending(path) == endPM || ending(path) == endMB
}

const (
	endPM = ".pmtiles"
	endMB = ".mbtiles"
)

func ending(path string) string { return strings.ToLower(filepath.Ext(path)) }
