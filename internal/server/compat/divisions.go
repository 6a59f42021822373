package compat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"grense/internal/draw"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/register"
	"grense/internal/store"
)

// roles are a collection of divisions and the names of its properties; "" for properties that it lacks.
type roles struct {
	coll                                                     *store.Collection
	number, name, norwegian, county, countyName, names, sami string
}

// usual are names of collections and properties, in lower case, by the role that they have unless a setting names
// another.
var usual = struct {
	kommuner, fylker, kommunenummer, kommunenavn, fylkesnummer, fylkesnavn, norwegian, county, names, sami []string
}{
	kommuner:      []string{"kommuner", "kommune"},
	fylker:        []string{"fylker", "fylke"},
	kommunenummer: []string{"kommunenummer", "kommunenr", "nr"},
	kommunenavn:   []string{"kommunenavn", "navn", "name"},
	fylkesnummer:  []string{"fylkesnummer", "fylkesnr", "nr"},
	fylkesnavn:    []string{"fylkesnavn", "navn", "name"},
	norwegian:     []string{"kommunenavnnorsk", "kommunenavn_norsk", "navn_norsk"},
	county:        []string{"fylkesnummer", "fylkesnr", "fylke_nr"},
	names:         []string{"administrativenhetnavn"},
	sami:          []string{"samiskforvaltningsområde", "samiskforvaltningsomrade"},
}

// property returns the property that a setting names, or the first one with a usual name; "" if there is none.
func property(coll *store.Collection, setting string, names []string) string {
	if setting != "" {
		names = []string{strings.ToLower(setting)}
	}
	for _, name := range names {
		for i := range coll.Properties {
			if p := &coll.Properties[i]; !p.Hidden && strings.ToLower(p.Name) == name {
				return p.Name
			}
		}
	}
	return ""
}

// collection returns the public collection of areas that a setting or a usual name identifies, or the first that fits.
func collection(cat *store.Catalog, setting string, names []string,
	fits func(*store.Collection) bool) *store.Collection {
	areas := func(x *store.Collection) bool {
		return x.Public && x.Geometry != nil &&
			slices.Contains([]string{"Polygon", "MultiPolygon", ""}, x.Geometry.Type)
	}
	if setting != "" {
		names, fits = []string{setting}, func(*store.Collection) bool { return false }
	}
	for _, name := range names {
		if coll, ok := cat.Collection(name); ok && areas(coll) {
			return coll
		}
	}
	for _, coll := range cat.Collections {
		if areas(coll) && fits(coll) {
			return coll
		}
	}
	return nil
}

// catalogRoles are the roles in a catalog. coll is nil for a kind that the data lack; err is set if they lack both.
type catalogRoles struct {
	catalog          *store.Catalog
	kommuner, fylker roles
	err              error
}

// roles returns the roles in the catalog of the request.
func (c *call) roles() (*catalogRoles, error) {
	r := c.s.roles.Load()
	if r == nil || r.catalog != c.Catalog {
		r = &catalogRoles{catalog: c.Catalog}
		if r.kommuner, r.err = c.kommuner(); r.err == nil {
			r.fylker, r.err = c.fylker()
		}
		if r.err == nil && r.kommuner.coll == nil && r.fylker.coll == nil {
			r.err = problem.NotFoundf("the data served here hold no municipalities; name their collection in " +
				"compat.kommuner.collection")
		}
		c.s.roles.Store(r)
	}
	return r, r.err
}

// kommuner returns the roles of municipalities.
func (c *call) kommuner() (roles, error) {
	o := c.s.Config.Compat.Kommuner
	coll := collection(c.Catalog, o.Collection, usual.kommuner, func(x *store.Collection) bool {
		return property(x, "", usual.kommunenummer[:1]) != "" && x.Geometry.Type != ""
	})
	if coll == nil {
		return roles{}, nil
	}
	r := roles{coll: coll, number: property(coll, o.Number, usual.kommunenummer),
		name: property(coll, o.Name, usual.kommunenavn), norwegian: property(coll, o.NorwegianName, usual.norwegian),
		county: property(coll, o.County, usual.county), countyName: property(coll, "", usual.fylkesnavn[:1]),
		names: property(coll, o.Names, usual.names), sami: property(coll, o.SamiArea, usual.sami)}
	return r, r.check("kommuner")
}

