package postgis

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// errChanged reports a table that is not as it was when its definition was read.
var errChanged = errors.New("postgis: the definition is another now")

func (l *layer) changed(what string) error {
	return own(fmt.Errorf("postgis: table %s is not what it was when it was read (%s): %w: %w", l.table.layer(), what,
		store.ErrUnavailable, errChanged))
}

// expect says what a column of an answer has to be.
type expect struct {
	types []uint32 // nil: any
}

func expectType(t cql2.Type) expect {
	switch t {
	case cql2.TypeText:
		return expect{types: []uint32{pgtype.TextOID, pgtype.VarcharOID}}
	case cql2.TypeInteger:
		return expect{types: []uint32{pgtype.Int8OID}}
	case cql2.TypeNumber:
		return expect{types: []uint32{pgtype.Float8OID}}
	case cql2.TypeBool:
		return expect{types: []uint32{pgtype.BoolOID}}
	case cql2.TypeDate:
		return expect{types: []uint32{pgtype.DateOID}}
	case cql2.TypeTimestamp:
		return expect{types: []uint32{pgtype.TimestamptzOID}}
	}
	return expect{types: []uint32{pgtype.TextOID}}
}

// expect is what the expression of a key gives.
func (k key) expect() expect {
	if k.numeric {
		return expectType(cql2.TypeText)
	}
	return expectType(k.typ)
}

// expectValue is what valueExpr gives.
func expectValue(f *sqlq.Field) expect {
	if f.Normal == sqlq.PostgresNumeric {
		return expect{types: []uint32{pgtype.TextOID}}
	}
	return expectType(f.Type)
}

func (l *layer) expectState() expect {
	if l.xmin {
		return expect{types: []uint32{pgtype.XIDOID}}
	}
	return expectType(cql2.TypeInteger)
}

// idExpects is what idText and state give.
func (l *layer) idExpects() []expect {
	id := expectType(cql2.TypeText)
	if !l.text {
		id = expectType(cql2.TypeInteger)
	}
	return []expect{id, l.expectState()}
}

// check compares the columns of an answer, as far as something is expected of them.
func (l *layer) check(fields []pgconn.FieldDescription, expects []expect) error {
	for i, e := range expects[:min(len(expects), len(fields))] {
		if e.types != nil && !slices.Contains(e.types, fields[i].DataTypeOID) {
			return l.changed(fmt.Sprintf("a column is of the type %d", fields[i].DataTypeOID))
		}
	}
	return nil
}

// placeExpr returns the current value of layer.stored as an expression; null if the column no longer exists.
// In a column of any system, the first geometry decides the system: the operator of boxes compares numbers,
// whatever their system. A view may take long to return a row, so only a result without rows uses it.
func (l *layer) placeExpr(noRows bool) string {
	system := "0"
	if l.anySystem && (noRows || l.table.kind != 'v') {
		column := quote(l.Geometry.Column)
		system = fmt.Sprintf("coalesce((SELECT ST_SRID(%s) FROM %s WHERE %s IS NOT NULL LIMIT 1), %d) - %d", column,
			l.table.quoted(), column, l.srid, l.srid)
	}
	return fmt.Sprintf("(SELECT a.atttypid || ' ' || a.atttypmod || CASE %s WHEN 0 THEN '' ELSE ' moved' END FROM "+
		"pg_attribute a WHERE a.attrelid = %d AND a.attname = '%s')",
		system, l.table.oid, escapeQuotes(l.Geometry.Column))
}

// elsewhere is what layer.wkb gives instead of a geometry that is in another reference system than the layer.
const elsewhere = `\x00`

// inSystem is an error when a geometry is not in the reference system of the layer. Null is.
func (l *layer) inSystem(wkb []byte) error {
	if len(wkb) == 1 {
		return l.changed("a geometry is in another reference system")
	}
	return nil
}

// ask is retry for a query about a layer. If the result shows that the table has changed,
// the definitions are read again.
func (s *Store) ask(ctx context.Context, l *layer, fn func(*pgxpool.Conn) error) error {
	err := s.retry(context.WithValue(ctx, lazily{}, true), fn)
	if err == nil {
		return nil
	}
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if errors.Is(err, errChanged) || ok && (pe.Code[:2] == "42" || pe.Code == "3F000") {
		s.doubt()
	}
	if ok && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) &&
		(!l.plain && l.table.kind != 'p' || pe.Code[:2] == "22") && fails(pe.Code) {
		s.doubt()
		return fmt.Errorf("postgis: table %s cannot be read: %w: %w", l.table.layer(), store.ErrUnavailable, err)
	}
	return err
}

// fails reports an error of the server that comes from what a view computes or a foreign server says (PostgreSQL,
// appendix A), not from how it was asked.
func fails(code string) bool {
	switch code[:2] {
	case "21", "22", "2F", "38", "39", "HV", "P0", "XX":
		return true
	}
	return false
}
