// Package layer reads the rows of a layer: by id, as features, and as records of filters. It reads the file, or packed
// records in a file of their own.
package layer

import (
	"strconv"

	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// Layer is a collection with what SQL statements need. It is immutable.
type Layer struct {
	*store.Collection
	SQL           *sqlq.Source
	IDColumn      string        // quoted column with the feature id; "" if it has parts
	Parts         []Part        // columns of a feature id with several parts
	TextID        bool          // the feature id is text; always so with parts
	Fields        []*sqlq.Field // in the order of Collection.Properties
	GeometryBytes int64         // total size of the geometries
	visible       []int         // indexes in Collection.Properties of those that are not hidden
	Boxes         string        // R-tree with an entry for each row with a geometry, as in SQL; "": none
	View          bool          // a view, whose rows may depend on other tables
	Outside       bool          // some coordinates lie outside of Collection.Extent
	Rowid         string        // quoted column that identifies rows in SQLite; "" if there is none
	Keyed         bool          // the feature id is the row id in the R-tree
	Large         bool          // it has LargeFrom features or more
	Marks         []int64       // every MarkEvery-th id in order; nil: unknown
}

// LargeFrom is the number of features from which a layer is large. Requests do not read all rows of a large layer:
// short parts of texts are searched in the index file, and the first sorted page waits for it.
const LargeFrom = 1_000_000

// MarkEvery is the number of rows between two marks. Marks are ids of a layer at regular intervals, for large offsets.
const MarkEvery = 1024

// MostIDs is the number of features up to which ids are loaded only for paging. Larger layers have marks.
const MostIDs = 100_000

// IDExpr returns an SQL expression for the feature id. Several parts are joined.
func (l *Layer) IDExpr(alias string) string {
	switch {
	case l.Parts != nil:
		return printedExpr(l.Parts, alias)
	case l.TextID:
		return alias + "." + l.IDColumn + " COLLATE BINARY"
	}
	return alias + "." + l.IDColumn
}

// IDValue returns the value of IDExpr for a feature id; false if no feature can have the id.
func (l *Layer) IDValue(id string) (any, bool) {
	if l.Parts != nil {
		_, ok := store.SplitID(id, l.integers())
		return id, ok
	}
	if l.TextID {
		return id, id != ""
	}
	n, ok := ParseID(id)
	return n, ok
}

// SetCollation records whether columns may have a declared collation.
func (l *Layer) SetCollation(c *sqlite.Conn) error {
	s, err := c.Schema()
	if err != nil {
		return err
	}
	for _, f := range l.SQL.Fields {
		f.Collated = s.Collated
	}
	return nil
}

// Add adds a property and the field that it is read from.
func (l *Layer) Add(p store.Property, f *sqlq.Field) {
	if !p.Hidden {
		l.visible = append(l.visible, len(l.Properties))
	}
	l.Properties = append(l.Properties, p)
	l.Fields = append(l.Fields, f)
	l.SQL.Fields[p.Name] = f
}

// Alias is the alias of the collection's table in statements.
const Alias = "t"

// ParseID parses a numeric feature id in its canonical form.
func ParseID(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}
