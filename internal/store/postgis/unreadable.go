package postgis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store/postgis/conn"
)

// An unreadable table does not affect others. It is refused or, if it was read before, stays in the catalog, and is
// tried again until it can be read.

// Time limits for reading a table: for views and foreign tables, which may never end, and for tables in a hurry.
const (
	mostForView  = 10 * time.Minute
	mostInHurry  = 2 * time.Minute
	mostForLock  = 5 * time.Second
	healAtLeast  = time.Second
	healAtMost   = time.Minute
	mostForHeal  = time.Minute
	healSlowdown = 2
)

func (d *draft) mostTime(hurry bool) time.Duration {
	switch {
	case d.table.Kind != 'v' && d.table.Kind != 'f':
		return 0
	case hurry:
		return mostInHurry
	}
	return mostForView
}

// inTransaction is read with a lock_timeout.
func (d *draft) inTransaction(ctx context.Context, c *pgxpool.Conn) (x examined, err error) {
	if !conn.InTransactions(c) {
		tx, err := c.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
		if err != nil {
			return x, err
		}
		defer tx.Rollback(context.WithoutCancel(ctx)) // nothing was written
	}
	if _, err := c.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", mostForLock.Milliseconds()),
		pgx.QueryExecModeSimpleProtocol); err != nil {
		return x, err
	}
	return d.read(ctx, c)
}

// isToBlame reports whether an error is caused by the table, not by the connection or by us.
func (d *draft) isToBlame(err error) bool {
	_, ok := errors.AsType[*pgconn.PgError](err)
	return ok && !errors.Is(err, conn.ErrBroken) && !errors.Is(err, conn.ErrNoConnection)
}

// excuse returns why a table cannot be read now, with the cure.
func (d *draft) excuse(err error) string {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	name := d.table.Quoted()
	switch {
	case !ok:
		return "it was not read in time; it is tried again"
	case pe.Code == "55000" && d.table.Kind == 'm':
		return "it has no data; let its owner run: REFRESH MATERIALIZED VIEW " + name + "; it is served then"
	case pe.Code[:2] == "08" || pe.Code[:2] == "HV":
		return "its foreign server does not answer as it should (" + pe.Message + "); it is served when that does"
	case pe.Code == "42501":
		return "the role may not read what it is made of (" + pe.Message + "); GRANT SELECT on that, and it is served"
	case pe.Code == "55P03":
		return "another session has locked it; it is served when that is over"
	case pe.Code == "57014":
		return "to read it takes too long; it is tried again"
	}
	return "to read it fails (" + pe.Message + "); it is served when that is mended"
}

// definition returns a key for everything about a table except its rows.
func (d *draft) definition() string {
	t := *d.table
	t.FileNode = 0
	settings, _ := json.Marshal(d.settings) // never fails for these types
	return fmt.Sprintf("%+v %s %v", t, settings, d.written)
}

// known returns the earlier result for a table with the same definition.
func (s *Store) known(d *draft) (examined, bool) {
	r := s.current.Load()
	if r == nil {
		return examined{}, false
	}
	x, ok := r.read[d.definition()]
	return x, ok
}

// again returns an earlier result for a table that cannot be read now.
func (d *draft) again(x examined, unread error) examined {
	d.srid, d.crs, d.shift, d.assigned = x.srid, x.system, x.shift, x.assigned
	x.l = d.open(x.sv)
	for i := range x.sv.Items {
		x.l.Properties[i].Items = x.sv.Items[i]
	}
	x.l.addMembers(x.sv.Members)
	d.warn("%s", d.excuse(unread))
	return x
}

// heals tries tables that were unreadable or refused because of their rows, and reports whether one of them can be
// served now.
func (s *Store) heals(ctx context.Context, r *revision) bool {
	if len(r.ailing)+len(r.curable) == 0 || time.Now().Before(s.healNext) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, mostForHeal)
	defer cancel()
	var drafts []*draft
	for _, d := range slices.Concat(r.ailing, r.curable) {
		x := *d
		x.notes, x.curable = nil, false
		drafts = append(drafts, &x)
	}
	found, err := s.examine(ctx, drafts, r, true)
	for i, x := range found {
		if err == nil && x.unread == nil && (i < len(r.ailing) || x.l != nil) {
			s.healPause = 0
			return true
		}
	}
	s.healPause = min(max(healSlowdown*s.healPause, min(healAtLeast, s.options.Poll)), healAtMost)
	s.healNext = time.Now().Add(s.healPause)
	return false
}

// logChanges logs new notes of a revision, and collections that are gone or belong to another table.
func (s *Store) logChanges(before, r *revision) {
	var known map[[2]string]bool
	if before != nil {
		known = map[[2]string]bool{}
		for _, n := range before.catalog.Notes {
			known[[2]string{n.Layer, n.Reason}] = true
		}
		for id, table := range before.tables {
			switch now := r.tables[id]; now {
			case table:
			case "":
				s.options.Logger.Warn("a collection is no longer served", "collection", id, "table", table)
			default:
				s.options.Logger.Warn("a collection is of another table now", "collection", id, "table", now,
					"before", table)
			}
		}
	}
	for _, n := range r.catalog.Notes {
		if known[[2]string{n.Layer, n.Reason}] {
			continue
		}
		text := "a table is served with a warning"
		switch {
		case n.Refused:
			text = "a table is not served"
		case n.Setting:
			text = "a setting of a table is not used"
		}
		s.options.Logger.Warn(text, "table", n.Layer, "reason", n.Reason)
	}
}
