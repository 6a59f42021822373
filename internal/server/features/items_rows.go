package features

import (
	"net/http"
	"slices"

	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/page"
	"grense/internal/store"
)

// rowsRead holds what the features of a page contribute to it. All of it is HTML, except for the example.
type rowsRead struct {
	table    []byte            // the rows
	list     []byte            // linked data; nil if the page is too long or too wide for it
	outlines *drawing.Outliner // of the map; nil for none
	example  string            // of a filter; "" for none
}

// readRows fetches the rows of a page once: for the table, for the map (in outlines), and for linked data.
func (c *call) readRows(p *store.Page, order []*store.Property) (out rowsRead, err error) {
	some := []*store.Property(nil)
	if len(c.visible()) > mostColumns || len(p.Rows) > server.Batch {
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
	drawn := read.outlines == nil || !slices.ContainsFunc(p.Rows,
		func(r store.Row) bool { return read.outlines.Cached(r) == nil })
	read.want.NoGeometry = (drawn || read.outlines.Shared != nil) && (ld == nil || ld.enc.Want().NoGeometry)
	at := read.places(order)
	var rows []itemRow
	var cells [][]page.Value
	err = c.eachBatch(&server.Sink{Call: c.Call}, p.Rows, read.want,
		func(dst []byte, f *store.Feature) (_ []byte, err error) {
			row := make([]page.Value, len(order))
			for i, k := range at {
				if k < 0 {
					row[i] = page.Value{Text: f.Public()}
				} else {
					row[i] = c.Show(order[i], f.Values[k])
				}
			}
			if out.example == "" {
				out.example = example(order, at, f.Values)
			}
			rows, cells = append(rows, itemRow{ID: f.Public(), Href: c.itemHref(f.Public()), Cells: row,
				Columns: order}),
				append(cells, row)
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
		err = c.NameAll(c.Collection, order, cells)
	}
	if err != nil {
		return out, err
	}
	if ld != nil {
		out.list = []byte(page.InScript(ld.document(out.list)))
	}
	for _, r := range rows {
		out.table = r.append(out.table)
	}
	return out, nil
}

// places returns the indexes of columns among the properties read; -1 for the id, which is no property.
func (r *pageReading) places(order []*store.Property) []int {
	at := make([]int, len(order))
	for i, pr := range order {
		if at[i] = -1; pr != nil {
			at[i] = slices.Index(r.want.Properties, pr.Name)
		}
	}
	return at
}

// writePage writes a page with its layout.
func (c *call) writePage(w http.ResponseWriter, pg *page.Page) error {
	plain, err := c.RenderPage(pg)
	if err != nil {
		return err
	}
	if err := c.Still(); err != nil {
		return err
	}
	return c.WriteOnce(w, plain)
}
