package drawing

import (
	"context"
	"errors"

	"grense/internal/cache"
	"grense/internal/draw"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/store"
	"grense/internal/style"
	"grense/internal/tile"
)

// outlineCache caches the outlines of features.
type outlineCache = cache.Cache[outlineKey, *draw.Outline]

type outlineKey struct {
	collection, id, plane string
	rev                   uint64
}

func newOutlineCache(g *cache.Group) *outlineCache {
	return cache.New[outlineKey, *draw.Outline](cache.Options{Name: "outlines", Bytes: outlineBytes, Group: g})
}

func putOutline(c *outlineCache, k outlineKey, o *draw.Outline) {
	c.Put(k, o, int64(o.Size()+len(k.id)))
}

// finestUnit is the width of the smallest unit that maps are simplified for, in metres. Every tile matrix set has a
// level for it.
const finestUnit = 6.0

// shared returns outlines with shared borders of the areas of a collection; nil if there are none, so that each
// feature has its own. pending reports that they are being built.
func (c Drawing) shared(coll *store.Collection, at Scale) (o *tile.Outlines, pending bool, err error) {
	set := Ladder(coll, at.Plane)
	if set == nil || set.CRS != at.Plane || !(at.Unit > 0) || style.Dimensions[coll.Geometry.Type] != 2 {
		return nil, false, nil
	}
	least := finestUnit
	if at.Plane.Geographic() {
		least /= MetresPerDegree
	}
	at.Unit = max(at.Unit, least)
	err = c.Ask(func(ctx context.Context) (err error) {
		o, err = c.maps.Tiles.Outlines(ctx, c.maps.Store,
			tile.Scale{Set: set, Collection: coll.ID, Cell: at.Unit * 1.5})
		return err
	})
	if problem.Of(err).Kind == problem.Busy {
		return nil, true, nil
	}
	return o, false, err
}

// OutlinesOf returns the outlines of the features of rows, in order, in the revisions of rows.
func (c Drawing) OutlinesOf(coll *store.Collection, at Scale, rows []store.Row) ([]*draw.Outline, error) {
	o, err := c.Outliner(coll, at)
	if err != nil {
		return nil, err
	}
	return c.outlinesBy(o, rows)
}

// outlinesBy is OutlinesOf with an outliner, which may have cached them.
func (c Drawing) outlinesBy(o *Outliner, rows []store.Row) ([]*draw.Outline, error) {
	out := make([]*draw.Outline, len(rows))
	var missing []store.Row
	place := map[string]int{}
	for i, r := range rows {
		if out[i] = o.Cached(r); out[i] == nil {
			missing, place[r.ID] = append(missing, r), i
		}
	}
	for len(missing) > 0 {
		n := min(len(missing), server.Batch)
		err := c.Ask(func(ctx context.Context) error {
			return c.maps.Store.Fetch(ctx, o.key.collection, missing[:n],
				store.Want{Properties: o.Properties, NoGeometry: o.Shared != nil}, func(x *store.Feature) (err error) {
					out[place[x.ID]], err = o.Outline(x, x.Values)
					return err
				})
		})
		if err != nil {
			return nil, err
		}
		missing = missing[n:]
	}
	return out, nil
}

// lightBytes limits the geometries that are read of features that a page only mentions, if they have no simplified
// ones.
const lightBytes = 2 << 20

// errHeavy ends the reading of features that take too long to draw.
var errHeavy = errors.New("server: the geometries are too large for a map")

