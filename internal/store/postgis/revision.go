package postgis

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
)

// revision is one state of the definitions. It is immutable.
type revision struct {
	catalog *store.Catalog
	layers  map[string]*layer // by collection id
	print   string            // fingerprint
}

// load reads definitions and surveys the tables.
func (s *Store) load(ctx context.Context) (*revision, error) {
	var r *revision
	err := s.retry(ctx, func(c *pgxpool.Conn) (err error) {
		r, err = s.loadWith(ctx, c)
		return err
	})
	return r, err
}

func (s *Store) loadWith(ctx context.Context, c *pgxpool.Conn) (*revision, error) {
	if err := bound(ctx, c); err != nil { // questions may have left another limit
		return nil, err
	}
	if err := requirePostGIS(ctx, c); err != nil {
		return nil, err
	}
	r := &revision{catalog: &store.Catalog{Modified: time.Now().UTC()}, layers: map[string]*layer{}}
	var err error
	if r.print, err = fingerprint(ctx, c); err != nil { // first: what changes meanwhile is seen by the next look
		return nil, err
	}
	tables, err := readTables(ctx, c)
	if err != nil {
		return nil, err
	}
	defs, modified, err := definitions(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(defs) > 0 {
		r.catalog.Modified = modified.UTC()
	}
	ours := map[string]*table{}
	for _, t := range tables {
		if t.schema == ownSchema {
			ours[t.name] = t
		}
	}
	version := sha256.New()
	for _, t := range tables {
		d := s.draft(t, defs)
		if d == nil {
			if s.settingsOf(t).Hidden {
				r.catalog.Hidden = append(r.catalog.Hidden, t.layer())
			}
			continue
		}
		sv, err := r.add(ctx, c, d, ours)
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(sv)
		if err != nil {
			return nil, own(err)
		}
		version.Write(b)
	}
	for id := range defs {
		if ours[defs[id].Table] == nil {
			r.catalog.Notes = append(r.catalog.Notes, store.Note{Layer: defs[id].Table, Refused: true, Reason: "the role may not read its table in the schema grense; GRANT SELECT on it"})
		}
	}
	settings, err := json.Marshal(s.options.Settings)
	if err != nil {
		return nil, own(err)
	}
	fmt.Fprintf(version, "%s\n%s", r.print, settings)
	r.catalog.Version = fmt.Sprintf("%x", version.Sum(nil)[:8])
	stamp := sha256.Sum256(append([]byte(r.print), settings...))
	for _, l := range r.layers {
		l.rev = binary.BigEndian.Uint64(stamp[:])
		if !l.xmin {
			l.rev = binary.BigEndian.Uint64(version.Sum(nil))
		}
	}
	slices.SortStableFunc(r.catalog.Notes, func(a, b store.Note) int { return strings.Compare(a.Layer, b.Layer) })
	return r, nil
}

// settingsName returns the name under which the settings name a table; false when they do not.
func (s *Store) settingsName(t *table) (string, bool) {
	for _, name := range [...]string{t.schema + "." + t.name, t.name, store.CollectionID(t.name)} {
		if _, ok := s.options.Settings[name]; ok {
			return name, true
		}
	}
	return "", false
}

func (s *Store) settingsOf(t *table) store.Settings {
	name, _ := s.settingsName(t)
	return s.options.Settings[name]
}

// draft returns a table that may be served; nil when it is not.
func (s *Store) draft(t *table, defs map[string]*store.Collection) *draft {
	d := &draft{table: t}
	_, configured := s.settingsName(t)
	d.settings = s.settingsOf(t)
	if t.schema == ownSchema {
		if d.own = defs[t.name]; d.own == nil {
			return nil
		}
	}
	if d.settings.Hidden || len(t.columns) == 0 || !d.findGeometry() && !configured && d.own == nil {
		return nil
	}
	return d
}

// add surveys a draft and enters it.
func (r *revision) add(ctx context.Context, c *pgxpool.Conn, d *draft, ours map[string]*table) (*survey, error) {
	defer func() { r.catalog.Notes = append(r.catalog.Notes, d.notes...) }()
	if d.geometry.name != "" {
		if err := d.place(ctx, c); err != nil || d.refused() {
			return nil, err
		}
	}
	sv, ok, err := d.examine(ctx, c)
	if err != nil || !ok {
		return nil, err
	}
	l := d.open(sv)
	if err := setItems(ctx, c, l); err != nil {
		return nil, err
	}
	for _, p := range l.Properties {
		sv.Items = append(sv.Items, p.Items)
	}
	if d.own != nil {
		if l.source.Relations, err = relations(d.own.Relations, l.Key.Column, ours); err != nil {
			d.refuse("%v", err)
			return nil, nil
		}
	}
	id := d.table.name
	switch {
	case d.settings.ID != "":
		id = d.settings.ID
	case d.own != nil:
		id = d.own.ID
	}
	l.ID = store.Unique(store.CollectionID(id), func(s string) bool { return r.layers[s] != nil })
	r.layers[l.ID] = l
	r.catalog.Collections = append(r.catalog.Collections, l.Collection)
	return sv, nil
}

// layer returns the layer of a collection.
func (r *revision) layer(id string) (*layer, error) {
	if l := r.layers[id]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("postgis: collection %q: %w", id, store.ErrNotFound)
}

// revision returns the number of a row's state: of the transaction that wrote it, and of the definitions.
func (l *layer) revision(xmin uint32) uint64 { return l.rev ^ uint64(xmin) }
