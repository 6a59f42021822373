package ingest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"grense/internal/cql2"
	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// Names of the geometry: as a property, and as a column of the store.
const (
	geometryName   = "geometry"
	geometryColumn = "geom"
)

// define builds the collection from the survey.
func (p *Plan) define() {
	c := &store.Collection{ID: p.target.Collection, Table: cmp.Or(p.target.Table, p.target.Collection),
		Title: p.target.Title, Public: true, Key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}}
	p.Collection = c
	if c.ID != store.CollectionID(c.ID) {
		p.refuse("%q cannot be the id of a collection, which has lower-case letters, digits, - and _ only; %q can",
			c.ID, store.CollectionID(c.ID))
	}
	from := source(p.sources())
	p.leaveOut()
	p.addExtras()
	for _, x := range p.columns {
		why := x.decide()
		if x.nans > 0 {
			p.warn("the property %q has numbers that are NaN or infinite, features: %d; they are null", x.name, x.nans)
		}
		if from != nil {
			if known, ok := from.Find(x.name); ok && !(known.Type == cql2.TypeNumber && (x.fine || x.huge || x.big)) {
				x.typ, why = known.Type, ""
			}
		}
		if why != "" {
			p.warn("the property %q has %s; they are stored as text", x.name, why)
		}
	}
	p.times()
	p.nameColumns()
	p.setTimes()
	p.setKey()
	p.setGeometry()
	for _, x := range p.columns {
		c.Properties = append(c.Properties, store.Property{Name: x.out, Column: x.store, Type: x.typ,
			NotNull: x.kinds[input.Null] == 0 && sum(x.kinds[:]) == p.Report.Read})
	}
	if from != nil {
		p.inherit(from)
	}
	if p.versioned {
		p.defineVersions()
	}
	if t := p.target.TitleField; t != "" {
		if x := p.byName[t]; x != nil {
			c.TitleProperty = x.out
		} else if p.Report.Read > 0 {
			p.refuse("there is no property %q for --title-field; there are: %s", t, p.list())
		}
	}
}

// leaveOut removes columns with binary data, and refuses names in Target.Columns that no feature has.
func (p *Plan) leaveOut() {
	p.columns = slices.DeleteFunc(p.columns, func(c *column) bool {
		if c.gone = c.kinds[input.Blob] > 0; c.gone {
			p.warn("the property %q has bytes that are no text; it is left out", c.name)
		}
		return c.gone
	})
	for _, name := range p.target.Columns {
		if p.byName[name] == nil && p.Report.Read > 0 {
			p.refuse("there is no property %q for --columns; there are: %s", name, p.list())
		}
	}
}

// wanted reports whether a property is imported.
func (p *Plan) wanted(name string) bool {
	return len(p.target.Columns) == 0 || slices.Contains(p.target.Columns, name) || name == p.target.IDField ||
		name == p.target.TitleField ||
		name == p.target.ValidFrom || name == p.target.ValidTo
}

// times finds the interval of validity. An end that is open in all features gets the type of the start.
func (p *Plan) times() {
	isTime := func(c *column) bool { return c.typ == cql2.TypeDate || c.typ == cql2.TypeTimestamp }
	for _, pair := range store.UsualIntervals {
		var start, end *column
		for _, c := range p.columns {
			switch strings.ToLower(c.name) {
			case pair[0]:
				start = c
			case pair[1]:
				end = c
			}
		}
		if start == nil || end == nil || !isTime(start) || p.Collection.IntervalStart != "" {
			continue
		}
		if end.kinds[input.Null] == sum(end.kinds[:]) {
			end.typ = start.typ
		}
		if isTime(end) {
			p.Collection.IntervalStart, p.Collection.IntervalEnd = start.name, end.name
		}
	}
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

// nameColumns chooses API names for properties, and column names, which SQL compares without case.
// A property called id that is not the id becomes id_.
func (p *Plan) nameColumns() {
	names, stores := map[string]bool{geometryName: true}, map[string]bool{geometryColumn: true}
	if p.key == keyNumber {
		stores["fid"] = true
	}
	isKey := func(c *column) bool {
		return p.key == keyField && p.field.missing == 0 && c == p.byName[p.idName()] ||
			p.key == keyOwn && c.name == "id" && !p.differ
	}
	if p.key == keyOwn && (p.differ || p.byName["id"] == nil) || p.key == keyField &&
		(p.field.missing > 0 || !p.has(p.idName())) {
		stores["id"] = true
	}
	for _, c := range p.columns {
		name := readableName(c.name)
		if name != c.name {
			p.warn("the name of the property %q cannot be read; it is called %q", c.name, name)
		}
		if strings.EqualFold(name, "id") && !isKey(c) || name == geometryName {
			name += "_"
		}
		c.out = store.Unique(name, func(s string) bool { return names[s] })
		c.store = store.Unique(c.out, func(s string) bool { return stores[strings.ToLower(s)] })
		names[c.out], stores[strings.ToLower(c.store)] = true, true
	}
}

// readableName replaces control characters in the name of a property.
// A name without visible characters becomes unnamed.
func readableName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
	if strings.TrimSpace(name) == "" {
		return "unnamed"
	}
	return name
}

