package server

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"

	"grense/api/ogcapi"
	"grense/internal/cql2"
	"grense/internal/problem"
	"grense/internal/server/page"
	"grense/internal/store"
)

// The collection that holds the codes of a place-name register, and the list that names all lists.
const (
	codeCollection = "kode"
	listOfLists    = "kodeliste"
)

// codeListsDoc names the code lists.
type codeListsDoc struct {
	CodeLists []codeListEntry `json:"codelists"`
	Links     []ogcapi.Link   `json:"links"`
}

type codeListEntry struct {
	ID    string        `json:"id"`
	Title string        `json:"title"`
	Links []ogcapi.Link `json:"links"`
}

// codeListDoc is one code list. Names are given in every language that is known.
type codeListDoc struct {
	ID    string        `json:"id"`
	Title string        `json:"title"`
	Codes []codeDoc     `json:"codes"`
	Links []ogcapi.Link `json:"links"`
}

type codeDoc struct {
	Code   string            `json:"code"`            // what records hold
	Value  string            `json:"value,omitempty"` // as published, where records hold a shorter form
	Name   map[string]string `json:"name"`            // by language: nb, nn, en, se
	Parent string            `json:"parent,omitempty"`
}

// errNoCodes answers the code lists of a source that has none.
func (c *Call) errNoCodes() error {
	return problem.NotFoundf("the data served here have no code lists; those of a place-name register have")
}

// codes reads the codes of one list in their order.
func (c *Call) codes(list string) ([]codeDoc, error) {
	if _, ok := c.cat.Collection(codeCollection); !ok {
		return nil, c.errNoCodes()
	}
	var out []codeDoc
	err := c.ask(func(ctx context.Context) error {
		q := store.Query{Collection: codeCollection, Limit: MaxLimit, SortBy: []store.Sort{{Property: "rekkefoelge"}}, Count: store.CountNone,
			Filter: cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "liste"}, R: cql2.Text(list)}}
		p, err := c.s.store.Page(ctx, q)
		if err != nil {
			return err
		}
		out = make([]codeDoc, 0, len(p.Rows))
		want := store.Want{Properties: []string{"verdi", "kort", "forelder", "navn_nb", "navn_nn", "navn_en", "navn_se"}}
		return c.s.store.Fetch(ctx, codeCollection, p.Rows, want, func(f *store.Feature) error {
			text := func(i int) string { s, _ := f.Values[i].(string); return s }
			d := codeDoc{Code: text(0), Parent: text(2), Name: map[string]string{}}
			if short := text(1); short != "" && (list == "spraak" || list == "land") {
				d.Code, d.Value = short, text(0)
			}
			for i, lang := range []string{"nb", "nn", "en", "se"} {
				if s := text(3 + i); s != "" {
					d.Name[lang] = s
				}
			}
			out = append(out, d)
			return nil
		})
	})
	return out, err
}

func (d codeDoc) nameIn(lang string) string { return store.Text(d.Name).In(lang) }

// codeLists lists the code lists.
func (s *Kit) codeLists(c *Call) (*Answer, error) {
	lists, err := c.codes(listOfLists)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int{}
	if c.rep.F == asHTML.F { // which alone shows them
		if sizes, err = c.codeListSizes(); err != nil {
			return nil, err
		}
	}
	doc := codeListsDoc{CodeLists: []codeListEntry{}, Links: c.selfLinks("/codelists")}
	var v codeListsView
	for _, l := range lists {
		here := c.base() + "/codelists/" + pathEscape(l.Code)
		doc.CodeLists = append(doc.CodeLists, codeListEntry{ID: l.Code, Title: l.nameIn(c.lang), Links: []ogcapi.Link{
			{Rel: "item", Type: "application/json", Href: here + "?f=json", Title: l.nameIn(c.lang)},
			{Rel: "item", Type: asCSV.Media, Href: here + "?f=csv", Title: l.nameIn(c.lang)},
			{Rel: "item", Type: asHTML.Media, Href: here + "?f=html", Title: l.nameIn(c.lang), Hreflang: hreflang}}})
		v.Lists = append(v.Lists, codeListRow{Title: l.nameIn(c.lang), ID: l.Code, Count: sizes[l.Code], Href: c.htmlHref("/codelists/" + pathEscape(l.Code))})
	}
	a := &Answer{JSON: doc, Links: doc.Links, Page: &page.Page{Name: "codelists", Title: c.text("codelists.title"), Data: v}}
	return a, c.addCSV(a, lists)
}

