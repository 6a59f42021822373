package server

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"grense/internal/cql2"
	"grense/internal/history"
	"grense/internal/server/page"
	"grense/internal/store"
)

// Show writes a value of a property.
func (c *Call) Show(p *store.Property, v any) page.Value {
	text := Cell(v)
	if b, ok := v.(bool); ok {
		if text = c.Text("items.no"); b {
			text = c.Text("items.yes")
		}
	}
	switch {
	case Numeric(p) && (p.Unit != "" || strings.Contains(text, ".")): // else it may be a year or an id, which people write without groups
		text = page.InDigits(text, c.Lang)
	case (p.Type == cql2.TypeTimestamp || p.Type == cql2.TypeDate) && text != "":
		if day, ok := c.DateText(text); ok {
			return page.Value{Text: day, Time: text}
		}
	}
	s := page.Value{Text: text, Lang: Foreign(LanguageOfName(p.Name), c.Lang)}
	var many []json.RawMessage
	if p.Type == cql2.TypeJSON && strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &many) == nil {
		parts := make([]string, len(many))
		for i, x := range many {
			if json.Unmarshal(x, &parts[i]) != nil || string(x) == "null" { // no text: as JSON, numbers with all their digits
				parts[i] = string(x)
			}
			s.Parts = append(s.Parts, page.Value{Text: parts[i], Lang: s.Lang}.Linked())
		}
		s.Text = strings.Join(parts, ", ")
		return s
	}
	return s.Linked()
}

// numeric reports whether the values of a property are numbers, which a table writes to the right.
func Numeric(p *store.Property) bool {
	return (p.Type == cql2.TypeInteger || p.Type == cql2.TypeNumber) && p.Ref == "" && p.CodeList == ""
}

// LanguageOfName is the language that the end of a property's name tells, as in navn_se; "" when it tells none.
func LanguageOfName(name string) string {
	i := strings.LastIndexByte(name, '_')
	if i < 1 {
		return ""
	}
	switch end := name[i+1:]; end {
	case "nb", "nn", "no", "en", "se", "smj", "sma", "sms", "fkv":
		return end
	}
	return ""
}

// languageTags are the BCP 47 tags of codes that have shorter ones, or other ones (RFC 5646, 2.2.1: the shortest code counts).
var languageTags = map[string]string{"nor": "no", "nob": "nb", "nno": "nn", "sme": "se", "eng": "en", "dan": "da", "swe": "sv", "fin": "fi", "isl": "is", "fao": "fo", "deu": "de",
	"fra": "fr", "nld": "nl", "rus": "ru", "gle": "ga", "kal": "kl", "spa": "es", "ita": "it", "pol": "pl", "lat": "la"}

// LanguageCode is the BCP 47 tag of a code of ISO 639; "" for what is no such code.
func LanguageCode(code string) string {
	if t := languageTags[code]; t != "" {
		return t
	}
	if len(code) != 2 && len(code) != 3 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return code
}

// Foreign is the tag of a language where it is another than that of the page: Norwegian of no stated form (no) is none on pages in Norwegian.
func Foreign(tag, page string) string {
	if tag == page || tag == "no" && page != "en" {
		return ""
	}
	return tag
}

// LanguageProperty is the property that tells in which language the title of each feature is; nil when there is none.
func LanguageProperty(coll *store.Collection) *store.Property {
	if coll.TitleProperty == "" {
		return nil
	}
	for _, name := range []string{"spraak", "språk", "sprak", "language", "lang"} {
		if p, ok := coll.Find(name); ok && !p.Hidden {
			return p
		}
	}
	return nil
}

// nameMost is how many features of one collection are looked up by their ids for the names on one page, at most.
const nameMost = 1000

// NameAll puts names in the place of codes and ids: rows hold the values of props, which belong to one collection; nil is the id. The language of
// titles is set where a property tells it. It asks the store once for each collection that properties refer to.
func (c *Call) NameAll(coll *store.Collection, props []*store.Property, rows [][]page.Value) error {
	title, language := -1, -1
	lp := LanguageProperty(coll)
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
			r[title].Lang = Foreign(LanguageCode(r[language].Text), c.Lang)
		}
	}
	references := map[*store.Collection][]int{} // columns that refer to a collection
	for j, p := range props {
		if p == nil {
			continue
		}
		if other := c.RefersTo(p); other != nil {
			references[other] = append(references[other], j)
		}
	}
	for other, columns := range references {
		if err := c.nameReferences(other, columns, rows); err != nil {
			return err
		}
	}
	for j, p := range props { // what no feature has named
		if p == nil {
			continue
		}
		if list, ours := strings.CutPrefix(p.CodeList, "/codelists/"); ours && p.Ref == "" {
			if err := c.nameCodes(list, j, rows); err != nil {
				return err
			}
		}
		if TellsKind(coll, p) {
			for s := range values(rows, j) {
				if s.Text != "" {
					*s = s.Named(page.Value{Text: c.KindText(history.Kind(s.Text))}, "")
				}
			}
		}
	}
	return nil
}

// tellsKind reports whether a property says what happened to divisions, for which there are words.
func TellsKind(coll *store.Collection, p *store.Property) bool {
	return coll.ID == history.EventsID && p.Name == "kind"
}

