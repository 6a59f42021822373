// Package gpb reads and writes geometries in the binary format of GeoPackage (OGC 12-128r18, 2.1.3).
package gpb

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// State is the result of reading a geometry.
type State uint8

// States of geometries.
const (
	Fine   State = iota
	Empty        // null, or a geometry without positions
	Broken       // not a GeoPackage geometry, or of a type that is not supported
)

// Read returns the WKB in a geometry after checking all of it. The result shares memory with b, unless circular arcs
// were replaced by lines, or surfaces by MultiPolygons. WKB and Info are set only for Fine.
func Read(b []byte) ([]byte, wkb.Info, State) {
	if len(b) == 0 {
		return nil, wkb.Info{}, Empty
	}
	if len(b) < 8 || b[0] != 'G' || b[1] != 'P' || b[2] != 0 {
		return nil, wkb.Info{}, Broken
	}
	flags := b[3]
	if flags&0x20 != 0 { // extended type of a vendor
		return nil, wkb.Info{}, Broken
	}
	head, ok := headerSize(flags)
	if !ok || len(b) < head {
		return nil, wkb.Info{}, Broken
	}
	geometry := b[head:]
	in, err := wkb.Check(geometry)
	if _, other := errors.AsType[*wkb.KindError](err); other {
		if geometry, err = wkb.Straighten(nil, geometry, chord(b, geometry)); err == nil {
			in, err = wkb.Check(geometry)
		}
	}
	switch {
	case err != nil:
		return nil, wkb.Info{}, Broken
	case in.Positions == 0 || flags&0x10 != 0:
		return nil, wkb.Info{}, Empty
	}
	return geometry, in, Fine
}

// chord returns the largest distance between circular arcs and the lines that replace them, in units of the reference
// system of a GeoPackage geometry. If the system is unknown, the first position decides whether units are degrees.
func chord(b, geometry []byte) float64 {
	order := binary.ByteOrder(binary.BigEndian)
	if b[3]&1 == 1 {
		order = binary.LittleEndian
	}
	srs := int(int32(order.Uint32(b[4:])))
	id, _, wrong := crs.FromEPSG(srs)
	degrees := wrong == "" && id.Geographic() || srs == 0
	if wrong != "" && srs != 0 {
		x, y, ok := wkb.First(geometry)
		degrees = ok && math.Abs(x) <= 360 && math.Abs(y) <= 90
	}
	if degrees {
		return wkb.ChordDegrees
	}
	return wkb.ChordMetres
}

// WKB is Read for a geometry that has been checked before.
func WKB(b []byte) []byte {
	if len(b) < 8 {
		return nil
	}
	head, ok := headerSize(b[3])
	if !ok || len(b) <= head {
		return nil
	}
	r := wkb.NewReader(b[head:])
	if k, err := r.Header(); err != nil || !k.Simple() || k == wkb.Collection { // may contain circular arcs
		geometry, _, _ := Read(b)
		return geometry
	}
	return b[head:]
}

// headerSize returns the length of a header from its flags; false if the envelope has an unknown type.
func headerSize(flags byte) (int, bool) {
	sizes := [...]int{0, 32, 48, 48, 64}
	kind := int(flags >> 1 & 7)
	if kind >= len(sizes) {
		return 0, false
	}
	return 8 + sizes[kind], true
}

// Append appends a GeoPackage geometry in little-endian order with an x-y envelope. b is the bound of geometry;
// empty means that it has no positions.
func Append(dst []byte, srs int32, geometry []byte, b orb.Bound, empty bool) []byte {
	flags := byte(0x01 | 1<<1)
	if empty {
		flags = 0x01 | 0x10
	}
	dst = append(dst, 'G', 'P', 0, flags)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(srs))
	if !empty {
		for _, v := range [...]float64{b.Min[0], b.Max[0], b.Min[1], b.Max[1]} {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		}
	}
	return append(dst, geometry...)
}
