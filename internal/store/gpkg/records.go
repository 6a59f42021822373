package gpkg

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"slices"
	"sort"

	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

// The rows that a search of a register finds lie anywhere in its file, and SQLite reads a page for each. Therefore the
// properties of all rows of a layer are packed into a record file in the data directory, ordered by id, with about one
// fortieth of the pages. Reading thousands of rows then takes the time of hundreds. The file is built in the background
// after enough rows have been read (records_make.go). It belongs to one version of the source, is never modified, and
// can be deleted at any time.

// Sizes in a record file.
const (
	recordsABlock = 16        // rows in a block
	recordsRead   = 64 << 10  // largest number of bytes of adjacent blocks in one read
	recordsApart  = 3         // largest gap, in blocks, that is read along
	recordsFrom   = 500       // rows read from the source before the records are built
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

// records is an open record file of a layer. It is immutable.
type records struct {
	name   string // table name in the cache
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

func (t *records) size() int { return t.bytes }

// recordAt is a requested id and its index in the request.
type recordAt struct {
	id    int64
	at    int
	block int // block that would contain it; -1: none
}

// read fills b with the values of the first n of rows, for the properties in asked. missing means that the next row
// does not exist, or not in the revision rev. ok is false if the file cannot be read.
func (t *records) read(b *batch, asked []int, rev uint64, rows []store.Row) (n int, missing, ok bool) {
	b.reset()
	rows = rows[:min(len(rows), batchFeatures)]
	b.order = b.order[:0]
	for i, x := range rows {
		id, number := parseID(x.ID)
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
func (t *records) fill(b *batch, asked []int, n int) (least int, ok bool) {
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
func (t *records) find(order []recordAt) {
	near := 0
	for i := range order {
		k := t.block(order[i].id, near)
		order[i].block = k
		near = max(near, k)
	}
}

// block returns the last block, from on, whose first id is at most id; -1 if there is none. It is faster the nearer the
// block is.
func (t *records) block(id int64, from int) int {
	step := 1
	for from+step < len(t.first) && t.first[from+step] <= id {
		from, step = from+step, 2*step
	}
	near := t.first[from:min(from+step, len(t.first))]
	return from + sort.Search(len(near), func(i int) bool { return near[i] > id }) - 1
}

// data reads a part of the file; false if that fails.
func (t *records) data(b *batch, start, end int64) ([]byte, bool) {
	if cap(b.blob) < int(end-start) {
		b.blob = make([]byte, max(int(end-start), 4<<10))
	}
	data := b.blob[:end-start]
	_, err := t.file.ReadAt(data, start) // at io.EOF the data are complete
	return data, err == nil
}

// recordReader decodes rows.
type recordReader struct {
	t      *records
	b      *batch
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

// packed reads the first n of rows from the record file. ok is false if the source may have changed; then rows must be
// read from the source.
func (x *rowsReader) packed(ctx context.Context, rows []store.Row) (n int, missing, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, false, err
	}
	rev, known := x.r.stamped()
	if !known {
		if err := x.r.use(ctx, func(c *sqlite.Conn) (err error) {
			rev,
				err = x.r.revOf(ctx, c)
			return err
		}); err != nil {
			return 0, false, false, err
		}
	}
	if rev != x.r.rev {
		return 0, false, false, nil
	}
	if n, missing, ok = x.records.read(x.b, x.asked, rev, rows); !ok {
		x.r.dropRecords(x.records)
	}
	return n, missing, ok, nil
}

// dropRecords drops unreadable records, and prevents that they are built again while the source is unchanged.
func (r *revision) dropRecords(t *records) {
	r.memory.mu.Lock()
	r.memory.never[t.name] = true
	r.memory.mu.Unlock()
	r.memory.columns.Delete(tableKey{r.rev, t.name})
	os.Remove(t.file.Name())
}

func recordsName(l *layer) string { return l.ID + "\x00records" }