// codeListSizes counts the codes of every list.
func (c *Call) codeListSizes() (map[string]int, error) {
	sizes := map[string]int{}
	q := store.Query{Collection: codeCollection, Limit: MaxLimit, Count: store.CountNone}
	for {
		err := c.ask(func(ctx context.Context) error {
			p, err := c.s.store.Page(ctx, q)
			if err != nil {
				return err
			}
			q.Cursor = p.Next
			return c.s.store.Fetch(ctx, codeCollection, p.Rows, store.Want{Properties: []string{"liste"}}, func(f *store.Feature) error {
				list, _ := f.Values[0].(string)
				sizes[list]++
				return nil
			})
		})
		if err != nil || q.Cursor == "" {
			return sizes, err
		}
	}
}

// addCSV gives an answer its form as CSV, when that is the one asked for.
func (c *Call) addCSV(a *Answer, codes []codeDoc) error {
	if c.rep.F != asCSV.F {
		return nil
	}
	text, err := codesCSV(codes)
	a.Raw = map[string][]byte{asCSV.F: text}
	return err
}

type codeListsView struct{ Lists []codeListRow }

type codeListRow struct {
	Title, ID string
	Count     int
	Href      string
}

// codeList writes one code list.
func (s *Kit) codeList(c *Call) (*Answer, error) {
	id := c.pathParam("codeListId")
	lists, err := c.codes(listOfLists)
	if err != nil {
		return nil, err
	}
	title := ""
	for _, l := range lists {
		if l.Code == id {
			title = l.nameIn(c.lang)
		}
	}
	if title == "" {
		return nil, problem.NotFoundf("there is no code list %q; %s/codelists lists all", clip(id), c.base())
	}
	codes, err := c.codes(id)
	if err != nil {
		return nil, err
	}
	doc := codeListDoc{ID: id, Title: title, Codes: codes, Links: c.selfLinks("/codelists/" + pathEscape(id))}
	a := &Answer{JSON: doc, Links: doc.Links, Page: &page.Page{Name: "codelist", Title: title, Crumbs: c.crumbs("codelists"), Data: c.codeListView(id, codes)}}
	return a, c.addCSV(a, codes)
}

type codeListView struct {
	ID            string
	Codes         []codeRow
	Sami, Parents bool // some code has a name in Northern Sami, or a parent
}

type codeRow struct{ Code, NB, NN, EN, SE, Parent, ParentHref string }

// parentLists are the lists that the parents of codes stand in.
var parentLists = map[string]string{"navneobjekttype": "navneobjektgruppe", "navneobjektgruppe": "navneobjekthovedgruppe", "kommune": "fylke"}

func (c *Call) codeListView(id string, codes []codeDoc) codeListView {
	v := codeListView{ID: id}
	for _, d := range codes {
		row := codeRow{Code: d.Code, NB: d.Name["nb"], NN: store.Text(d.Name).In("nn"), EN: d.Name["en"], SE: d.Name["se"], Parent: d.Parent}
		if list := parentLists[id]; list != "" && d.Parent != "" {
			row.ParentHref = c.htmlHref("/codelists/"+list) + "#code-" + pathEscape(d.Parent)
		}
		v.Codes, v.Sami = append(v.Codes, row), v.Sami || row.SE != ""
		v.Parents = v.Parents || d.Parent != ""
	}
	return v
}

// codesCSV writes codes by RFC 4180.
func codesCSV(codes []codeDoc) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	rows := [][]string{{"code", "value", "name_nb", "name_nn", "name_en", "name_se", "parent"}}
	for _, d := range codes {
		value := d.Value
		if value == "" {
			value = d.Code
		}
		rows = append(rows, []string{d.Code, value, d.Name["nb"], d.Name["nn"], d.Name["en"], d.Name["se"], d.Parent})
	}
	if err := w.WriteAll(rows); err != nil {
		return nil, fmt.Errorf("server: code list as CSV: %w", err)
	}
	return b.Bytes(), nil
}
