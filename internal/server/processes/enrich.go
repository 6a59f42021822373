package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/enrich"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/limit"
	"grense/internal/server/points"
	"grense/internal/store"
)

// enrichReport is the name of the trailer with the counts (RFC 9110, 6.5).
const enrichReport = "Enrich-Report"

// enrich adds divisions to the table in the body. It writes rows while it reads others; each read and write extends its
// deadline.
func (s *Surface) enrich(c *call, w http.ResponseWriter) error {
	if err := c.Resolve(); err != nil {
		return err
	}
	t, err := c.openTable(w, enrichReport)
	if err != nil {
		return err
	}
	p := c.Params.(*enrichParams)
	find, err := c.newDivider(p)
	if err != nil {
		return err
	}
	e := &enrichment{tableStream: t, find: find, table: enrich.NewCSV(find, p.columns)}
	if t.lines {
		e.table = enrich.NewLines(find, p.columns)
	}
	if t.form {
		return e.runForm()
	}
	return e.run()
}

// enrichment is a request to enrich a table.
type enrichment struct {
	*tableStream
	find  *divider
	table *enrich.Table
}

func (e *enrichment) run() error {
	e.rc.EnableFullDuplex() // HTTP/2 does not need it
	if err := e.through(e); err != nil {
		return err
	}
	return e.finish(e.table.Report)
}

// through reads the table of the client and writes the enriched table to w.
func (e *enrichment) through(w io.Writer) error {
	e.table.Around = e.turn
	return e.table.Run(w, e, nil)
}

// runForm enriches a file that was uploaded by a form. Browsers read no response before they have sent the whole form,
// so the response waits in a temporary file.
func (e *enrichment) runForm() error {
	c := e.c
	shelf := &tempShelf{dir: c.s.TempDir()}
	defer shelf.close()
	r, err := shelf.put(result{id: "table", media: e.media(), name: e.fileName("enriched")}, func(w io.Writer) error {
		return e.through(&boundedWriter{Writer: w, left: int64(c.s.Config.Processes.JobBytes)})
	})
	if err != nil {
		return err
	}
	report, err := json.Marshal(e.table.Report)
	if err != nil {
		return err
	}
	h := e.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set(enrichReport, string(report))
	c.s.WriteRates(e.w, c.Owner())
	return c.sendResult(e.w, r)
}

// turn runs work on a part of the table in a slot of CostWriting.
func (e *enrichment) turn(work func() error) error {
	t := e.c.s.Turns
	k := t.NewTicket(e.c.Owner(), e.begun)
	ctx := e.c.Request.Context()
	k.Times = limit.TimesOf(ctx)
	if err := t.Enter(ctx, limit.CostWriting, k); err != nil {
		return err
	}
	defer t.Leave(limit.CostWriting, k)
	e.find.ctx = k.With(ctx)
	t.Charge(e.find.ctx, store.CostPage)
	err := work()
	if f, ok := errors.AsType[*enrich.Fault](err); ok {
		err = &problem.Error{Kind: problem.Invalid, Detail: f.Error(), Said: f.Said}
	}
	return err
}

// divider finds divisions by points and codes in one version of the data. It implements enrich.Finder. It is not safe
// for concurrent use.
type divider struct {
	s       *Surface
	ctx     context.Context // of the current part of the table
	layers  []dividedLayer
	columns []string
	room    []int32
	in      crs.ID
}

// dividedLayer is a collection with the ids and titles of its divisions, ordered by id. The values of its maps are
// positions in ids.
type dividedLayer struct {
	coll   *store.Collection
	index  *points.Index // nil: query the store
	move   crs.Func      // from the CRS of the points to that of the collection
	ids    []string
	titles []string // nil: the collection has no titles
	byID   map[string]int32
	byRow  map[string]int32 // by row id, for collections with versions
	asOf   time.Time        // time for which versions are selected
	short  map[string]int32 // by id without leading zeros; ambiguous if several ids match
}

