// Package names finds what people call things: titles of features, names of codes, choices of forms.
package names

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/history"
	"grense/internal/server"
	"grense/internal/server/page"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// Names caches the names that pages show. It is safe for concurrent use.
type Names struct {
	*server.Kit
	codeNames *cache.Cache[listKey, *NameList]
	offered   *cache.Cache[optionsKey, offeredList]
}

// New returns the names of the data that a kit serves.
func New(k *server.Kit) *Names {
	return &Names{Kit: k,
		codeNames: cache.New[listKey, *NameList](cache.Options{Name: "code_names", Bytes: 1 << 20, Group: k.Caches}),
		offered: cache.New[optionsKey,
			offeredList](cache.Options{Name: "form_options", Bytes: 1 << 20, Group: k.Caches})}
}

// Namer finds names for the response to one request.
type Namer struct {
	*server.Call
	names *Names
}

// Namer returns a namer for a call.
func (n *Names) Namer(c *server.Call) Namer { return Namer{c, n} }

// Show formats a value of a property.
func (c Namer) Show(p *store.Property, v any) page.Value {
	text := server.Cell(v)
	if b, ok := v.(bool); ok {
		if text = c.Text("items.no"); b {
			text = c.Text("items.yes")
		}
	}
	switch {
	case server.Numeric(p) && (p.Unit != "" || strings.Contains(text, ".")):
		// others may be years or ids, which have no groups of digits
		text = page.InDigits(text, c.Lang)
	case (p.Type == cql2.TypeTimestamp || p.Type == cql2.TypeDate) && text != "":
		if day, ok := c.DateText(text); ok {
			return page.Value{Text: day, Time: text}
		}
	}
	s := page.Value{Text: text, Lang: server.Foreign(server.LanguageOfName(p.Name), c.Lang)}
	var many []json.RawMessage
	if p.Type == cql2.TypeJSON && strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &many) == nil {
		parts := make([]string, len(many))
		for i, x := range many {
			// not a text: as JSON, with all digits of numbers
			if json.Unmarshal(x, &parts[i]) != nil || string(x) == "null" {
				parts[i] = string(x)
			}
			s.Parts = append(s.Parts, page.Value{Text: parts[i], Lang: s.Lang}.Linked())
		}
		s.Text = strings.Join(parts, ", ")
		return s
	}
	return s.Linked()
}

// nameMost limits the features of one collection that are looked up for the names on one page.
const nameMost = 1000

// NameAll replaces codes and ids by names. rows hold the values of props, which belong to one collection; nil is the
// id. The language of titles is set if a property has it. NameAll queries the store once for each collection that
// properties refer to.
func (c Namer) NameAll(coll *store.Collection, props []*store.Property, rows [][]page.Value) error {
	title, language := -1, -1
	lp := server.LanguageProperty(coll)
	for j, p := range props {
		if p == nil { // the id
			continue
		}
		if p.Name == coll.TitleProperty {
			title = j
		}
		if lp != nil && p.Name == lp.Name {
			language = j
		}
	}
	if title >= 0 && language >= 0 {
		for _, r := range rows {
			r[title].Lang = server.Foreign(server.LanguageCode(r[language].Text), c.Lang)
		}
	}
	references := map[*store.Collection][]int{} // columns by the collection that they refer to
	for j, p := range props {
		if p == nil {
			continue
		}
		if other := server.RefersTo(c.Catalog, p); other != nil {
			references[other] = append(references[other], j)
		}
	}
	for other, columns := range references {
		if err := c.nameReferences(other, columns, rows); err != nil {
			return err
		}
	}
	for j, p := range props { // values that are no features
		if p == nil {
			continue
		}
		if list, ours := strings.CutPrefix(p.CodeList, "/codelists/"); ours && p.Ref == "" {
			if err := c.nameCodes(list, j, rows); err != nil {
				return err
			}
		}
		if ShowsKind(coll, p) {
			for s := range values(rows, j) {
				if s.Text != "" {
					*s = s.Named(page.Value{Text: server.KindText(c.Lang, history.Kind(s.Text))}, "")
				}
			}
		}
	}
	return nil
}

