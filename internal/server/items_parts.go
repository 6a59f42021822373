package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"grense/internal/feature"
	"grense/internal/store"
)

// itemsParts are the parts of a page of features that tell of the features: they are made once for each page, in the revisions of its features and of what
// these refer to, and kept beside the fragments. In the template each stands as a mark.
type itemsParts struct {
	rows    part   // of the table
	list    part   // as linked data; empty where the page is too long or too wide for it
	drawn   part   // the map; empty where there is none
	example part   // of a filter; empty for none
	state   string // of the data that they were found for; "": they are not kept
	found   bool   // they were made before
	quick   bool   // the page is compressed as quickly as can be
}

// part is one of them; nil or empty where the page has none.
type part struct {
	*feature.Fragment
	sign string
}

// Marks begin with a character that no page has: templates and escapes write another for it.
const (
	rowsMark  = "\x00r"
	listMark  = "\x00l"
	drawnMark = "\x00m"
)

// partMarks are the second characters of the marks, in the order of fragments.
const partMarks = "lrm"

// fragments are the parts that have marks.
func (p *itemsParts) fragments() []*feature.Fragment {
	return []*feature.Fragment{p.list.Fragment, p.rows.Fragment, p.drawn.Fragment}
}

// texts are those of fragments.
func texts(fragments []*feature.Fragment) [][]byte {
	out := make([][]byte, len(fragments))
	for i, f := range fragments {
		out[i] = f.JSON
	}
	return out
}

// mark is what stands for the part in a template.
func (p part) mark() string {
	if len(p.JSON) == 0 {
		return ""
	}
	return p.sign
}

// itemsTexts are what parts are made of.
type itemsTexts struct{ rows, list, drawn, example []byte }

// newParts makes parts of texts, which are kept where there is a key.
func (c *call) newParts(key *feature.Key, made itemsTexts) *itemsParts {
	put := func(kind feature.Kind, text []byte) *feature.Fragment {
		if key == nil {
			return &feature.Fragment{JSON: text}
		}
		k := *key
		k.Kind = kind
		return c.s.fragments.Put(k, text)
	}
	return &itemsParts{rows: part{put(feature.KindRows, made.rows), rowsMark}, list: part{put(feature.KindList, made.list), listMark},
		drawn: part{put(feature.KindMap, made.drawn), drawnMark}, example: part{put(feature.KindExample, made.example), ""}}
}

// keptParts are the parts that were made before; nil when one of them is missing.
func (c *call) keptParts(key feature.Key) *itemsParts {
	p := &itemsParts{found: true, rows: part{sign: rowsMark}, list: part{sign: listMark}, drawn: part{sign: drawnMark}}
	for kind, to := range map[feature.Kind]*part{feature.KindRows: &p.rows, feature.KindList: &p.list, feature.KindMap: &p.drawn, feature.KindExample: &p.example} {
		key.Kind = kind
		var ok bool
		if to.Fragment, ok = c.s.fragments.Get(key); !ok {
			return nil
		}
	}
	return p
}

// itemsParts finds the parts of a page, or makes them.
func (c *call) itemsParts(p *store.Page, order []*store.Property) (parts *itemsParts, err error) {
	state, err := c.stateBeside()
	if err != nil {
		return nil, err
	}
	key := c.partsKey(p, state)
	if key != nil {
		if parts = c.keptParts(*key); parts != nil {
			parts.state = state
			return parts, nil
		}
	}
	read, err := c.readRows(p, order)
	if err != nil {
		return nil, err
	}
	drawn, err := c.itemsMap(read.outlines, p.Rows)
	if err != nil {
		return nil, err
	}
	if key != nil {
		now, err := c.stateBeside()
		if err != nil {
			return nil, err
		}
		if c.roughly || now != state {
			key = nil
		}
	}
	parts = c.newParts(key, itemsTexts{read.table, read.list, []byte(drawn), []byte(read.example)})
	if key != nil {
		parts.state = state
	}
	return parts, nil
}

// stateBeside names the state of the data that a page of features tells besides them: of what they refer to, and of what lies under the map; "" where that
// cannot be told.
func (c *call) stateBeside() (string, error) {
	var others []string
	for i := range c.coll.Properties {
		if other := c.refersTo(&c.coll.Properties[i]); other != nil {
			others = append(others, other.ID)
		}
	}
	if under := c.country(); under != nil && c.coll.Geometry != nil {
		others = append(others, under.ID)
	}
	if others == nil {
		return c.cat.Version, nil
	}
	return c.stateOf(others)
}