const ambiguous = -1

// maxDivided bounds the divisions of a collection whose ids and titles are in memory during a request.
const maxDivided = 200_000

// newDivider reads ids and titles. It starts again if the data change while it reads.
func (c *call) newDivider(p *enrichParams) (d *divider, err error) {
	err = c.Retry(func() error {
		d, err = c.readDivider(p)
		return err
	})
	return d, err
}

func (c *call) readDivider(p *enrichParams) (*divider, error) {
	d := &divider{s: c.s, in: p.crs}
	at, err := c.instantOf(p)
	if err != nil {
		return nil, err
	}
	for _, coll := range p.collections {
		if coll.Count > maxDivided {
			return nil, problem.Invalidf("collections", coll.ID, "leave %s out: it has more than %d features",
				coll.ID, maxDivided)
		}
		l := dividedLayer{coll: coll, byID: map[string]int32{}, short: map[string]int32{}}
		if server.IsVersioned(coll) {
			l.asOf = at
		}
		if l.move, err = crs.Between(p.crs, coll.Geometry.CRS); err == nil {
			err = c.fillLayer(&l)
		}
		if err != nil {
			return nil, err
		}
		d.columns = append(d.columns, coll.ID+"_id")
		if l.titles != nil {
			d.columns = append(d.columns, coll.ID+"_name")
		}
		d.layers = append(d.layers, l)
	}
	if d.layers == nil {
		return nil, problem.NotFoundf("there are no collections of areas; %s/collections lists all", c.Base())
	}
	return d, nil
}

// instantOf returns the time for which versions are selected; the zero time for now.
func (c *call) instantOf(p *enrichParams) (time.Time, error) {
	if p.datetime == "" {
		return time.Time{}, nil
	}
	at, ok := cql2.ParseInstant(p.datetime, c.Zone())
	switch {
	case !ok:
		return time.Time{}, problem.Invalidf("datetime", p.datetime,
			"use a day as 2024-01-31 or a moment as 2024-01-31T12:00:00Z")
	case !slices.ContainsFunc(p.collections, server.IsVersioned):
		return time.Time{}, problem.Invalidf("datetime", p.datetime,
			"leave it out: divisions of these collections have no versions")
	}
	return store.Asked(at), nil
}

// fillLayer reads ids and titles in the version of the data that the index has. It waits for an index that is being
// built.
func (c *call) fillLayer(l *dividedLayer) (err error) {
	if l.asOf.IsZero() { // indexes hold current features only
		if l.index, err = c.AwaitIndex(l.coll); err != nil {
			return err
		}
	}
	if err = c.readTitles(l); err != nil {
		return err
	}
	for i, id := range l.ids {
		l.byID[id] = int32(i)
		if short := strings.TrimLeft(id, "0"); short != "" {
			if _, taken := l.short[short]; taken {
				l.short[short] = ambiguous
				continue
			}
			l.short[short] = int32(i)
		}
	}
	return nil
}

func (c *call) readTitles(l *dividedLayer) error {
	l.ids, l.titles = nil, nil
	var rows []store.Row
	if l.index != nil {
		rows = l.index.Rows
	}
	q := c.Current(l.coll, store.Query{Limit: maxDivided, Count: store.CountNone})
	if l.asOf.IsZero() {
		l.asOf = q.AsOf
	}
	q.AsOf = l.asOf
	want := store.Want{Properties: []string{}, NoGeometry: true}
	if p, ok := l.coll.Find(l.coll.TitleProperty); ok && !p.Hidden {
		want.Properties, l.titles = []string{p.Name}, []string{}
	}
	return c.Ask(func(ctx context.Context) error {
		if l.index == nil {
			page, err := c.s.Store.Page(ctx, q)
			if err != nil {
				return err
			}
			rows = page.Rows
		}
		l.ids = l.ids[:0]
		for _, r := range rows {
			l.ids = append(l.ids, r.ID)
		}
		if l.titles == nil && server.IsPlain(l.coll) {
			return nil
		}
		n := 0
		l.titles, l.byRow = l.titles[:0], map[string]int32{}
		return c.s.Store.Fetch(ctx, l.coll.ID, rows, want, func(f *store.Feature) error {
			l.ids[n], l.byRow[f.ID] = f.Public(), int32(n)
			n++
			if len(f.Values) == 0 {
				return nil
			}
			title := ""
			if f.Values[0] != nil {
				title = server.Cell(f.Values[0])
			}
			l.titles = append(l.titles, title)
			return nil
		})
	})
}