// ShowsKind reports whether a property holds kinds of changes, which have texts in the catalogue.
func ShowsKind(coll *store.Collection, p *store.Property) bool {
	return coll.ID == history.EventsID && p.Name == "kind"
}

// values yields the values in a column of rows, and each element of lists.
func values(rows [][]page.Value, j int) iter.Seq[*page.Value] {
	return func(yield func(*page.Value) bool) {
		for _, r := range rows {
			for i := range r[j].Parts {
				if !yield(&r[j].Parts[i]) {
					return
				}
			}
			if r[j].Parts == nil && !yield(&r[j]) {
				return
			}
		}
	}
}

// nameReferences replaces ids of features of another collection by their titles, each with a link. Values that are no
// such ids stay.
func (c Namer) nameReferences(other *store.Collection, columns []int, rows [][]page.Value) error {
	var ids []string
	seen := map[string]bool{}
	for _, j := range columns {
		for s := range values(rows, j) {
			if id := s.Text; id != "" && !seen[id] && len(ids) < nameMost {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	titles, err := c.Titles(other, ids)
	if err != nil {
		return err
	}
	for _, j := range columns {
		for s := range values(rows, j) {
			if t, ok := titles[s.Text]; ok {
				*s = s.Named(t, c.HtmlHref("/collections/"+other.ID+"/items/"+wire.PathEscape(s.Text)))
				s.Number = s.Number && other.Key.Type == cql2.TypeText // running numbers mean nothing to people
			}
		}
	}
	return nil
}

// nameCodes replaces codes of one of our lists by their names, each with a link to the list. A link that a value
// already has stays.
func (c Namer) nameCodes(list string, j int, rows [][]page.Value) error {
	names, err := c.CodeNames(list)
	if err != nil {
		return err
	}
	for s := range values(rows, j) {
		if t, ok := names.Of[s.Text]; ok && (s.Href == "" || s.Away) {
			*s = s.Named(c.InLanguage(t), c.HtmlHref("/codelists/"+list)+"#code-"+wire.PathEscape(s.Text))
		}
	}
	return nil
}

// InLanguage returns a text in the language of the page, or in the nearest one; Lang is set if it differs.
func (c Namer) InLanguage(t store.Text) page.Value {
	for _, l := range [...]string{c.Lang, "nb", "nn", "en"} {
		if s := t[l]; s != "" {
			if l == c.Lang {
				l = ""
			}
			return page.Value{Text: s, Lang: l}
		}
	}
	return page.Value{Text: t[""]}
}

// Titles returns the titles of features by id, without unknown ids. If the collection has no titles, they are the
// ids.
func (c Namer) Titles(coll *store.Collection, ids []string) (map[string]page.Value, error) {
	out := map[string]page.Value{}
	if len(ids) == 0 {
		return out, nil
	}
	want := store.Want{NoGeometry: true, SkipMissing: true}
	p, ok := coll.Find(coll.TitleProperty)
	if !ok || p.Hidden {
		want.Properties = []string{}
	} else {
		want.Properties = []string{p.Name}
		if l := server.LanguageProperty(coll); l != nil {
			want.Properties = append(want.Properties, l.Name)
		}
	}
	err := c.Ask(func(ctx context.Context) error {
		rows, err := coll.RowsOf(ctx, c.names.Store, ids, c.Now())
		if err != nil {
			return err
		}
		return c.names.Store.Fetch(ctx, coll.ID, rows, want, func(f *store.Feature) error {
			t := page.Value{Text: f.Public()}
			if len(f.Values) > 0 && f.Values[0] != nil {
				t = page.Value{Text: server.Cell(f.Values[0]),
					Lang: server.Foreign(server.LanguageOfName(p.Name), c.Lang)}
			}
			if len(f.Values) > 1 {
				t.Lang = server.Foreign(server.LanguageCode(server.Cell(f.Values[1])), c.Lang)
			}
			out[f.Public()] = t
			return nil
		})
	})
	return out, err
}