// fylker returns the roles of counties.
func (c *call) fylker() (roles, error) {
	o := c.s.Config.Compat.Fylker
	coll := collection(c.Catalog, o.Collection, usual.fylker, func(x *store.Collection) bool {
		return property(x, "", usual.fylkesnummer[:1]) != "" && property(x, "", usual.kommunenummer[:1]) == "" &&
			x.Geometry.Type != ""
	})
	if coll == nil {
		return roles{}, nil
	}
	r := roles{coll: coll, number: property(coll, o.Number, usual.fylkesnummer),
		name: property(coll, o.Name, usual.fylkesnavn), names: property(coll, "", usual.names)}
	return r, r.check("fylker")
}

// versions reports whether the features have versions.
func (r roles) versions() bool { return r.coll != nil && r.coll.Versions != nil }

func (r roles) check(kind string) error {
	for _, x := range []struct{ property, setting string }{{r.number, "number"}, {r.name, "name"}} {
		if x.property == "" {
			return problem.NotFoundf("the collection %s lacks the column that compat.%s.%s names; name one of %s",
				r.coll.ID, kind, x.setting, strings.Join(r.coll.Shown(), ", "))
		}
	}
	return nil
}

// division is a municipality or a county.
type division struct {
	number, name, norwegian string
	county                  *division // of a municipality; nil if the data lack it
	names                   []officialName
	sami                    bool
	rows                    []store.Row     // its features; none if the data have no borders for the day
	box, point              json.RawMessage // coordinates as JSON; nil if not requested or unknown

	bound   orb.Bound // in the system of the table
	largest float64   // area of the polygon that contains point, in square units of the stored geometry
}

// officialName is a name and its language, as the original service names languages.
type officialName struct{ text, language string }

// table holds all divisions, ordered by number.
type table struct {
	kommuner, fylker []*division
	byRow            map[string]*division // municipalities by the ids of their rows
}

// tableKey identifies a table: a version of the data, a day or "", and the system of geometries or 0 for none.
type tableKey struct {
	catalog string
	version store.Version
	day     string
	system  crs.ID
}

// tableBytes bounds the cache of tables, in bytes. A table with geometries takes about 1 MB.
const tableBytes = 16 << 20

func find(list []*division, number string) *division {
	i, ok := slices.BinarySearchFunc(list, number,
		func(d *division, n string) int { return strings.Compare(d.number, n) })
	if !ok {
		return nil
	}
	return list[i]
}

// table returns all divisions on a day (the zero time for now), with boxes and points in a system; 0 leaves them out.
func (c *call) table(system crs.ID, day time.Time) (*table, error) {
	r, err := c.roles()
	if err != nil {
		return nil, err
	}
	k, f := r.kommuner, r.fylker
	key := tableKey{catalog: c.Catalog.Version, system: system}
	if !day.IsZero() {
		key.day = day.Format(time.DateOnly)
	} else if k.versions() || f.versions() { // the valid version depends on the date
		key.day = "today " + time.Now().In(c.s.Oslo).Format(time.DateOnly)
	}
	var ids []string
	for _, x := range []roles{k, f} {
		if day.IsZero() && x.coll != nil {
			ids = append(ids, x.coll.ID)
		}
	}
	if key.version, err = c.DataVersion(ids...); err != nil {
		return nil, err
	}
	if t, ok := c.s.tables.Get(key); ok && key.version != "" {
		return t, nil
	}
	t := &table{}
	if day.IsZero() || k.versions() {
		err = c.load(t, k, f, system, day)
	} else {
		err = c.loadDay(t, system, day)
	}
	if err != nil {
		return nil, err
	}
	if key.version != "" {
		c.s.tables.Put(key, t, int64(1000+1500*(len(t.kommuner)+len(t.fylker))))
	}
	return t, nil
}