// Columns returns the names of the added columns: for each collection an id, and a name if it has titles.
func (d *divider) Columns() []string { return d.columns }

// At appends the divisions at a point. Its text result says why the point has none.
func (d *divider) At(dst []string, x, y float64) ([]string, string, error) {
	if domain := d.in.Domain(); x < domain.Min[0] || x > domain.Max[0] || y < domain.Min[1] || y > domain.Max[1] {
		return dst, "the point lies outside of " + d.in.String(), nil
	}
	for i := range d.layers {
		l := &d.layers[i]
		n, err := d.find(l, x, y)
		if err != nil {
			return dst, "", err
		}
		dst = l.append(dst, n)
	}
	return dst, "", nil
}

// number returns the position of a row in ids.
func (l *dividedLayer) number(row string) (int32, bool) {
	if server.IsVersioned(l.coll) {
		n, ok := l.byRow[row]
		return n, ok
	}
	n, ok := l.byID[row]
	return n, ok
}

// find returns the position of the first division at a point; -1 if there is none.
func (d *divider) find(l *dividedLayer, x, y float64) (int32, error) {
	if l.index != nil {
		x, y := l.move(x, y)
		if d.room = l.index.Append(d.room[:0], x, y); len(d.room) > 0 {
			return d.room[0], nil
		}
		return -1, nil
	}
	e, err := cql2.Check(cql2.Spatial{Op: cql2.SIntersects, L: cql2.Prop{Name: l.coll.Geometry.Name},
		R: cql2.Geom{G: orb.Point{x, y}, CRS: d.in}}, l.coll)
	if err != nil {
		return -1, err
	}
	page, err := d.s.Store.Page(d.ctx, store.Query{Collection: l.coll.ID, Filter: e, Limit: 1, Count: store.CountNone,
		AsOf: l.asOf})
	if err != nil || len(page.Rows) == 0 {
		return -1, err
	}
	n, ok := l.number(page.Rows[0].ID)
	if !ok {
		return -1, fmt.Errorf("server: %w", store.ErrChanged)
	}
	return n, nil
}

// append appends the columns of the division at position n; empty columns if n is -1.
func (l *dividedLayer) append(dst []string, n int32) []string {
	id, title := "", ""
	if n >= 0 {
		if id = l.ids[n]; l.titles != nil {
			title = l.titles[n]
		}
	}
	if dst = append(dst, id); l.titles != nil {
		dst = append(dst, title)
	}
	return dst
}

// Code appends the divisions with a code. If there is none, it looks for a single id that equals the code except for
// leading zeros; then restored is true.
func (d *divider) Code(dst []string, code string) (values []string, restored bool, err error) {
	found, only := false, -1
	for i := range d.layers {
		if _, ok := d.layers[i].byID[code]; ok {
			found = true
		} else if n, ok := d.layers[i].short[code]; ok {
			if only == -1 && n != ambiguous {
				only = i
			} else {
				only = -2
			}
		}
	}
	for i := range d.layers {
		l := &d.layers[i]
		n, ok := l.byID[code]
		switch {
		case ok:
		case !found && only == i:
			n, restored = l.short[code], true
		default:
			n = -1
		}
		dst = l.append(dst, n)
	}
	return dst, restored, nil
}
