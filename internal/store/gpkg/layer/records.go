package layer

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
	"sort"

	"grense/internal/store"
)

// The rows that a search of a register finds lie anywhere in its file, and SQLite reads a page for each. Therefore the
// properties of all rows of a layer are packed into a record file in the data directory, ordered by id, with about one
// fortieth of the pages. Reading thousands of rows then takes the time of hundreds. The file belongs
// to one version of the source, is never modified, and can be deleted at any time.

// Sizes in a record file.
const (
	recordsABlock = 16        // rows in a block
	recordsRead   = 64 << 10  // largest number of bytes of adjacent blocks in one read
	recordsApart  = 3         // largest gap, in blocks, that is read along
	recordValues  = 1 << 10   // largest number of distinct values of a property that get a number
	recordText    = 256       // largest length of a text that gets a number
	recordsFooter = 8 + 8 + 4 // version, offset of the tail, and checksum
)

// Codes of values. Greater codes are numbers of distinct values.
const (
	codeNull   = iota
	codeText   // followed by length and text
	codeJSON   // followed by length and JSON
	codeInt    // followed by a signed integer
	codeFloat  // followed by the bits
	codeRepeat // repeats the previous text of the row
	codeFalse
	codeTrue
	codeMoment // timestamp text in UTC; followed by seconds since 1970
	codeUUID   // UUID text; followed by 16 bytes
	codeFirst
)

// Records is an open record file of a layer. It is immutable.
type Records struct {
	file   *os.File
	values [][]any // distinct values with a number, by property
	first  []int64 // first id of each block
	starts []int64 // offset of each block, and the end of the last one
	bytes  int     // memory used
}

var recordSums = crc32.MakeTable(crc32.Castagnoli)

// recordSum returns the checksum of a block. It includes the first id, so that a misplaced block is detected.
func recordSum(first int64, block []byte) uint32 {
	return crc32.Update(uint32(first)^uint32(first>>32), recordSums, block)
}

// Size returns the memory of the records in bytes.
func (t *Records) Size() int { return t.bytes }

// Path returns the path of the file when it was opened.
func (t *Records) Path() string { return t.file.Name() }

// Close closes the file. It is also closed when nobody uses the records any more.
func (t *Records) Close() error { return t.file.Close() }

// Read fills b with the values of the first n of rows, for the properties in asked. missing means that the next row
// does not exist, or not in the revision rev. ok is false if the file cannot be read.
func (t *Records) Read(b *Batch, asked []int, rev uint64, rows []store.Row) (n int, missing, ok bool) {
	b.reset()
	rows = rows[:min(len(rows), batchFeatures)]
	b.order = b.order[:0]
	for i, x := range rows {
		id, number := ParseID(x.ID)
		if !number || x.Rev != 0 && x.Rev != rev {
			rows, missing = rows[:i], true
			break
		}
		b.order = append(b.order, recordAt{id: id, at: i})
	}
	byID := func(x, y recordAt) int { return cmp.Compare(x.id, y.id) }
	if !slices.IsSortedFunc(b.order, byID) {
		slices.SortFunc(b.order, byID)
	}
	b.values = slices.Grow(b.values, len(rows)*len(asked))[:len(rows)*len(asked)]
	at, ok := t.fill(b, asked, len(rows))
	if !ok {
		return 0, false, false
	}
	if at < len(rows) {
		rows, missing = rows[:at], true
		b.values = b.values[:at*len(asked)]
	}
	for range rows {
		b.ends = append(b.ends, 0)
	}
	return len(rows), missing, true
}

// fill reads the values of b.order and stores them at their positions in the request. least is the position of the
// first missing row, or n.
func (t *Records) fill(b *Batch, asked []int, n int) (least int, ok bool) {
	r := recordReader{t: t, b: b, to: make([]int, len(t.values))}
	for i := range r.to {
		r.to[i] = -1
	}
	for i, p := range asked {
		r.to[p], r.last = i, max(r.last, p)
	}
	r.width, r.wanted = len(asked), len(asked) > 0
	t.find(b.order)
	least = n
	for i := 0; i < len(b.order); {
		from := b.order[i].block
		if from < 0 {
			least = min(least, b.order[i].at)
			i++
			continue
		}
		to, end := from+1, i+1 // range of blocks, and of requested rows in them
		for ; end < len(b.order); end++ {
			k := b.order[end].block
			if k > to+recordsApart || k >= to && t.starts[k+1]-t.starts[from] > recordsRead {
				break
			}
			to = max(to, k+1)
		}
		gone, ok := r.blocks(from, to, b.order[i:end])
		if !ok {
			return 0, false
		}
		least, i = min(least, gone), end
	}
	return least, true
}

// find finds the block of each requested id, in order.
func (t *Records) find(order []recordAt) {
	near := 0
	for i := range order {
		k := t.block(order[i].id, near)
		order[i].block = k
		near = max(near, k)
	}
}

// block returns the last block, from on, whose first id is at most id; -1 if there is none. It is faster the nearer the
// block is.
func (t *Records) block(id int64, from int) int {
	step := 1
	for from+step < len(t.first) && t.first[from+step] <= id {
		from, step = from+step, 2*step
	}
	near := t.first[from:min(from+step, len(t.first))]
	return from + sort.Search(len(near), func(i int) bool { return near[i] > id }) - 1
}

// data reads a part of the file; false if that fails.
func (t *Records) data(b *Batch, start, end int64) ([]byte, bool) {
	if cap(b.blob) < int(end-start) {
		b.blob = make([]byte, max(int(end-start), 4<<10))
	}
	data := b.blob[:end-start]
	_, err := t.file.ReadAt(data, start) // at io.EOF the data are complete
	return data, err == nil
}

