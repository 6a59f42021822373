package server

import (
	"encoding/xml"
	"strings"
)

// mostHits is how many hits the page of the place-name service shows as a table.
const mostHits = 50

// hitTable is the hits of an answer for people.
type hitTable struct {
	Columns []string
	Rows    [][]hitCell
	More    bool // there are more hits than rows
}

// hitCell is a value, and the address of what it names; "" for none.
type hitCell struct{ Text, Href string }

// recordOf are the collections that ids of hits name, by the element.
var recordOf = map[string]string{"stedId": "sted", "stedsnavnId": "stedsnavn", "skrivemaateId": "skrivemaate", "navnesakId": "navnesak", "vedtakId": "vedtak",
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
	for _, hit := range hits {
		for _, f := range hit.Children {
			if _, ok := at[f.XMLName.Local]; !ok {
				at[f.XMLName.Local] = len(t.Columns)
				t.Columns = append(t.Columns, f.XMLName.Local)
			}
		}
	}
	for _, hit := range hits {
		row := make([]hitCell, len(t.Columns))
		for _, f := range hit.Children {
			name := f.XMLName.Local
			row[at[name]] = hitCell{f.leaves(), c.recordHref(operation, name, f.leaves())}
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
	if coll, ok := c.cat.Collection(name); !ok || !coll.Public || id == "" {
		return ""
	}
	return c.htmlHref("/collections/" + name + "/items/" + pathEscape(id))
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
