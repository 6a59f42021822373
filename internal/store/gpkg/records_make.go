package gpkg

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/sqlite"
)

// recordsVersion must change if the meaning of record files changes; older files are then rebuilt.
const recordsVersion = "records4"

const recordsMagic = "grense/2"

// recordsHome is the directory and the name prefix of record files for a version of the source.
type recordsHome struct{ dir, stem string }

// newRecordsHome returns the home for a source and the version of its catalog. It removes files for other versions.
func newRecordsHome(dir string, src file.File, version string) recordsHome {
	prefix, stem := src.SideName(recordsVersion + version)
	file.RemoveOthers(dir, prefix, stem, ".records")
	return recordsHome{dir, stem}
}

// path returns the path of the file for a layer.
func (h recordsHome) path(layer string) string {
	return filepath.Join(h.dir, h.stem+"-"+layer+".records")
}

// recordsWanted counts requested rows of a layer without records.
type recordsWanted struct {
	rows   int
	looked bool // an existing file was looked for
}

// recordsOf returns the records of a layer, and the indexes of the fetcher's properties in them. It returns nil if they
// lack a property or are not loaded. It then loads them, or builds them after enough rows were requested.
func (r *revision) recordsOf(f *fetcher, rows int) (*records, []int) {
	l := f.l
	if f.geometry || f.version != nil || l.text || l.view || l.source.Leads == nil ||
		l.Count < r.memory.limits.records {
		return nil, nil
	}
	asked := make([]int, len(f.fields))
	for i, x := range f.fields {
		if asked[i] = slices.Index(l.fields, x); asked[i] < 0 || slices.Contains(asked[:i], asked[i]) {
			return nil, nil
		}
	}
	name := recordsName(l)
	if t, ok := r.memory.columns.Get(tableKey{r.rev, name}); ok {
		return t.(*records), asked
	}
	if work := r.recordsWork(l, name, rows); work != nil {
		return tableOf[*records](r, r.memory.columns, name, work), asked
	}
	return nil, nil
}

// recordsWork returns a function that loads or builds the records; nil if it is too early.
func (r *revision) recordsWork(l *layer, name string, rows int) func() error {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.wanted[name]
	if w == nil {
		w = &recordsWanted{}
		m.wanted[name] = w
	}
	w.rows += rows
	switch {
	case w.rows >= recordsFrom || m.limits.wait:
		return func() error { return r.putRecords(l, name, true) }
	case !w.looked && !m.building:
		w.looked = true
		return func() error { return r.putRecords(l, name, false) }
	}
	return nil
}

// putRecords opens the records of a layer and caches them. With write it builds a missing file.
func (r *revision) putRecords(l *layer, name string, write bool) error {
	path := r.records.path(l.ID)
	t, err := openRecords(path, l)
	if errors.Is(err, fs.ErrNotExist) && !write {
		r.memory.mu.Lock()
		defer r.memory.mu.Unlock()
		delete(r.memory.asked, name) // they may be requested again soon
		return nil
	}
	if err != nil {
		file.RemoveAbandoned(path)
		if err = file.Atomically(path, func(tmp string) error { return r.writeRecords(l, tmp) }); err == nil {
			t, err = openRecords(path, l)
		}
	}
	if err != nil {
		return err
	}
	if err := r.put(r.memory.columns, name, t, t.size()); err != nil {
		return errors.Join(err, t.file.Close())
	}
	return nil
}

// openRecords opens a record file of a layer. It fails if the file is missing or damaged.
func openRecords(path string, l *layer) (t *records, err error) {
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
	t = &records{name: recordsName(l), file: f}
	if crc32.Checksum(tail, recordSums) != binary.LittleEndian.Uint32(foot[16:]) || !t.readTail(tail, l) {
		return nil, fmt.Errorf("gpkg: %s is damaged", path)
	}
	return t, nil
}

// readTail decodes the tail of the file, which describes the blocks.
func (t *records) readTail(tail []byte, l *layer) bool {
	next := func() (n int64) {
		n, size := binary.Varint(tail)
		tail = tail[max(size, 0):]
		return n
	}
	if next() != int64(len(l.fields)) || next() != int64(l.Count) {
		return false
	}
	b := &batch{}
	t.values = make([][]any, len(l.fields))
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

// recordsChunk is the number of rows that are read in one transaction, so that programs that write to the file need not
// wait long.
const recordsChunk = 4096

// writeRecords writes the record file of a layer. It fails if the source has changed, or if the file would be larger
// than half of it.
func (r *revision) writeRecords(l *layer, path string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	source, err := os.Stat(r.path)
	if err != nil {
		return err
	}
	f, err := newFetcher(l, store.Want{NoGeometry: true})
	if err != nil {
		return err
	}
	f.fields = l.fields
	f.statements()
	w := newRecordsWriter(bufio.NewWriterSize(file, 1<<18), len(l.fields), source.Size()/2)
	b, last, more := new(batch), int64(math.MinInt64), true
	for more {
		more = false
		err := r.use(context.Background(), func(c *sqlite.Conn) error {
			if same, err := c.Unchanged(); err != nil || !same || c.Encoding != sqlite.UTF8 || r.refs.Load() <= 1 {
				return errors.Join(err, errNoRoom)
			}
			n := 0
			return c.Query(f.numbered+" > ? ORDER BY "+l.idExpr(alias)+" LIMIT ?", []any{last, int64(recordsChunk)},
				func(row sqlite.Row) error {
					b.reset()
					f.append(b, row)
					last = row.Int(1 + len(f.fields))
					n++
					more = n == recordsChunk
					return w.add(last, b.values)
				})
		})
		if err != nil {
			return err
		}
	}
	if w.rows != l.Count {
		return errNoRoom
	}
	return w.finish()
}

// recordsWriter writes a record file.
type recordsWriter struct {
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

func newRecordsWriter(w *bufio.Writer, properties int, most int64) *recordsWriter {
	x := &recordsWriter{w: w, most: most, known: make([]map[any]uint64, properties), values: make([][]any, properties)}
	for i := range x.known {
		x.known[i] = map[any]uint64{}
	}
	return x
}

// add adds the next row. It fails if the file becomes too large.
func (w *recordsWriter) add(id int64, values []any) error {
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
func (w *recordsWriter) number(p int, v any) (uint64, bool) {
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
func (w *recordsWriter) flush() error {
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

// finish writes the last block and the tail.
func (w *recordsWriter) finish() error {
	if err := w.flush(); err != nil {
		return err
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
