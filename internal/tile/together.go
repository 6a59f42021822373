package tile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"grense/internal/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// source is what the layers of a tile are read from.
type source struct {
	st store.Store // its levels are taken
	in reading     // its rows
	// exact says that levels may be of another state than in. A feature of theirs is drawn only where its row in this state has the same revision, and no other.
	exact bool
}

// layered is a layer that a tile is asked for, with what it is drawn from.
type layered struct {
	q        Query
	c        *store.Collection
	move     crs.Func
	archived *archivedLayer // nil: not from the archive
	l        *levels        // nil: there are none yet
	of       *state         // of the levels
}

// drawn reports whether tiles of level z are made from the levels that there are.
func (x *layered) drawn(z int) bool {
	return x.l != nil && (z <= x.l.side.sum.drawn() || z > x.l.side.sum.Last)
}

// errArchive says that a tile in the archive cannot be read.
var errArchive = errors.New("tile: the archive is broken")

// layers finds what a tile is asked for, and has levels begun. Collections without geometry have no move. The archive, whose tiles are of one state, is taken for
// all layers or for none.
func (m *Maker) layers(ctx context.Context, st store.Store, a Ask, from *Archive) ([]layered, error) {
	cat, list := st.Catalog(), make([]layered, len(a.Layers))
	archived := from != nil && from.holds(a.Set, a.Tile.Z)
	for i, q := range a.Layers {
		x := &list[i]
		x.q = q
		var err error
		if x.c, x.move, err = layerOf(cat, a.Set, q.Collection); err != nil {
			return nil, err
		}
		if archived && x.move != nil {
			x.archived = m.archived(ctx, st, a.Set, x.c)
			archived = x.archived != nil && !q.chooses() && q.Properties == nil
		}
	}
	if archived {
		return list, nil
	}
	for i := range list {
		if list[i].archived = nil; list[i].move != nil {
			m.want(a.Set, list[i].c)
		}
	}
	return list, m.take(ctx, st, a.Set, list)
}