// lightOutlines is outlinesBy for features that may be left out. If their geometries are too large, the rest is nil
// and whole is false. A page does not wait for large neighbours.
func (c Drawing) lightOutlines(o *Outliner, rows []store.Row) (out []*draw.Outline, whole bool, err error) {
	if o.Shared != nil {
		out, err = c.outlinesBy(o, rows)
		return out, true, err
	}
	const atOnce = 4 // a store may read all of them before it passes the first
	out = make([]*draw.Outline, len(rows))
	read := 0
	for i := 0; i < len(rows); {
		var missing []store.Row
		var place []int
		for ; i < len(rows) && len(missing) < atOnce; i++ {
			if out[i] = o.Cached(rows[i]); out[i] == nil {
				missing, place = append(missing, rows[i]), append(place, i)
			}
		}
		k := 0
		err := c.Ask(func(ctx context.Context) error {
			return c.maps.Store.Fetch(ctx, o.key.collection, missing, store.Want{Properties: o.Properties},
				func(x *store.Feature) (err error) {
					if read += len(x.Geometry.WKB); read > lightBytes {
						return errHeavy
					}
					out[place[k]], err = o.Outline(x, x.Values)
					k++
					return err
				})
		})
		if errors.Is(err, errHeavy) {
			c.Roughly = true
			return out, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return out, true, nil
}

// Refine replaces the outlines of features by those of another scale, if the collection has shared borders.
func (c Drawing) Refine(coll *store.Collection, at Scale, rows []store.Row, outs []*draw.Outline) error {
	o, err := c.Outliner(coll, at)
	if err != nil || o.Shared == nil {
		return err
	}
	for i, r := range rows {
		fine := o.Cached(r)
		if fine == nil {
			g, err := o.Shared.Area(r.ID)
			if err != nil {
				return err
			}
			fine = draw.NewShared(outs[i].Title, outs[i].Lang, g)
			fine.ID = outs[i].ID
			// outs may be from before the borders were shared, without colours
			if fine.Color, err = o.Shared.Color(r.ID); err != nil {
				return err
			}
			putOutline(c.maps.outlines, o.keyOf(r), fine)
		}
		outs[i] = fine
	}
	return nil
}

// Outliner builds and caches the outlines of features of a collection.
type Outliner struct {
	maps       *Maps
	key        outlineKey // without the feature
	project    func(x, y float64) (float64, float64)
	Properties []string       // of the title and its language, if they exist; never nil
	Shared     *tile.Outlines // nil if each feature has its own outline
}

func (c Drawing) Outliner(coll *store.Collection, at Scale) (*Outliner, error) {
	f, err := crs.Between(coll.Geometry.CRS, at.Plane)
	if err != nil {
		return nil, err
	}
	o := &Outliner{maps: c.maps, key: outlineKey{collection: coll.ID, plane: at.Plane.String()}, project: f,
		Properties: []string{}}
	shared, pending, err := c.shared(coll, at)
	if err != nil {
		return nil, err
	}
	o.Shared, c.Roughly = shared, c.Roughly || pending
	if o.Shared != nil {
		o.key.plane += " " + o.Shared.Rev()
	}
	if p, ok := coll.Find(coll.TitleProperty); ok && !p.Hidden {
		o.Properties = []string{p.Name}
		if l := server.LanguageProperty(coll); l != nil {
			o.Properties = append(o.Properties, l.Name)
		}
	}
	return o, nil
}

// Plane names the plane of the outlines, and their version if they have shared borders.
func (o *Outliner) Plane() string { return o.key.plane }

// Cached returns the outline of a row; nil if it is not cached.
func (o *Outliner) Cached(r store.Row) *draw.Outline {
	out, _ := o.maps.outlines.Get(o.keyOf(r))
	return out
}

func (o *Outliner) keyOf(r store.Row) outlineKey {
	key := o.key
	key.id, key.rev = r.ID, r.Rev
	return key
}

// Outline builds and caches the outline of a feature; values are those of Properties.
func (o *Outliner) Outline(x *store.Feature, values []any) (*draw.Outline, error) {
	title := x.ID
	if len(values) > 0 && values[0] != nil {
		title = server.Cell(values[0])
	}
	lang := ""
	if len(values) > 1 {
		lang = server.LanguageCode(server.Cell(values[1]))
	}
	var out *draw.Outline
	if o.Shared != nil {
		g, err := o.Shared.Area(x.ID)
		if err != nil {
			return nil, err
		}
		out = draw.NewShared(title, lang, g)
		if out.Color, err = o.Shared.Color(x.ID); err != nil {
			return nil, err
		}
	} else {
		g, err := x.Geometry.Orb()
		if err != nil { // an unreadable geometry is not drawn, but the page is
			g = nil
		}
		out = draw.NewOutline(title, g, o.project)
		out.Lang = lang
	}
	out.ID = x.Public()
	putOutline(o.maps.outlines, o.keyOf(store.Row{ID: x.ID, Rev: x.Rev}), out)
	return out, nil
}
