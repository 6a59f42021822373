package compat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// registerReader reads records of the place-name register.
type registerReader struct {
	c      *call
	system crs.ID
	move   crs.Func // from the stored CRS of places to system

	types, statuses, nameStatuses, spellingStatuses, spraak, kommune, fylke map[string]store.Text
}

func (c *call) register(system crs.ID) (*registerReader, error) {
	r := &registerReader{c: c, system: system}
	for _, x := range []struct {
		list string
		to   *map[string]store.Text
	}{{"navneobjekttype", &r.types}, {"stedstatus", &r.statuses}, {"navnestatus", &r.nameStatuses},
		{"skrivemaatestatus", &r.spellingStatuses}, {"spraak", &r.spraak}, {"kommune", &r.kommune},
		{"fylke", &r.fylke}} {
		names, err := c.CodeNames(x.list)
		if err != nil {
			return nil, err
		}
		*x.to = names.Of
	}
	coll, _ := c.Catalog.Collection("sted")
	var err error
	if r.move, err = crs.Between(coll.Geometry.CRS, system); err != nil {
		return nil, refuse(unknownSystem, "utkoordsys", system.String(), "use 4258, 4326, 3857, 25832, 25833 or 25835")
	}
	return r, nil
}

// nameOf returns the Norwegian name of a code, or the code if it has none.
func nameOf(names map[string]store.Text, code string) string {
	return strings.TrimSpace(cmp.Or(names[code].In("nb"), code))
}

// spelling is a way to write a name of a place.
type spelling struct {
	place, text, spellingStatus, nameStatus, language string
	nameNumber                                        int64
	main                                              bool // of the main name
}

// status returns the first members of a spelling, which are the same in both services.
func (s *spelling) status() object {
	return object{{"skrivemåte", s.text}, {"skrivemåtestatus", s.spellingStatus}, {"navnestatus", s.nameStatus},
		{"språk", s.language}}
}

// spellings reads spellings in the order of rows.
func (r *registerReader) spellings(rows []store.Row, fn func(spelling)) error {
	want := store.Want{NoGeometry: true, Properties: []string{"sted_id", "langnavn", "skrivemaatestatus", "prioritert",
		"navnestatus", "spraak", "stedsnavnnummer"}}
	return r.fetch("skrivemaate", rows, want, func(f *store.Feature) error {
		s := spelling{place: text(f.Values[0]), text: text(f.Values[1]), main: text(f.Values[4]) == "hovednavn",
			spellingStatus: strings.ToLower(nameOf(r.spellingStatuses, text(f.Values[2]))),
			nameStatus:     strings.ToLower(nameOf(r.nameStatuses, text(f.Values[4]))),
			language:       nameOf(r.spraak, text(f.Values[5]))}
		s.nameNumber, _ = f.Values[6].(int64)
		if first, _ := f.Values[3].(bool); first {
			s.spellingStatus += " og prioritert"
		}
		fn(s)
		return nil
	})
}

// fetch reads records. It returns store.ErrChanged if one was deleted after the search, so that the request is retried.
func (r *registerReader) fetch(coll string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	if len(rows) == 0 {
		return nil
	}
	err := r.c.Ask(func(ctx context.Context) error { return r.c.s.Store.Fetch(ctx, coll, rows, want, fn) })
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("compat: %w: %w", store.ErrChanged, err)
	}
	return err
}

// place is a place of the register.
type place struct {
	number           int64
	kind, status     string
	updated          any
	point            any
	kommuner, fylker []object
	names            []object
}

// places reads places, and returns them by id. It sorts ids.
func (r *registerReader) places(ids []string) (map[string]*place, error) {
	slices.Sort(ids)
	out := map[string]*place{}
	want := store.Want{Properties: []string{"stedsnummer", "navneobjekttype", "stedstatus", "kommuner", "oppdatert"}}
	err := r.fetch("sted", store.Current(slices.Compact(ids)...), want, func(f *store.Feature) error {
		p := &place{kind: nameOf(r.types, text(f.Values[1])),
			status: strings.ToLower(nameOf(r.statuses, text(f.Values[2]))), kommuner: []object{},
			fylker: []object{}, names: []object{}}
		p.number, _ = f.Values[0].(int64)
		if s := text(f.Values[4]); s != "" {
			p.updated = s
		}
		if x, y, ok := wkb.First(f.Geometry.WKB); ok && !f.Geometry.IsNull() {
			x, y = r.move(x, y)
			decimals := 2
			if r.system.Geographic() {
				decimals = 5
			}
			p.point = object{{"øst", rounded(x, decimals)}, {"nord", rounded(y, decimals)},
				{"koordsys", int(r.system)}}
		}
		r.areas(p, f.Values[3])
		out[f.ID] = p
		return nil
	})
	return out, err
}

// areas adds the municipalities of a place, given as a JSON array of codes, and their counties.
func (r *registerReader) areas(p *place, kommuner any) {
	var codes []string
	if s, ok := kommuner.(store.JSON); !ok || json.Unmarshal([]byte(s), &codes) != nil {
		return
	}
	seen := map[string]bool{}
	for _, code := range codes {
		p.kommuner = append(p.kommuner, object{{"kommunenummer", code}, {"kommunenavn", nameOf(r.kommune, code)}})
		if county := code[:min(2, len(code))]; !seen[county] {
			seen[county] = true
			p.fylker = append(p.fylker, object{{"fylkesnavn", nameOf(r.fylke, county)}, {"fylkesnummer", county}})
		}
	}
}

// placesWithNames reads places with all their spellings, those of the main name first.
func (c *call) placesWithNames(system crs.ID, ids []string) (map[string]*place, error) {
	r, err := c.register(system)
	if err != nil {
		return nil, err
	}
	places, err := r.places(slices.Clone(ids))
	if err != nil || len(places) == 0 {
		return places, err
	}
	var list []cql2.Expr
	for id := range places {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, cql2.Int(n))
	}
	coll, _ := c.Catalog.Collection("skrivemaate")
	filter, err := cql2.Check(cql2.In{X: cql2.Prop{Name: "sted_id"}, List: list}, coll)
	if err != nil {
		return nil, err
	}
	var all []spelling
	q := store.Query{Collection: coll.ID, Filter: filter, SortBy: []store.Sort{{Property: "rang"}}, Limit: 1000,
		Count: store.CountNone}
	for {
		var page *store.Page
		err := c.Ask(func(ctx context.Context) (err error) {
			page, err = c.s.Store.Page(ctx, q)
			return err
		})
		if err != nil {
			return nil, err
		}
		if err := r.spellings(page.Rows, func(s spelling) { all = append(all, s) }); err != nil {
			return nil, err
		}
		if page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	slices.SortStableFunc(all, func(a, b spelling) int {
		switch {
		case a.main == b.main:
			return 0
		case a.main:
			return -1
		}
		return 1
	})
	for _, s := range all {
		if p := places[s.place]; p != nil {
			p.names = append(p.names, append(s.status(), member{"stedsnavnnummer", s.nameNumber}))
		}
	}
	return places, nil
}
