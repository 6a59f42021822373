package placenames

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"grense/internal/cql2"
	"grense/internal/server"
	"grense/internal/store"
)

// mostHits is how many hits the page of the place-name service shows as a table.
const mostHits = 50

// hitNames are the elements that name a hit, which come first and lead to its page.
var hitNames = []string{"visningsnavn", "stedsnavn", "skrivemaate", "skrivemaater", "tittel", "kartblad"}

// hitTitles are the message keys for elements that are fields of the form, or that no property describes.
var hitTitles = map[string]string{"stedsnavn": "name", "skrivemaate": "spelling", "navneobjekttypeId": "type",
	"stedstatusId": "status", "stedsnavnSkrivemaatestatusIds": "spelling-statuses",
	"navnesakstatusId": "casestatus", "kommunerIds": "municipality", "kommuneId": "municipality",
	"spraakId": "language", "vedtaksmyndighetId": "authority", "aar": "year", "saksnummer": "case",
	"beskrivelse": "description", "vedtattAv": "decided-by", "matrikkelnummer": "cadastral",
	"tilleggsopplysning": "remark", "ident": "ident",
	"id": "id", "skrivemaateId": "id", "vedtakId": "id", "samlevedtakId": "id"}

// unshownHits are the elements that say little to people; they are in the answer as XML.
var unshownHits = []string{"landId", "geometri", "sortering", "antallTilleggsopplysninger", "antallInterneMerknader",
	"spraakprioriteringId"}

// hitLists are the code lists of elements.
var hitLists = map[string]string{"navneobjekttypeId": "navneobjekttype", "stedstatusId": "stedstatus",
	"navnestatusId": "navnestatus", "skrivemaatestatusId": "skrivemaatestatus",
	"navnesakstatusId": "navnesakstatus", "kommunerIds": "kommune", "kommuneId": "kommune", "fylkeId": "fylke",
	"spraakId": "spraak", "vedtaksmyndighetId": "vedtaksmyndighet"}

// hitProperties are the properties of elements that have other names.
var hitProperties = map[string]string{"registreringsdato": "registrert", "oppdateringsdato": "oppdatert",
	"produktkodeId": "karttype", "visningsnavnForSted": "visningsnavn",
	"stedsnavnSkrivemaatestatusIds": "skrivemaatestatus"}

// hitRecords are the collections whose properties describe elements.
var hitRecords = []string{"sted", "stedsnavn", "skrivemaate", "navnesak", "vedtak", "samlevedtak", "bok", "kartprodukt"}

// hitProperty returns the property that describes an element of a hit, as omraade for omraadeId; nil for none.
func (c *call) hitProperty(element string) *store.Property {
	for _, name := range []string{hitProperties[element], snake(element), snake(strings.TrimSuffix(element, "Id"))} {
		for _, id := range hitRecords {
			if coll, ok := c.Catalog.Collection(id); ok {
				if p, ok := coll.Find(name); ok && len(p.Title) > 0 {
					return p
				}
			}
		}
	}
	return nil
}

// snake writes the name of an element as that of a property: avAllmennInteresse as av_allmenn_interesse.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// hitTitle is what a column of hits is called.
func (c *call) hitTitle(element string) string {
	if text := hitTitles[element]; text != "" {
		return c.Text(fmt.Sprintf("soap.field.%s", text))
	}
	if p := c.hitProperty(element); p != nil {
		return c.InLanguage(p.Title).Text
	}
	return element
}

// hitText returns the text of an element with its property, or nil: codes by their names, and booleans and
// times as people write them.
func (c *call) hitText(f *xmlNode, p *store.Property) string {
	text, list := f.leaves(), hitLists[f.XMLName.Local]
	if list == "" && len(f.Children) == 1 { // who decided: a municipality or a county
		list = hitLists[f.Children[0].XMLName.Local]
	}
	if list == "" && p != nil {
		list, _ = strings.CutPrefix(p.CodeList, "/codelists/")
	}
	switch {
	case text == "":
		return ""
	case f.XMLName.Local == "matrikkelnummer" && len(f.Children) > 0:
		return f.cadastral()
	case list == "" && p != nil && p.Type == cql2.TypeBool:
		return c.Show(p, text == "true").Text
	case list == "" && p != nil:
		return c.Show(p, text).Text
	case list == "":
		return text
	}
	names, err := c.CodeNames(list)
	if err != nil { // the code will do
		return text
	}
	parts := strings.Split(text, ", ")
	for i, code := range parts {
		if name, ok := names.Of[code]; ok {
			parts[i] = c.InLanguage(name).Text
		}
	}
	return strings.Join(parts, ", ")
}

