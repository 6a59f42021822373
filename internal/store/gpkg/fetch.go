package gpkg

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/moment"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// Limits of a batch: bytes of geometries, features, and values.
const (
	batchBytes    = 1 << 20
	batchFeatures = 1000
	batchValues   = 1 << 14
)

// batch holds what is read in one use of a connection. Its memory is reused.
type batch struct {
	wkb    []byte
	ends   []int    // end of each geometry in wkb
	values []any    // values of all features, concatenated
	ids    []string // feature ids, if rows are versions
	blob   []byte
	texts  []knownText // knownTexts entries for each column
	text   [knownBytes + 1]byte
	utf16  bool       // texts are stored as UTF-16
	order  []recordAt // requested rows in the order of records
}

// knownTexts is the number of recent texts that a batch caches for each column (a power of two). knownBytes is the
// largest length of such a text.
const (
	knownTexts = 256
	knownBytes = 64
	// knownColumns is the number of columns with cached texts: the first ones.
	knownColumns = 64
)

// knownText is a recent text of a column, also as a value. Repeated texts then need no memory for each feature.
type knownText struct {
	text  string
	json  bool
	value any
}

// known returns a text, date or JSON column as a value of type t. It reads the column from SQLite only once, since that
// is most of the cost of short texts.
func (b *batch) known(r sqlite.Row, column int, t cql2.Type) any {
	n := 0
	if !b.utf16 {
		n = r.Start(column, b.text[:])
	}
	if n == 0 || n > knownBytes {
		return textValue(r.Text(column), t)
	}
	return b.remembered(b.text[:n], column, t == cql2.TypeJSON)
}

// remembered converts a text of a column to a value. It returns the cached value of an equal recent text.
func (b *batch) remembered(text []byte, column int, json bool) any {
	n := len(text)
	if n > knownBytes || column >= knownColumns {
		return valueOf(string(text), json)
	}
	sum := uint(n)
	for _, c := range text[max(0, n-8):] {
		sum = sum*31 + uint(c)
	}
	at := column*knownTexts + int(sum%knownTexts)
	if at >= len(b.texts) {
		b.texts = append(b.texts, make([]knownText, (column+1)*knownTexts-len(b.texts))...)
	}
	k := &b.texts[at]
	if k.text != string(text) || k.json != json || k.value == nil {
		k.text, k.json = string(text), json
		k.value = valueOf(k.text, json)
	}
	return k.value
}

func textValue(s string, t cql2.Type) any { return valueOf(s, t == cql2.TypeJSON) }

func valueOf(s string, json bool) any {
	if json {
		return store.CompactJSON(s)
	}
	return s
}

// moment returns a timestamp column in the form of moment.Timestamp.
func (b *batch) moment(r sqlite.Row, column int) any {
	if !b.utf16 {
		if s := moment.PlainStamp(b.text[:r.Start(column, b.text[:])]); s != "" {
			return s
		}
	}
	return moment.Timestamp(r.Text(column))
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// Fetch calls fn for each row in the order of rows.
func (s *Store) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	ctx = s.queries(ctx)
	r, err := s.acquire()
	if err != nil {
		return err
	}
	defer r.release()
	l, err := r.layer(collection)
	if err != nil {
		return err
	}
	f, err := newFetcher(l, want)
	if err != nil {
		return err
	}
	b := batches.Get().(*batch)
	defer b.giveBack()
	var feature store.Feature
	from := rowsReader{r: r, f: f, b: b}
	from.records, from.asked = r.recordsOf(f, len(rows))
	for len(rows) > 0 {
		rev, n, missing, err := from.read(ctx, rows)
		if err != nil {
			return err
		}
		feature.Rev = rev
		for i := range n {
			feature.ID = rows[i].ID
			if f.version != nil {
				feature.Of = b.ids[i]
			}
			feature.Geometry, feature.Values = b.feature(i, len(f.fields))
			if err := fn(&feature); err != nil {
				return err
			}
			if i%sqlite.RowsPerSlice == sqlite.RowsPerSlice-1 {
				f.turn = sqlite.YieldAfter(f.turn)
			}
		}
		switch {
		case missing && rows[n].Rev != 0:
			return fmt.Errorf("gpkg: feature %q of collection %q: %w", rows[n].ID, collection, store.ErrChanged)
		case missing && want.SkipMissing:
			n++
		case missing:
			return fmt.Errorf("gpkg: feature %q of collection %q: %w", rows[n].ID, collection, store.ErrNotFound)
		}
		rows = rows[n:]
	}
	return ctx.Err()
}

