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
)

// Hits of a register lie anywhere in its file, and SQLite reads a page of it for each. So the properties of all rows of
// a layer are packed into a file of their own in the data folder, in the order of the ids, which is a fortieth of the
// pages: thousands of rows are read from it in the time of hundreds. It is made in the background once enough rows were
// read (records_make.go), belongs to one state of the source, is never changed after it was made, and can be deleted at
// any time.

// Sizes of a file of records.
const (
	recordsABlock = 16        // rows that are found and read together
	recordsRead   = 64 << 10  // bytes that are read at once at most, of blocks beside each other
	recordsApart  = 3         // blocks between those that are read at once, at most
	recordsFrom   = 500       // rows of a layer that are read from the source before its records are made
	recordValues  = 1 << 10   // different values of a property that have a number, the first that come
	recordText    = 256       // bytes of a text that has a number, at most
	recordsFooter = 8 + 8 + 4 // bytes: what it is, where the tail begins, its sum
)

// Codes of values. Higher ones are numbers of values.
const (
	codeNull   = iota
	codeText   // its length and itself follow
	codeJSON   // the same
	codeInt    // it follows, signed
	codeFloat  // its bits follow
	codeRepeat // the text before it in the row, as text
	codeFalse
	codeTrue
	codeMoment // a text: seconds since 1970 follow, of a moment in UTC
	codeUUID   // a text: 16 bytes follow
	codeFirst
)

// records is a file of the properties of a layer that is open. It is immutable.
type records struct {
	name   string // in the cache
	file   *os.File
	values [][]any // by property, those that have a number
	first  []int64 // ids that blocks begin with, ascending
	starts []int64 // of blocks in the file, and where the last one ends
	bytes  int     // that it takes in memory
}

var recordSums = crc32.MakeTable(crc32.Castagnoli)

// recordSum returns the sum of a block that begins with an id. A block that was moved has another one.
func recordSum(first int64, block []byte) uint32 {
	return crc32.Update(uint32(first)^uint32(first>>32), recordSums, block)
}

func (t *records) size() int { return t.bytes }

// recordAt is an id and its position in the request.
type recordAt struct {
	id    int64
	at    int
	block int // that it is in, if it is there; -1: none
}

// read fills b with the values of the first n of rows, of the properties with the numbers asked.
// missing reports that the next row does not exist, or not in the revision rev. ok is false if the file cannot be read.
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

// fill stores the values of b.order at their positions in the request.
// least is the position of the first missing row, or n.
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
		to, end := from+1, i+1 // blocks and the rows of each
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

// block is the last one that begins with an id or before it, which is not before from; -1 where there is none. It takes
// the less time the nearer it is.
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
	_, err := t.file.ReadAt(data, start) // io.EOF too: what was read before is in data
	return data, err == nil
}

// recordReader reads rows of a file.
type recordReader struct {
	t      *records
	b      *batch
	to     []int // by property, where its value goes in a row; -1: nowhere
	last   int   // of the requested properties
	width  int   // of a row
	wanted bool  // there are some

	entries [recordsABlock]recordEntry // of a block
}

// blocks reads a range of blocks, and in them the requested rows, in order.
// gone is the smallest position of a row that does not exist.
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

// rows reads the requested rows of a block, in order.
func (r *recordReader) rows(id int64, block []byte, asked []recordAt) (gone int, ok bool) {
	gone = math.MaxInt
	n, ok := r.head(id, block)
	if !ok {
		return 0, false
	}
	for _, x := range r.entries[:n] {
		at := -1 // where the row of this id went, which may be asked for twice
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

// recordEntry is a row of a block, and where it is.
type recordEntry struct {
	id         int64
	start, end int
}

// head reads the head of a block whose first row has an id: the sum of all that follows it, the number of rows, and for
// each the distance of its id to the one before and its length.
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

// row reads the values of a row.
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

// packed reads the first n of rows from records, if nobody has written into the source; it reports false where they are
// to be read from there.
func (x *rowsReader) packed(ctx context.Context, rows []store.Row) (n int, missing, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, false, err
	}
	rev, known := x.r.stamped()
	if !known {
		if err := x.r.use(ctx, func(c *conn) (err error) { rev, err = x.r.revOf(ctx, c); return err }); err != nil {
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

// dropRecords drops records that can no longer be read, and prevents rebuilding them while the source is unchanged.
func (r *revision) dropRecords(t *records) {
	r.memory.mu.Lock()
	r.memory.never[t.name] = true
	r.memory.mu.Unlock()
	r.memory.columns.Delete(tableKey{r.rev, t.name})
	os.Remove(t.file.Name())
}

func recordsName(l *layer) string { return l.ID + "\x00records" }
