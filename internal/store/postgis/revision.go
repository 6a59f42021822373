package postgis

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
)

// revision is a version of the definitions, with surveys of the tables. It is immutable.
type revision struct {
	catalog     *store.Catalog
	layers      map[string]*layer // by collection id
	fingerprint string            // hash of the definitions

	stored   bool                // surveys come from the file of an earlier run
	surveys  map[string]*survey  // by draft.extentsName
	measured map[string]*survey  // by draft.geometries; if stored, by draft.extentsName
	items    map[string]string   // results of setItems, by draft.itemsName
	read     map[string]examined // by draft.definition
	ailing   []*draft            // unreadable tables, to be tried again
	curable  []*draft            // tables refused because of their rows, to be tried again
	tables   map[string]string   // table by collection id
	counts   *counts
}

// load reads definitions and surveys the tables. It reuses surveys of geometries in before, which may be nil.
func (s *Store) load(ctx context.Context, before *revision) (*revision, error) {
	var in *catalog.Definitions
	err := s.retry(ctx, func(c *pgxpool.Conn) (err error) {
		in, err = catalog.Read(ctx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &revision{catalog: &store.Catalog{Modified: time.Now().UTC(), Live: true}, layers: map[string]*layer{},
		fingerprint: in.Fingerprint,
		surveys:     map[string]*survey{}, measured: map[string]*survey{}, items: map[string]string{},
		read: map[string]examined{}, tables: map[string]string{}, counts: s.caches.counts()}
	if len(in.Own) > 0 {
		r.catalog.Modified = time.Time{}
	}
	for _, def := range in.Own {
		if def.Modified.After(r.catalog.Modified) {
			r.catalog.Modified = def.Modified
		}
	}
	version, err := s.survey(ctx, r, in, before)
	if err != nil {
		return nil, err
	}
	r.resolveReferences(in.Own)
	for _, def := range in.Own {
		if in.Ours[def.Table] == nil {
			r.catalog.Notes = append(r.catalog.Notes, store.Note{Layer: def.Table, Collection: def.ID, Refused: true,
				Reason: "the role may not read its table in the schema grense; GRANT SELECT on it"})
		}
	}
	settings, err := json.Marshal(s.options.Settings)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(version, "%s\n%s", r.fingerprint, settings)
	r.catalog.Version = fmt.Sprintf("%x", version.Sum(nil)[:8])
	for _, l := range r.layers {
		// the columns that each statement verifies may be those of after the fingerprint
		stamp := sha256.Sum256(fmt.Append(nil, r.fingerprint, string(settings), l.table.ColumnsSum))
		l.rev, l.run = binary.BigEndian.Uint64(stamp[:]), s.run
		l.warn = func(column string) {
			s.options.Logger.Warn("a value that is no number, infinite, or of a year beyond 1 to 9999 is given as null",
				"table", l.table.Layer(), "column", column)
		}
	}
	slices.SortStableFunc(r.catalog.Notes, func(a, b store.Note) int { return strings.Compare(a.Layer, b.Layer) })
	return r, nil
}

// survey surveys the tables for r, and returns a hash of the results.
func (s *Store) survey(ctx context.Context, r *revision, in *catalog.Definitions, before *revision) (hash.Hash, error) {
	var drafts []*draft
	for _, t := range in.Tables {
		if d := s.draft(t, in.Own); d != nil {
			drafts = append(drafts, d)
		} else if s.isBookkeeping(t) {
			r.catalog.Bookkeeping = append(r.catalog.Bookkeeping, t.Layer())
		} else if s.settingsOf(t).Hidden {
			r.catalog.Hidden = append(r.catalog.Hidden, t.Layer())
		}
	}
	fromFile := before != nil && before.catalog == nil
	found, err := s.examine(ctx, drafts, before, before != nil && !fromFile)
	if err != nil {
		return nil, err
	}
	r.stored = fromFile
	ids := assignIDs(drafts)
	version := sha256.New()
	for i, d := range drafts {
		if found[i].unread != nil {
			r.ailing = append(r.ailing, d)
			if known, ok := s.known(d); ok {
				found[i] = d.again(known, found[i].unread)
			} else {
				d.refuse("%s", d.excuse(found[i].unread))
			}
		} else if d.curable && found[i].l == nil {
			r.curable = append(r.curable, d)
		}
		b, err := json.Marshal(r.add(d, found[i], in, ids[d]))
		if err != nil {
			return nil, err
		}
		version.Write(b)
	}
	return version, nil
}

// resolveReferences sets the collection ids in references between collections, and removes references to collections
// that are not served.
func (r *revision) resolveReferences(own map[string]catalog.Definition) {
	served := map[string]string{} // id of public collections by the id in their definition
	for _, def := range own {
		for _, c := range r.catalog.Collections {
			if c.Public && c.Table == def.Table && r.tables[c.ID] == catalog.OwnSchema+"."+def.Table {
				served[def.ID] = c.ID
			}
		}
	}
	for _, c := range r.catalog.Collections {
		for i := range c.Properties {
			if p := &c.Properties[i]; p.Ref != "" {
				p.Ref = served[p.Ref]
			}
		}
	}
}

// examined is the result of opening a draft; without a layer it is refused.
type examined struct {
	l     *layer
	sv    *survey
	items map[string]string // by draft.itemsName

	srid            int // draft.srid
	system          crs.ID
	shift, assigned bool
	unread          error // why the table cannot be read now; nil: it was read
}

// readers is the number of tables that are read concurrently.
const readers = 4

// examine opens drafts, several concurrently. Unreadable tables are part of the result; an error means that the
// database is unavailable. With hurry, views and foreign tables get little time.
func (s *Store) examine(ctx context.Context, drafts []*draft, before *revision, hurry bool) ([]examined, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	found := make([]examined, len(drafts))
	next := make(chan int)
	var done sync.WaitGroup
	for range min(readers, int(s.pool.Config().MaxConns), len(drafts)) {
		done.Go(func() {
			for i := range next {
				d := drafts[i]
				if before != nil {
					d.measured, d.items, d.bounded = before.measured[d.geometries()], before.items, true
					if before.catalog == nil {
						d.measured, d.stored = before.measured[d.extentsName()], true
					}
				}
				d.progress = s.progress(d.table)
				notes := len(d.notes)
				short, done := ctx, func() {}
				if most := d.mostTime(hurry); most > 0 {
					short, done = context.WithTimeout(ctx, most)
				}
				err := s.retry(short, func(c *pgxpool.Conn) (err error) {
					d.notes = d.notes[:notes]
					found[i], err = d.inTransaction(short, c)
					return err
				})
				late := short.Err() != nil
				done()
				switch {
				case err == nil:
				case ctx.Err() == nil && (late || d.isToBlame(err)):
					d.notes, found[i] = d.notes[:notes], examined{unread: err}
				default:
					cancel(fmt.Errorf("table %s: %w", d.table.Layer(), err))
				}
			}
		})
	}
	for i := range drafts {
		next <- i
	}
	close(next)
	done.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return found, nil
}

// progress returns a function that regularly logs how many rows of a table have been read.
func (s *Store) progress(t *catalog.Table) func(int) {
	last := time.Now()
	return func(rows int) {
		if time.Since(last) > 3*time.Second {
			last = time.Now()
			s.options.Logger.Info("reading a table for its extent", "table", t.Layer(), "rows", rows)
		}
	}
}

// geometries returns a key for the geometries of a table that changes when the table is rewritten; "" if unknown. For
// our tables it includes the time of writing, since an import may refill a table without rewriting it.
func (d *draft) geometries() string {
	if d.table.FileNode == 0 || d.geometry.Name == "" {
		return ""
	}
	return fmt.Sprint(d.table.OID, d.table.FileNode, d.geometry, d.written)
}

// read opens and surveys a draft.
func (d *draft) read(ctx context.Context, c *pgxpool.Conn) (x examined, err error) {
	if d.own != nil && store.FoldedOtherwise(d.own.Properties, d.own.Relations) {
		d.refuse(store.OldFold)
	}
	if d.refused() {
		return x, nil
	}
	if d.geometry.Name != "" {
		if err := d.place(ctx, c); err != nil || d.refused() {
			return x, err
		}
	}
	sv, ok, err := d.examine(ctx, c)
	if err != nil || !ok {
		return x, err
	}
	sv.SRID = d.srid
	l, items := d.open(sv), map[string]string{}
	if err := d.setItems(ctx, c, l, items); err != nil {
		return x, err
	}
	for _, p := range l.Properties {
		sv.Items = append(sv.Items, p.Items)
	}
	if sv.Members, err = membersOf(ctx, c, l); err != nil {
		return x, err
	}
	l.addMembers(sv.Members)
	return examined{l: l, sv: sv, items: items, srid: d.srid, system: d.crs, shift: d.shift, assigned: d.assigned}, nil
}

// settingsName returns the key of a table in Options.Settings; false if there are no settings for it.
func (s *Store) settingsName(t *catalog.Table) (string, bool) {
	for _, name := range [...]string{t.Schema + "." + t.Name, t.Name, collectionID(t), store.CollectionID(t.Name)} {
		if _, ok := s.options.Settings[name]; ok {
			return name, true
		}
	}
	return "", false
}

func (s *Store) settingsOf(t *catalog.Table) store.Settings {
	name, _ := s.settingsName(t)
	return s.options.Settings[name]
}

// isBookkeeping reports whether a table is not served because it belongs to a program such as QGIS.
func (s *Store) isBookkeeping(t *catalog.Table) bool {
	_, named := s.settingsName(t)
	return !named && t.Schema != catalog.OwnSchema && store.IsBookkeeping(t.Schema, t.Name) &&
		!slices.ContainsFunc(t.Columns, catalog.Column.IsGeometry)
}

// draft returns a draft for a table; nil if the table is not to be served.
func (s *Store) draft(t *catalog.Table, defs map[string]catalog.Definition) *draft {
	d := &draft{table: t, uncut: s.options.Uncut}
	d.settings = s.settingsOf(t)
	if t.Schema == catalog.OwnSchema {
		def := defs[t.Name]
		if d.own, d.written = def.Collection, def.Modified; d.own == nil {
			return nil
		}
	}
	if d.settings.Hidden || len(t.Columns) == 0 || s.isBookkeeping(t) {
		return nil
	}
	d.findGeometry()
	return d
}

// add adds an opened draft to the revision and returns its survey; nil if it is refused.
func (r *revision) add(d *draft, x examined, in *catalog.Definitions, id string) *survey {
	defer func() { r.catalog.Notes = append(r.catalog.Notes, d.notes...) }()
	if x.l == nil {
		return nil
	}
	if d.own != nil {
		var err error
		if x.l.source.Relations, err = relations(d.own.Relations, x.l.parts[0].name, in.Ours); err != nil {
			d.refuse("%v", err)
			return nil
		}
	}
	x.l.ID = id
	r.tables[id] = d.table.Schema + "." + d.table.Name
	r.layers[x.l.ID] = x.l
	x.l.Collection.IndexNames()
	r.catalog.Collections = append(r.catalog.Collections, x.l.Collection)
	if name := d.geometries(); name != "" {
		r.measured[name] = x.sv
	}
	r.surveys[d.extentsName()] = x.sv
	maps.Copy(r.items, x.items)
	x.l = nil // the next revision opens it again
	r.read[d.definition()] = x
	return x.sv
}

// layer returns the layer of a collection.
func (r *revision) layer(id string) (*layer, error) {
	if l := r.layers[id]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("postgis: collection %q: %w", id, store.ErrNotFound)
}
