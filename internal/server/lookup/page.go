package lookup

import (
	"cmp"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/paulmach/orb"

	"grense/internal/draw"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/store"
)

// lookupView is the data of the page.
type lookupView struct {
	Lon, Lat, CRS, Collections, Datetime string // as requested
	Asked                                bool
	Found                                []divisionView
	Coded                                bool           // at least one has a code
	Near                                 []divisionView // of each kind, if no division covers the point
	Map                                  template.HTML
	page.Faulty
}

type divisionView struct {
	Kind, KindHref string
	ID             string // the code; "" if the collection has row numbers only
	Title          page.Value
	Distance       string // in m or km, with the unit; "" for a division that covers the point
}

// lookupView returns the form with the parameters of the request.
func (c *call) lookupView() lookupView {
	get := func(name string) string { return server.First(c.Values[name]) }
	return lookupView{Lon: get("lon"), Lat: get("lat"), CRS: get("crs"), Collections: get("collections"),
		Datetime: get("datetime")}
}

func (c *call) lookupPage(w http.ResponseWriter, covering, nearest []*division) error {
	v := c.lookupView()
	v.Asked = v.Lon != ""
	for _, d := range covering {
		x := c.divisionView(d)
		v.Found, v.Coded = append(v.Found, x), v.Coded || x.ID != ""
	}
	for _, d := range nearest {
		v.Near = append(v.Near, c.divisionView(d))
	}
	if v.Asked {
		var err error
		if v.Map, err = c.lookupMap(append(covering, nearest...)); err != nil {
			return err
		}
	}
	pg := &page.Page{Name: "lookup", Title: c.Text("lookup.title"), Crumbs: c.Crumbs(""), Data: &v, Script: v.Map != ""}
	if !v.Asked {
		pg.Without = media.JSON.F // JSON needs a point
	}
	doc, err := c.RenderPage(pg)
	if err != nil {
		return err
	}
	if err := c.Still(); err != nil {
		return err
	}
	c.lookupHeaders(w, c.SelfLinks("/lookup"))
	if !v.Asked {
		w.Header().Del("Link")
	}
	return c.WriteOnce(w, doc)
}

func (c *call) divisionView(d *division) divisionView {
	v := divisionView{Kind: d.coll.TitleIn(c.Lang), KindHref: c.HtmlHref("/collections/" + d.coll.ID), ID: d.id,
		Title: d.title}
	v.Title.Href = c.HtmlHref(d.path)
	if d.coll.Key.Property == "" {
		v.ID = ""
	}
	switch m := d.distance; {
	case m >= 10000:
		v.Distance = page.InDigits(strconv.FormatFloat(m/1000, 'f', 0, 64), c.Lang) + " km"
	case m > 0:
		v.Distance = page.InDigits(strconv.FormatFloat(math.Ceil(m), 'f', 0, 64), c.Lang) + " m"
	}
	return v
}

// lookupMap draws the point on the smallest of the divisions.
func (c *call) lookupMap(found []*division) (template.HTML, error) {
	if len(found) == 0 {
		return "", nil
	}
	d := slices.MaxFunc(found, func(a, b *division) int { return cmp.Compare(a.coll.Count, b.coll.Count) })
	p := c.Params.(*lookupParams)
	if p.hasTime && !p.interval {
		c.Began = store.Asked(p.from.In(c.Zone())) // the background is of that time, too
	}
	plane := drawing.CRS(d.coll)
	rows := []store.Row{d.row}
	outs, err := c.OutlinesOf(d.coll, c.ScaleOfAll(d.coll, plane), rows)
	if err != nil {
		return "", err
	}
	move, err := crs.Between(p.crs, plane)
	if err != nil {
		return "", err
	}
	here := draw.Mark{Outline: draw.NewOutline(c.Text("lookup.point"), orb.Point{*p.lon, *p.lat}, move)}
	at := drawing.ScaleOf(plane, draw.Bound(append(c.Marks(d.coll, outs, false), here)))
	if err := c.Refine(d.coll, at, rows, outs); err != nil {
		return "", err
	}
	ground, err := c.Ground(at)
	if err != nil {
		return "", err
	}
	marks := append(append(ground, c.Marks(d.coll, outs, false)...), here)
	return (&draw.Picture{Lang: c.Lang, Degrees: plane.Geographic(), Marks: marks, Labels: true, Lookup: true,
		Bare: ground == nil && d.coll.Count > 1, Text: c.Text("lookup.map", d.title.Label())}).SVG(), nil
}

// lookupForm returns the form with the errors of the request.
func (s *surface) lookupForm(c *call, f page.Faulty) (*page.Page, error) {
	v := c.lookupView()
	v.Faulty = f
	return &page.Page{Name: "lookup", Title: c.Text("lookup.title"), Crumbs: c.Crumbs(""), Data: &v}, nil
}
