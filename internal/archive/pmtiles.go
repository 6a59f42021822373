package archive

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/klauspost/compress/gzip"

	"grense/internal/cache"
)

// Sizes and values from PMTiles 3, clauses 3 and 4.
const (
	pmMagic   = "PMTiles\x03"
	pmHeader  = 127
	pmRootEnd = 16384 // end of the root directory
	pmGzip    = 2
	pmVector  = 1
)

// entry is a run of equal tiles (PMTiles 3, 4.2) or, with a run length of 0, a leaf directory.
type entry struct {
	id     uint64
	run    uint32
	offset uint64 // in the section of tiles or of leaf directories
	length uint32
}

// directory encodes and gzips entries.
func directory(list []entry) []byte {
	b := binary.AppendUvarint(nil, uint64(len(list)))
	last := uint64(0)
	for _, e := range list {
		b = binary.AppendUvarint(b, e.id-last)
		last = e.id
	}
	for _, e := range list {
		b = binary.AppendUvarint(b, uint64(e.run))
	}
	for _, e := range list {
		b = binary.AppendUvarint(b, uint64(e.length))
	}
	for i, e := range list {
		if i > 0 && e.offset == list[i-1].offset+uint64(list[i-1].length) {
			b = append(b, 0)
		} else {
			b = binary.AppendUvarint(b, e.offset+1)
		}
	}
	return pack(b)
}

// mostEntries is the largest number of entries that is accepted in a directory; ours have some thousands.
const mostEntries = 1 << 22

// readDirectory decodes what directory has encoded.
func readDirectory(packed []byte) ([]entry, error) {
	b, err := unpack(packed, mostEntries*8)
	if err != nil {
		return nil, err
	}
	bad := false
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b, bad = nil, true
			return 0
		}
		b = b[n:]
		return v
	}
	n := next()
	if bad || n > uint64(len(b)) || n > mostEntries {
		return nil, ErrFormat
	}
	list := make([]entry, n)
	last := uint64(0)
	for i := range list {
		last += next()
		list[i].id = last
	}
	for i := range list {
		v := next()
		bad = bad || v > math.MaxUint32
		list[i].run = uint32(v)
	}
	for i := range list {
		v := next()
		bad = bad || v > math.MaxUint32
		list[i].length = uint32(v)
	}
	for i := range list {
		switch v := next(); {
		case v > 0:
			list[i].offset = v - 1
		case i > 0:
			list[i].offset = list[i-1].offset + uint64(list[i-1].length)
		default:
			bad = true
		}
	}
	if bad {
		return nil, ErrFormat
	}
	return list, nil
}

// directories encodes entries as a root that ends before pmRootEnd and, if necessary, leaves.
func directories(list []entry) (root, leaves []byte) {
	if root = directory(list); len(root) <= pmRootEnd-pmHeader {
		return root, nil
	}
	for size := 4096; ; size *= 2 {
		var top []entry
		leaves = nil
		for part := range slices.Chunk(list, size) {
			b := directory(part)
			top = append(top, entry{id: part[0].id, offset: uint64(len(leaves)), length: uint32(len(b))})
			leaves = append(leaves, b...)
		}
		if root = directory(top); len(root) <= pmRootEnd-pmHeader {
			return root, leaves
		}
	}
}

// pmTiles holds the directory of a file, and the counts for its header.
type pmTiles struct {
	list                []entry // in the order of ids
	addressed, contents int     // number of addressed tiles, and of distinct contents
	size                uint64  // total size of the distinct tiles
}

