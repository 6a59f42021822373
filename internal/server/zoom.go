package server

import (
	"context"
	"math"
	"strconv"
	"strings"

	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
	"grense/internal/tile"
)

// simplified are the geometries that zoom-level asks for.
type simplified struct {
	*tile.Outlines
	coll *store.Collection // that of the call, as if its geometries were stored in the CRS of these
}

// mercatorCell is how wide a cell of WebMercatorQuad is on level 0, in metres at the equator (OGC 17-083r4, Annex D.1).
const mercatorCell = 156543.033928041

// parseZoom reads zoom-level (OGC 24-020, draft, /req/zoom-level/parameter).
func ParseZoom(v string) (*float64, error) {
	z, err := strconv.ParseFloat(v, 64)
	if err != nil || !(z >= 0) || math.IsInf(z, 0) || strings.ContainsAny(v, "xXpP_+") {
		return nil, problem.Invalidf("zoom-level", v, "use a number from 0, such as 7 or 7.5: that of the map in WebMercatorQuad with tiles of 256 pixels")
	}
	return &z, nil
}

// ladder is the set whose levels have the geometries of a collection in a CRS; nil when there is none.
func ladder(coll *store.Collection, id crs.ID) *tile.Set {
	if id.Geographic() { // one datum, as far as maps show
		id = crs.CRS84
	}
	for _, set := range TileSets(coll) {
		if set.CRS == id && set.Holds(coll) {
			return set
		}
	}
	return nil
}

// cellAt is how wide a pixel of a map at a zoom level is where the collection lies, in units of a CRS.
func cellAt(coll *store.Collection, id crs.ID, zoom float64) float64 {
	cell := mercatorCell / math.Exp2(zoom)
	if id == crs.WebMercator {
		return cell
	}
	if b := coll.Extent; b != nil {
		cell *= max(math.Cos(b.Center()[1]*math.Pi/180), .01)
	}
	if id.Geographic() {
		cell /= metresPerDegree
	}
	return cell
}

// metresPerDegree is the length of a degree of the equator.
const metresPerDegree = 111319.49

// simplify finds the geometries that the request asks for: those of the features where no zoom-level is asked for, or its answer has none.
func (c *Call) Simplify() error {
	p := c.Output()
	if p.Zoom == nil || c.Collection.Geometry == nil || p.SkipGeometry || c.Format.F == "html" || c.Format.F == "csv" {
		return nil
	}
	set := ladder(c.Collection, p.Crs)
	if set == nil {
		var uris []string
		for _, id := range OfferedCRS(c.Collection) {
			if ladder(c.Collection, id) != nil {
				uris = append(uris, id.URI())
			}
		}
		return problem.Invalidf("zoom-level", First(c.Values["zoom-level"]), "there are no simplified geometries in %s; ask with crs=%s, or leave zoom-level out", p.CrsURI, strings.Join(uris, " or "))
	}
	var o *tile.Outlines
	err := c.Ask(func(ctx context.Context) (err error) {
		o, err = c.s.Tiles.Outlines(ctx, c.s.Store, tile.Scale{Set: set, Collection: c.Collection.ID, Cell: cellAt(c.Collection, set.CRS, *p.Zoom)})
		return err
	})
	if err != nil || o == nil {
		return err
	}
	coll, g := *c.Collection, *c.Collection.Geometry
	g.CRS, coll.Geometry = set.CRS, &g
	c.Simple = &simplified{o, &coll}
	return nil
}

// written is the call's collection as its features are written: with the CRS that their geometries come in.
func (c *Call) Written() *store.Collection {
	if c.Simple != nil {
		return c.Simple.coll
	}
	return c.Collection
}

// each calls fn with features that have the simplified geometries.
func (s *simplified) Each(fn func(*store.Feature) error) func(*store.Feature) error {
	return func(f *store.Feature) error {
		if f.Geometry.IsNull() {
			return fn(f)
		}
		g := *f
		var err error
		if g.Geometry.WKB, err = s.Geometry(f); err != nil {
			return err
		}
		return fn(&g)
	}
}

// simpleSnapshot is a snapshot with simplified geometries.
type SimpleSnapshot struct {
	store.Snapshot
	Simple *simplified
}

func (s SimpleSnapshot) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	if !want.NoGeometry {
		fn = s.Simple.Each(fn)
	}
	return s.Snapshot.Fetch(ctx, collection, rows, want, fn)
}
