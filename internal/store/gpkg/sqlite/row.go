package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

func bind(s *sqlite.Stmt, i int, a any) error {
	switch a := a.(type) {
	case nil:
		s.BindNull(i)
	case string:
		s.BindText(i, a)
	case int64:
		s.BindInt64(i, a)
	case int:
		s.BindInt64(i, int64(a))
	case float64:
		s.BindFloat(i, a)
	case bool:
		s.BindBool(i, a)
	case []byte:
		s.BindBytes(i, a)
	default:
		return fmt.Errorf("gpkg: no SQL form of %T", a)
	}
	return nil
}

// Row is the current row of a query. It is valid until the function that received it returns.
type Row struct{ s *sqlite.Stmt }

// Int returns a value as an integer; 0 if it is null.
func (r Row) Int(i int) int64 { return r.s.ColumnInt64(i) }

// Float returns a value as a float; 0 if it is null.
func (r Row) Float(i int) float64 { return r.s.ColumnFloat(i) }

// Text returns a value as a text; "" if it is null.
func (r Row) Text(i int) string { return r.s.ColumnText(i) }

// Null reports whether a value is null.
func (r Row) Null(i int) bool { return r.s.ColumnType(i) == sqlite.TypeNull }

// Bool reports whether a value is an integer other than 0.
func (r Row) Bool(i int) bool { return r.s.ColumnInt64(i) != 0 }

// Bytes appends a blob or text to dst[:0], to reuse its memory.
func (r Row) Bytes(i int, dst []byte) []byte {
	n := r.s.ColumnLen(i)
	if cap(dst) < n {
		dst = make([]byte, n, n+n/4)
	}
	dst = dst[:n]
	r.s.ColumnBytes(i, dst)
	return dst
}

// Start copies the first bytes of a text or blob into dst and returns their number. Texts must be stored as UTF-8.
func (r Row) Start(i int, dst []byte) int { return r.s.ColumnBytes(i, dst) }

// Kind is the storage class of a value.
type Kind uint8

// The storage classes.
const (
	KindNull Kind = iota
	KindInt
	KindFloat
	KindText
	KindBlob
)

// Kind returns the storage class of a value.
func (r Row) Kind(i int) Kind {
	switch r.s.ColumnType(i) {
	case sqlite.TypeInteger:
		return KindInt
	case sqlite.TypeFloat:
		return KindFloat
	case sqlite.TypeText:
		return KindText
	case sqlite.TypeBlob:
		return KindBlob
	}
	return KindNull
}

// Any returns nil, int64, float64, string or a new []byte.
func (r Row) Any(i int) any {
	switch r.Kind(i) {
	case KindInt:
		return r.Int(i)
	case KindFloat:
		return r.Float(i)
	case KindText:
		return r.Text(i)
	case KindBlob:
		return r.Bytes(i, nil)
	}
	return nil
}