// partsKey names the parts of a page; nil where they are not to be kept.
func (c *call) partsKey(p *store.Page, state string) *feature.Key {
	if state == "" || !c.daily() {
		return nil
	}
	b := takeBuffer()
	put := func(s string) { b = append(append(b, s...), 0) }
	for _, s := range []string{state, c.day(), c.base(), c.canonical(), c.lang, string(p.Next), string(p.Prev)} {
		put(s)
	}
	b = binary.AppendVarint(b, int64(p.Matched))
	for _, r := range p.Rows {
		put(r.ID)
		b = binary.LittleEndian.AppendUint64(b, r.Rev)
	}
	sum := sha256.Sum256(b)
	giveBuffer(b)
	return &feature.Key{Collection: c.coll.ID, ID: string(sum[:])}
}

// rowsRead are the features of a page, for its parts.
type rowsRead struct {
	table, list []byte // list is nil where the page is too long or too wide for linked data
	outlines    *outliner
	example     string
}

// readRows fetches the rows of a page once: for the table, for the map, whose outlines it keeps, and for linked data.
func (c *call) readRows(p *store.Page, order []*store.Property) (out rowsRead, err error) {
	some := []*store.Property(nil)
	if len(c.visible()) > mostColumns || len(p.Rows) > batch {
		some = slices.DeleteFunc(slices.Clone(order), func(p *store.Property) bool { return p == nil })
	}
	read, err := c.reading(some)
	if err != nil {
		return out, err
	}
	var ld *itemList
	if some == nil {
		if ld, err = c.itemList(p, false); err != nil {
			return out, err
		}
	}
	out.outlines = read.outlines
	drawn := read.outlines == nil || !slices.ContainsFunc(p.Rows, func(r store.Row) bool { return read.outlines.cached(r) == nil })
	read.want.NoGeometry = (drawn || read.outlines.shared != nil) && (ld == nil || ld.enc.Want().NoGeometry)
	at := read.places(order)
	var rows []itemRow
	var cells [][]shown
	err = c.eachBatch(&sink{c: c}, p.Rows, read.want, func(dst []byte, f *store.Feature) (_ []byte, err error) {
		row := make([]shown, len(order))
		for i, k := range at {
			if k < 0 {
				row[i] = shown{Text: f.Public()}
			} else {
				row[i] = c.show(order[i], f.Values[k])
			}
		}
		if out.example == "" {
			out.example = example(order, at, f.Values)
		}
		rows, cells = append(rows, itemRow{ID: f.Public(), Href: c.itemHref(f.Public()), Cells: row, Columns: order}), append(cells, row)
		if !drawn {
			if err := read.outline(f); err != nil {
				return dst, err
			}
		}
		if ld != nil {
			out.list, err = ld.append(out.list, read.selected(f))
		}
		return dst, err
	})
	if err == nil {
		err = c.nameAll(c.coll, order, cells)
	}
	if err != nil {
		return out, err
	}
	if ld != nil {
		out.list = []byte(inScript(ld.document(out.list)))
	}
	for _, r := range rows {
		out.table = r.append(out.table)
	}
	return out, nil
}

// places are where the values of columns stand in what is read; -1 for the id, which is no property.
func (r *pageReading) places(order []*store.Property) []int {
	at := make([]int, len(order))
	for i, pr := range order {
		if at[i] = -1; pr != nil {
			at[i] = slices.Index(r.want.Properties, pr.Name)
		}
	}
	return at
}

// appendMarked appends a page with its parts in the place of their marks.
func appendMarked(dst, page []byte, parts *itemsParts) []byte {
	for {
		before, rest, found := bytes.Cut(page, []byte{0})
		if dst = append(dst, before...); !found {
			return dst
		}
		dst = append(dst, parts.fragments()[strings.IndexByte(partMarks, rest[0])].JSON...)
		page = rest[1:]
	}
}

// writeWhole writes a page that is compressed anew: as well as can be where it is kept, since it is sent often; unless it shall be quick. One that lacks what comes soon is not kept.
func (c *call) writeWhole(w http.ResponseWriter, plain []byte, quick bool) error {
	if quick || c.keep == nil || !c.lasts(w.Header()) || len(plain) < worthwhile || !acceptsGzip(c.r) {
		return c.writeOnce(w, plain)
	}
	return c.send(w, compress(nil, plain, gzip.BestCompression), "gzip")
}
