package ingesttest

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const WGS84 = `GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137,298.257223563]],` +
	`PRIMEM["Greenwich",0],UNIT["Degree",0.0174532925199433]]`

func Floats(list ...float64) (b []byte) {
	for _, f := range list {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

// SHP returns a .shp with records of one type. A record is what follows the type.
func SHP(kind uint32, records ...[]byte) []byte {
	var body []byte
	for i, r := range records {
		k := kind
		if r == nil {
			k = 0
		}
		body = binary.BigEndian.AppendUint32(body, uint32(i+1))
		body = binary.BigEndian.AppendUint32(body, uint32(len(r)+4)/2)
		body = append(binary.LittleEndian.AppendUint32(body, k), r...)
	}
	head := make([]byte, 100)
	binary.BigEndian.PutUint32(head, 9994)
	binary.BigEndian.PutUint32(head[24:], uint32(100+len(body))/2)
	binary.LittleEndian.PutUint32(head[28:], 1000)
	binary.LittleEndian.PutUint32(head[32:], kind)
	return append(head, body...)
}

// DBF returns a table. A field is NAME:type:width; a row lists its fields, which are padded to the widths.
func DBF(driver byte, fields []string, rows ...[]string) []byte {
	head := make([]byte, 32)
	head[0], head[29] = 3, driver
	length := 1
	var widths []int
	for _, f := range fields {
		p := strings.Split(f, ":")
		d := make([]byte, 32)
		copy(d, p[0])
		d[11] = p[1][0]
		w := 0
		fmt.Sscan(p[2], &w)
		d[16] = byte(w)
		length += w
		widths = append(widths, w)
		head = append(head, d...)
	}
	head = append(head, 0x0d)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(rows)))
	binary.LittleEndian.PutUint16(head[8:], uint16(len(head)))
	binary.LittleEndian.PutUint16(head[10:], uint16(length))
	for _, r := range rows {
		mark := byte(' ')
		if len(r) > len(widths) {
			mark = '*'
		}
		head = append(head, mark)
		for i, w := range widths {
			head = append(head, (r[i] + strings.Repeat(" ", w))[:w]...)
		}
	}
	return append(head, 0x1a)
}

// Shapefile writes the parts, keyed by ending, and returns the path of the .shp, or of the .dbf if there is none.
func Shapefile(t testing.TB, parts map[string][]byte) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	for ext, b := range parts {
		if err := os.WriteFile(base+ext, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if parts[".shp"] == nil {
		return base + ".dbf"
	}
	return base + ".shp"
}

// Rings returns a polygon or line record with parts of x, y pairs.
func Rings(parts ...[]float64) []byte {
	b := make([]byte, 32)
	n := 0
	for _, p := range parts {
		n += len(p) / 2
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(parts)))
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	at := 0
	for _, p := range parts {
		b = binary.LittleEndian.AppendUint32(b, uint32(at))
		at += len(p) / 2
	}
	for _, p := range parts {
		b = append(b, Floats(p...)...)
	}
	return b
}

// Patch returns a record of a MultiPatch: parts of x, y, z, each with its type.
func Patch(kinds []uint32, parts ...[]float64) []byte {
	b := make([]byte, 32)
	n := 0
	for _, p := range parts {
		n += len(p) / 3
	}
	b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, uint32(len(parts))), uint32(n))
	at := 0
	for _, p := range parts {
		b = binary.LittleEndian.AppendUint32(b, uint32(at))
		at += len(p) / 3
	}
	for _, k := range kinds {
		b = binary.LittleEndian.AppendUint32(b, k)
	}
	var xy, z []float64
	for _, p := range parts {
		for i := 0; i < len(p); i += 3 {
			xy, z = append(xy, p[i], p[i+1]), append(z, p[i+2])
		}
	}
	return append(append(b, Floats(xy...)...), Floats(append([]float64{0, 9}, z...)...)...)
}
