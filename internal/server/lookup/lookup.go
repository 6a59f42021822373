package lookup

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/feature"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/points"
	"grense/internal/server/queryable"
	"grense/internal/server/selection"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// division is a feature that covers the point, or the nearest one. The cache shares it: nobody may change it.
type division struct {
	coll     *store.Collection
	row      store.Row
	id       string
	path     string // of the feature below the mount, with the datetime of its version
	title    page.Value
	parents  []parent
	members  []byte  // of its GeoJSON object, without geometry
	distance float64 // from the point, in metres
	encoded  []byte  // the GeoJSON object without distance
	split    int     // offset in encoded at which distance is inserted
}

// parent is a feature that a division refers to, such as its county.
type parent struct {
	Collection string `json:"collection"`
	ID         string `json:"id"`
}

// lookup writes the divisions that cover a point, the largest kind first. If there are none, it writes the nearest one.
func (s *surface) lookup(c *call, w http.ResponseWriter) error {
	p := c.Params.(*lookupParams)
	if c.Format.F == media.HTML.F && p.lon == nil && p.lat == nil {
		return c.lookupPage(w, nil, nil)
	}
	at, err := p.place()
	if err != nil {
		return err
	}
	indexes, err := c.pointIndexes()
	if err != nil {
		return err
	}
	covering, err := c.covering(indexes)
	if err != nil {
		return err
	}
	var near *division
	if len(covering) == 0 {
		if near, err = c.nearest(at, indexes); err != nil {
			return err
		}
	}
	if c.Format.F == media.HTML.F {
		var nearest []*division
		if near != nil {
			if nearest, err = c.nearestOfEach(at, indexes, near); err != nil {
				return err
			}
		}
		return c.lookupPage(w, covering, nearest)
	}
	links := c.SelfLinks("/lookup")
	c.lookupHeaders(w, links)
	server.SetHeader(w, "Ogc-Numberreturned", strconv.Itoa(len(covering)))
	if same, err := server.Unchanged(w, c.Request, c.lookupTag(covering, near)); same || err != nil {
		return err
	}
	doc := c.appendLookup(wire.TakeBuffer(), covering, near, links)
	defer wire.GiveBuffer(doc)
	return c.WriteOnce(w, doc)
}

// jsonFG reports whether the response is JSON-FG. Its two profiles are the same here, since features have no geometry.
func (p *lookupParams) jsonFG() bool { return strings.HasPrefix(p.profile, "jsonfg") }

// place returns the point in CRS84. Its error reports the faults of both coordinates.
func (p *lookupParams) place() (orb.Point, error) {
	var faults []problem.Fault
	domain := p.crs.Domain()
	for i, v := range [...]*float64{p.lon, p.lat} {
		name := [...]string{"lon", "lat"}[i]
		switch {
		case v == nil:
			faults = append(faults, problem.Fault{In: "query", Param: name,
				Cure: "give lon and lat, such as lon=10.75&lat=59.91"})
		case *v < domain.Min[i] || *v > domain.Max[i]:
			faults = append(faults, problem.Fault{In: "query", Param: name, Value: page.Number(*v), Cure: "in " +
				p.crs.String() + " it lies between " + page.Number(domain.Min[i]) + " and " +
				page.Number(domain.Max[i])})
		}
	}
	if faults != nil {
		problem.SortFaults(faults)
		return orb.Point{}, &problem.Error{Kind: problem.Invalid, Faults: faults}
	}
	move, err := crs.Between(p.crs, crs.CRS84)
	if err != nil {
		return orb.Point{}, err
	}
	x, y := move(*p.lon, *p.lat)
	return orb.Point{x, y}, nil
}

// dividing returns a filter for the features of a collection that match where and are valid at the requested time.
func (c *call) dividing(coll *store.Collection, where cql2.Expr) (cql2.Expr, error) {
	p := c.Params.(*lookupParams)
	and := cql2.And{where}
	if e, ok := coll.IsDuring(p.from, p.to); ok && p.hasTime && (server.IsPlain(coll) || p.interval) {
		and = append(and, e)
	}
	return cql2.Check(and, coll)
}

// dated returns q with the version of the data at the requested time.
func (c *call) dated(coll *store.Collection, q store.Query) store.Query {
	p := c.Params.(*lookupParams)
	q = c.Current(coll, q)
	switch {
	case q.AsOf.IsZero() || !p.hasTime:
	case p.interval:
		q.AsOf = time.Time{}
	default:
		q.AsOf = store.Asked(p.from.In(c.Zone()))
	}
	return q
}

