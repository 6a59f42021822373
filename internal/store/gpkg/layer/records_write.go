package layer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

// RecordsVersion must change if the meaning of record files changes; older files are then rebuilt.
const RecordsVersion = "records4"

const recordsMagic = "grense/2"

// RecordsWriter writes a record file of a layer. NewRecordsWriter creates one.
type RecordsWriter struct {
	l      *Layer
	f      *Fetcher // of all properties
	b      *Batch
	w      *bufio.Writer
	most   int64 // largest size of the file in bytes
	done   int64
	rows   int
	known  []map[any]uint64 // by property: numbers of distinct values
	values [][]any
	first  []int64
	sizes  []int64
	last   int64
	head   []byte // header of the block, without checksum and number of rows
	block  []byte // rows of the block
	row    []byte
	in     int // number of rows in block
}

// NewRecordsWriter returns a writer of a file of at most most bytes. Ids must be integers.
func NewRecordsWriter(w *bufio.Writer, l *Layer, most int64) (*RecordsWriter, error) {
	f, err := NewFetcher(l, store.Want{NoGeometry: true})
	if err != nil {
		return nil, err
	}
	f.fields = l.Fields
	x := &RecordsWriter{l: l, f: f, b: new(Batch), w: w, most: most, last: math.MinInt64,
		known: make([]map[any]uint64, len(l.Fields)), values: make([][]any, len(l.Fields))}
	for i := range x.known {
		x.known[i] = map[any]uint64{}
	}
	return x, nil
}

// Read adds the next n rows of the layer; more reports whether others may follow.
func (w *RecordsWriter) Read(c *sqlite.Conn, n int) (more bool, err error) {
	w.f.statements()
	rows := 0
	err = c.Query(w.f.numbered+" > ? ORDER BY "+w.l.IDExpr(Alias)+" LIMIT ?", []any{w.last, int64(n)},
		func(row sqlite.Row) error {
			w.b.reset()
			w.f.append(w.b, row)
			rows++
			return w.add(row.Int(1+len(w.f.fields)), w.b.values)
		})
	return rows == n, err
}

// add adds the next row. It fails if the file becomes too large.
func (w *RecordsWriter) add(id int64, values []any) error {
	delta := uint64(0)
	if w.in == 0 {
		w.first = append(w.first, id)
	} else {
		delta = uint64(id - w.last)
	}
	w.row = w.row[:0]
	text, some, ok := "", false, false
	for p, v := range values {
		s, plain := v.(string)
		number, known := w.number(p, v)
		switch {
		case v == nil:
			w.row = append(w.row, codeNull)
		case known:
			w.row = binary.AppendUvarint(w.row, codeFirst+number)
		case some && plain && s == text:
			w.row = append(w.row, codeRepeat)
		default:
			if w.row, ok = appendPlain(w.row, v); ok {
				text, some = textOfValue(v)
			}
		}
	}
	w.head = binary.AppendUvarint(binary.AppendUvarint(w.head, delta), uint64(len(w.row)))
	w.block = append(w.block, w.row...)
	w.last = id
	w.rows++
	if w.in++; w.in == recordsABlock {
		return w.flush()
	}
	return nil
}

// number returns the number of a value. A new value gets one while there are few.
func (w *RecordsWriter) number(p int, v any) (uint64, bool) {
	if _, isFloat := v.(float64); isFloat || v == nil { // 0 and -0 are equal but distinct
		return 0, false
	}
	if s, isText := textOfValue(v); isText && len(s) > recordText {
		return 0, false
	}
	known := w.known[p]
	n, ok := known[v]
	if !ok && len(known) < recordValues {
		n, ok = uint64(len(known)), true
		known[v] = n
		w.values[p] = append(w.values[p], v)
	}
	return n, ok
}

// flush writes the current block.
func (w *RecordsWriter) flush() error {
	if w.in == 0 {
		return nil
	}
	block := append(append([]byte{0, 0, 0, 0, byte(w.in)}, w.head...), w.block...)
	binary.LittleEndian.PutUint32(block, recordSum(w.first[len(w.first)-1], block[4:]))
	w.sizes = append(w.sizes, int64(len(block)))
	w.done += int64(len(block))
	_, err := w.w.Write(block)
	w.head, w.block, w.in = w.head[:0], w.block[:0], 0
	if err == nil && w.done > w.most {
		return errNoRoom
	}
	return err
}

// Finish writes the last block and the tail. It fails unless all rows of the layer were added.
func (w *RecordsWriter) Finish() error {
	if err := w.flush(); err != nil {
		return err
	}
	if w.rows != w.l.Count {
		return errNoRoom
	}
	tail := binary.AppendVarint(nil, int64(len(w.values)))
	tail = binary.AppendVarint(tail, int64(w.rows))
	for _, values := range w.values {
		tail = binary.AppendVarint(tail, int64(len(values)))
		for _, v := range values {
			tail, _ = appendPlain(tail, v)
		}
	}
	tail = binary.AppendVarint(tail, int64(len(w.first)))
	before := int64(0)
	for i, id := range w.first {
		tail = binary.AppendVarint(binary.AppendVarint(tail, id-before), w.sizes[i])
		before = id
	}
	sum := crc32.Checksum(tail, recordSums)
	tail = append(tail, recordsMagic...)
	tail = binary.LittleEndian.AppendUint64(tail, uint64(w.done))
	tail = binary.LittleEndian.AppendUint32(tail, sum)
	if _, err := w.w.Write(tail); err != nil {
		return err
	}
	return w.w.Flush()
}

// textOfValue returns a text or JSON value as a string.
func textOfValue(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case store.JSON:
		return string(v), true
	}
	return "", false
}

// errNoRoom reports that the file would be too large, or lacks rows.
var errNoRoom = errors.New("gpkg: no room")
