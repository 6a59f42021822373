package features

import (
	"net/http"
	"slices"

	"grense/internal/feature"
	"grense/internal/server"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// itemsLD writes the page as a schema.org ItemList of places.
func (c *call) itemsLD(w http.ResponseWriter, p *store.Page) error {
	l, err := c.itemList(p, true)
	if err != nil {
		return err
	}
	out := server.NewSink(c.Call, w)
	out.Buf = append(out.Buf, l.head...)
	if err := c.eachBatch(out, p.Rows, l.enc.Want(), l.append); err != nil {
		return err
	}
	out.Buf = append(out.Buf, "]}"...)
	return out.Finish()
}

// itemList encodes the features of a page as members of a schema.org ItemList.
type itemList struct {
	c     *call
	enc   *feature.Encoder
	head  []byte
	full  bool // with properties and geometry; else with the name and, for points, the place
	begun bool
}

func (c *call) itemList(p *store.Page, full bool) (*itemList, error) {
	// a short list shows no other geometries
	points := c.Collection.Geometry != nil && c.Collection.Geometry.Type == "Point"
	enc, err := c.encoder(c.Output().SkipGeometry || !points && !full)
	if err != nil {
		return nil, err
	}
	doc := map[string]any{"@type": "ItemList", "@id": c.Base() + "/collections/" + c.Collection.ID + "/items",
		"name": c.Collection.TitleIn(c.Lang)}
	if p.Matched >= 0 {
		doc["numberOfItems"] = p.Matched
	}
	if !full {
		doc["@context"] = feature.Context()
	}
	head, err := wire.Marshal(doc)
	if err != nil {
		return nil, err
	}
	if full {
		head = append(append(enc.AppendJSONLDContext([]byte{'{'}), ','), head[1:]...)
	}
	return &itemList{c: c, enc: enc, full: full, head: append(head[:len(head)-1], `,"itemListElement":[`...)}, nil
}

// append writes one feature that was fetched with the properties of the encoder.
func (l *itemList) append(dst []byte, f *store.Feature) ([]byte, error) {
	if l.begun {
		dst = append(dst, ',')
	}
	l.begun = true
	if l.full {
		return l.enc.AppendJSONLDNode(dst, f, l.c.Item(l.c.Collection.ID, f.Public()))
	}
	return l.enc.AppendJSONLDItem(dst, f, l.c.Item(l.c.Collection.ID, f.Public()))
}

// document returns the list with its members.
func (l *itemList) document(members []byte) []byte {
	return append(append(slices.Clip(l.head), members...), "]}"...)
}
