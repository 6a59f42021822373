package survey

import (
	"math"
	"slices"
	"strconv"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/rtree"
	"grense/internal/store/gpkg/sqlite"
)

// The first start of a server does not wait until all rows of large layers have been read. Their survey is based on a
// sample: it has the declared types, if the sample fits them, and the count, the extent and the rows without geometry
// from the R-tree. What a sample cannot show is set so that responses are correct, if slower. The full survey follows
// in the background.

// samples is the number of places in a table that are sampled, sampleRows the number of rows at each.
const samples, sampleRows = 16, 1024

// sample returns a survey based on a sample; nil if the layer must be read as a whole.
func (d *Draft) sample(c *sqlite.Conn, side *sideWriter, from int) (*layerSurvey, error) {
	if d.table.View || d.table.Rowid == "" || d.uncut || slices.ContainsFunc(d.table.Columns, d.isUnsure) {
		return nil, nil
	}
	total, err := c.One("SELECT count(*) FROM " + d.table.Quoted())
	if err != nil || int(total) < from {
		return nil, err
	}
	sv := &layerSurvey{Count: int(total), Edges: true, Sampled: true}
	if err := d.chooseKey(c, sv); err != nil || sv.KeyFault != "" || sv.KeyDoubt != "" || sv.Versions != nil {
		return nil, err
	}
	tree := ""
	if d.Geometry != "" {
		if tree, err = sourceIndex(c, d); err != nil || tree == "" {
			return nil, err
		}
	}
	if err := d.sampleRows(c, sv, side); err != nil || sv.Broken > 0 || !d.declaredHold(sv) {
		return nil, err
	}
	sv.Spread, sv.Missing = store.Spread{}, 0
	if tree == "" {
		return sv, nil
	}
	return d.sampleTree(c, sv, side)
}

// isUnsure reports whether a sample is not enough for a column: JSON, whose members are listed, and text in the role of
// a time.
func (d *Draft) isUnsure(col sqlite.Column) bool {
	t, known := d.declaredType(col)
	return t == cql2.TypeJSON || d.own.IsJSON(col.Name) || d.isRole(col.Name) && known && t == cql2.TypeText
}

// sampleRows reads rows at regular intervals of the table.
func (d *Draft) sampleRows(c *sqlite.Conn, sv *layerSurvey, side *sideWriter) error {
	rd, err := d.reader(c, sv, side)
	if err != nil {
		return err
	}
	rd.index, sv.Columns = nil, rd.byName
	id := d.table.Rowid
	first, err := c.One("SELECT min(" + id + ") FROM " + d.table.Quoted())
	if err != nil {
		return err
	}
	last, err := c.One("SELECT max(" + id + ") FROM " + d.table.Quoted())
	if sv.Count > layer.MostIDs && last-first+1 == int64(sv.Count) {
		for at := first; at <= last; at += layer.MarkEvery {
			sv.Marks = append(sv.Marks, at)
		}
	}
	for i := range int64(samples) {
		if err != nil {
			return err
		}
		at := first + int64(float64(last-first)*float64(i)/samples)
		err = c.Query(rd.sql+" WHERE "+id+" >= ? ORDER BY "+id+" LIMIT "+strconv.Itoa(sampleRows), []any{at}, rd.read)
	}
	return err
}

// declaredHold reports whether the sample fits the declared types. It sets what the sample cannot show.
func (d *Draft) declaredHold(sv *layerSurvey) bool {
	for _, col := range d.table.Columns {
		cs := sv.Columns[col.Name]
		if cs == nil {
			continue
		}
		t, known := d.declaredType(col)
		_, ok, asDeclared := d.settle(col, cs)
		if d.own == nil && !(known && ok && asDeclared) || cs.NotUTF8 || cs.Blob > 0 {
			return false
		}
		moment := t == cql2.TypeDate || t == cql2.TypeTimestamp
		if moment && cs.Clock && t == cql2.TypeDate {
			return false
		}
		if !col.NotNull {
			cs.Null++
		}
		cs.Set, cs.Layout, cs.NotDay, cs.Sampled = false, "", moment, true
	}
	return true
}