// idName returns the property that may be the id.
func (p *Plan) idName() string {
	if p.target.IDField != "" {
		return p.target.IDField
	}
	return "id"
}

func (p *Plan) setKey() {
	source, prop := p.own, p.byName["id"]
	switch {
	case p.key == keyNumber:
		if p.versioned {
			p.typeVersions()
		}
		return
	case p.key == keyField:
		if source, prop = p.field, p.byName[p.idName()]; source.missing > 0 || !p.has(p.idName()) {
			prop = nil // the property stays null in some features, or is left out
		}
	case p.differ:
		prop = nil
	}
	key := store.FeatureKey{Column: "id", Type: cql2.TypeInteger}
	if source.texts {
		key.Type = cql2.TypeText
	}
	if prop != nil {
		if prop.typ == cql2.TypeText {
			key.Type = cql2.TypeText
		}
		prop.typ = key.Type
		key.Column, key.Property = prop.store, prop.out
	}
	p.Collection.Key = key
}

func (p *Plan) setGeometry() {
	var kinds [input.Collection + 1]bool
	z, located := false, false
	for _, l := range p.layers {
		located = located || !l.Flat
		z = z || l.z
		for k, has := range l.kinds {
			kinds[k] = kinds[k] || has
		}
	}
	if !located {
		return
	}
	if p.crs == 0 {
		p.crs = crs.CRS84 // no geometry at all
	}
	g := &store.Geom{Name: geometryName, Column: geometryColumn, HasZ: z, CRS: p.crs}
	for _, one := range [...]wkb.Kind{input.LineString, input.Polygon} {
		if kinds[one] && kinds[one+3] { // single geometries become collections of one
			kinds[one], p.mixed = false, true
		}
	}
	n := 0
	for k, has := range kinds {
		if has {
			g.Type = input.ShapeNames[k]
			n++
		}
	}
	if n > 1 {
		g.Type = ""
	}
	p.multi = g.Type
	p.Collection.Geometry = g
}

// Write reads all layers a second time and fills w. The caller commits. A plan with refusals is not written.
func (p *Plan) Write(ctx context.Context, w store.Writer) error {
	if p.Report.Refused > 0 {
		return input.Refuse("%s", p.summary(p.Report.Refused))
	}
	c := p.Collection
	if err := w.Define(ctx, c, p.target.Replace); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	var columns []string
	for _, x := range p.columns {
		columns = append(columns, x.store)
	}
	if c.Key.Property == "" {
		columns = append(columns, c.Key.Column)
	}
	if c.Geometry != nil {
		columns = append(columns, c.Geometry.Column)
	}
	insert, err := w.Insert(ctx, c.Table, columns)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	for _, l := range p.layers {
		s := &writing{Plan: p, l: l, insert: insert, values: make([]any, len(columns))}
		if c.Geometry != nil && l.crs != 0 {
			if err := s.moves(); err != nil {
				return err
			}
		}
		if err := l.Reader.Read(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", l.File, err)
		}
		if s.n != l.n {
			return fmt.Errorf("ingest: %s changed while it was read: %d features, now %d", l.File, l.n, s.n)
		}
		p.before += l.bytes()
	}
	return nil
}

// writing is the sink of the second pass.
type writing struct {
	*Plan
	l       *layerSurvey
	n       int
	insert  func(values ...any) error
	values  []any
	move    crs.Func // nil: none
	moveCut crs.Func // for cut geometries, from degrees; nil: none
	bad     string   // a refusal that the first pass did not find
}

// moves prepares the transformations from the layer to the collection.
func (w *writing) moves() (err error) {
	if !crs.Same(w.l.crs, w.crs) {
		w.move, err = crs.Between(w.l.crs, w.crs)
	}
	if err == nil && !w.crs.Geographic() {
		w.moveCut, err = crs.Between(crs.CRS84, w.crs)
	}
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	return nil
}

func (w *writing) Fault(_ input.Place, _ bool, a input.Action, reason string) {
	if a == input.Refused {
		w.bad = reason
	}
}
func (w *writing) Reference(input.Place, string) {}
func (w *writing) Fields([]string)               {}

