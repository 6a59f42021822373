package postgis

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// Number of features read at a time: at first and at most. It is halved after a portion with more than so many bytes of
// geometry.
const (
	firstPortion = 100
	mostPortion  = 1000
	portionBytes = 2 << 20
)

// Fetch calls fn for each row in the order of rows.
func (s *Store) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	l, err := s.current.Load().layer(collection)
	if err != nil {
		return err
	}
	f, err := newFetcher(l, want)
	if err != nil {
		return err
	}
	f.sql = f.statement()
	size := firstPortion
	if !f.geometry {
		size = mostPortion
	}
	for len(rows) > 0 {
		portion := rows[:min(len(rows), size)]
		if err := s.ask(ctx, l, func(c *pgxpool.Conn) error { return f.read(ctx, c, portion) }); err != nil {
			return err
		}
		for i, row := range portion {
			x := &f.features[f.same[i]]
			switch {
			case row.Rev != 0 && (x.ID == "" || x.Rev != row.Rev):
				return fmt.Errorf("postgis: feature %q of collection %q: %w", row.ID, collection, store.ErrChanged)
			case x.ID == "" && want.SkipMissing:
				continue
			case x.ID == "":
				return fmt.Errorf("postgis: feature %q of collection %q: %w", row.ID, collection, store.ErrNotFound)
			}
			feature := *x
			if err := fn(&feature); err != nil {
				return err
			}
		}
		if size = min(2*size, mostPortion); f.bytes > portionBytes {
			size = max(len(portion)/2, 1)
		}
		rows = rows[len(portion):]
	}
	return ctx.Err()
}

// fetcher reads features of a layer.
type fetcher struct {
	l        *layer
	types    []cql2.Type
	fields   []*sqlq.Field
	expects  []expect
	geometry bool
	columns  string // selected columns, each after a comma
	sql      string
	features []store.Feature // of the last portion, in the order of its ids; ID is "" if the feature does not exist
	same     []int           // for each id of the portion, the position of its first occurrence
	bytes    int             // size of the geometries in the portion
	version  []*sqlq.Field   // of versions: the properties in the id of the feature or the version, in the last columns
	last     []any           // last text of each property, to reuse repeated texts
}

func newFetcher(l *layer, want store.Want) (*fetcher, error) {
	f := &fetcher{l: l, geometry: l.Geometry != nil && !want.NoGeometry}
	var fields []*sqlq.Field
	if want.Properties == nil {
		for _, i := range l.visible {
			fields = append(fields, l.fields[i])
		}
	}
	for _, n := range want.Properties {
		x := l.source.Fields[n]
		if x == nil {
			return nil, fmt.Errorf("postgis: collection %q has no property %q: %w", l.ID, n, store.ErrNotFound)
		}
		fields = append(fields, x)
	}
	b := sqlq.New(sqlq.PostgreSQL{})
	if f.geometry {
		b.Text(", ", l.wkb(alias))
		f.expects = append(f.expects, expect{})
	}
	for _, x := range fields {
		b.Text(", ", valueExpr(alias, x))
		f.types, f.expects = append(f.types, x.Type), append(f.expects, expectValue(x))
	}
	if v := l.Versions; v != nil {
		f.version = []*sqlq.Field{l.source.Fields[v.ID]}
		if want.VersionIDs {
			f.version = append(f.version, l.source.Fields[v.Start])
		}
		for _, x := range f.version {
			b.Text(", ", valueExpr(alias, x))
			f.expects = append(f.expects, expectValue(x))
		}
	}
	f.fields = fields
	f.columns, _ = b.SQL()
	f.last = make([]any, len(f.types))
	return f, nil
}

// statement returns the statement that selects ids, revisions and columns for the lists of ids $1, $2 ...
func (f *fetcher) statement() string {
	l := f.l
	return "SELECT " + l.idText(alias) + ", " + l.revisionSQL + f.columns + " FROM " + l.source.Table + " AS " + alias +
		" WHERE " + l.oneOf()
}

