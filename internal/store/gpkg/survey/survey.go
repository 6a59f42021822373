package survey

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/moment"
	"grense/internal/store/gpkg/sqlite"
)

// layerSurvey is the result of reading a whole layer. It is stored in the side file.
type layerSurvey struct {
	Fault      string // why the layer cannot be read; the other fields are then empty
	Count      int
	Key        string // column with the feature id; "" for the row id, or with Parts
	KeyInteger bool
	Parts      []layer.Part // columns of a feature id with several parts
	KeyFault   string       // why no column can be the id
	KeyDoubt   string       // why a better column is not the id
	store.Spread
	Missing     int    // number of features without a valid geometry
	Broken      int    // number of these whose bytes are not a geometry
	FirstBroken string // id of the first one
	Z           bool
	Columns     map[string]*columnSurvey
	Index       string         // R-tree, quoted and qualified; "" if there is none
	Bytes       int64          // total size of the geometries
	Versions    *versionSurvey // nil: rows are features
	Words       []string       // columns in the index of words, in its order; nil: no index
	Edges       bool           // Spread includes edges across the antimeridian, also in degrees
	Marks       []int64        // every layer.MarkEvery-th row id in order, if there are more than layer.MostIDs rows
	Sampled     bool           // based on a sample; see draft.sample
}

// stale reports whether an older program made the survey and may have missed edges across the antimeridian, which only
// wide layers have, or the members of JSON objects.
func (sv *layerSurvey) stale() bool {
	for _, cs := range sv.Columns {
		if cs.NotArray && !cs.NotJSON && !cs.Sampled {
			return true
		}
	}
	return !sv.Edges && (sv.Outside || sv.Bound != nil && sv.Bound.Max[0]-sv.Bound.Min[0] > 180)
}

// examine reads the whole layer. It writes the envelopes of all features to the side file, unless the source has a
// valid R-tree.
func (d *Draft) examine(ctx context.Context, c *sqlite.Conn, side *sideWriter,
	progress func(layer string, done, total int)) (*layerSurvey, error) {
	sv, err := d.read(ctx, c, side, progress)
	if errors.Is(err, errIndex) {
		d.ownIndex = true
		sv, err = d.read(ctx, c, side, progress)
	}
	if err == nil && sv.KeyFault == "" {
		err = d.indexWords(ctx, c, side, sv)
	}
	return sv, err
}

func (d *Draft) read(ctx context.Context, c *sqlite.Conn, side *sideWriter,
	progress func(layer string, done, total int)) (*layerSurvey, error) {
	sv := &layerSurvey{Columns: map[string]*columnSurvey{}, Edges: true}
	if err := d.chooseKey(c, sv); err != nil || sv.KeyFault != "" {
		return sv, err
	}
	total, err := c.One("SELECT count(*) FROM " + d.table.Quoted())
	if err != nil {
		return nil, err
	}
	rd, err := d.reader(c, sv, side)
	if err != nil {
		return nil, err
	}
	sv.Columns = rd.byName
	if rd.index != nil {
		defer rd.index.close()
		if err := rd.index.verify(side.dir, d.treeName()); err != nil {
			return nil, err
		}
	}
	err = c.Query(rd.sql+rd.order, nil, func(r sqlite.Row) error {
		if sv.Count%layer.MarkEvery == 0 && int(total) > layer.MostIDs && d.table.Rowid != "" {
			sv.Marks = append(sv.Marks, r.Int(0))
		}
		if sv.Count++; sv.Count%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(d.Contents.Table, sv.Count, int(total))
			}
		}
		return rd.read(r)
	})
	if err != nil {
		return nil, err
	}
	for _, cs := range rd.cols {
		cs.Members, cs.Sampled = cs.members.List(), true
	}
	if rd.index != nil {
		sv.Index = rd.index.name
		return sv, rd.index.complete(sv.Count - sv.Missing)
	}
	return sv, nil
}

// form describes what the texts of a column may be.
type form uint8

const (
	plainText form = iota
	momentText
	jsonText
)

// surveyor reads the rows of a layer.
type surveyor struct {
	d      *Draft
	sv     *layerSurvey
	sql    string // without ORDER BY
	order  string
	cols   []*columnSurvey // of the columns that are read
	byName map[string]*columnSurvey
	forms  []form // by column in cols
	index  *sideIndex
	degree crs.Func
	buf    []byte
}

