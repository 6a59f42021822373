// Package writer writes collections into the schema grense of a PostGIS database, all of an import or nothing, while
// others read it.
package writer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/migrate"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// writer writes the schema grense. It works in one transaction on staged tables, which Commit renames: readers do not
// wait, and see all changes or none. Writers of a database wait for each other.
type writer struct {
	pool    *pgxpool.Pool
	conn    *pgxpool.Conn
	tx      pgx.Tx
	list    []migrate.Migration
	targets []*store.Collection
	staged  map[string]string  // name of the staged table until Commit
	ours    map[string]bool    // staged tables of a migration, which names their indexes
	emptied map[string]bool    // tables that users' objects depend on, refilled in place
	copies  map[string]*copier // by table and columns
	drop    []string           // old tables of collections
	named   map[string]bool    // new names of indexes
	made    int                // number of staged tables so far
	done    bool
}

var _ store.Writer = (*writer)(nil)

// Create returns a Writer for the database at url. It creates the schema grense if necessary, for which the role needs
// the right to create schemas. The caller must call Close.
func Create(ctx context.Context, url string) (store.Writer, error) {
	pool, err := conn.Open(ctx, url, conn.ForWriting)
	if err != nil {
		return nil, err
	}
	w := &writer{pool: pool, staged: map[string]string{}, ours: map[string]bool{}, emptied: map[string]bool{},
		named: map[string]bool{}, copies: map[string]*copier{}}
	if err := w.begin(ctx); err != nil {
		return nil, errors.Join(conn.Explain(ctx, pool, err), w.Close())
	}
	return w, nil
}

func (w *writer) begin(ctx context.Context) (err error) {
	if w.conn, err = w.pool.Acquire(ctx); err != nil {
		return err
	}
	if err := catalog.RequirePostGIS(ctx, w.conn); err != nil {
		return err
	}
	var oid uint32
	if err := w.conn.QueryRow(ctx, "SELECT 'geometry'::regtype::oid").Scan(&oid); err != nil {
		return err
	}
	w.conn.Conn().TypeMap().RegisterType(&pgtype.Type{Name: "geometry", OID: oid, Codec: pgtype.ByteaCodec{}})
	if w.list, err = migrate.PostGIS(); err != nil {
		return conn.Own(err)
	}
	for {
		if w.tx, err = w.conn.Begin(ctx); err != nil {
			return err
		}
		changed, err := Prepare(ctx, w.tx)
		if err != nil || !changed {
			return err
		}
		if err := w.tx.Commit(ctx); err != nil { // so that readers do not wait until all rows are written
			return err
		}
	}
}

// Prepare creates the schema with its first tables if necessary, and blocks other writers until the transaction ends.
// changed means that it has changed tables that may contain rows.
func Prepare(ctx context.Context, tx pgx.Tx) (changed bool, err error) {
	list, err := migrate.PostGIS()
	if err != nil {
		return false, conn.Own(err)
	}
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('grense'))"); err != nil {
		return false, err
	}
	var there bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'grense')").
		Scan(&there); err != nil {
		return false, err
	}
	if !there {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA grense"); err != nil {
			return false, err
		}
	}
	if _, err := tx.Exec(ctx, "SET LOCAL search_path = grense, public, postgis, extensions"); err != nil {
		return false, err
	}
	db := migrations{tx}
	applied, err := db.Applied(ctx)
	if err != nil {
		return false, err
	}
	if len(applied) < 2 {
		list = list[:1] // tables of later migrations are created on first use
	}
	n, err := migrate.Up(ctx, db, list)
	return n > 0 && len(applied) > 0, err
}

// migrations is the migrate.DB of a transaction.
type migrations struct{ tx pgx.Tx }

func (m migrations) Applied(ctx context.Context) (list []int, err error) {
	if _, err := m.tx.Exec(ctx,
		"CREATE TABLE IF NOT EXISTS grense.migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL)"); err != nil {
		return nil, err
	}
	rows, err := m.tx.Query(ctx, "SELECT number FROM grense.migration")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}

