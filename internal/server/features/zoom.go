package features

import (
	"context"
	"math"
	"strconv"
	"strings"

	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/store"
	"grense/internal/tile"
)

// simplified holds the geometries that zoom-level requests.
type simplified struct {
	*tile.Outlines
	coll *store.Collection // the collection of the call, with the CRS of these geometries
}

// mercatorCell is the width of a cell of WebMercatorQuad on level 0, in metres at the equator (OGC 17-083r4, Annex
// D.1).
const mercatorCell = 156543.033928041

// parseZoom reads zoom-level (OGC 24-020, draft, /req/zoom-level/parameter).
func parseZoom(v string) (*float64, error) {
	z, err := strconv.ParseFloat(v, 64)
	if err != nil || !(z >= 0) || math.IsInf(z, 0) || strings.ContainsAny(v, "xXpP_+") {
		return nil, problem.Invalidf("zoom-level", v, "use a number from 0, such as 7 or 7.5: "+
			"that of the map in WebMercatorQuad with tiles of 256 pixels")
	}
	return &z, nil
}

// cellAt returns the width of a pixel of a map at a zoom level, at the latitude of the collection, in units of a CRS.
func cellAt(coll *store.Collection, id crs.ID, zoom float64) float64 {
	cell := mercatorCell / math.Exp2(zoom)
	if id == crs.WebMercator {
		return cell
	}
	if b := coll.Extent; b != nil {
		cell *= max(math.Cos(b.Center()[1]*math.Pi/180), .01)
	}
	if id.Geographic() {
		cell /= drawing.MetresPerDegree
	}
	return cell
}

// simplify finds the simplified geometries of the request, if it has zoom-level and the response has geometries.
func (c *call) simplify() error {
	p := c.Output()
	if p.Zoom == nil || c.Collection.Geometry == nil || p.SkipGeometry || c.Format.F == "html" || c.Format.F == "csv" {
		return nil
	}
	set := drawing.Ladder(c.Collection, p.Crs)
	if set == nil {
		var uris []string
		for _, id := range server.OfferedCRS(c.Collection) {
			if drawing.Ladder(c.Collection, id) != nil {
				uris = append(uris, id.URI())
			}
		}
		return problem.Invalidf("zoom-level", server.First(c.Values["zoom-level"]),
			"there are no simplified geometries in %s; ask with crs=%s, or leave zoom-level out",
			p.CrsURI, strings.Join(uris, " or "))
	}
	var o *tile.Outlines
	err := c.Ask(func(ctx context.Context) (err error) {
		o, err = c.s.Tiles.Outlines(ctx, c.s.Store,
			tile.Scale{Set: set, Collection: c.Collection.ID, Cell: cellAt(c.Collection, set.CRS, *p.Zoom)})
		return err
	})
	if err != nil || o == nil {
		return err
	}
	coll, g := *c.Collection, *c.Collection.Geometry
	g.CRS, coll.Geometry = set.CRS, &g
	c.simple, c.Single = &simplified{o, &coll}, true
	return nil
}

// written returns the collection of the call with the CRS of the written geometries.
func (c *call) written() *store.Collection {
	if c.simple != nil {
		return c.simple.coll
	}
	return c.Collection
}

// each calls fn with features that have the simplified geometries.
func (s *simplified) each(fn func(*store.Feature) error) func(*store.Feature) error {
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
type simpleSnapshot struct {
	store.Snapshot
	simple *simplified
}

func (s simpleSnapshot) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	if !want.NoGeometry {
		fn = s.simple.each(fn)
	}
	return s.Snapshot.Fetch(ctx, collection, rows, want, fn)
}
