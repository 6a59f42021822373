package placenames

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"grense/internal/cql2"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// maxHits is the number of hits that the page shows.
const maxHits = 50

// hitNames are the elements with the name of a hit. They are the first columns, and the first of them links to its
// page.
var hitNames = []string{"visningsnavn", "stedsnavn", "skrivemaate", "skrivemaater", "tittel", "kartblad"}

// hitTitles maps elements to message keys, for fields of the form and elements that no property describes.
var hitTitles = map[string]string{"stedsnavn": "name", "skrivemaate": "spelling", "navneobjekttypeId": "type",
	"stedstatusId": "status", "stedsnavnSkrivemaatestatusIds": "spelling-statuses",
	"navnesakstatusId": "casestatus", "kommunerIds": "municipality", "kommuneId": "municipality",
	"spraakId": "language", "vedtaksmyndighetId": "authority", "aar": "year", "saksnummer": "case",
	"beskrivelse": "description", "vedtattAv": "decided-by", "matrikkelnummer": "cadastral",
	"tilleggsopplysning": "remark", "ident": "ident",
	"id": "id", "skrivemaateId": "id", "vedtakId": "id", "samlevedtakId": "id"}

// unshownHits are the elements that the table leaves out.
var unshownHits = []string{"landId", "geometri", "sortering", "antallTilleggsopplysninger", "antallInterneMerknader",
	"spraakprioriteringId"}

// hitLists maps elements to the code lists of their values.
var hitLists = map[string]string{"navneobjekttypeId": "navneobjekttype", "stedstatusId": "stedstatus",
	"navnestatusId": "navnestatus", "skrivemaatestatusId": "skrivemaatestatus",
	"navnesakstatusId": "navnesakstatus", "kommunerIds": "kommune", "kommuneId": "kommune", "fylkeId": "fylke",
	"spraakId": "spraak", "vedtaksmyndighetId": "vedtaksmyndighet"}

// hitProperties maps elements to the properties that describe them, if the names differ.
var hitProperties = map[string]string{"registreringsdato": "registrert", "oppdateringsdato": "oppdatert",
	"produktkodeId": "karttype", "visningsnavnForSted": "visningsnavn",
	"stedsnavnSkrivemaatestatusIds": "skrivemaatestatus"}

// hitRecords are the collections with properties that describe elements.
var hitRecords = []string{"sted", "stedsnavn", "skrivemaate", "navnesak", "vedtak", "samlevedtak", "bok", "kartprodukt"}

// hitProperty returns the property that describes an element of a hit, such as omraade for omraadeId; nil if there is
// none.
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

// snake converts a name to snake case: avAllmennInteresse becomes av_allmenn_interesse.
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

// hitTitle returns the heading of a column.
func (c *call) hitTitle(element string) string {
	if text := hitTitles[element]; text != "" {
		return c.Text(fmt.Sprintf("soap.field.%s", text))
	}
	if p := c.hitProperty(element); p != nil {
		return c.InLanguage(p.Title).Text
	}
	return element
}

// hitText formats an element in the language of the page: names instead of codes, and readable booleans and times. p is
// the property that describes it, or nil.
func (c *call) hitText(f *xmlNode, p *store.Property) string {
	text, list := f.leaves(), hitLists[f.XMLName.Local]
	if list == "" && len(f.Children) == 1 { // vedtattAv contains a municipality or a county
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
	known, err := c.CodeNames(list)
	if err != nil { // show the code instead
		return text
	}
	parts := strings.Split(text, ", ")
	for i, code := range parts {
		if name, ok := known.Of[code]; ok {
			parts[i] = c.InLanguage(name).Text
		}
	}
	return strings.Join(parts, ", ")
}

// cadastral formats a cadastral number as 0301-1/2: municipality, farm, holding, leasehold and section. It leaves out
// zeros at the end.
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

// child returns the first child with a name; nil if there is none.
func (n *xmlNode) child(name string) *xmlNode {
	for i := range n.Children {
		if n.Children[i].XMLName.Local == name {
			return &n.Children[i]
		}
	}
	return nil
}

// hitTable is the table of hits on the page.
type hitTable struct {
	Columns []string
	Rows    [][]hitCell
	More    bool // there are more hits than rows
}

// hitCell is a value and the address of the page that it links to; "" if there is none.
type hitCell struct{ Text, Href string }

// recordOf maps elements with ids to the collections of the records.
var recordOf = map[string]string{"stedId": "sted", "stedsnavnId": "stedsnavn", "skrivemaateId": "skrivemaate",
	"navnesakId": "navnesak", "vedtakId": "vedtak",
	"samlevedtakId": "samlevedtak", "findBoeker.id": "bok", "findKartprodukter.id": "kartprodukt"}

// xmlNode is an element of a response.
type xmlNode struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []xmlNode `xml:",any"`
}

// hitsOf returns the first hits of a response, which may be truncated; nil if it has none.
func (c *call) hitsOf(answer string) *hitTable {
	operation, hits := firstHits(answer)
	if len(hits) == 0 {
		return nil
	}
	t := &hitTable{More: len(hits) > maxHits}
	hits = hits[:min(len(hits), maxHits)]
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
	described := make([]*store.Property, len(t.Columns))
	for i, name := range t.Columns {
		described[i] = c.hitProperty(name)
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
			row[i] = hitCell{c.hitText(&f, described[i]), c.recordHref(operation, name, f.leaves())}
			page = cmp.Or(page, row[i].Href)
		}
		if slices.Contains(hitNames, t.Columns[0]) && row[0].Text != "" {
			row[0].Href = page
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// firstHits returns the operation of a response and its first hits, at most one more than the page shows.
func firstHits(answer string) (operation string, hits []xmlNode) {
	d := xml.NewDecoder(strings.NewReader(answer))
	for len(hits) <= maxHits {
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

// recordHref returns the address of the page of a record; "" if the data have no such collection.
func (c *call) recordHref(operation, field, id string) string {
	name, ok := recordOf[field]
	if !ok {
		name = recordOf[operation+"."+field]
	}
	if coll, ok := c.Catalog.Collection(name); !ok || !coll.Public || id == "" {
		return ""
	}
	return c.HtmlHref("/collections/" + name + "/items/" + wire.PathEscape(id))
}

// leaves returns the texts of the innermost elements, joined by commas.
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