// rowsReader reads rows into a batch, from records if they are loaded.
type rowsReader struct {
	r       *revision
	f       *fetcher
	b       *batch
	records *records // nil: not loaded
	asked   []int    // indexes of the requested properties in records
}

// read reads the first n of rows in the revision rev. missing means that the next row does not exist, or not in that
// revision.
func (x *rowsReader) read(ctx context.Context, rows []store.Row) (rev uint64, n int, missing bool, err error) {
	if x.records != nil {
		if n, missing, ok, err := x.packed(ctx, rows); ok || err != nil {
			return x.r.rev, n, missing, err
		}
		x.records = nil
	}
	err = x.r.use(ctx, func(c *sqlite.Conn) (err error) {
		if rev, err = x.r.revOf(ctx, c); err == nil {
			n, missing, err = x.f.read(c, x.b, rev, rows)
		}
		return err
	})
	return rev, n, missing, err
}

func (b *batch) reset() {
	clear(b.values)
	clear(b.ids)
	b.wkb, b.ends, b.values, b.ids = b.wkb[:0], b.ends[:0], b.values[:0], b.ids[:0]
}

func (b *batch) giveBack() {
	b.reset()
	if cap(b.wkb) <= 8*batchBytes {
		batches.Put(b)
	}
}

// feature returns the geometry and the n values of the i-th feature of a batch.
func (b *batch) feature(i, n int) (store.Geometry, []any) {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	var g store.Geometry
	if end := b.ends[i]; end > start {
		g.WKB = b.wkb[start:end:end]
	}
	return g, b.values[i*n : (i+1)*n : (i+1)*n]
}

// fetcher reads features of a layer.
type fetcher struct {
	l        *layer
	fields   []*sqlq.Field
	geometry bool          // read the geometry, in the column after the fields
	sql      string        // set by statements
	numbered string        // beginning of statements that also select the id, as the last column; "" if ids are texts
	run      string        // selects features in a range of ids; "" if ids are texts
	version  []*sqlq.Field // of versions: the properties in the id of the feature or the version, in the last columns
	turn     time.Time     // start of the time slice; see sqlite.YieldAfter
}

func newFetcher(l *layer, want store.Want) (*fetcher, error) {
	f := &fetcher{l: l, geometry: l.Geometry != nil && !want.NoGeometry}
	if want.Properties == nil {
		for _, i := range l.visible {
			f.fields = append(f.fields, l.fields[i])
		}
	}
	for _, n := range want.Properties {
		x := l.source.Fields[n]
		if x == nil {
			return nil, fmt.Errorf("gpkg: collection %q has no property %q: %w", l.ID, n, store.ErrNotFound)
		}
		f.fields = append(f.fields, x)
	}
	if v := l.Versions; v != nil {
		f.version = []*sqlq.Field{l.source.Fields[v.ID]}
		if want.VersionIDs {
			f.version = append(f.version, l.source.Fields[v.Start])
		}
	}
	return f, nil
}

// batchRows returns the number of features that fill a batch.
func (f *fetcher) batchRows() int {
	return max(1, min(batchFeatures, batchValues/max(1, len(f.fields))))
}

// statements builds the SQL statements once. They select the last column first: SQLite then parses the header of a
// record to its end at once. Otherwise, for a header longer than a page, it would parse it again for each column.
func (f *fetcher) statements() {
	if f.sql != "" {
		return
	}
	l, cols := f.l, make([]string, 0, len(f.fields)+len(f.version)+2)
	for _, x := range slices.Backward(f.fields) {
		cols = append(cols, selectExpr(alias, x))
	}
	if f.geometry {
		cols = append(cols, alias+"."+sqlite.Quote(l.Geometry.Column))
	} else {
		cols = append(cols, "NULL")
	}
	for _, x := range f.version {
		cols = append(cols, selectExpr(alias, x))
	}
	from := " FROM " + l.source.Table + " AS " + alias + " WHERE "
	f.sql = "SELECT " + strings.Join(cols, ", ") + from + l.isID(alias)
	if from += l.idExpr(alias); !l.text {
		f.numbered = "SELECT " + strings.Join(append(cols, l.idExpr(alias)), ", ") + from
		f.run = f.numbered + " BETWEEN ? AND ? ORDER BY " + l.idExpr(alias)
	}
}

