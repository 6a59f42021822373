package tile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// source provides the data for all layers of a tile.
type source struct {
	st  store.Store  // its levels are used
	in  store.Reader // rows are read from it
	old []string     // collections whose rows have changed since the comparison with the archive
	// version of the rows of all layers, for a snapshot of a live source; "": unknown
	version store.Version
}

// layered is a requested layer with the data to draw it from.
type layered struct {
	q        Query
	c        *store.Collection
	move     crs.Func
	archived *archivedLayer // nil: not drawn from the archive
	l        *levels        // nil: not built yet
	version  store.Version  // version of the rows of the levels or the archive
	// exact means that the levels may be of another version than the rows. Then a feature is drawn from the levels only
	// if its row has the same revision; otherwise it is drawn from its row.
	exact bool
}

// drawn reports whether tiles of level z can be drawn from the existing levels.
func (x *layered) drawn(z int) bool {
	return x.l != nil && (z <= x.l.side.sum.drawn() || z > x.l.side.sum.Last)
}

var (
	// errArchive reports that a tile in the archive cannot be read.
	errArchive = errors.New("tile: the archive is broken")
	// errOldArchive reports that rows have changed since the archive was compared with them.
	errOldArchive = errors.New("tile: the archive may be of other rows")
)

// layers returns the requested layers of a tile, and starts building their levels. Collections without geometry have a
// nil move. Either all layers use the archive or none, since all must be of one version of the data.
func (m *Maker) layers(ctx context.Context, st store.Store, a Ask, from *Archive) ([]layered, error) {
	cat, list := st.Catalog(), make([]layered, len(a.Layers))
	archived := from != nil && a.Window == nil && from.holds(a.Set, a.Tile.Z)
	for i, q := range a.Layers {
		x := &list[i]
		x.q = q
		var err error
		if x.c, x.move, err = layerOf(cat, a.Set, q.Collection); err != nil {
			return nil, err
		}
		if archived && x.move != nil {
			x.archived = m.archived(ctx, st, a.Set, x.c)
			if archived = x.archived != nil && !q.chooses() && q.Properties == nil; archived {
				x.version = m.comparedWith(x.c.ID, false)
			}
		}
	}
	if archived {
		return list, nil
	}
	for i := range list {
		if list[i].archived, list[i].version = nil, ""; list[i].move != nil {
			m.want(a.Set, list[i].c)
		}
	}
	return list, m.take(ctx, st, a.Set, list)
}

// take sets the existing levels in layers; coarse ones while the others are being built.
func (m *Maker) take(ctx context.Context, st store.Store, set *Set, list []layered) error {
	now, _, err := stamp(ctx, st)
	if err != nil {
		return err
	}
	for i := range list {
		x := &list[i]
		if x.move == nil {
			continue
		}
		l, err := m.levels(ctx, st, set, x.c)
		if err != nil {
			return err
		}
		m.mu.Lock()
		switch w := m.works[workKey{x.c.ID, set.ID}]; {
		case l != nil:
			x.l, x.version = w.levels, w.version
		case w.rough.levels != nil && w.rough.stamp == now:
			x.l, x.version = w.rough.levels, w.rough.version
		}
		m.mu.Unlock()
	}
	return nil
}

