package process

import (
	"context"
	"errors"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/cql2"
	"grense/internal/geo/wkb"
	"grense/internal/problem"
	"grense/internal/store"
)

// neighbours is the process that returns the divisions that share a border with a division.
type neighbours struct{}

// Neighbour is a feature that shares a border with another one.
type Neighbour struct {
	ID     string  // row id of the feature
	Length float64 // length of the shared border in metres on the ellipsoid
}

func (neighbours) ID() string { return "neighbours" }

// drawnAreas returns the ids of the public collections of areas.
func drawnAreas(cat *store.Catalog) (ids []string) {
	for _, c := range cat.Collections {
		if c.Public && c.Geometry != nil && strings.HasSuffix(c.Geometry.Type, "Polygon") {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func (neighbours) Describe(cat *store.Catalog, lang string) ogcapi.Process {
	type m = map[string]any
	in := func(nb, nn, en string) string { return localized(lang, nb, nn, en) }
	ids := orNone(drawnAreas(cat))
	first := "kommuner"
	if len(ids) > 0 && !slices.Contains(ids, first) {
		first = ids[0]
	}
	return ogcapi.Process{
		ProcessSummary: ogcapi.ProcessSummary{
			Version:  "1.0.0",
			ID:       "neighbours",
			Title:    in("Naboer med felles grense", "Naboar med felles grense", "Neighbours with a shared border"),
			Keywords: []string{"neighbours", "border"},
			Description: in(
				"Inndelingene som grenser til en annen, den med lengst felles grense først. "+
					"Lengder er meter på ellipsoiden; der grensene ikke passer sammen, er det bare sagt hvem "+
					"som berører.",
				"Inndelingane som grensar til ei anna, den med lengst felles grense først. "+
					"Lengder er meter på ellipsoiden; der grensene ikkje passar saman, er det berre sagt kven som "+
					"rører ved.",
				"The divisions beside another one, those with the longest shared border first. "+
					"Lengths are metres on the ellipsoid; where borders do not match it only shows who touches.",
			),
			JobControlOptions:  []string{Sync, Async, Dismiss},
			OutputTransmission: []string{"value", "reference"},
		},
		Inputs: append(ogcapi.ProcessInputs{
			{
				ID:        "collection_id",
				Title:     in("Datasett", "Datasett", "Collection"),
				Schema:    m{"type": "string", "enum": ids},
				MinOccurs: 1,
				MaxOccurs: 1,
			},
			{
				ID:        "id",
				Title:     in("Nummer på inndelingen", "Nummer på inndelinga", "Id of the division"),
				Schema:    m{"type": "string", "minLength": 1},
				MinOccurs: 1,
				MaxOccurs: 1,
			}}, datetimeInput(cat, lang)...),
		Outputs: ogcapi.ProcessOutputs{
			{
				ID:    "neighbours",
				Title: in("Naboene", "Naboane", "The neighbours"),
				Schema: m{
					"type":             "object",
					"contentMediaType": "application/json",
					"required":         []string{"id", "method", "neighbours"},
					"properties": m{
						"id":     m{"type": "string"},
						"method": m{"type": "string", "enum": []string{methodBorders, methodTouches}},
						"neighbours": m{"type": "array",
							"items": m{"type": "object", "required": []string{"id"}, "properties": m{
								"id": m{
									"type": "string",
								}, "title": m{"type": "string"}, "length": m{"type": "number", "x-ogc-unit": "m"},
								"href": m{"type": "string"}}}}},
				},
			},
		},
		Example: m{"inputs": m{"collection_id": first, "id": "0301"}},
	}
}

// Methods by which neighbours were found.
const (
	methodBorders = "shared-borders"
	methodTouches = "S_TOUCHES"
)

type neighboursDoc struct {
	Collection string         `json:"collection"`
	ID         string         `json:"id"`
	Method     string         `json:"method"`
	Neighbours []neighbourDoc `json:"neighbours"`
}

type neighbourDoc struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Length *float64 `json:"length,omitempty"` // in metres; nil if the method is touches
	Href   string   `json:"href"`

	row string // row id in the store
}

// Execute finds the neighbours by the shared borders of a coverage. If the collection is not a coverage, it uses
// S_TOUCHES.
func (neighbours) Execute(ctx context.Context, env *Env, in Inputs) (Outputs, error) {
	coll, ok := env.Store.Catalog().Collection(in.Text("collection_id"))
	if !ok || !coll.Public || coll.Geometry == nil {
		return nil, Fault(in.Text("collection_id"),
			problem.Sayf("use one of %s", strings.Join(drawnAreas(env.Catalog), ", ")), "collection_id")
	}
	id := in.Text("id")
	doc := neighboursDoc{Collection: coll.ID, ID: id, Method: methodBorders, Neighbours: []neighbourDoc{}}
	at, err := env.moment(in, coll)
	if err != nil {
		return nil, err
	}
	x := beside{env: env, coll: coll, at: at}
	rows, err := coll.RowsOf(ctx, env.Store, []string{id}, at)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, Fault(id, problem.Sayf("there is no such feature in %s", coll.ID), "id")
	}
	list, covered, err := env.Neighbours(ctx, coll.ID, rows[0].ID)
	if err == nil && !covered {
		doc.Method = methodTouches
		list, err = x.touching(ctx, rows[0])
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, Fault(id, problem.Sayf("there is no such feature in %s", coll.ID), "id")
	}
	if err != nil {
		return nil, err
	}
	if coll.Versions != nil && covered {
		if list, err = x.valid(ctx, list); err != nil {
			return nil, err
		}
	}
	for _, n := range list {
		d := neighbourDoc{row: n.ID}
		if covered {
			length := math.Round(n.Length*10) / 10
			d.Length = &length
		}
		doc.Neighbours = append(doc.Neighbours, d)
	}
	query := ""
	if text := in.Text("datetime"); text != "" {
		query = "?datetime=" + url.QueryEscape(text)
	}
	if err := x.name(ctx, doc.Neighbours); err != nil {
		return nil, err
	}
	for i := range doc.Neighbours {
		n := &doc.Neighbours[i]
		n.Href = env.Base + "/collections/" + coll.ID + "/items/" + url.PathEscape(n.ID) + query
	}
	return Outputs{"neighbours": {Value: doc}}, nil
}

// beside is a search for neighbours among the features of a collection that are valid at a given time.
type beside struct {
	env  *Env
	coll *store.Collection
	at   time.Time
}

// valid removes the neighbours that are not valid at x.at.
func (x *beside) valid(ctx context.Context, list []Neighbour) ([]Neighbour, error) {
	all, ids := make([]string, len(list)), make([]string, 0, len(list))
	for i, n := range list {
		all[i] = n.ID
	}
	err := x.env.Store.Fetch(
		ctx,
		x.coll.ID,
		store.Current(all...),
		store.Want{Properties: []string{}, NoGeometry: true, SkipMissing: true},
		func(f *store.Feature) error {
			ids = append(ids, strings.Clone(f.Public()))
			return nil
		},
	)
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	rows, err := x.coll.RowsOf(ctx, x.env.Store, slices.Compact(ids), x.at)
	return slices.DeleteFunc(list, func(n Neighbour) bool {
		return !slices.ContainsFunc(rows, func(r store.Row) bool { return r.ID == n.ID })
	}), err
}

// name sets the ids and titles of neighbours.
func (x *beside) name(ctx context.Context, list []neighbourDoc) error {
	rows, at := make([]string, len(list)), map[string]int{}
	for i, n := range list {
		list[i].ID, list[i].Title = n.row, n.row
		rows[i], at[n.row] = n.row, i
	}
	titled := visible(x.coll, x.coll.TitleProperty)
	if len(list) == 0 || !titled && x.coll.Versions == nil {
		return nil
	}
	want := store.Want{Properties: []string{}, NoGeometry: true, SkipMissing: true}
	if titled {
		want.Properties = []string{x.coll.TitleProperty}
	}
	return x.env.Store.Fetch(ctx, x.coll.ID, store.Current(rows...), want, func(f *store.Feature) error {
		n := &list[at[f.ID]]
		n.ID = strings.Clone(f.Public())
		n.Title = n.ID
		if titled {
			if title, ok := f.Values[0].(string); ok {
				n.Title = strings.Clone(title)
			}
		}
		return nil
	})
}

// touching returns the features that touch the feature of a row, by a query of the store.
func (x *beside) touching(ctx context.Context, row store.Row) ([]Neighbour, error) {
	coll := x.coll
	var where cql2.Expr
	err := x.env.Store.Fetch(
		ctx,
		coll.ID,
		[]store.Row{row},
		store.Want{Properties: []string{}},
		func(f *store.Feature) error {
			if f.Geometry.IsNull() {
				return nil
			}
			g, err := wkb.Decode(f.Geometry.WKB)
			where = cql2.Spatial{
				Op: cql2.STouches,
				L:  cql2.Prop{Name: coll.Geometry.Name},
				R:  cql2.Geom{G: g, CRS: coll.Geometry.CRS},
			}
			return err
		},
	)
	if err != nil || where == nil {
		return nil, err
	}
	if where, err = cql2.Check(where, coll); err != nil {
		return nil, err
	}
	var list []Neighbour
	q := store.Query{Collection: coll.ID, Filter: where, Limit: 1000, Count: store.CountNone, AsOf: x.at}
	for {
		page, err := x.env.Store.Page(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Rows {
			list = append(list, Neighbour{ID: r.ID})
		}
		if page.Next == "" {
			return list, nil
		}
		q.Cursor = page.Next
	}
}
