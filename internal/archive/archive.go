// Package archive keeps tiles in one file: PMTiles, version 3, and MBTiles 1.3. It knows addresses and bytes, and
// nothing of what is in a tile.
//
// Tiles are those of WebMercatorQuad, gzipped vector tiles, with rows counted from the top. Those that are equal are
// kept once. A file is made beside its place, as FILE.part, can be gone on with after any end of the program, and is
// put into its place when it is whole.
package archive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MaxZoom is the last level that a file has: so are the numbers of tiles below 2^63 (PMTiles 3, 4.1).
const MaxZoom = 31

// ErrFormat reports a file that is no archive of vector tiles that this package reads, or is damaged.
var ErrFormat = errors.New("archive: not a PMTiles 3 or MBTiles file of gzipped vector tiles")

// Metadata is what a file says about its tiles. Coordinates are degrees, longitude before latitude.
type Metadata struct {
	Name, Attribution string
	First, Last       int        // levels
	Bounds            [4]float64 // west, south, east, north
	// Layers is a JSON object with the member vector_layers (MBTiles 1.3, Vector tileset
	// metadata) and any of one's own.
	Layers []byte
}

// center is where a map may begin: longitude, latitude, level.
func (m *Metadata) center() (lon, lat float64, z int) {
	return (m.Bounds[0] + m.Bounds[2]) / 2, (m.Bounds[1] + m.Bounds[3]) / 2, m.First
}

// ID is the number of a tile: by level, and along a Hilbert curve on each (PMTiles 3, 4.1). The numbers of the four
// tiles within one follow each other.
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
		tile(z, row, col int) ([]byte, error) // nil: none
		io.Closer
	}
}

// Open opens a file, whose format its first bytes show.
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

// Tile returns a tile, gzipped; nil when the file has none there.
func (r *Reader) Tile(z, row, col int) ([]byte, error) {
	if z < r.First || z > r.Last || z > MaxZoom || row < 0 || col < 0 || row >= 1<<z || col >= 1<<z {
		return nil, nil
	}
	return r.tiles.tile(z, row, col)
}

// Close closes the file. No Tile may be in progress.
func (r *Reader) Close() error { return r.tiles.Close() }

// IsPath reports whether a name says which kind of file it is.
func IsPath(path string) bool {
	return ending(path) == endPM || ending(path) == endMB
}

const (
	endPM = ".pmtiles"
	endMB = ".mbtiles"
)

func ending(path string) string { return strings.ToLower(filepath.Ext(path)) }
