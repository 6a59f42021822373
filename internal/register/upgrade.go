package register

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"grense/internal/cql2/fold"
	"grense/internal/store"
)

// Stored reads the tables of an existing register.
type Stored interface {
	// Description returns the description of the collection of a table; false if there is no such collection.
	Description(table string) (store.Text, bool)
	// Each calls fn with each row. Columns that the table does not have are nil. values is valid until fn returns.
	Each(ctx context.Context, table string, columns []string, fn func(values []any) error) error
}

// ErrNoRegister is the error for data without a register of place names.
var ErrNoRegister = errors.New("register: the data hold no register of place names")

// Upgrade copies a register, written by an older version of the program, to w. A register in w is replaced. The columns
// for searching are calculated again; all others are copied. progress, which may be nil, is called from time to time
// with the number of rows.
func Upgrade(ctx context.Context, from Stored, w store.Writer, progress func(rows int)) error {
	if _, ok := from.Description("sted"); !ok {
		return ErrNoRegister
	}
	for _, c := range Collections() {
		if text, ok := from.Description(c.Table); ok {
			c.Description = text
		}
		if err := w.Define(ctx, c, true); err != nil {
			return fmt.Errorf("register: collection %s: %w", c.ID, err)
		}
	}
	out, err := NewOutput(ctx, w)
	if err != nil {
		return err
	}
	rows := 0
	for _, t := range tables {
		columns := strings.Fields(t.columns)
		derived := derivedColumns(t.name, columns)
		err := from.Each(ctx, t.name, columns, func(values []any) error {
			for _, d := range derived {
				values[d.to] = nil
				if text, ok := values[d.from].(string); ok {
					values[d.to] = d.derive(text)
				}
			}
			out.Put(t.name, values...)
			if rows++; progress != nil && rows%10_000 == 0 {
				progress(rows)
			}
			return out.Err
		})
		if err != nil {
			return fmt.Errorf("register: table %s: %w", t.name, err)
		}
	}
	return out.Err
}

// derivedColumn is a column for searching that is calculated from another column.
type derivedColumn struct {
	from, to int // indexes of the columns
	derive   func(string) string
}

// derivedColumns returns the columns for searching among the columns of a table: NAME_norm is calculated from NAME.
func derivedColumns(table string, columns []string) []derivedColumn {
	var list []derivedColumn
	for to, name := range columns {
		source, derive := "", fold.Norm
		if table == "skrivemaate" {
			source = "langnavn"
			switch name {
			case "eksakt":
				derive = fold.CaseI
			case "norm":
			case "rev":
				derive = func(s string) string { return Reverse(fold.Norm(s)) }
			default:
				source = ""
			}
		} else if of, ok := strings.CutSuffix(name, "_norm"); ok {
			source = of
		}
		if from := slices.Index(columns, source); from >= 0 {
			list = append(list, derivedColumn{from, to, derive})
		}
	}
	return list
}