// sampleTree completes a survey from the R-tree of the source; nil if the R-tree does not agree with the rows.
func (d *Draft) sampleTree(c *sqlite.Conn, sv *layerSurvey, side *sideWriter) (*layerSurvey, error) {
	var ids []int64
	all := orb.Bound{Min: orb.Point{math.Inf(1), math.Inf(1)}, Max: orb.Point{math.Inf(-1), math.Inf(-1)}}
	err := rtree.Walk(c, d.treeName(), func(x rtree.Cell) error {
		b := x.Bound()
		ids, all = append(ids, x.ID), all.Union(b)
		sv.LongestEdge = max(sv.LongestEdge, math.Hypot(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1]))
		return nil
	})
	if err != nil || len(ids) > sv.Count {
		return nil, err
	}
	degree, err := crs.Between(d.crs, crs.CRS84)
	if err != nil {
		return nil, err
	}
	if len(ids) > 0 {
		if sv.Bound = widest(all, degree, d.crs); sv.Bound == nil {
			return nil, nil
		}
	}
	size, err := c.One("SELECT page_count * page_size FROM pragma_page_count('main'), pragma_page_size('main')")
	if err != nil {
		return nil, err
	}
	sv.Bytes = size // upper bound
	index, err := side.index(c, d)
	if err != nil {
		return nil, err
	}
	sv.Index = index.name
	defer index.close()
	if sv.Missing = sv.Count - len(ids); sv.Missing == 0 {
		return sv, nil
	}
	whole, err := d.findMissing(c, index, ids)
	if err != nil || !whole {
		return nil, err
	}
	return sv, nil
}

// findMissing records the rows that the R-tree lacks; ids are those in the R-tree. whole is false if one of them has a
// geometry.
func (d *Draft) findMissing(c *sqlite.Conn, index *sideIndex, ids []int64) (whole bool, err error) {
	slices.Sort(ids)
	var missing []int64
	at := 0
	id := d.table.Rowid
	err = c.Query("SELECT "+id+" FROM "+d.table.Quoted()+" ORDER BY "+id, nil, func(r sqlite.Row) error {
		for n := r.Int(0); at < len(ids) && ids[at] <= n; at++ {
			if ids[at] == n {
				return nil
			}
		}
		missing = append(missing, r.Int(0))
		return nil
	})
	whole = len(missing) > 0
	var buf []byte
	for _, n := range missing {
		if err != nil || !whole {
			break
		}
		sql := "SELECT " + sqlite.Quote(d.Geometry) + " FROM " + d.table.Quoted() + " WHERE " + id + " = ?"
		err = c.Query(sql, []any{n}, func(r sqlite.Row) error {
			if r.Kind(0) == sqlite.KindBlob {
				buf = r.Bytes(0, buf)
				_, _, state := gpb.Read(buf)
				whole = state == gpb.Empty
			}
			return nil
		})
		if err == nil && whole {
			err = index.missing(n)
		}
	}
	return whole, err
}

// widest returns a box in degrees around a box in id; nil if it may cross the antimeridian or leave the area of id.
func widest(b orb.Bound, degree crs.Func, id crs.ID) *orb.Bound {
	const steps, margin = 64, 1.0 / 64 // extremes may lie between two steps along an edge
	if id.Geographic() {
		if b.Min[0] < -180 || b.Max[0] > 180 || b.Min[1] < -90 || b.Max[1] > 90 || b.Max[0]-b.Min[0] > 180 {
			return nil
		}
		return &b
	}
	all := orb.Bound{Min: orb.Point{180, 90}, Max: orb.Point{-180, -90}}
	for i := range steps + 1 {
		at := float64(i) / steps
		x, y := b.Min[0]+at*(b.Max[0]-b.Min[0]), b.Min[1]+at*(b.Max[1]-b.Min[1])
		for _, p := range [...]orb.Point{{x, b.Min[1]}, {x, b.Max[1]}, {b.Min[0], y}, {b.Max[0], y}} {
			lon, lat := degree(p[0], p[1])
			if !(math.Abs(lon) <= 180 && math.Abs(lat) <= 85) {
				return nil
			}
			all = all.Extend(orb.Point{lon, lat})
		}
	}
	all = all.Pad(margin * max(all.Max[0]-all.Min[0], all.Max[1]-all.Min[1], 0.01))
	if all.Min[0] < -180 || all.Max[0] > 180 || all.Max[0]-all.Min[0] > 180 {
		return nil
	}
	return &all
}