func (d *Draft) reader(c *sqlite.Conn, sv *layerSurvey, side *sideWriter) (*surveyor, error) {
	s := &surveyor{d: d, sv: sv, byName: map[string]*columnSurvey{}}
	id := d.rowid(sv)
	cols := []string{"NULL", "NULL"}
	if id != "" {
		cols[0] = id
	}
	if d.Geometry != "" {
		cols[1] = sqlite.Quote(d.Geometry)
		var err error
		if s.degree, err = crs.Between(d.crs, crs.CRS84); err != nil {
			return nil, err
		}
		if id != "" {
			if s.index, err = side.index(c, d); err != nil {
				return nil, err
			}
		}
	}
	for _, col := range d.table.Columns {
		if strings.EqualFold(col.Name, d.Geometry) || d.table.IsRowid(col) {
			continue
		}
		cs := &columnSurvey{}
		s.byName[col.Name] = cs
		t, known := d.declaredType(col)
		moments := known && (t == cql2.TypeDate || t == cql2.TypeTimestamp) || d.isRole(col.Name)
		f := plainText
		switch {
		case moments:
			f = momentText
		case d.own.IsJSON(col.Name), d.own == nil && known && t == cql2.TypeJSON:
			f = jsonText
		}
		if d.own != nil && f == plainText {
			// our writer has checked the types; reading all values would take long
			if !col.NotNull {
				cs.Null = 1
			}
			continue
		}
		s.cols = append(s.cols, cs)
		s.forms = append(s.forms, f)
		cols = append(cols, sqlite.Quote(col.Name))
	}
	s.sql = "SELECT " + strings.Join(cols, ", ") + " FROM " + d.table.Quoted()
	if d.table.Rowid != "" {
		s.order = " ORDER BY " + d.table.Rowid
	}
	return s, nil
}

// rowid returns an expression for the row id that an R-tree refers to; "" if there is none.
func (d *Draft) rowid(sv *layerSurvey) string {
	switch {
	case d.table.Rowid != "":
		return d.table.Rowid
	case sv.KeyInteger:
		return sqlite.Quote(sv.Key)
	}
	return ""
}

func (s *surveyor) read(r sqlite.Row) error {
	if s.degree != nil {
		if err := s.geometry(r); err != nil {
			return err
		}
	}
	for i, cs := range s.cols {
		s.value(r, i+2, cs, s.forms[i])
	}
	return nil
}

func (s *surveyor) geometry(r sqlite.Row) error {
	sv := s.sv
	var geometry []byte
	var in wkb.Info
	state := gpb.Empty
	switch r.Kind(1) {
	case sqlite.KindNull:
	case sqlite.KindBlob:
		s.buf = r.Bytes(1, s.buf)
		geometry, in, state = gpb.Read(s.buf)
	default:
		state = gpb.Broken
	}
	if state != gpb.Fine {
		sv.Missing++
		if state == gpb.Broken {
			if sv.Broken++; sv.Broken == 1 {
				sv.FirstBroken = strconv.FormatInt(r.Int(0), 10)
			}
		}
		return s.index.missing(r.Int(0))
	}
	sv.Bytes += int64(len(s.buf))
	sv.Z = sv.Z || in.HasZ
	sv.Add(geometry, s.d.crs, s.degree)
	return s.index.add(r.Int(0), in.Bound)
}

func (s *surveyor) value(r sqlite.Row, i int, cs *columnSurvey, f form) {
	switch r.Kind(i) {
	case sqlite.KindNull:
		cs.Null++
	case sqlite.KindInt:
		cs.Int++
		if v := r.Int(i); v != 0 && v != 1 {
			cs.NotBool = true
		}
	case sqlite.KindFloat:
		cs.Float++
		if v := r.Float(i); math.IsInf(v, 0) || math.IsNaN(v) {
			cs.NotFinite = true
		}
	case sqlite.KindBlob:
		cs.Blob++
	case sqlite.KindText:
		cs.Text++
		s.buf = r.Bytes(i, s.buf)
		if !utf8.Valid(s.buf) {
			cs.NotUTF8 = true
		}
		switch f {
		case momentText:
			cs.moment(s.buf)
		case jsonText:
			cs.array(s.buf)
		}
	}
}

// array records the types of the elements of a JSON array.
func (cs *columnSurvey) array(text []byte) {
	cs.NotJSON = cs.NotJSON || !json.Valid(text)
	cs.members.Add(text)
	if cs.NotArray {
		return
	}
	items, ok := store.ItemType(cs.Items, text)
	cs.Items, cs.NotArray = items, !ok
}

func (cs *columnSurvey) moment(b []byte) {
	t, layout, ok := moment.Plain(b)
	if !ok {
		text := string(b)
		if t, ok = moment.Parse(text); ok {
			t = t.UTC()
			layout = moment.Layout(text, t)
		}
	}
	if !ok || t.Year() < 0 || t.Year() > 9999 {
		cs.NotMoment = true
		return
	}
	if t.Hour() != 0 || t.Minute() != 0 || t.Second() != 0 || t.Nanosecond() != 0 {
		cs.Clock = true
	}
	if len(b) != len(time.DateOnly) || b[4] != '-' {
		cs.NotDay = true
	}
	if !cs.Set {
		cs.Layout, cs.Set, cs.Min, cs.Max = layout, true, t, t
		return
	}
	if cs.Layout != layout {
		cs.Layout = ""
	}
	if t.Before(cs.Min) {
		cs.Min = t
	}
	if t.After(cs.Max) {
		cs.Max = t
	}
}

// pad is store.EdgePad. Points have no edges, but transforming there and back agrees only to some digits.
func (sv *layerSurvey) pad(id crs.ID) float64 {
	if sv.LongestEdge == 0 {
		return 1e-6
	}
	return store.EdgePad(id, sv.LongestEdge, sv.Bound, sv.Outside)
}

func (sv *layerSurvey) encode() (string, error) {
	b, err := json.Marshal(sv)
	return string(b), err
}