// load reads the divisions from the collections.
func (c *call) load(t *table, k, f roles, system crs.ID, day time.Time) (err error) {
	counties := map[string]string{} // names by number, from properties of municipalities
	county := map[*division]string{}
	if f.coll != nil {
		err = c.loadKind(f, 2, system, day, func(d *division, _ []any) { t.fylker = append(t.fylker, d) })
	}
	if err == nil && k.coll != nil {
		err = c.loadKind(k, 4, system, day, func(d *division, values []any) {
			t.kommuner = append(t.kommuner, d)
			number := digits(values[2], 2)
			if number == "" && len(d.number) == 4 {
				number = d.number[:2]
			}
			county[d], counties[number] = number, text(values[3])
		})
	}
	if err != nil {
		return err
	}
	byNumber := func(a, b *division) int { return strings.Compare(a.number, b.number) }
	if f.coll == nil { // counties known from municipalities only
		for number, name := range counties {
			t.fylker = append(t.fylker, &division{number: number, name: cmp.Or(name, number)})
		}
	}
	slices.SortFunc(t.fylker, byNumber)
	slices.SortFunc(t.kommuner, byNumber)
	t.byRow = map[string]*division{}
	for _, d := range t.kommuner {
		for _, r := range d.rows {
			t.byRow[r.ID] = d
		}
	}
	for _, d := range t.kommuner {
		if d.county = find(t.fylker, county[d]); d.county != nil && f.coll == nil && d.box != nil {
			if d.county.box == nil {
				d.county.bound = d.bound
			}
			d.county.setBound(d.county.bound.Union(d.bound), system)
		}
	}
	return nil
}

// loadKind reads the features of a collection and calls add for each division. values are number, name, county, name of
// the county, Norwegian name, names and Sami area. Features with the same number are one division.
func (c *call) loadKind(r roles, width int, system crs.ID, day time.Time, add func(*division, []any)) error {
	want := store.Want{Properties: []string{}, NoGeometry: system == 0}
	at := [7]int{}
	for i, name := range []string{r.number, r.name, r.county, r.countyName, r.norwegian, r.names, r.sami} {
		if at[i] = slices.Index(want.Properties, name); name != "" && at[i] < 0 {
			at[i] = len(want.Properties)
			want.Properties = append(want.Properties, name)
		}
	}
	var move crs.Func
	if system != 0 {
		var err error
		if move, err = crs.Between(r.coll.Geometry.CRS, system); err != nil {
			return refuse(unknownSystem, "utkoordsys", system.String(), "use 4258, 4326, 3857, 25832, 25833 or 25835")
		}
	}
	seen := map[string]*division{}
	return c.Ask(func(ctx context.Context) error {
		q := c.AsOf(r.coll, store.Query{Limit: 1000, Count: store.CountNone}, day)
		for {
			page, err := c.s.Store.Page(ctx, q)
			if err != nil {
				return err
			}
			n := 0
			err = c.s.Store.Fetch(ctx, r.coll.ID, page.Rows, want, func(f *store.Feature) error {
				var values [7]any
				for i, p := range at {
					if p >= 0 {
						values[i] = f.Values[p]
					}
				}
				row := page.Rows[n]
				n++
				number := digits(values[0], width)
				if number == "" {
					return nil
				}
				d := seen[number]
				if d == nil {
					d = newDivision(number, values)
					seen[number] = d
					add(d, values[:])
				}
				d.rows = append(d.rows, row)
				if system == 0 {
					return nil
				}
				return d.measure(f.Geometry.WKB, move, system)
			})
			if err != nil || page.Next == "" {
				return err
			}
			q.Cursor = page.Next
		}
	})
}