// recordReader decodes rows.
type recordReader struct {
	t      *Records
	b      *Batch
	to     []int // by property: position of its value in a row; -1: not requested
	last   int   // last requested property
	width  int   // values in a row
	wanted bool  // some property is requested

	entries [recordsABlock]recordEntry // of the current block
}

// blocks reads a range of blocks and decodes the requested rows in them. gone is the smallest position of a row that
// does not exist.
func (r *recordReader) blocks(from, to int, asked []recordAt) (gone int, ok bool) {
	t := r.t
	start := t.starts[from]
	data, ok := t.data(r.b, start, t.starts[to])
	if !ok {
		return 0, false
	}
	gone = math.MaxInt
	for k := from; k < to && len(asked) > 0; k++ {
		n := 0
		for n < len(asked) && (k+1 == to || asked[n].id < t.first[k+1]) {
			n++
		}
		if n == 0 {
			continue
		}
		least, ok := r.rows(t.first[k], data[t.starts[k]-start:t.starts[k+1]-start], asked[:n])
		if !ok {
			return 0, false
		}
		gone, asked = min(gone, least), asked[n:]
	}
	return gone, true
}

// rows decodes the requested rows of a block. gone is as in blocks.
func (r *recordReader) rows(id int64, block []byte, asked []recordAt) (gone int, ok bool) {
	gone = math.MaxInt
	n, ok := r.head(id, block)
	if !ok {
		return 0, false
	}
	for _, x := range r.entries[:n] {
		at := -1 // position of this id's row, which may be requested twice
		for ; len(asked) > 0 && asked[0].id <= x.id; asked = asked[1:] {
			to := asked[0].at
			switch {
			case asked[0].id < x.id:
				gone = min(gone, to)
			case at >= 0:
				copy(r.b.values[to*r.width:(to+1)*r.width], r.b.values[at*r.width:])
			case r.wanted && !r.row(block[x.start:x.end], r.b.values[to*r.width:(to+1)*r.width]):
				return 0, false
			default:
				at = to
			}
		}
	}
	for _, x := range asked {
		gone = min(gone, x.at)
	}
	return gone, true
}

// recordEntry is a row of a block, and its position.
type recordEntry struct {
	id         int64
	start, end int
}

// head decodes the header of a block whose first row has the id first: the checksum of the rest, the number of rows,
// and for each row the difference to the previous id and its length.
func (r *recordReader) head(first int64, block []byte) (n int, ok bool) {
	if len(block) < 5 || block[4] == 0 || block[4] > recordsABlock ||
		recordSum(first, block[4:]) != binary.LittleEndian.Uint32(block) {
		return 0, false
	}
	n = int(block[4])
	id, at, end := first, 5, 0
	for i := range r.entries[:n] {
		delta, a := binary.Uvarint(block[at:])
		size, b := binary.Uvarint(block[at+max(a, 0):])
		if at += a + b; a <= 0 || b <= 0 || size > uint64(len(block)) {
			return 0, false
		}
		id += int64(delta)
		r.entries[i] = recordEntry{id, end, end + int(size)}
		end += int(size)
	}
	for i := range r.entries[:n] {
		r.entries[i].start += at
		r.entries[i].end += at
	}
	return n, at+end == len(block)
}

// row decodes the values of a row.
func (r *recordReader) row(data []byte, values []any) bool {
	c := recordCursor{data: data}
	for p := 0; p <= r.last; p++ {
		to := r.to[p]
		v, ok := c.next(r.b, p, r.t.values[p], to >= 0)
		if !ok {
			return false
		}
		if to >= 0 {
			values[to] = v
		}
	}
	return true
}

// OpenRecords opens a record file of a layer. It fails if the file is missing or damaged.
func OpenRecords(path string, l *Layer) (t *Records, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	foot := make([]byte, recordsFooter)
	if _, err := f.ReadAt(foot, max(info.Size()-recordsFooter, 0)); err != nil {
		return nil, err
	}
	start := int64(binary.LittleEndian.Uint64(foot[8:]))
	if string(foot[:8]) != recordsMagic || start < 0 || start > info.Size()-recordsFooter {
		return nil, fmt.Errorf("gpkg: %s holds no records", path)
	}
	tail := make([]byte, info.Size()-recordsFooter-start)
	if _, err := f.ReadAt(tail, start); err != nil && err != io.EOF {
		return nil, err
	}
	t = &Records{file: f}
	if crc32.Checksum(tail, recordSums) != binary.LittleEndian.Uint32(foot[16:]) || !t.readTail(tail, l) {
		return nil, fmt.Errorf("gpkg: %s is damaged", path)
	}
	return t, nil
}

// readTail decodes the tail of the file, which describes the blocks.
func (t *Records) readTail(tail []byte, l *Layer) bool {
	next := func() (n int64) {
		n, size := binary.Varint(tail)
		tail = tail[max(size, 0):]
		return n
	}
	if next() != int64(len(l.Fields)) || next() != int64(l.Count) {
		return false
	}
	b := &Batch{}
	t.values = make([][]any, len(l.Fields))
	for p := range t.values {
		values := make([]any, next())
		for i := range values {
			c := recordCursor{data: tail}
			var ok bool
			if values[i], ok = c.next(b, 0, nil, true); !ok {
				return false
			}
			tail = c.data
			t.bytes += 48
			if s, isText := textOfValue(values[i]); isText {
				t.bytes += len(s)
			}
		}
		t.values[p] = values
	}
	n := int(next())
	t.first, t.starts = make([]int64, n), make([]int64, n+1)
	id := int64(0)
	for i := range n {
		id += next()
		t.first[i], t.starts[i+1] = id, t.starts[i]+next()
	}
	t.bytes += 16 * n
	return len(tail) == 0 && n > 0
}
