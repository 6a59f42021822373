package postgis

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
)

// versionColumns are the columns by which rows are versions of features.
type versionColumns struct {
	id, start, end string
	inclusive      bool
}

// findVersions finds the columns of versions: those of our definition, those that the settings name, or, where the configured id repeats, those of
// the usual names. Fault tells why they cannot be versions although the settings say so. A unique index has to tell versions apart, and finds
// those of a feature.
func (d *draft) findVersions(ctx context.Context, c *pgxpool.Conn) (v *versionColumns, fault string, err error) {
	s := &d.settings
	if d.own != nil && d.own.Versions != nil && s.ValidFrom == "" {
		x := d.own.Versions
		column := func(name string) string {
			p, _ := d.own.Find(name)
			return p.Column
		}
		return &versionColumns{column(x.ID), column(x.Start), column(x.End), x.Inclusive}, "", nil
	}
	if s.IDColumn == "" {
		return nil, "", nil
	}
	start, end, told := s.ValidityOf(func(lower string) (string, bool) {
		for _, col := range d.table.columns {
			if strings.ToLower(col.name) == lower {
				return col.name, true
			}
		}
		return "", false
	})
	v = &versionColumns{s.IDColumn, start, end, s.Inclusive}
	if told {
		return v, d.versionFault(v), nil
	}
	if start == "" || d.isUnique(v.id) || !d.isUnique(v.id, start) || d.versionFault(v) != "" {
		return nil, "", nil
	}
	repeat := false
	err = c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+d.table.quoted()+" GROUP BY "+quote(v.id)+" HAVING count(*) > 1)").Scan(&repeat)
	if !repeat || err != nil {
		return nil, "", err
	}
	d.warn("the ids in column %q repeat, so that rows are versions of features, valid from %q until before %q; say so in roles (valid_from, valid_to), and valid_to: inclusive where the end is the last day", v.id, start, end)
	return v, "", nil
}

// versionFault tells why rows cannot be versions by these columns; "" when they can.
func (d *draft) versionFault(v *versionColumns) string {
	var c store.Collection
	for _, col := range d.table.columns {
		if t, ok := typeOf(col); ok {
			c.Properties = append(c.Properties, store.Property{Name: col.name, Column: col.name, Type: t})
		}
	}
	if fault := c.SetVersions(v.id, v.start, v.end, v.inclusive); fault != "" {
		return "rows cannot be versions of features: " + fault
	}
	if d.table.nullable || !d.isUnique(v.id, v.start) {
		return fmt.Sprintf("rows cannot be versions of features: no unique index tells them apart; make one over columns that are NOT NULL, with CREATE UNIQUE INDEX ON %s (%s, %s)",
			d.table.quoted(), quote(v.id), quote(v.start))
	}
	return ""
}