// write writes everything except the tiles themselves.
func (s *pmTiles) write(w io.Writer, m *Metadata) error {
	text, err := m.document()
	if err != nil {
		return err
	}
	text = pack(text)
	root, leaves := directories(s.list)
	h := make([]byte, pmHeader)
	copy(h, pmMagic)
	at := uint64(pmHeader)
	for i, size := range [...]uint64{uint64(len(root)), uint64(len(text)), uint64(len(leaves)), s.size} {
		binary.LittleEndian.PutUint64(h[8+16*i:], at)
		binary.LittleEndian.PutUint64(h[16+16*i:], size)
		at += size
	}
	for i, n := range [...]int{s.addressed, len(s.list), s.contents} {
		binary.LittleEndian.PutUint64(h[72+8*i:], uint64(n))
	}
	lon, lat, z := m.center()
	copy(h[96:], []byte{1, pmGzip, pmGzip, pmVector, byte(m.First), byte(m.Last)})
	h[118] = byte(z)
	for at, v := range map[int]float64{102: m.Bounds[0], 106: m.Bounds[1], 110: m.Bounds[2], 114: m.Bounds[3],
		119: lon, 123: lat} {
		binary.LittleEndian.PutUint32(h[at:], uint32(int32(math.Round(v*1e7))))
	}
	for _, b := range [...][]byte{h, root, text, leaves} {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// document returns the metadata as JSON (PMTiles 3, 5).
func (m *Metadata) document() ([]byte, error) {
	doc := map[string]json.RawMessage{}
	if err := json.Unmarshal(m.Layers, &doc); err != nil {
		return nil, fmt.Errorf("archive: layers: %w", err)
	}
	for k, v := range map[string]string{"name": m.Name, "attribution": m.Attribution, "type": "overlay",
		"version": "1"} {
		if v != "" {
			doc[k], _ = json.Marshal(v) // never fails for strings
		}
	}
	return json.Marshal(doc)
}

// pmFile reads a PMTiles file.
type pmFile struct {
	f      *os.File
	size   uint64
	root   []entry
	leaf   uint64 // offsets of the sections
	data   uint64
	leaves *cache.Cache[uint64, []entry] // by offset
}

// leafBytes is the size of the cache of leaf directories.
const leafBytes = 4 << 20

func openPM(f *os.File, m *Metadata) (_ *pmFile, err error) {
	p := &pmFile{f: f}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	p.size = uint64(info.Size())
	h, err := p.bytes(0, pmHeader)
	if err != nil {
		return nil, err
	}
	u := func(at int) uint64 { return binary.LittleEndian.Uint64(h[at:]) }
	d := func(at int) float64 { return float64(int32(binary.LittleEndian.Uint32(h[at:]))) / 1e7 }
	if h[97] != pmGzip || h[98] != pmGzip || h[99] != pmVector {
		return nil, ErrFormat
	}
	m.First, m.Last = int(h[100]), int(h[101])
	m.Bounds = [4]float64{d(102), d(106), d(110), d(114)}
	p.leaf, p.data = u(40), u(56)
	root, err := p.bytes(u(8), u(16))
	if err == nil {
		p.root, err = readDirectory(root)
	}
	if err != nil {
		return nil, err
	}
	text, err := p.bytes(u(24), u(32))
	if err == nil {
		m.Layers, err = unpack(text, 64<<20)
	}
	if err != nil {
		return nil, err
	}
	p.leaves = cache.New[uint64, []entry](cache.Options{Name: "directories of tiles", Bytes: leafBytes})
	return p, nil
}

// bytes reads a part of the file.
func (p *pmFile) bytes(at, n uint64) ([]byte, error) {
	if at > p.size || n > p.size-at {
		return nil, ErrFormat
	}
	b := make([]byte, n)
	if _, err := p.f.ReadAt(b, int64(at)); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return b, nil
}

func (p *pmFile) tile(z, row, col int) ([]byte, error) {
	id, list := ID(z, row, col), p.root
	for range 4 { // the largest depth of directories (PMTiles 3, 4)
		i, ok := slices.BinarySearchFunc(list, id, func(e entry, id uint64) int {
			switch {
			case e.id < id:
				return -1
			case e.id > id:
				return 1
			}
			return 0
		})
		if !ok {
			i--
		}
		if i < 0 {
			return nil, nil
		}
		e := list[i]
		if e.run > 0 {
			if id-e.id >= uint64(e.run) {
				return nil, nil
			}
			return p.bytes(p.data+e.offset, uint64(e.length))
		}
		var err error
		if list, err = p.directory(e); err != nil {
			return nil, err
		}
	}
	return nil, ErrFormat
}

// directory reads a leaf directory.
func (p *pmFile) directory(e entry) ([]entry, error) {
	if list, ok := p.leaves.Get(e.offset); ok {
		return list, nil
	}
	b, err := p.bytes(p.leaf+e.offset, uint64(e.length))
	if err != nil {
		return nil, err
	}
	list, err := readDirectory(b)
	if err == nil {
		p.leaves.Put(e.offset, list, int64(24*len(list)))
	}
	return list, err
}

func (p *pmFile) Close() error { return p.f.Close() }

func pack(b []byte) []byte {
	var out bytes.Buffer
	// the level is valid, and a bytes.Buffer does not fail
	w, _ := gzip.NewWriterLevel(&out, gzip.DefaultCompression)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// unpack decompresses b. It refuses results of more than most bytes.
func unpack(b []byte, most int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, ErrFormat
	}
	out, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil || int64(len(out)) > most {
		return nil, ErrFormat
	}
	return out, nil
}