// pointIndexes returns an index for each requested collection. It is nil if the index is not built yet, or the
// collection has times and a time is requested, since indexes hold current features only.
func (c *call) pointIndexes() ([]*points.Index, error) {
	p := c.Params.(*lookupParams)
	out := make([]*points.Index, len(p.collections))
	for i, coll := range p.collections {
		if _, timed := coll.During(); timed && p.hasTime {
			continue
		}
		var err error
		if out[i], err = c.Index(coll); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// covering returns the divisions that contain the point or have it on their border, as S_INTERSECTS does. They are
// ordered by collection and id.
func (c *call) covering(indexes []*points.Index) ([]*division, error) {
	p := c.Params.(*lookupParams)
	var out []*division
	for n, coll := range p.collections {
		rows, err := c.rowsAt(coll, indexes[n])
		if err != nil {
			return nil, err
		}
		more, err := c.describe(coll, rows)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// rowsAt returns the features of a collection that cover the point: by the index i, or by a query if i is nil.
func (c *call) rowsAt(coll *store.Collection, i *points.Index) (rows []store.Row, err error) {
	p := c.Params.(*lookupParams)
	if i != nil {
		return i.At(coll, p.crs, *p.lon, *p.lat)
	}
	e, err := c.dividing(coll, points.Holding(coll, p.crs, *p.lon, *p.lat))
	if err != nil {
		return nil, err
	}
	return c.AllOf(c.dated(coll, store.Query{Filter: e}))
}

// divisionCache holds encoded divisions.
type divisionCache = cache.Cache[divisionKey, *division]

type divisionKey struct {
	collection, id, base, lang, catalog string
	rev                                 uint64
	jsonFG                              bool
}

func newDivisionCache(g *cache.Group) *divisionCache {
	return cache.New[divisionKey, *division](cache.Options{Name: "divisions", Bytes: 8 << 20, Group: g})
}

// describe returns the divisions of rows, without geometry, from the cache or the store. Callers must not change them.
func (c *call) describe(coll *store.Collection, rows []store.Row) ([]*division, error) {
	out := make([]*division, len(rows))
	var missing []store.Row
	var at []int
	key := divisionKey{collection: coll.ID, base: c.Base(), lang: c.Lang, catalog: c.Catalog.Version,
		jsonFG: c.Params.(*lookupParams).jsonFG()}
	for i, r := range rows {
		key.id, key.rev = r.ID, r.Rev
		if d, ok := c.s.divided.Get(key); ok {
			out[i] = d
			continue
		}
		missing, at = append(missing, r), append(at, i)
	}
	more, err := c.readDivisions(coll, missing)
	if err != nil {
		return nil, err
	}
	for n, d := range more {
		c.encode(d)
		out[at[n]] = d
		key.id, key.rev = d.row.ID, d.row.Rev
		c.s.divided.Put(key, d, int64(2*len(d.encoded)+512))
	}
	return out, nil
}

func (c *call) readDivisions(coll *store.Collection, rows []store.Row) ([]*division, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var enc selection.MembersEncoder
	var err error
	if o := (feature.Options{CRS: crs.CRS84, SkipGeometry: true}); c.Params.(*lookupParams).jsonFG() {
		enc, err = feature.NewJSONFG(coll, o, false)
	} else {
		enc, err = feature.NewEncoder(coll, o)
	}
	if err != nil {
		return nil, err
	}
	out := make([]*division, 0, len(rows))
	err = c.Ask(func(ctx context.Context) error {
		out = out[:0]
		return c.s.Store.Fetch(ctx, coll.ID, rows, enc.Want(), func(f *store.Feature) error {
			d := &division{coll: coll, row: rows[len(out)], id: f.Public(), title: page.Value{Text: f.Public()}}
			d.path = "/collections/" + coll.ID + "/items/" + wire.PathEscape(d.id) + startOf(coll, f.Values)
			var err error
			if d.members, err = enc.AppendMembers(nil, f); err != nil {
				return err
			}
			c.nameDivision(d, f.Values)
			out = append(out, d)
			return nil
		})
	})
	return out, err
}

// startOf returns the query with the datetime at which a version begins; "" if the collection has no versions. values
// are those of all properties that are not hidden.
func startOf(coll *store.Collection, values []any) string {
	if server.IsPlain(coll) {
		return ""
	}
	i := 0
	for _, p := range coll.Properties {
		if p.Name == coll.Versions.Start {
			return "?datetime=" + wire.QueryEscape(server.Cell(values[i]))
		}
		if !p.Hidden {
			i++
		}
	}
	return ""
}

// nameDivision sets title and parents of a division. values are those of all properties that are not hidden.
func (c *call) nameDivision(d *division, values []any) {
	lp := server.LanguageProperty(d.coll)
	i := -1
	for j := range d.coll.Properties {
		p := &d.coll.Properties[j]
		if p.Hidden {
			continue
		}
		if i++; i >= len(values) || values[i] == nil {
			continue
		}
		switch other := server.RefersTo(c.Catalog, p); {
		case p.Name == d.coll.TitleProperty:
			d.title.Text = server.Cell(values[i])
			if d.title.Lang == "" {
				d.title.Lang = server.Foreign(server.LanguageOfName(p.Name), c.Lang)
			}
		case lp != nil && p.Name == lp.Name:
			d.title.Lang = server.Foreign(server.LanguageCode(server.Cell(values[i])), c.Lang)
		case other != nil && other != d.coll && queryable.Simple(p.Type):
			d.parents = append(d.parents, parent{other.ID, server.Cell(values[i])})
		}
	}
}

func (c *call) lookupHeaders(w http.ResponseWriter, links []ogcapi.Link) {
	c.DataFields(w, append(links, selection.ProfileLinks(c.Call)...))
	selection.WriteLosses(c.Call, w.Header())
}

// lookupTag returns the entity tag of the response.
func (c *call) lookupTag(covering []*division, near *division) string {
	b := wire.TakeBuffer()
	put := func(s string) { b = append(append(b, s...), 0) }
	put(c.Base())
	put(c.Canonical())
	put(c.Lang)
	if near != nil {
		covering = []*division{near}
	}
	for _, d := range covering {
		put(d.coll.ID)
		put(d.row.ID)
		b = binary.LittleEndian.AppendUint64(b, d.row.Rev)
	}
	put(strconv.FormatBool(near != nil))
	return wire.Digest(b)
}

// appendLookup appends a FeatureCollection (RFC 7946) of the divisions without their geometries, and the point.
func (c *call) appendLookup(b []byte, covering []*division, near *division, links []ogcapi.Link) []byte {
	p := c.Params.(*lookupParams)
	b = append(b, `{"type":"FeatureCollection",`...)
	if p.jsonFG() { // each feature has its featureType
		b = append(append(append(b, `"conformsTo":["`...), strings.Join(feature.JSONFGClasses, `","`)...), `"],`...)
	}
	b = append(b, `"features":[`...)
	for i, d := range covering {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, d.encoded...)
	}
	b = append(b, `],"numberReturned":`...)
	b = strconv.AppendInt(b, int64(len(covering)), 10)
	if len(covering) == 0 {
		b = append(b, `,"nearest":`...)
		if near == nil {
			b = append(b, "null"...)
		} else {
			b = append(b, near.encoded[:near.split]...)
			if near.distance > 0 {
				b = append(b, `,"distance":`...)
				b = strconv.AppendFloat(b, near.distance, 'f', 1, 64)
			}
			b = append(b, near.encoded[near.split:]...)
		}
	}
	b = wire.AppendLinks(append(b, `,"links":`...), selection.WithProfile(c.Call, links))
	b = append(append(append(b, `,"point":{"lon":`...), page.Number(*p.lon)...), `,"lat":`...)
	b = append(append(append(b, page.Number(*p.lat)...), `,"crs":"`...), p.crs.URI()...)
	return append(b, `"}}`...)
}

// encode writes a division as a GeoJSON object.
func (c *call) encode(d *division) {
	var b []byte
	text := func(s string) {
		t, _ := json.Marshal(s) // strings cannot fail
		b = append(b, t...)
	}
	b = append(append(append(b, '{'), d.members...), `,"collection":`...)
	text(d.coll.ID)
	if c.Params.(*lookupParams).jsonFG() {
		b = append(b, `,"featureType":`...)
		text(d.coll.ID)
	}
	b = append(b, `,"title":`...)
	text(d.title.Text)
	if len(d.parents) > 0 {
		b = append(b, `,"parents":`...)
		all, _ := wire.Marshal(d.parents)
		b = append(b, all...)
	}
	d.split = len(b)
	links, _ := wire.Marshal([]ogcapi.Link{
		{Rel: "canonical", Type: media.GeoJSON.Media, Title: d.title.Text, Href: c.Base() + d.path},
		{Rel: "collection", Type: media.JSON.Media, Title: d.coll.TitleIn(c.Lang), Href: c.Base() + "/collections/" +
			d.coll.ID}})
	d.encoded = append(append(append(b, `,"links":`...), links...), '}')
}