// read fills features with the existing ones of rows.
func (f *fetcher) read(ctx context.Context, c *pgxpool.Conn, rows []store.Row) error {
	f.features, f.same, f.bytes = make([]store.Feature, len(rows)), make([]int, len(rows)), 0
	expects := append(f.l.idExpects(), f.expects...)
	if f.l.text {
		at, keys := make(map[string]int, len(rows)), make([][]any, 0, len(rows))
		for i, row := range rows {
			id := row.ID
			first, seen := at[id]
			if !seen {
				first, at[id] = i, i
				if key, ok := f.l.id(id); ok {
					keys = append(keys, key)
				}
			}
			f.same[i] = first
		}
		return f.l.one(ctx, c, expecting{statement{f.sql, f.l.lists(keys)}, expects, len(f.l.parts) == 1},
			func(r pgx.Rows) error {
				raw := r.RawValues()
				if i, ok := at[f.l.printed(raw[0])]; ok {
					return f.fill(i, rows[i].ID, raw)
				}
				return nil
			})
	}
	at, keys := make(map[int64]int, len(rows)), make([]int64, 0, len(rows))
	for i, row := range rows {
		f.same[i] = i
		v, ok := f.l.id(row.ID)
		if !ok {
			continue
		}
		n := v[0].(int64)
		first, seen := at[n]
		if !seen {
			first, at[n] = i, i
			keys = append(keys, n)
		}
		f.same[i] = first
	}
	return f.l.one(ctx, c, expecting{statement{f.sql, []any{keys}}, expects, true}, func(r pgx.Rows) error {
		raw := r.RawValues()
		if i, ok := at[int64(binary.BigEndian.Uint64(raw[0]))]; ok {
			return f.fill(i, rows[i].ID, raw)
		}
		return nil
	})
}

// fill sets the n-th feature from a row.
func (f *fetcher) fill(n int, id string, raw [][]byte) error {
	x := &f.features[n]
	if x.ID != "" {
		return f.l.changed("an id occurs twice")
	}
	rev, err := f.l.revision(raw[1])
	if err != nil {
		return err
	}
	x.ID, x.Rev = id, rev
	return f.members(x, raw[2:])
}

// members sets geometry and values of a feature from the columns.
func (f *fetcher) members(x *store.Feature, raw [][]byte) error {
	if f.geometry {
		if err := f.l.inSystem(raw[0]); err != nil {
			return err
		}
		if b := f.l.served(raw[0]); b != nil {
			x.Geometry.WKB = append([]byte(nil), b...)
			f.bytes += len(b)
		}
		raw = raw[1:]
	}
	x.Values = make([]any, len(f.types))
	for i, t := range f.types {
		x.Values[i] = f.value(i, raw[i], t)
	}
	if f.version != nil {
		x.Of = f.versionID(raw[len(f.types):])
	}
	return nil
}

// versionID returns the id of the feature of a version, or of the version itself, from the values of f.version.
func (f *fetcher) versionID(raw [][]byte) string {
	var values [2]any
	for i, x := range f.version {
		if v, ok := decodeValue(raw[i], x); ok {
			values[i] = v
		}
	}
	id := store.FeatureID(values[0])
	if start, ok := values[1].(string); ok {
		return store.VersionID(id, start)
	}
	return id
}

func (f *fetcher) value(i int, raw []byte, t cql2.Type) any {
	if raw == nil {
		return nil
	}
	switch t {
	case cql2.TypeText:
		if s, ok := f.last[i].(string); !ok || s != string(raw) {
			f.last[i] = string(raw)
		}
		return f.last[i]
	case cql2.TypeJSON:
		if s, ok := f.last[i].(store.JSON); !ok || string(s) != string(raw) {
			f.last[i] = store.CompactJSON(string(raw))
		}
		return f.last[i]
	}
	v, ok := decodeValue(raw, f.fields[i])
	if !ok {
		f.l.reportBeyond(f.fields[i].Column)
	}
	return v
}

// served returns a stored geometry as it is served, with lines instead of circular arcs; nil if it has no positions. It
// may share memory with b.
func (l *layer) served(b []byte) []byte {
	b, in, err := wkb.Lines(b, store.Chord(l.Geometry.CRS))
	if err != nil || in.Positions == 0 {
		return nil
	}
	return b
}