func newDivision(number string, values [7]any) *division {
	d := &division{number: number, name: text(values[1]), norwegian: text(values[4]), names: namesOf(values[5])}
	switch v := values[6].(type) {
	case bool:
		d.sami = v
	case int64:
		d.sami = v != 0
	case string:
		d.sami = slices.Contains([]string{"true", "ja", "1"}, strings.ToLower(v))
	}
	d.complete()
	return d
}

// complete derives official names and the Norwegian name that the data lack.
func (d *division) complete() {
	if d.names == nil {
		for _, n := range register.OfficialNames(d.name) {
			d.names = append(d.names, officialName{n.Text, languages[n.Language]})
		}
	}
	for _, n := range d.names {
		if d.norwegian == "" && n.language == languages["nor"] {
			d.norwegian = n.text
		}
	}
	d.norwegian = cmp.Or(d.norwegian, d.name)
}

// languages maps ISO 639-3 codes to the names of languages in the original service.
var languages = map[string]string{"nor": "Norwegian", "sme": "Northern Sami", "smj": "Lule Sami",
	"sma": "Southern Sami", "fkv": "Kven Finnish"}

// namesOf parses the names by language in Kartverket's files: JSON with navn, rekkefolge and sprak.
func namesOf(v any) (out []officialName) {
	s, ok := v.(string)
	if j, is := v.(store.JSON); is {
		s, ok = string(j), true
	}
	type name struct {
		Navn, Sprak string
		Rekkefolge  any
	}
	var list []name
	if !ok || json.Unmarshal([]byte(s), &list) != nil {
		return nil
	}
	slices.SortStableFunc(list, func(a, b name) int {
		return strings.Compare(fmt.Sprint(a.Rekkefolge), fmt.Sprint(b.Rekkefolge))
	})
	for _, n := range list {
		out = append(out, officialName{n.Navn, cmp.Or(languages[n.Sprak], n.Sprak)})
	}
	return out
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// digits returns a number as text. It pads integers with leading zeros.
func digits(v any, width int) string {
	if n, ok := v.(int64); ok {
		return fmt.Sprintf("%0*d", width, n)
	}
	return text(v)
}

// measure extends the box of a division by a geometry, and moves its point to the largest polygon so far.
func (d *division) measure(geometry []byte, move crs.Func, system crs.ID) error {
	g, err := wkb.Decode(geometry)
	if err != nil {
		return nil // treat it as a feature without geometry
	}
	var polygons orb.MultiPolygon
	switch g := g.(type) {
	case orb.Polygon:
		polygons = orb.MultiPolygon{g}
	case orb.MultiPolygon:
		polygons = g
	}
	bound := d.bound
	if d.box == nil {
		bound = wkb.EmptyBound()
	}
	for _, p := range polygons {
		if len(p) == 0 || len(p[0]) < 4 {
			continue
		}
		if area := math.Abs(planar.Area(p)); d.point == nil || area > d.largest {
			at := draw.Inside(p)
			x, y := move(at[0], at[1])
			d.largest, d.point = area, coordinates(orb.Point{x, y}, system)
		}
		for _, at := range p[0] {
			x, y := move(at[0], at[1])
			wkb.Extend(&bound, x, y)
		}
	}
	if d.point != nil {
		d.setBound(bound, system)
	}
	return nil
}

// setBound sets the box: a clockwise ring that begins at the lower left corner.
func (d *division) setBound(b orb.Bound, system crs.ID) {
	d.bound = b
	ring := []byte("[[")
	for i, p := range []orb.Point{b.Min, {b.Min[0], b.Max[1]}, b.Max, {b.Max[0], b.Min[1]}, b.Min} {
		if i > 0 {
			ring = append(ring, ',')
		}
		ring = append(ring, coordinates(p, system)...)
	}
	d.box = append(ring, "]]"...)
}

// coordinates formats a position with x first, whatever the axis order of the system.
func coordinates(p orb.Point, system crs.ID) json.RawMessage {
	b := []byte{'['}
	b = strconv.AppendFloat(b, rounded(p[0], system.Decimals()), 'f', -1, 64)
	b = strconv.AppendFloat(append(b, ','), rounded(p[1], system.Decimals()), 'f', -1, 64)
	return append(b, ']')
}

// loadDay reads the divisions of a day from the history. Divisions that have not changed since get today's geometry.
func (c *call) loadDay(t *table, system crs.ID, day time.Time) error {
	h, err := c.History()
	if err != nil {
		return err
	}
	if h == nil || h.Scheme(history.Kommune) == nil {
		return problem.NotFoundf("the data served here have no history of municipalities, so that datetime is not " +
			"possible; the operator adds one with --history norway")
	}
	now, err := c.table(system, time.Time{})
	if err != nil {
		return err
	}
	d, today := history.DateOf(day), history.DateOf(time.Now().In(c.s.Oslo))
	past := func(scheme string, present []*division) (out []*division, parents map[*division]string) {
		s := h.Scheme(scheme)
		parents = map[*division]string{}
		if s == nil {
			return nil, parents
		}
		for _, v := range s.On(d) {
			x := &division{number: v.Code, name: v.Name}
			moved := slices.ContainsFunc(s.Moves(v), func(e *history.Edge) bool { return e.Event.Date > d })
			if same := find(present, v.Code); same != nil && v.Holds(today) && !moved {
				copied := *same
				copied.county = nil
				x = &copied
			}
			x.complete()
			parents[x] = v.Parent
			out = append(out, x)
		}
		return out, parents
	}
	t.fylker, _ = past(history.Fylke, now.fylker)
	var parents map[*division]string
	t.kommuner, parents = past(history.Kommune, now.kommuner)
	if len(t.kommuner) == 0 {
		return problem.NotFoundf("the history begins on %s; ask for a later day", h.Scheme(history.Kommune).Begin())
	}
	for _, x := range t.kommuner {
		x.county = find(t.fylker, parents[x])
	}
	return nil
}

// at returns the municipality at a position on a day; nil if there is none.
func (c *call) at(p position, day time.Time) (*division, error) {
	t, err := c.table(0, day)
	if err != nil {
		return nil, err
	}
	r, err := c.roles()
	if err != nil {
		return nil, err
	}
	k := r.kommuner
	if k.coll == nil {
		return nil, nil
	}
	rows, err := c.At(k.coll, p.system, p.x, p.y, day)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	now := t
	if !day.IsZero() && !k.versions() {
		if now, err = c.table(0, time.Time{}); err != nil {
			return nil, err
		}
	}
	d := now.byRow[rows[0].ID]
	if d == nil || now == t {
		return d, nil
	}
	return c.onDay(t, d, day)
}

// onDay returns what a current municipality was on a day; nil if nothing is known. It fails if it was several then.
func (c *call) onDay(t *table, d *division, day time.Time) (*division, error) {
	h, err := c.History()
	if err != nil {
		return nil, err
	}
	today := history.DateOf(time.Now().In(c.s.Oslo))
	was, err := h.Scheme(history.Kommune).Translate(d.number, today, history.DateOf(day))
	if err != nil && !history.NotUsed(err) {
		return nil, err
	}
	switch len(was) {
	case 0:
		return nil, nil
	case 1:
		return find(t.kommuner, was[0].Code), nil
	}
	var all []string
	for _, v := range was {
		all = append(all, v.Code+" "+v.Name)
	}
	return nil, problem.NotFoundf(
		"the point lies in %s %s, which was in %s on %s; the data have no borders of that day",
		d.number, d.name, strings.Join(all, ", "), day.Format(time.DateOnly))
}
