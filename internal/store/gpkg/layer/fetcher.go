package layer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// Fetcher reads features of a layer.
type Fetcher struct {
	l        *Layer
	fields   []*sqlq.Field
	geometry bool          // read the geometry, in the column after the fields
	sql      string        // set by statements
	numbered string        // beginning of statements that also select the id, as the last column; "" if ids are texts
	run      string        // selects features in a range of ids; "" if ids are texts
	version  []*sqlq.Field // of versions: the properties in the id of the feature or the version, in the last columns
	turn     time.Time     // start of the time slice; see sqlite.YieldAfter
}

// NewFetcher returns a fetcher of what is wanted. It fails with store.ErrNotFound if there is no such property.
func NewFetcher(l *Layer, want store.Want) (*Fetcher, error) {
	f := &Fetcher{l: l, geometry: l.Geometry != nil && !want.NoGeometry}
	if want.Properties == nil {
		for _, i := range l.visible {
			f.fields = append(f.fields, l.Fields[i])
		}
	}
	for _, n := range want.Properties {
		x := l.SQL.Fields[n]
		if x == nil {
			return nil, fmt.Errorf("gpkg: collection %q has no property %q: %w", l.ID, n, store.ErrNotFound)
		}
		f.fields = append(f.fields, x)
	}
	if v := l.Versions; v != nil {
		f.version = []*sqlq.Field{l.SQL.Fields[v.ID]}
		if want.VersionIDs {
			f.version = append(f.version, l.SQL.Fields[v.Start])
		}
	}
	return f, nil
}

// Versions reports whether the rows are versions of features, so that Batch.Of is set.
func (f *Fetcher) Versions() bool { return f.version != nil }

// Width returns the number of values of a feature.
func (f *Fetcher) Width() int { return len(f.fields) }

// Yield lets other goroutines run if the time slice is over.
func (f *Fetcher) Yield() { f.turn = sqlite.YieldAfter(f.turn) }

// Columns returns the indexes of the properties in Layer.Fields; false if the geometry or a version is read as well, or
// a property twice.
func (f *Fetcher) Columns() (list []int, ok bool) {
	if f.geometry || f.version != nil {
		return nil, false
	}
	list = make([]int, len(f.fields))
	for i, x := range f.fields {
		if list[i] = slices.Index(f.l.Fields, x); list[i] < 0 || slices.Contains(list[:i], list[i]) {
			return nil, false
		}
	}
	return list, true
}

// batchRows returns the number of features that fill a batch.
func (f *Fetcher) batchRows() int {
	return max(1, min(batchFeatures, batchValues/max(1, len(f.fields))))
}

// statements builds the SQL statements once. They select the last column first: SQLite then parses the header of a
// record to its end at once. Otherwise, for a header longer than a page, it would parse it again for each column.
func (f *Fetcher) statements() {
	if f.sql != "" {
		return
	}
	l, cols := f.l, make([]string, 0, len(f.fields)+len(f.version)+2)
	for _, x := range slices.Backward(f.fields) {
		cols = append(cols, Select(Alias, x))
	}
	if f.geometry {
		cols = append(cols, Alias+"."+sqlite.Quote(l.Geometry.Column))
	} else {
		cols = append(cols, "NULL")
	}
	for _, x := range f.version {
		cols = append(cols, Select(Alias, x))
	}
	from := " FROM " + l.SQL.Table + " AS " + Alias + " WHERE "
	f.sql = "SELECT " + strings.Join(cols, ", ") + from + l.isID(Alias)
	if from += l.IDExpr(Alias); !l.TextID {
		f.numbered = "SELECT " + strings.Join(append(cols, l.IDExpr(Alias)), ", ") + from
		f.run = f.numbered + " BETWEEN ? AND ? ORDER BY " + l.IDExpr(Alias)
	}
}

// shortRun is the number of consecutive ids below which separate queries are as fast as a range query.
const shortRun = 8

// readRun reads the first rows into b with one query, as long as their ids are consecutive and exist in the revision
// rev. It returns 0 if fewer than shortRun ids are consecutive.
func (f *Fetcher) readRun(c *sqlite.Conn, b *Batch, rev uint64, rows []store.Row) (n int, err error) {
	if f.run == "" {
		return 0, nil
	}
	first, long := int64(0), 0
	for most := min(len(rows), f.batchRows()); long < most; long++ {
		id, ok := ParseID(rows[long].ID)
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
		if n++; len(b.wkb) >= BatchBytes {
			return sqlite.ErrEnough
		}
		return nil
	})
	return n, sqlite.Enough(err)
}

// Read fills b with the first n of rows, which exist in the revision rev. missing means that the next row does not
// exist, or not in that revision.
func (f *Fetcher) Read(c *sqlite.Conn, b *Batch, rev uint64, rows []store.Row) (n int, missing bool, err error) {
	b.reset()
	f.statements()
	b.utf16 = c.Encoding != sqlite.UTF8
	if n, err := f.readRun(c, b, rev, rows); n > 0 || err != nil {
		return n, false, err
	}
	for _, x := range rows {
		key, ok := f.l.IDValues(x.ID)
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
		if n++; n == f.batchRows() || len(b.wkb) >= BatchBytes {
			break
		}
		if n%sqlite.RowsPerSlice == 0 {
			f.Yield()
		}
	}
	return n, false, nil
}

func (f *Fetcher) append(b *Batch, r sqlite.Row) {
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
	id := store.FeatureID(Value(r, n, f.version[0].Type))
	if len(f.version) > 1 {
		start, _ := Value(r, n+1, f.version[1].Type).(string)
		id = store.VersionID(id, start)
	}
	b.ids = append(b.ids, id)
}