// shortRun is the number of consecutive ids below which separate queries are as fast as a range query.
const shortRun = 8

// readRun reads the first rows into b with one query, as long as their ids are consecutive and exist in the revision
// rev. It returns 0 if fewer than shortRun ids are consecutive.
func (f *fetcher) readRun(c *sqlite.Conn, b *batch, rev uint64, rows []store.Row) (n int, err error) {
	if f.run == "" {
		return 0, nil
	}
	first, long := int64(0), 0
	for most := min(len(rows), f.batchRows()); long < most; long++ {
		id, ok := parseID(rows[long].ID)
		if long == 0 {
			first = id
		}
		if x := rows[long].Rev; !ok || x != 0 && x != rev || id-first != int64(long) {
			break
		}
	}
	if long < shortRun {
		return 0, nil
	}
	at := 1 + len(f.fields) + len(f.version)
	err = c.Query(f.run, []any{first, first + int64(long) - 1}, func(r sqlite.Row) error {
		if r.Int(at) != first+int64(n) {
			return sqlite.ErrEnough
		}
		f.append(b, r)
		if n++; len(b.wkb) >= batchBytes {
			return sqlite.ErrEnough
		}
		return nil
	})
	return n, sqlite.Enough(err)
}

// read fills b with the first n of rows, which exist in the revision rev. missing means that the next row does not
// exist, or not in that revision.
func (f *fetcher) read(c *sqlite.Conn, b *batch, rev uint64, rows []store.Row) (n int, missing bool, err error) {
	b.reset()
	f.statements()
	b.utf16 = c.Encoding != sqlite.UTF8
	if n, err := f.readRun(c, b, rev, rows); n > 0 || err != nil {
		return n, false, err
	}
	for _, x := range rows {
		key, ok := f.l.idValues(x.ID)
		there := false
		if ok && (x.Rev == 0 || x.Rev == rev) {
			err := c.Query(f.sql, key, func(r sqlite.Row) error {
				there = true
				f.append(b, r)
				return nil
			})
			if err != nil {
				return 0, false, err
			}
		}
		if !there {
			return n, true, nil
		}
		if n++; n == f.batchRows() || len(b.wkb) >= batchBytes {
			break
		}
		if n%sqlite.RowsPerSlice == 0 {
			f.turn = sqlite.YieldAfter(f.turn)
		}
	}
	return n, false, nil
}

// value returns a column as a value of type t.
func (b *batch) value(r sqlite.Row, column int, t cql2.Type) any {
	switch t {
	case cql2.TypeText, cql2.TypeDate, cql2.TypeJSON, cql2.TypeTimestamp:
	default:
		v := readValue(r, column, t)
		if n, ok := v.(int64); ok && t == cql2.TypeNumber {
			return integerNumber(n)
		}
		return v
	}
	switch k := r.Kind(column); {
	case k == sqlite.KindText && t == cql2.TypeTimestamp:
		return b.moment(r, column)
	case k == sqlite.KindText:
		return b.known(r, column, t)
	}
	v := readValue(r, column, t)
	if s, ok := v.(string); ok {
		return textValue(s, t)
	}
	return v
}

// integerNumber returns an integer in a column of numbers: as a float64 if that prints the same, else as its digits.
func integerNumber(n int64) any {
	digits := strconv.FormatInt(n, 10)
	if f := float64(n); strconv.FormatFloat(f, 'f', -1, 64) == digits {
		return f
	}
	return store.JSON(digits)
}

func (f *fetcher) append(b *batch, r sqlite.Row) {
	last := len(f.fields) - 1
	if f.geometry && r.Kind(last+1) == sqlite.KindBlob {
		b.blob = r.Bytes(last+1, b.blob)
		wkb, _, _ := gpb.Read(b.blob)
		b.wkb = append(b.wkb, wkb...)
	}
	b.ends = append(b.ends, len(b.wkb))
	for i, x := range f.fields {
		b.values = append(b.values, b.value(r, last-i, x.Type))
	}
	if f.version == nil {
		return
	}
	n := len(f.fields) + 1
	id := store.FeatureID(readValue(r, n, f.version[0].Type))
	if len(f.version) > 1 {
		start, _ := readValue(r, n+1, f.version[1].Type).(string)
		id = store.VersionID(id, start)
	}
	b.ids = append(b.ids, id)
}