// cadastral writes the number of a cadastral unit as people do, 0301-1/2: farm, holding, leasehold and section,
// without those that it does not have.
func (n *xmlNode) cadastral() string {
	parts := make([]string, len(n.Children))
	for i := range n.Children {
		parts[i] = n.Children[i].leaves()
	}
	for len(parts) > 2 && parts[len(parts)-1] == "0" {
		parts = parts[:len(parts)-1]
	}
	return parts[0] + "-" + strings.Join(parts[1:], "/")
}

// child is the first child of that name; nil for none.
func (n *xmlNode) child(name string) *xmlNode {
	for i := range n.Children {
		if n.Children[i].XMLName.Local == name {
			return &n.Children[i]
		}
	}
	return nil
}

// hitTable is the hits of an answer for people.
type hitTable struct {
	Columns []string
	Rows    [][]hitCell
	More    bool // there are more hits than rows
}

// hitCell is a value, and the address of what it names; "" for none.
type hitCell struct{ Text, Href string }

// recordOf are the collections that ids of hits name, by the element.
var recordOf = map[string]string{"stedId": "sted", "stedsnavnId": "stedsnavn", "skrivemaateId": "skrivemaate",
	"navnesakId": "navnesak", "vedtakId": "vedtak",
	"samlevedtakId": "samlevedtak", "findBoeker.id": "bok", "findKartprodukter.id": "kartprodukt"}

// xmlNode is an element of an answer.
type xmlNode struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []xmlNode `xml:",any"`
}

// hitsOf reads the first hits of an answer, which may be cut; nil when it has none.
func (c *call) hitsOf(answer string) *hitTable {
	operation, hits := firstHits(answer)
	if len(hits) == 0 {
		return nil
	}
	t := &hitTable{More: len(hits) > mostHits}
	hits = hits[:min(len(hits), mostHits)]
	at := map[string]int{}
	for _, name := range hitNames {
		if slices.ContainsFunc(hits, func(h xmlNode) bool { return h.child(name) != nil }) {
			at[name] = len(t.Columns)
			t.Columns = append(t.Columns, name)
		}
	}
	for _, hit := range hits {
		for _, f := range hit.Children {
			if _, ok := at[f.XMLName.Local]; !ok && !slices.Contains(unshownHits, f.XMLName.Local) {
				at[f.XMLName.Local] = len(t.Columns)
				t.Columns = append(t.Columns, f.XMLName.Local)
			}
		}
	}
	defer func() {
		for i, name := range t.Columns {
			t.Columns[i] = c.hitTitle(name)
		}
	}()
	tells := make([]*store.Property, len(t.Columns))
	for i, name := range t.Columns {
		tells[i] = c.hitProperty(name)
	}
	for _, hit := range hits {
		row := make([]hitCell, len(t.Columns))
		page := ""
		for _, f := range hit.Children {
			name := f.XMLName.Local
			i, ok := at[name]
			if !ok {
				continue
			}
			row[i] = hitCell{c.hitText(&f, tells[i]), c.recordHref(operation, name, f.leaves())}
			page = cmp.Or(page, row[i].Href)
		}
		if slices.Contains(hitNames, t.Columns[0]) && row[0].Text != "" {
			row[0].Href = page
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// firstHits returns the hits of an answer up to one more than a page shows, and the operation that it answers.
func firstHits(answer string) (operation string, hits []xmlNode) {
	d := xml.NewDecoder(strings.NewReader(answer))
	for len(hits) <= mostHits {
		token, err := d.Token()
		if err != nil {
			break
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if op, ok := strings.CutSuffix(start.Name.Local, "Response"); ok {
			operation = op
		}
		if start.Name.Local == "item" && operation != "" {
			var hit xmlNode
			if d.DecodeElement(&hit, &start) != nil {
				break
			}
			hits = append(hits, hit)
		}
	}
	return operation, hits
}

// recordHref is the page of the record that an id names; "" where there is none.
func (c *call) recordHref(operation, field, id string) string {
	name, ok := recordOf[field]
	if !ok {
		name = recordOf[operation+"."+field]
	}
	if coll, ok := c.Catalog.Collection(name); !ok || !coll.Public || id == "" {
		return ""
	}
	return c.HtmlHref("/collections/" + name + "/items/" + server.PathEscape(id))
}

// leaves joins the texts of the innermost elements.
func (n *xmlNode) leaves() string {
	if len(n.Children) == 0 {
		return strings.TrimSpace(n.Text)
	}
	parts := make([]string, len(n.Children))
	for i := range n.Children {
		parts[i] = n.Children[i].leaves()
	}
	return strings.Join(parts, ", ")
}