// Await waits until tiles of collections can be drawn from levels, coarse ones at least, or no levels are being built.
// It returns false if ctx ends before.
func (m *Maker) Await(ctx context.Context, st store.Store, set *Set, collections ...string) bool {
	for {
		now, _, err := stamp(ctx, st)
		if err != nil {
			return false
		}
		waits := false
		m.mu.Lock()
		for _, id := range collections {
			w := m.works[workKey{id, set.ID}]
			waits = waits || w != nil && w.busy && w.stamp != now && (w.rough.levels == nil || w.rough.stamp != now)
		}
		m.mu.Unlock()
		if !waits {
			return true
		}
		select {
		case <-time.After(time.Second / 20):
		case <-m.ctx.Done():
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// Prepare starts building levels in WebMercatorQuad for collections with so many features that their tiles need levels.
// It returns at once.
func (m *Maker) Prepare(st store.Store) {
	set, _ := Find(archivedSet)
	for _, c := range st.Catalog().Collections {
		if c.Public && c.Count > m.o.Most && set.Takes(c) && m.archived(m.ctx, st, set, c) == nil {
			m.want(set, c)
			_, _ = m.levels(m.ctx, st, set, c) // starts building; requests for tiles report errors
		}
	}
}

// tile builds a tile; from is the archive to use, or nil.
func (m *Maker) tile(ctx context.Context, st store.Store, a Ask, from *Archive) (*Made, error) {
	before, live, err := stamp(ctx, st)
	if err != nil {
		return nil, err
	}
	list, err := m.layers(ctx, st, a, from)
	if err != nil {
		return nil, err
	}
	in, ids := source{st: st, in: st}, names(list)
	if live && !a.frozen && len(ids) > 0 {
		end, err := in.hold(ctx, list)
		for _, id := range in.old {
			m.comparedWith(id, true)
		}
		if err != nil {
			return nil, err
		}
		defer end()
		m.follow(st, a.Set, list)
		made, err := m.drawAll(ctx, in, a, list)
		if err == nil && made.Keep {
			made.Rev = versionPrefix(in.version) + made.Rev
		}
		return made, err
	}
	made, err := m.drawAll(ctx, in, a, list)
	several := len(ids) > 1
	if err != nil || !several && !made.read {
		return made, err
	}
	after, _, err := stamp(ctx, st)
	switch {
	case err != nil || after == before:
	case several:
		err = fmt.Errorf("tile: %w", store.ErrChanged)
	default:
		made.Keep, made.Rev = false, ""
	}
	return made, err
}

// hold opens a snapshot for the rows of all layers, until the caller calls end. It sets exact in the layers whose
// levels are of another version, and old.
func (s *source) hold(ctx context.Context, list []layered) (end func(), err error) {
	if s.in, end, err = snapshotOf(ctx, s.st); err != nil {
		return nil, err
	}
	fail := func(err error) (func(), error) {
		end()
		return nil, err
	}
	if s.in.Catalog().Version != s.st.Catalog().Version {
		return fail(fmt.Errorf("tile: %w", store.ErrChanged))
	}
	ids := names(list)
	if s.version, err = s.in.Version(ctx, ids...); err != nil {
		return fail(err)
	}
	for i := range list {
		x := &list[i]
		if x.move == nil {
			continue
		}
		now := s.version
		if len(ids) > 1 {
			if now, err = s.in.Version(ctx, x.c.ID); err != nil {
				return fail(err)
			}
		}
		x.exact = now == "" || now != x.version
		if x.exact && x.archived != nil && x.version != "" {
			s.old = append(s.old, x.c.ID)
		}
	}
	if s.old != nil {
		return fail(errOldArchive)
	}
	return end, nil
}

// follow schedules a comparison of levels with their rows where the levels are of an older version.
func (m *Maker) follow(st store.Store, set *Set, list []layered) {
	for i := range list {
		if x := &list[i]; x.exact && x.l != nil && !x.l.rough && x.version != "" {
			m.due(st, set, x.c)
		}
	}
}

// names returns the collections of the layers that have a geometry.
func names(list []layered) (ids []string) {
	for i := range list {
		if list[i].move != nil {
			ids = append(ids, list[i].c.ID)
		}
	}
	return ids
}

// drawAll builds a tile from its layers.
func (m *Maker) drawAll(ctx context.Context, from source, a Ask, list []layered) (*Made, error) {
	made := &Made{Keep: true}
	hints := make([]string, 0, len(list))
	for _, x := range list {
		hint := "empty"
		if x.move != nil {
			d := drawing{
				m:     m,
				c:     x.c,
				set:   a.Set,
				l:     x.l,
				exact: x.exact,
				move:  x.move,
				q:     x.q,
				tile:  a.Tile,
				frame: a.frame(),
				layer: NewLayer(x.c.ID),
				made:  made,
			}
			if d.window = a.Window; d.window != nil {
				d.tile = Tile{Z: d.frame.z}
				d.layer.width, d.layer.height = d.frame.width, d.frame.height
			}
			if name := LabelLayer(from.st.Catalog(), x.c); name != "" {
				d.names = NewLayer(name)
				if d.window != nil {
					d.layer.margin = d.window.margin
				}
			}
			var err error
			if hint, err = m.layer(ctx, from, d, x); err != nil {
				return nil, err
			}
		}
		hints = append(hints, hint)
	}
	if int64(len(made.Data)) > 4*m.o.Largest {
		return nil, problem.New(problem.TooLarge, nil,
			"The tile has more than %d MB. Zoom in, or choose fewer collections with collections=.", 4*m.o.Largest>>20)
	}
	if !made.Keep {
		made.Rev = ""
	}
	made.Empty, made.Hint = len(made.Data) == 0, hintOf(hints)
	return made, nil
}

// enlarged is the number of levels beyond the last coarse one whose tiles are drawn by enlarging it.
const enlarged = 2

// layer appends a layer to a tile and returns its hint.
func (m *Maker) layer(ctx context.Context, from source, d drawing, x layered) (hint string, err error) {
	if x.archived != nil {
		a := m.o.Archive
		b, err := a.layer(d.tile, x.archived, 4*m.o.Largest)
		if err != nil {
			return "", errors.Join(errArchive, err)
		}
		d.made.Data, d.made.Rev, d.made.Keep = append(d.made.Data, b...), d.made.Rev+a.rev, d.made.Keep && !x.exact
		return "", nil
	}
	drawn := x.drawn(d.tile.Z) || d.l != nil && d.l.rough && d.tile.Z <= d.l.side.sum.drawn()+enlarged
	steady := d.l != nil && !d.l.rough && !x.exact // the levels are complete and of the version of the rows
	if drawn {
		if hint, err = d.drawn(ctx, from.in); err != nil {
			return "", err
		}
	} else if d.tile.Z <= d.set.finest() {
		d.made.read = true
		s := slow{m: m, st: from.in, set: d.set, frame: d.frame, c: d.c, move: x.move, layer: d.layer, made: d.made,
			never: d.l != nil && !d.l.rough || m.tooLarge(d.c.ID, d.set)}
		labelled := d.names != nil && d.l != nil && !d.l.rough // levels have labels also where they have no areas
		if !labelled {
			s.names = d.names
		}
		if err = s.features(ctx, d.q); err == nil && labelled {
			if err = d.begin(ctx, from.in); err == nil {
				err = d.labels(ctx)
			}
		}
		if d.l != nil && d.l.rough && errors.Is(err, ErrPreparing) {
			_, err = d.drawn(ctx, from.in)
		}
		if err != nil {
			return "", err
		}
	}
	if len(d.others) > 0 {
		m.due(from.st, d.set, d.c)
		steady = false
	}
	if steady {
		d.made.Rev += d.l.rev
	} else {
		d.made.Keep = false
	}
	d.made.Data = d.layer.Append(d.made.Data)
	if d.names != nil {
		d.made.Data = d.names.Append(d.made.Data)
	}
	return hint, nil
}
