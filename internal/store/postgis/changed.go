package postgis

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// errChanged reports that a table has changed since its definition was read.
var errChanged = errors.New("postgis: the definition is another now")

func (l *layer) changed(what string) error {
	return conn.Own(fmt.Errorf("postgis: table %s is not what it was when it was read (%s): %w: %w", l.table.Layer(),
		what, store.ErrUnavailable, errChanged))
}

// expect describes a column of a result.
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

// expect returns what the expression of a key returns.
func (k key) expect() expect {
	if k.numeric {
		return expectType(cql2.TypeText)
	}
	return expectType(k.typ)
}

// expectValue returns what valueExpr returns.
func expectValue(f *sqlq.Field) expect {
	if f.Normal == sqlq.PostgresNumeric {
		return expect{types: []uint32{pgtype.TextOID}}
	}
	return expectType(f.Type)
}

func (l *layer) expectRevision() expect {
	if l.xmin {
		return expect{types: []uint32{pgtype.XIDOID}}
	}
	return expectType(cql2.TypeInteger)
}

// idExpects returns what idText and state return.
func (l *layer) idExpects() []expect {
	id := expectType(cql2.TypeText)
	if !l.text {
		id = expectType(cql2.TypeInteger)
	}
	return []expect{id, l.expectRevision()}
}

// check compares the columns of a result with those that are expected, as far as given.
func (l *layer) check(fields []pgconn.FieldDescription, expects []expect) error {
	for i, e := range expects[:min(len(expects), len(fields))] {
		if e.types != nil && !slices.Contains(e.types, fields[i].DataTypeOID) {
			return l.changed(fmt.Sprintf("a column is of the type %d", fields[i].DataTypeOID))
		}
	}
	return nil
}

// placeExpr returns an expression for the current value of layer.stored; null if the column no longer exists. If the
// column may have any reference system, the first geometry decides, since the operator of boxes ignores systems. A view
// may take long to return a row, so that this is only done for a result without rows (noRows).
func (l *layer) placeExpr(noRows bool) string {
	system := "0"
	if l.anySystem && (noRows || l.table.Kind != 'v') {
		column := quote(l.Geometry.Column)
		system = fmt.Sprintf("coalesce((SELECT ST_SRID(%s) FROM %s WHERE %s IS NOT NULL LIMIT 1), %d) - %d", column,
			l.table.Quoted(), column, l.srid, l.srid)
	}
	return fmt.Sprintf("(SELECT a.atttypid || ' ' || a.atttypmod || CASE %s WHEN 0 THEN '' ELSE ' moved' END FROM "+
		"pg_attribute a WHERE a.attrelid = %d AND a.attname = %s)",
		system, l.table.OID, conn.Literal(l.Geometry.Column))
}

// elsewhere is the result of layer.wkb for a geometry in another reference system than that of the layer.
const elsewhere = `\x00`

// inSystem returns an error if a geometry has another reference system than the layer. It accepts null.
func (l *layer) inSystem(wkb []byte) error {
	if len(wkb) == 1 {
		return l.changed("a geometry is in another reference system")
	}
	return nil
}