// divisionLists are the collections whose ids are the codes of our lists.
var divisionLists = map[string]string{"kommune": "kommuner", "fylke": "fylker"}

// RefersTo is the public collection whose features the values of a property name, by their ids or by codes that are their ids; nil when there
// is none.
func (c *Call) RefersTo(p *store.Property) *store.Collection {
	id := p.Ref
	if list, ours := strings.CutPrefix(p.CodeList, "/codelists/"); id == "" && ours {
		id = divisionLists[list]
	}
	other, ok := c.Catalog.Collection(id)
	if !ok || !other.Public || p.Ref == "" && other.Key.Type != cql2.TypeText { // a running number is no code
		return nil
	}
	return other
}

// values yields the values in a column of rows, the elements of lists one by one.
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

// nameReferences gives ids of features of another collection, in some columns of rows, their titles, each with a link; what is no such id stays.
func (c *Call) nameReferences(other *store.Collection, columns []int, rows [][]page.Value) error {
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
				*s = s.Named(t, c.HtmlHref("/collections/"+other.ID+"/items/"+PathEscape(s.Text)))
				s.Number = s.Number && other.Key.Type == cql2.TypeText // running numbers tell people nothing
			}
		}
	}
	return nil
}

// nameCodes gives codes of one of our lists the names they have there, each with a link to its line. What has a link keeps it.
func (c *Call) nameCodes(list string, j int, rows [][]page.Value) error {
	names, err := c.CodeNames(list)
	if err != nil {
		return err
	}
	for s := range values(rows, j) {
		if t, ok := names.Of[s.Text]; ok && (s.Href == "" || s.Away) {
			*s = s.Named(c.InLanguage(t), c.HtmlHref("/codelists/"+list)+"#code-"+PathEscape(s.Text))
		}
	}
	return nil
}

// InLanguage is a text in the language of the page, or the one nearest to it; Lang is set when it is another.
func (c *Call) InLanguage(t store.Text) page.Value {
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

// titles are the titles of features by id. Ids that name none are left out; without a property for titles they are the ids.
func (c *Call) Titles(coll *store.Collection, ids []string) (map[string]page.Value, error) {
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
		if l := LanguageProperty(coll); l != nil {
			want.Properties = append(want.Properties, l.Name)
		}
	}
	err := c.Ask(func(ctx context.Context) error {
		rows, err := c.rowsOf(ctx, coll, ids)
		if err != nil {
			return err
		}
		return c.s.Store.Fetch(ctx, coll.ID, rows, want, func(f *store.Feature) error {
			t := page.Value{Text: f.Public()}
			if len(f.Values) > 0 && f.Values[0] != nil {
				t = page.Value{Text: Cell(f.Values[0]), Lang: Foreign(LanguageOfName(p.Name), c.Lang)}
			}
			if len(f.Values) > 1 {
				t.Lang = Foreign(LanguageCode(Cell(f.Values[1])), c.Lang)
			}
			out[f.Public()] = t
			return nil
		})
	})
	return out, err
}

// listKey names a code list of a catalog.
type listKey struct{ version, list string }

// nameSize is about what a code takes in a nameList besides its texts, in bytes.
const nameSize = 400

// nameList are the codes of a list in their order, with their names. It is immutable.
type NameList struct {
	Codes []string
	Of    map[string]store.Text
}

// CodeNames gives the names of the codes of one of our lists; an empty list where there is none.
func (c *Call) CodeNames(list string) (*NameList, error) {
	key := listKey{c.Catalog.Version, list}
	if l, ok := c.s.codeNames.Get(key); ok {
		return l, nil
	}
	l := &NameList{Of: map[string]store.Text{}}
	if _, ok := c.Catalog.Collection(CodeCollection); !ok {
		return l, nil
	}
	codes, err := c.Codes(list)
	if err != nil {
		return nil, err
	}
	size := len(key.version) + len(key.list)
	for _, d := range codes {
		l.Codes = append(l.Codes, d.Code)
		l.Of[d.Code] = d.Name
		size += nameSize + len(d.Code)
		for lang, name := range d.Name {
			size += len(lang) + len(name)
		}
	}
	c.s.codeNames.Put(key, l, int64(size))
	return l, nil
}

// dateText writes a day or a moment for people in the language of the page.
func (c *Call) DateText(s string) (string, bool) { return page.DateText(s, c.Lang, c.Zone()) }

// periodText writes a day, a moment or an interval of them, as datetime takes them, for people; an open end is left out.
func (c *Call) PeriodText(s string) string {
	from, to, isInterval := strings.Cut(s, "/")
	from, _ = c.DateText(from)
	if !isInterval {
		return from
	}
	to, _ = c.DateText(to)
	return strings.TrimSpace(strings.TrimSuffix(from, "..") + " – " + strings.TrimSuffix(to, ".."))
}

// size writes a number of bytes for people, in decimal units.
func (c *Call) Size(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range [...]string{"kB", "MB", "GB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	digits := 0
	if v < 10 && unit != "B" {
		digits = 1
	}
	return page.InDigits(strconv.FormatFloat(v, 'f', digits, 64), c.Lang) + "\u00a0" + unit
}

// Cell writes a value for a table.
func Cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return page.Number(v)
	}
	return fmt.Sprint(v)
}

const Batch = 200