func (m migrations) Apply(ctx context.Context, x migrate.Migration) error {
	if _, err := m.tx.Exec(ctx, x.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	_, err := m.tx.Exec(ctx, "INSERT INTO grense.migration (number, name) VALUES ($1, $2)", x.Number, x.Name)
	return err
}

// migrated reports whether a migration creates the table. If so, it provides an empty one.
func (w *writer) migrated(ctx context.Context, name string) (bool, error) {
	ours := slices.ContainsFunc(w.list, func(m migrate.Migration) bool {
		return strings.Contains(m.SQL, "CREATE TABLE "+name+" (")
	})
	if !ours || w.emptied[name] || w.ours[name] {
		return ours, nil
	}
	if _, err := migrate.Up(ctx, migrations{w.tx}, w.list); err != nil {
		return true, err
	}
	needed, err := w.needed(ctx, name)
	if err != nil {
		return true, err
	}
	if needed {
		return true, w.empty(ctx, name)
	}
	w.ours[name] = true
	return true, w.stage(ctx, name, "LIKE grense."+quote(name)+" INCLUDING ALL EXCLUDING INDEXES")
}

// needed reports whether a table must not be replaced: a view, function or foreign key of a user depends on it, or it
// has a trigger, policy or publication.
func (w *writer) needed(ctx context.Context, name string) (needed bool, err error) {
	err = w.tx.QueryRow(ctx,
		`SELECT EXISTS (SELECT 1 FROM pg_depend WHERE refclassid = 'pg_class'::regclass AND refobjid = $1::text::regclass AND deptype = 'n'
		AND NOT (classid = 'pg_constraint'::regclass AND objid IN (SELECT oid FROM pg_constraint WHERE conrelid = $1::text::regclass)))
		OR EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = $1::text::regclass AND contype = 'f')
		OR EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = $1::text::regclass AND NOT tgisinternal)
		OR EXISTS (SELECT 1 FROM pg_publication_rel WHERE prrelid = $1::text::regclass)
		OR (SELECT relrowsecurity FROM pg_class WHERE oid = $1::text::regclass)`, "grense."+quote(name)).Scan(&needed)
	return needed, err
}

// empty marks a table to be refilled in place.
func (w *writer) empty(ctx context.Context, name string) error {
	w.emptied[name] = true
	_, err := w.tx.Exec(ctx, "DELETE FROM grense."+quote(name))
	return err
}

// Define creates the tables of a collection and records its metadata.
func (w *writer) Define(ctx context.Context, c *store.Collection, replace bool) error {
	if c.ID == "" || c.Table == "" || c.Key.Column == "" {
		return fmt.Errorf("postgis: collection %q: id, table and key column are needed", c.ID)
	}
	if c.Geometry != nil && (c.Geometry.Column == "" || !c.Geometry.CRS.Valid()) {
		return fmt.Errorf("postgis: collection %q: the geometry needs a column and a reference system that is served",
			c.ID)
	}
	if g := c.Geometry; g != nil && g.CRS.Own() {
		return fmt.Errorf("postgis: collection %q: the reference system %v has no EPSG code, which PostGIS stores; "+
			"transform the data, for example with ogr2ogr -t_srs EPSG:4326", c.ID, g.CRS)
	}
	if err := w.define(ctx, c, replace); err != nil {
		return fmt.Errorf("postgis: collection %q: %w", c.ID, conn.Explain(ctx, w.pool, err))
	}
	w.targets = append(w.targets, c)
	return nil
}

func (w *writer) define(ctx context.Context, c *store.Collection, replace bool) error {
	if err := w.flushAll(ctx); err != nil {
		return err
	}
	rows, err := w.tx.Query(ctx, "DELETE FROM grense.collection WHERE id = $1 OR table_name = $2 RETURNING table_name",
		c.ID, c.Table)
	if err != nil {
		return err
	}
	before, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(before) > 0 && !replace {
		return conn.Own(store.ErrExists)
	}
	for _, t := range before {
		if t != c.Table {
			w.drop = append(w.drop, t)
		}
	}
	if err := w.makeTable(ctx, c.Table, func() string { return columnsOf(c) }); err != nil {
		return err
	}
	if err := w.makeRelations(ctx, c, c.Relations); err != nil {
		return err
	}
	body, err := json.Marshal(defined(c).Folded())
	if err != nil {
		return conn.Own(err)
	}
	_, err = w.tx.Exec(ctx, "INSERT INTO grense.collection (id, table_name, definition) VALUES ($1, $2, "+
		"$3::text::json)", c.ID, c.Table, string(body))
	return err
}

// defined returns a collection without what is derived from its rows.
func defined(c *store.Collection) *store.Collection {
	d := *c
	d.Count, d.Extent, d.Temporal = 0, nil, store.Collection{}.Temporal
	return &d
}

// makeTable provides an empty table: one of a migration, else a new one.
func (w *writer) makeTable(ctx context.Context, name string, columns func() string) error {
	if slices.Contains([]string{"migration", "collection", "api_key", "job", "job_piece"}, name) {
		return conn.Own(fmt.Errorf("the schema grense has a table %q of its own; choose another name", name))
	}
	if ours, err := w.migrated(ctx, name); err != nil || ours {
		return err
	}
	if len(name) > 63 {
		return conn.Own(fmt.Errorf("the name of the table %q is longer than 63 bytes", name))
	}
	if w.emptied[name] || w.staged[name] != "" {
		return nil
	}
	if err := w.stage(ctx, name, columns()); err != nil {
		return err
	}
	return w.keepTied(ctx, name)
}

// keepTied handles objects of users that depend on a replaced table. If the columns are the same, the table is refilled
// in place; otherwise the import is refused.
func (w *writer) keepTied(ctx context.Context, name string) error {
	var there bool
	if err := w.tx.QueryRow(ctx, "SELECT to_regclass($1::text) IS NOT NULL", "grense."+quote(name)).
		Scan(&there); err != nil || !there {
		return err
	}
	needed, err := w.needed(ctx, name)
	if err != nil || !needed {
		return err
	}
	const columns = "(SELECT array_agg(attname || ' ' || format_type(atttypid, atttypmod) || attcollation ORDER BY " +
		"attname) FROM pg_attribute WHERE attrelid = $%d::text::regclass AND attnum > 0 AND NOT attisdropped)"
	var same bool
	staging := "grense." + quote(w.staged[name])
	if err := w.tx.QueryRow(ctx, fmt.Sprintf("SELECT "+columns+" @> "+columns, 1, 2), "grense."+quote(name), staging).
		Scan(&same); err != nil {
		return err
	}
	if !same {
		return conn.Own(fmt.Errorf("the table grense.%s would get other columns, and a view, a function, a foreign "+
			"key, a trigger, a policy or a publication is tied to it; "+
			"remove that, import, and make it again, or import into another collection", quote(name)))
	}
	delete(w.staged, name)
	if _, err := w.tx.Exec(ctx, "DROP TABLE "+staging); err != nil {
		return err
	}
	return w.empty(ctx, name)
}

// stage creates the table that will replace the one called name.
func (w *writer) stage(ctx context.Context, name, columns string) error {
	w.made++
	staging := fmt.Sprintf("staging_%d_%d", w.conn.Conn().PgConn().PID(), w.made)
	w.staged[name] = staging
	_, err := w.tx.Exec(ctx, "CREATE TABLE grense."+quote(staging)+" ("+columns+")")
	return err
}

func (w *writer) makeRelations(ctx context.Context, c *store.Collection, rs []store.Relation) error {
	for _, r := range rs {
		if err := w.makeTable(ctx, r.Table, func() string { return columnsOfRelation(c, r) }); err != nil {
			return err
		}
		if err := w.makeRelations(ctx, nil, r.Relations); err != nil {
			return err
		}
	}
	return nil
}

// columnType returns the declared type of a column. Texts use the collation "C".
func columnType(t cql2.Type) string {
	switch t {
	case cql2.TypeInteger:
		return "BIGINT"
	case cql2.TypeNumber:
		return "DOUBLE PRECISION"
	case cql2.TypeBool:
		return "BOOLEAN"
	case cql2.TypeDate:
		return "DATE"
	case cql2.TypeTimestamp:
		return "TIMESTAMPTZ"
	case cql2.TypeText, cql2.TypeJSON:
		return `TEXT COLLATE "C"`
	}
	panic(fmt.Sprintf("postgis: no column type for %v", t))
}

func columnsOf(c *store.Collection) string {
	l := sqlq.Columns{Dialect: sqlq.PostgreSQL{}, Type: columnType}
	l.Add(c.Key.Column, columnType(c.Key.Type)+" PRIMARY KEY")
	if g := c.Geometry; g != nil {
		l.Add(g.Column, fmt.Sprintf("GEOMETRY CHECK (ST_SRID(%s) = %d)", quote(g.Column), catalog.SRID(g.CRS)))
	}
	l.AddProperties(c.Properties)
	for _, r := range c.Relations {
		l.Add(r.Key, "BIGINT")
	}
	return l.String()
}

// columnsOfRelation returns the columns of a relation of c, or of another relation if c is nil. The owner column has
// the type of the key that it refers to.
func columnsOfRelation(c *store.Collection, r store.Relation) string {
	typ := cql2.TypeInteger
	if c != nil && (r.Key == "" || r.Key == c.Key.Column) {
		typ = c.Key.Type
	} else if c != nil {
		for _, p := range c.Properties {
			if p.Column == r.Key {
				typ = p.Type
			}
		}
	}
	l := sqlq.Columns{Dialect: sqlq.PostgreSQL{}, Type: columnType}
	l.Add(r.Owner, columnType(typ))
	for _, sub := range r.Relations {
		l.Add(sub.Key, "BIGINT")
	}
	l.AddProperties(r.Columns)
	return l.String()
}

// Commit builds indexes and statistics, verifies the rows, and renames the new tables.
func (w *writer) Commit(ctx context.Context) error {
	if w.done {
		return errors.New("postgis: the writer is closed")
	}
	err := w.finish(ctx)
	if err == nil {
		_, err = w.tx.Exec(ctx, "NOTIFY "+catalog.Channel)
	}
	if err == nil {
		err = w.tx.Commit(ctx)
	}
	if err == nil {
		w.vacuum(ctx)
	}
	return errors.Join(conn.Explain(ctx, w.pool, err), w.Close())
}

// Close rolls back what was not committed.
func (w *writer) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	if w.tx != nil {
		// no effect after Commit; the server rolls back a broken connection
		w.tx.Rollback(context.Background())
	}
	if w.conn != nil {
		w.conn.Release()
	}
	w.pool.Close()
	return nil
}

// Migrate applies missing migrations to the schema grense, and creates the schema if necessary. It does not create
// tables that are not needed yet.
func Migrate(ctx context.Context, url string) error {
	w, err := Create(ctx, url)
	if err != nil {
		return err
	}
	return w.Commit(ctx)
}

func quote(name string) string { return sqlq.PostgreSQL{}.Quote(name) }
