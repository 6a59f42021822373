package server

import (
	"net/http"
	"slices"

	"grense/internal/feature"
	"grense/internal/store"
)

// itemsLD writes the page as a schema.org ItemList of places.
func (c *Call) itemsLD(w http.ResponseWriter, p *store.Page) error {
	l, err := c.itemList(p, true)
	if err != nil {
		return err
	}
	out := newSink(c, w)
	out.buf = append(out.buf, l.head...)
	if err := c.eachBatch(out, p.Rows, l.enc.Want(), l.append); err != nil {
		return err
	}
	out.buf = append(out.buf, "]}"...)
	return out.finish()
}

// itemList writes the features of a page as the members of a schema.org ItemList.
type itemList struct {
	c     *Call
	enc   *feature.Encoder
	head  []byte
	full  bool // with properties and geometry; else with name and, for points, place
	begun bool
}

func (c *Call) itemList(p *store.Page, full bool) (*itemList, error) {
	points := c.Collection.Geometry != nil && c.Collection.Geometry.Type == "Point" // of other geometries a short list shows nothing
	enc, err := c.encoder(c.output().skipGeometry || !points && !full)
	if err != nil {
		return nil, err
	}
	doc := map[string]any{"@type": "ItemList", "@id": c.Base() + "/collections/" + c.Collection.ID + "/items", "name": c.TitleOf(c.Collection)}
	if p.Matched >= 0 {
		doc["numberOfItems"] = p.Matched
	}
	if !full {
		doc["@context"] = feature.Context()
	}
	head, err := Marshal(doc)
	if err != nil {
		return nil, err
	}
	if full {
		head = append(append(enc.AppendJSONLDContext([]byte{'{'}), ','), head[1:]...)
	}
	return &itemList{c: c, enc: enc, full: full, head: append(head[:len(head)-1], `,"itemListElement":[`...)}, nil
}

// append writes one feature, fetched with what the encoder wants.
func (l *itemList) append(dst []byte, f *store.Feature) ([]byte, error) {
	if l.begun {
		dst = append(dst, ',')
	}
	l.begun = true
	if l.full {
		return l.enc.AppendJSONLDNode(dst, f, l.c.itemAddress(f.Public()))
	}
	return l.enc.AppendJSONLDItem(dst, f, l.c.itemAddress(f.Public()))
}

// document is the list around the members.
func (l *itemList) document(members []byte) []byte {
	return append(append(slices.Clip(l.head), members...), "]}"...)
}