// take puts the levels that there are into layers, as they are at one moment.
func (m *Maker) take(ctx context.Context, st store.Store, set *Set, list []layered) (err error) {
	for i := range list {
		if x := &list[i]; x.move != nil {
			if x.l, err = m.levels(ctx, st, set, x.c); err != nil {
				return err
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range list {
		if x := &list[i]; x.l != nil {
			w := m.works[workKey{x.c.ID, set.ID}]
			x.l, x.of = w.levels, w.of
		}
	}
	return nil
}

// tile makes a tile; from is the archive, if that is asked.
func (m *Maker) tile(ctx context.Context, st store.Store, a Ask, from *Archive) (*Made, error) {
	before, live, err := stamp(ctx, st)
	if err != nil {
		return nil, err
	}
	list, err := m.layers(ctx, st, a, from)
	if err != nil {
		return nil, err
	}
	in := source{st: st, in: st}
	several := len(names(list)) > 1
	if several && live && !ofOne(list, a.Tile.Z) {
		m.apart(st, a.Set, list)
		end, err := in.hold(ctx, list)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	made, err := m.drawAll(ctx, in, a, list)
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

// hold has rows read from one state of the data, until the caller calls end.
func (s *source) hold(ctx context.Context, list []layered) (end func(), err error) {
	mark := ""
	if x, ok := s.st.(store.Marked); ok {
		if mark, err = x.Mark(ctx, names(list)...); err != nil {
			return nil, err
		}
	}
	if s.in, end, err = snapshotOf(ctx, s.st); err != nil {
		return nil, err
	}
	if s.in.Catalog().Version != s.st.Catalog().Version {
		end()
		return nil, fmt.Errorf("tile: %w", store.ErrChanged)
	}
	now, err := stateOf(ctx, mark, s.in, names(list)...)
	if err != nil {
		end()
		return nil, err
	}
	s.exact = !ofState(list, now)
	return end, nil
}

// apart has levels compared with their rows soon where all layers have some, which are not of one state.
func (m *Maker) apart(st store.Store, set *Set, list []layered) {
	var first *layered
	for i := range list {
		x := &list[i]
		switch {
		case x.move == nil:
		case x.l == nil:
			return
		case first == nil:
			first = x
		case x.of != first.of:
			m.due(st, set, first.c)
			return
		}
	}
}

// names are the collections of layers.
func names(list []layered) (ids []string) {
	for i := range list {
		if list[i].move != nil {
			ids = append(ids, list[i].c.ID)
		}
	}
	return ids
}

// stateOf names the state of collections in a snapshot which was taken after a mark of them (store.Marked); "" where that cannot be told.
func stateOf(ctx context.Context, mark string, in reading, collections ...string) (string, error) {
	snap, ok := in.(store.Snapshot)
	if mark == "" || !ok {
		return "", nil
	}
	name, err := snap.Revision(ctx, collections...)
	if name == "" {
		return "", err
	}
	return mark + " " + name, err
}

// ofOne reports whether a tile of level z comes from levels alone, or the archive, all of which are of one state.
func ofOne(list []layered, z int) bool {
	var first *state
	for i := range list {
		x := &list[i]
		switch {
		case x.move == nil || x.archived != nil:
		case !x.drawn(z) || x.q.chooses():
			return false
		case first == nil:
			first = x.of
		case first != x.of:
			return false
		}
	}
	return true
}

// ofState reports whether all levels that there are have been seen to be of a state.
func ofState(list []layered, name string) bool {
	return name != "" && !slices.ContainsFunc(list, func(x layered) bool { return x.l != nil && x.of.name != name })
}

// drawAll makes a tile of its layers.
func (m *Maker) drawAll(ctx context.Context, from source, a Ask, list []layered) (*Made, error) {
	made := &Made{Keep: true}
	hints := make([]string, 0, len(list))
	for _, x := range list {
		hint := "empty"
		if x.move != nil {
			d := drawing{m: m, c: x.c, set: a.Set, l: x.l, exact: from.exact, q: x.q, tile: a.Tile, layer: NewLayer(x.c.ID), made: made}
			var err error
			if hint, err = m.layer(ctx, from, d, x); err != nil {
				return nil, err
			}
		}
		hints = append(hints, hint)
	}
	if int64(len(made.Data)) > 4*m.o.Largest {
		return nil, problem.New(problem.TooLarge, nil, "The tile has more than %d MB. Zoom in, or choose fewer collections with collections=.", 4*m.o.Largest>>20)
	}
	if !made.Keep {
		made.Rev = ""
	}
	made.Empty, made.Hint = len(made.Data) == 0, hintOf(hints)
	return made, nil
}

// layer adds a layer of a tile, and tells its hint.
func (m *Maker) layer(ctx context.Context, from source, d drawing, x layered) (hint string, err error) {
	if x.archived != nil {
		a := m.o.Archive
		b, err := a.layer(d.tile, d.c.ID, 4*m.o.Largest)
		if err != nil {
			return "", errors.Join(errArchive, err)
		}
		d.made.Data, d.made.Rev = append(d.made.Data, b...), d.made.Rev+a.rev
		return "", nil
	}
	drawn := x.drawn(d.tile.Z)
	kept := d.l != nil && !drawn && !d.l.live // what is not in the levels is of their state, unless that changes meanwhile
	d.made.read = d.made.read || kept
	if drawn {
		if hint, err = d.drawn(ctx, from.in); errors.Is(err, errOtherRows) {
			m.due(from.st, d.set, d.c)
			drawn, err = false, nil
		}
	}
	if drawn || kept {
		d.made.Rev += d.l.rev
	} else {
		d.made.Keep = false
	}
	if !drawn {
		hint = ""
		if d.tile.Z <= d.set.finest() {
			s := slow{m: m, st: from.in, set: d.set, tile: d.tile, c: d.c, move: x.move, layer: d.layer, made: d.made, never: d.l != nil || m.tooLarge(d.c.ID, d.set)}
			err = s.features(ctx, d.q)
		}
	}
	d.made.Data = d.layer.Append(d.made.Data)
	return hint, err
}
