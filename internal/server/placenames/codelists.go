package placenames

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"

	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/links"
	"grense/internal/server/media"
	"grense/internal/server/names"
	"grense/internal/server/page"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// listOfLists is the id of the code list whose codes are the ids of all lists.
const (
	listOfLists = "kodeliste"
)

// codeListsDoc lists the code lists.
type codeListsDoc struct {
	CodeLists []codeListEntry `json:"codelists"`
	Links     []ogcapi.Link   `json:"links"`
}

type codeListEntry struct {
	ID    string        `json:"id"`
	Title string        `json:"title"`
	Links []ogcapi.Link `json:"links"`
}

// codeListDoc is a code list with the names of its codes in all known languages.
type codeListDoc struct {
	ID    string          `json:"id"`
	Title string          `json:"title"`
	Codes []names.CodeDoc `json:"codes"`
	Links []ogcapi.Link   `json:"links"`
}

// codeLists lists the code lists.
func (s *surface) codeLists(c *call) (*server.Answer, error) {
	lists, err := c.Codes(listOfLists)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int{}
	if c.Format.F == media.HTML.F { // only the page shows them
		if sizes, err = c.codeListSizes(); err != nil {
			return nil, err
		}
	}
	doc := codeListsDoc{CodeLists: []codeListEntry{}, Links: c.SelfLinks("/codelists")}
	var v codeListsView
	for _, l := range lists {
		here := c.Base() + "/codelists/" + wire.PathEscape(l.Code)
		doc.CodeLists = append(doc.CodeLists, codeListEntry{ID: l.Code, Title: l.NameIn(c.Lang), Links: []ogcapi.Link{
			{Rel: "item", Type: "application/json", Href: here + "?f=json", Title: l.NameIn(c.Lang)},
			{Rel: "item", Type: media.CSV.Media, Href: here + "?f=csv", Title: l.NameIn(c.Lang)},
			{Rel: "item", Type: media.HTML.Media, Href: here + "?f=html", Title: l.NameIn(c.Lang),
				Hreflang: links.Hreflang}}})
		v.Lists = append(v.Lists, codeListRow{Title: l.NameIn(c.Lang), ID: l.Code, Count: sizes[l.Code],
			Href: c.HtmlHref("/codelists/" + wire.PathEscape(l.Code))})
	}
	a := &server.Answer{JSON: doc, Links: doc.Links,
		Page: &page.Page{Name: "codelists", Title: c.Text("codelists.title"), Data: v}}
	return a, c.addCSV(a, lists)
}

// codeListSizes returns the number of codes of each list.
func (c *call) codeListSizes() (map[string]int, error) {
	sizes := map[string]int{}
	q := store.Query{Collection: names.CodeCollection, Limit: server.MaxLimit, Count: store.CountNone}
	for {
		err := c.Ask(func(ctx context.Context) error {
			p, err := c.s.Store.Page(ctx, q)
			if err != nil {
				return err
			}
			q.Cursor = p.Next
			return c.s.Store.Fetch(ctx, names.CodeCollection, p.Rows, store.Want{Properties: []string{"liste"}},
				func(f *store.Feature) error {
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

// addCSV adds the CSV representation if the client requests it.
func (c *call) addCSV(a *server.Answer, codes []names.CodeDoc) error {
	if c.Format.F != media.CSV.F {
		return nil
	}
	text, err := codesCSV(codes)
	a.Raw = map[string][]byte{media.CSV.F: text}
	return err
}

type codeListsView struct{ Lists []codeListRow }

type codeListRow struct {
	Title, ID string
	Count     int
	Href      string
}

// codeList returns a code list.
func (s *surface) codeList(c *call) (*server.Answer, error) {
	id := c.PathParam("codeListId")
	lists, err := c.Codes(listOfLists)
	if err != nil {
		return nil, err
	}
	title := ""
	for _, l := range lists {
		if l.Code == id {
			title = l.NameIn(c.Lang)
		}
	}
	if title == "" {
		return nil, problem.NotFoundf("there is no code list %q; %s/codelists lists all", problem.Clip(id), c.Base())
	}
	codes, err := c.Codes(id)
	if err != nil {
		return nil, err
	}
	doc := codeListDoc{ID: id, Title: title, Codes: codes, Links: c.SelfLinks("/codelists/" + wire.PathEscape(id))}
	a := &server.Answer{JSON: doc, Links: doc.Links,
		Page: &page.Page{Name: "codelist", Title: title, Crumbs: c.Crumbs("codelists"),
			Data: c.codeListView(id, codes)}}
	return a, c.addCSV(a, codes)
}

type codeListView struct {
	ID            string
	Codes         []codeRow
	Sami, Parents bool // at least one code has a name in Northern Sami, or a parent
}

type codeRow struct{ Code, NB, NN, EN, SE, Parent, ParentHref string }

// parentLists maps a code list to the list of its codes' parents.
var parentLists = map[string]string{"navneobjekttype": "navneobjektgruppe",
	"navneobjektgruppe": "navneobjekthovedgruppe", "kommune": "fylke"}

func (c *call) codeListView(id string, codes []names.CodeDoc) codeListView {
	v := codeListView{ID: id}
	for _, d := range codes {
		row := codeRow{Code: d.Code, NB: d.Name["nb"], NN: store.Text(d.Name).In("nn"), EN: d.Name["en"],
			SE: d.Name["se"], Parent: d.Parent}
		if list := parentLists[id]; list != "" && d.Parent != "" {
			row.ParentHref = c.HtmlHref("/codelists/"+list) + "#code-" + wire.PathEscape(d.Parent)
		}
		v.Codes, v.Sami = append(v.Codes, row), v.Sami || row.SE != ""
		v.Parents = v.Parents || d.Parent != ""
	}
	return v
}

// codesCSV encodes codes as CSV (RFC 4180).
func codesCSV(codes []names.CodeDoc) ([]byte, error) {
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
		return nil, fmt.Errorf("placenames: code list as CSV: %w", err)
	}
	return b.Bytes(), nil
}