func (w *writing) Record(r *input.Record) error {
	w.n++
	w.progress(w.n, w.l)
	if w.bad != "" || r.Refused || w.n > w.l.n {
		return fmt.Errorf("ingest: %s changed while it was read: %s", w.l.File, w.bad)
	}
	clear(w.values)
	for i, x := range r.Fields {
		if i >= len(w.columns) || w.columns[i].name != x.Name || w.columns[i].extra {
			if i = w.index(x.Name); i < 0 && (!w.wanted(x.Name) || w.byName[x.Name] != nil && w.byName[x.Name].gone) {
				continue
			} else if i < 0 {
				return fmt.Errorf("ingest: %s changed while it was read: the property %q is new", w.l.File, x.Name)
			}
		}
		w.values[i] = w.columns[i].convert(x.Value)
	}
	for _, x := range r.Extra {
		if i := slices.IndexFunc(w.columns, func(c *column) bool { return c.extra && c.name == x.Name }); i >= 0 {
			w.values[i] = w.columns[i].convert(x.Value)
		}
	}
	next := len(w.columns)
	at := next
	if w.Collection.Key.Property == "" {
		next++
	} else {
		at = w.keyColumn()
	}
	if w.values[at] = w.id(r); w.values[at] == nil {
		return fmt.Errorf("ingest: %s changed while it was read: a feature has no id", w.l.File)
	}
	if w.Collection.Geometry != nil {
		g, err := w.geometry(r.Shape)
		if err != nil {
			return fmt.Errorf("%s, feature %d: %w", w.l.File, w.n, err)
		}
		w.values[next] = g
	}
	if err := w.insert(w.values...); err != nil {
		return fmt.Errorf("%s, feature %d: %w", w.l.File, w.n, err)
	}
	w.Report.Written++
	return nil
}

// has reports whether a property exists and is imported.
func (p *Plan) has(name string) bool { return p.byName[name] != nil && !p.byName[name].gone }

// index returns the number of a column; -1 if there is none.
func (p *Plan) index(name string) int {
	for i, c := range p.columns {
		if c.name == name && !c.extra {
			return i
		}
	}
	return -1
}

// keyColumn returns the number of the key column.
func (p *Plan) keyColumn() int {
	if p.key == keyField {
		return p.index(p.idName())
	}
	return p.index("id")
}

// id returns the feature id in the form that the store accepts.
func (w *writing) id(r *input.Record) any {
	v, source, n := r.ID, w.own, w.l.first+w.n
	switch w.key {
	case keyNumber:
		return int64(n)
	case keyField:
		v, source = w.idOf(w.field, r), w.field
	}
	s, ok := idText(v)
	if !ok && source.missing == 0 {
		return nil
	} else if !ok {
		s = source.number(n, w.Report.Read)
	}
	if w.Collection.Key.Type == cql2.TypeInteger {
		c := column{typ: cql2.TypeInteger}
		return c.convert(input.Value{Kind: input.Integer, Text: s})
	}
	return s
}

// geometry converts a shape to the form of the store. Its memory is reused for the next shape.
func (w *writing) geometry(s *input.Shape) (any, error) {
	if s == nil || s.IsEmpty() {
		return nil, nil
	}
	id, move := w.l.crs, w.move
	if w.l.cut[w.n] {
		if cut := w.cutAgain(s); cut != nil {
			s, id, move = cut, crs.CRS84, w.moveCut
		}
	}
	if id.Geographic() {
		clampShape(s, id)
	}
	w.line = s.Append(w.line[:0])
	if w.l.bad[w.n] == input.Repaired {
		if v := validate(s, w.line); v.shape != nil {
			s = v.shape
		}
	}
	if move != nil {
		s.Transform(move)
	}
	promoted := promoteShape(s, w.multi)
	if move != nil || promoted || w.l.bad[w.n] == input.Repaired {
		w.line = s.Append(w.line[:0])
	}
	g := store.Geometry{WKB: w.line}
	if _, _, err := g.Bound(); err != nil {
		return nil, err
	}
	return g, nil
}

// promoteShape makes a LineString or Polygon the only part of a MultiLineString or MultiPolygon,
// if that is the type of all.
func promoteShape(s *input.Shape, all string) bool {
	switch {
	case s.Kind == input.LineString && all == input.ShapeNames[input.MultiLineString]:
		s.Ends = []int{s.Positions()}
	case s.Kind == input.Polygon && all == input.ShapeNames[input.MultiPolygon]:
		s.Polys = []int{len(s.Ends)}
	default:
		return false
	}
	s.Kind += 3
	return true
}

// clampShape moves coordinates that left the domain by rounding back to its edge.
func clampShape(s *input.Shape, id crs.ID) {
	for i := range s.Shapes {
		clampShape(&s.Shapes[i], id)
	}
	d := id.Domain()
	for i := 0; i < len(s.XYZ); i += 3 {
		for k := range 2 {
			s.XYZ[i+k] = math.Min(math.Max(s.XYZ[i+k], d.Min[k]), d.Max[k])
		}
	}
}
