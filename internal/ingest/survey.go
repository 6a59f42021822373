package ingest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// Target controls where the layers are imported.
type Target struct {
	Collection string     // id
	Table      string     // of the store; "": named as the collection
	Title      store.Text // nil: none
	// property with the feature ids; "": the format's own id, else the property id, else the number of the feature
	IDField    string
	TitleField string   // property with the title of a feature; "": none
	Columns    []string // properties to import, besides the named ones; nil: all
	Replace    bool     // an existing collection of that id is replaced
	Strict     bool     // refuse polygons that cannot be repaired, and rings or lines with too few positions
	// ValidFrom and ValidTo are the properties with the validity of versions, if ids of IDField repeat; "":
	// those with the usual names. Inclusive means that ValidTo is the last day or moment.
	ValidFrom, ValidTo string
	Inclusive          bool
}

// Watch observes an import. Its functions may be nil.
type Watch struct {
	Fault    func(Fault)             // receives each fault as it is found
	Progress func(done, total int64) // receives the bytes read, of both passes; for a store, features
}

// Plan is a surveyed import.
type Plan struct {
	Report     Report
	Collection *store.Collection // as it will be created

	target    Target
	watch     Watch
	layers    []*layerSurvey
	columns   []*column
	byName    map[string]*column
	extras    []*extraColumn
	left      []string  // some properties that Target.Columns leaves out
	own       *idSource // the format's own id
	field     *idSource // the property IDField, else "id"
	differ    bool      // the property differs from the own id in some feature
	version   *idSource // the property with the beginning of its validity
	versioned bool      // features are versions, identified by the property
	key       keyFrom
	total     int64
	before    int64 // bytes of the layers before
	crs       crs.ID
	multi     string // type of all geometries; "" where there are several
	mixed     bool   // some are single, and some are multi geometries of the same kind
	line      []byte // scratch for WKB
}

// keyFrom is the source of the feature ids.
type keyFrom uint8

const (
	keyNumber keyFrom = iota // the number of the feature, over all layers
	keyOwn
	keyField
)

// layerSurvey is the result of surveying a layer.
type layerSurvey struct {
	*Layer
	first   int // features in the layers before
	n       int // features read
	shapes  int
	kinds   [input.Collection + 1]bool
	z       bool
	bad     map[int]input.Action // invalid features
	cut     map[int]bool         // features that cross the antimeridian
	crs     crs.ID
	names   []statedName
	extreme [4]extreme // minimum x, y; maximum x, y
	cutting cutting
	area    [2]Area // of polygons, in squared units and on the sphere
}

type statedName struct {
	name string
	at   input.Place
}

// extreme is a coordinate and the feature that has it.
type extreme struct {
	v  float64
	at Fault
}

// Survey reads all layers once and returns a plan, which is never nil. If something must be refused,
// the error is ErrRefused and the report of the plan has all faults.
func Survey(ctx context.Context, layers []*Layer, t Target, w Watch) (*Plan, error) {
	if from := source(layers); from != nil {
		t.IDField = cmp.Or(t.IDField, from.Key.Property)
		if v := from.Versions; v != nil && t.IDField == v.ID && t.ValidFrom == "" {
			t.ValidFrom, t.ValidTo, t.Inclusive = v.Start, v.End, v.Inclusive
		}
	}
	p := &Plan{target: t, watch: w, byName: map[string]*column{}, own: newIDSource("id"),
		version: newIDSource("version")}
	if p.target.IDField != "" {
		p.own.drop()
		p.field = newIDSource("property " + t.IDField)
	} else {
		p.field = newIDSource("property id")
	}
	for _, s := range [...]*idSource{p.own, p.field, p.version} {
		defer s.ids.Close()
	}
	for _, l := range layers {
		p.total += l.bytes()
	}
	p.total *= 2
	for _, l := range layers {
		s := &layerSurvey{Layer: l, first: p.Report.Read, bad: map[int]input.Action{}, cut: map[int]bool{}}
		for i := range s.extreme {
			s.extreme[i].v = math.Inf(1 - 2*(i/2))
		}
		p.layers = append(p.layers, s)
		if err := l.Reader.Read(ctx, &surveyor{Plan: p, l: s}); err != nil {
			return p, fmt.Errorf("%s: %w", l.File, err)
		}
		p.before += l.bytes()
		p.resolve(s)
		area := s.area[0]
		if s.crs.Geographic() {
			area = s.area[1]
		}
		sum := &p.Report.Area
		sum.Read, sum.Written, sum.Moved = sum.Read+area.Read, sum.Written+area.Written, sum.Moved+area.Moved
	}
	p.agree()
	if err := p.chooseKey(ctx); err != nil {
		return p, err
	}
	p.define()
	if n := p.Report.Refused; n > 0 {
		return p, input.Refuse("%s", p.summary(n))
	}
	return p, nil
}

// summary returns the first refusal and the number of refusals.
func (p *Plan) summary(n int) string {
	first := ""
	for _, f := range p.Report.Faults {
		if f.Action == input.Refused {
			first = f.String()
			break
		}
	}
	if n > 1 {
		return fmt.Sprintf("%s (and %d more)", first, n-1)
	}
	return first
}

// bytes returns the size of the file; for a layer of a store, the number of features.
func (l *Layer) bytes() int64 {
	switch {
	case l.file != nil:
		return l.file.Size
	case l.Of != nil:
		return int64(l.Of.Count)
	}
	return 0
}

// fault counts a fault and reports it.
func (p *Plan) fault(f Fault) {
	p.Report.add(f)
	if p.watch.Fault != nil {
		p.watch.Fault(f)
	}
}

// at returns a fault of the n-th feature of a layer; n is 0 for no feature.
func (l *layerSurvey) at(at input.Place, n int) Fault {
	f := Fault{File: l.File, Line: at.Line, Column: at.Column, Feature: n}
	if l.Name != "" && !strings.HasPrefix(filepath.Base(l.File), l.Name+".") {
		f.Layer = l.Name
	}
	return f
}

// progress reports progress from time to time.
func (p *Plan) progress(n int, l *layerSurvey) {
	if p.watch.Progress == nil || n&255 != 0 {
		return
	}
	switch {
	case l.file != nil:
		p.watch.Progress(p.before+min(l.file.Done, l.file.Size), p.total)
	case l.Of != nil:
		p.watch.Progress(p.before+min(int64(n), l.bytes()), p.total)
	}
}

// surveyor is the sink of the first pass.
type surveyor struct {
	*Plan
	l *layerSurvey
}

func (s *surveyor) Fault(at input.Place, of bool, a input.Action, reason string) {
	n := 0
	if of {
		n = s.l.n + 1
	}
	f := s.l.at(at, n)
	f.Action, f.Reason = a, reason
	if a == input.Dropped && s.target.Strict {
		f.Action, f.Reason = input.Refused, reason+" without --strict"
	}
	s.Plan.fault(f)
}

func (s *surveyor) Reference(at input.Place, name string) {
	for _, x := range s.l.names {
		if x.name == name {
			return
		}
	}
	if len(s.l.names) < 10 {
		s.l.names = append(s.l.names, statedName{name, at})
	}
}

func (s *surveyor) Fields(names []string) {
	for _, n := range names {
		if s.wanted(n) {
			s.column(n)
		} else {
			s.leave(n)
		}
	}
}

// column returns the column of that name, creating it if needed.
func (p *Plan) column(name string) *column {
	c := p.byName[name]
	if c == nil {
		c = &column{name: name}
		p.byName[name] = c
		p.columns = append(p.columns, c)
	}
	return c
}

// leave records the name of a property that is left out, for list.
func (p *Plan) leave(name string) {
	if len(p.left) < listed && !slices.Contains(p.left, name) {
		p.left = append(p.left, name)
	}
}

func (s *surveyor) Record(r *input.Record) error {
	s.l.n++
	s.Report.Read++
	s.progress(s.l.n, s.l)
	f := s.l.at(r.At, s.l.n)
	s.identify(r, f)
	s.seeExtra(r)
	for i, x := range r.Fields {
		c := (*column)(nil)
		switch {
		case i < len(s.columns) && s.columns[i].name == x.Name:
			c = s.columns[i]
		case s.wanted(x.Name):
			c = s.column(x.Name)
		default:
			s.leave(x.Name)
			continue
		}
		c.see(x.Value)
	}
	if len(s.columns) > input.MaxNames {
		return input.Refuse("%s: more than %d different properties", s.l.File, input.MaxNames)
	}
	if r.Refused {
		return nil
	}
	if r.Shape == nil || r.Shape.IsEmpty() {
		s.Report.Null++
		return nil
	}
	s.look(r.Shape, f)
	return nil
}

// identify records the possible ids of a feature.
func (s *surveyor) identify(r *input.Record, f Fault) {
	n := s.l.first + s.l.n
	prop := s.idOf(s.field, r)
	if s.target.IDField == "" {
		s.own.see(r.ID, n, f)
		a, _ := idText(r.ID)
		b, ok := idText(prop)
		s.differ = s.differ || !ok || a != b
	}
	s.field.see(prop, n, f)
	if s.target.IDField != "" {
		s.version.see(s.idOf(s.version, r), n, f)
	} else if s.field.missing > 0 {
		s.field.drop()
	}
}

// idOf returns the id that a record has in a source.
func (p *Plan) idOf(s *idSource, r *input.Record) input.Value {
	switch s {
	case p.own:
		return r.ID
	case p.version:
		return p.versionOf(r)
	}
	var v input.Value
	for _, x := range r.Fields {
		if x.Name == p.idName() {
			v = x.Value
		}
	}
	return v
}

// label returns a name for the n-th feature of all.
func (p *Plan) label(n int) string {
	for _, l := range p.layers {
		if n > l.first && n <= l.first+l.n {
			if len(p.layers) > 1 {
				return fmt.Sprintf("feature %d of %s", n-l.first, l.File)
			}
			return fmt.Sprintf("feature %d", n-l.first)
		}
	}
	return fmt.Sprintf("feature %d", n)
}

// farAway is a coordinate that no system has. Geometries that reach it are refused after the layer, and not validated.
const farAway = 1e9

// look records facts of a geometry and validates it.
func (s *surveyor) look(g *input.Shape, f Fault) {
	l := s.l
	l.shapes++
	l.z = l.z || g.HasZ
	b := wkb.EmptyBound()
	if n := g.Bound(&b); n > 0 {
		f.Action, f.Reason = input.Refused, fmt.Sprintf("%d positions are not numbers (NaN or infinite)", n)
		s.Plan.fault(f)
		return
	}
	drawn := g
	cut, doubt, ok := s.cutFeature(g, &b, f)
	if !ok {
		return
	}
	if cut != nil {
		g = cut
	}
	for i, v := range [...]float64{b.Min[0], b.Min[1], b.Max[0], b.Max[1]} {
		if e := &l.extreme[i]; i < 2 && v < e.v || i >= 2 && v > e.v {
			e.v, e.at = v, f
		}
	}
	v := verdict{}
	if max(-b.Min[0], -b.Min[1], b.Max[0], b.Max[1]) < farAway {
		s.line = g.Append(s.line[:0])
		if v = validate(g, s.line); v.action == input.Repaired && doubt {
			// the meaning of its rings is unknown
			v = verdict{action: input.Kept, reason: "invalid as it is drawn; it is written as it is", read: v.read,
				wrote: v.read}
		}
	}
	if v.shape != nil {
		g = v.shape
	}
	l.kinds[g.Kind] = true
	if cut != nil && !l.system().Geographic() { // in degrees, unlike the others
		size := sumArea(drawn, false)
		g, v.read, v.wrote, v.doubt = drawn, size, size, 0
	}
	l.measure(g, v)
	if v.action == input.Kept && s.target.Strict {
		v.action, v.reason = input.Refused, v.reason+" without --strict"
	}
	if v.action != "" {
		l.bad[l.n] = v.action
		f.Action, f.Reason = v.action, v.reason
		s.Plan.fault(f)
	}
}

// measure adds the area of a validated geometry, as it is written.
func (l *layerSurvey) measure(g *input.Shape, v verdict) {
	if v.wrote == 0 {
		return
	}
	plane := sumArea(g, false)
	if plane == 0 { // kept, and encloses no area
		return
	}
	for i, factor := range [...]float64{1, sumArea(g, true) / plane} {
		a := &l.area[i]
		a.Read, a.Written, a.Moved = a.Read+factor*v.read, a.Written+factor*v.wrote, a.Moved+factor*v.doubt
	}
}

// resolve decides the reference system of a layer.
func (p *Plan) resolve(l *layerSurvey) {
	refuse := func(at input.Place, format string, a ...any) {
		f := l.at(at, 0)
		f.Action, f.Reason = input.Refused, fmt.Sprintf(format, a...)
		p.fault(f)
	}
	warn := func(at input.Place, format string, a ...any) {
		f := l.at(at, 0)
		f.Action, f.Reason = input.Warning, fmt.Sprintf(format, a...)
		p.fault(f)
	}
	if l.Flat {
		return
	}
	l.crs = l.stated
	for _, x := range l.names {
		id, note, wrong := resolveName(x.name)
		switch {
		case l.stated != 0:
			if x.name != "" && (wrong != "" || !crs.Same(id, l.stated)) {
				warn(x.at, "the file states another reference system (%s) than --crs, which is used",
					describeReference(id, x.name))
			}
			continue
		case x.name == "":
			l.Silent = 0
			continue
		case wrong != "":
			refuse(x.at, "%s", wrong)
			return
		case l.crs != 0 && l.crs != id:
			refuse(x.at, "the layer mixes reference systems: %v here, %v before; split it, or state the right one "+
				"with --crs EPSG:n", id, l.crs)
			return
		case note != "":
			warn(x.at, "%s", note)
		}
		l.crs = id
	}
	if l.crs == 0 {
		l.crs = l.Silent
	}
	if l.crs == 0 {
		if l.shapes > 0 {
			refuse(input.Place{}, "no reference system is stated; state it with --crs EPSG:n")
		}
		return
	}
	p.plausible(l)
}

func resolveName(name string) (id crs.ID, note, wrong string) {
	if text, ok := strings.CutPrefix(name, input.WKTPrefix); ok {
		return input.ReferenceOfText(text)
	}
	if name == "" {
		return 0, "", ""
	}
	return input.Reference(name)
}

func describeReference(id crs.ID, name string) string {
	if id != 0 {
		return id.String()
	}
	return input.Shorten(strings.TrimPrefix(name, input.WKTPrefix))
}

// slack is the distance by which rounding may move coordinates out of a domain, in degrees or metres.
const slack = 1e-6

// plausible refuses coordinates outside the reference system.
func (p *Plan) plausible(l *layerSurvey) {
	if l.shapes == 0 {
		return
	}
	d := l.crs.Domain()
	limits := [4]float64{d.Min[0], d.Min[1], d.Max[0], d.Max[1]}
	for i, e := range l.extreme {
		if i < 2 && e.v < limits[i]-slack || i >= 2 && e.v > limits[i]+slack {
			f := e.at
			f.Action = input.Refused
			f.Reason = fmt.Sprintf("%s = %v does not exist in %v; state the reference system that the coordinates "+
				"are in with --crs EPSG:n", []string{"x", "y"}[i%2], e.v, l.crs)
			if l.stated != 0 {
				f.Reason = "--crs " + l.stated.String() + " cannot be right: " + f.Reason
			}
			if turn := limits[2] - limits[0]; i%2 == 0 && l.stated == 0 &&
				(l.crs.Geographic() || l.crs == crs.WebMercator) && math.Abs(e.v) < turn {
				f.Reason += fmt.Sprintf("; or, where that is right and the place lies across the antimeridian, "+
					"take %.10g off or add it", turn)
			}
			p.fault(f)
			return
		}
	}
	e := l.extreme
	if !l.crs.Geographic() && e[0].v >= -180 && e[2].v <= 180 && e[1].v >= -90 && e[3].v <= 90 {
		f := l.at(input.Place{}, 0)
		f.Action = input.Refused
		f.Reason = fmt.Sprintf("all coordinates look like degrees, but %v is in metres; state the right reference "+
			"system with --crs, for example --crs EPSG:4326", l.crs)
		if l.stated != 0 {
			f.Reason = "--crs " + l.stated.String() + " cannot be right: " + f.Reason
		}
		p.fault(f)
	}
}

// agree decides the reference system of the collection: that of the first layer, or CRS84 if that cannot hold cut
// geometries. Other layers are transformed.
func (p *Plan) agree() {
	for _, l := range p.layers {
		switch {
		case l.crs == 0:
		case p.crs == 0:
			p.crs = l.crs
		case !crs.Same(p.crs, l.crs):
			f := l.at(input.Place{}, 0)
			f.Action, f.Reason = input.Warning,
				fmt.Sprintf("converted from %v to %v, the reference system of the first file", l.crs, p.crs)
			p.fault(f)
		}
	}
	for _, l := range p.layers {
		if len(l.cut) > 0 && !p.crs.Geographic() && p.crs != crs.WebMercator {
			p.warn("some features cross the antimeridian, where %v cannot hold them cut in two; "+
				"all are written in longitudes and latitudes (%v), cut there", p.crs, crs.CRS84)
			p.crs = crs.CRS84
			return
		}
	}
}

// chooseKey decides the source of ids.
func (p *Plan) chooseKey(ctx context.Context) error {
	for _, s := range [...]*idSource{p.own, p.field, p.version} {
		if err := s.settle(); err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
	}
	if p.target.IDField == "" && p.field.repeats > 0 {
		p.field.drop()
	}
	source := p.own
	switch {
	case p.target.IDField != "":
		source, p.key = p.field, keyField
		if p.byName[p.target.IDField] == nil && p.Report.Read > 0 {
			p.refuse("there is no property %q for --id-field; there are: %s", p.target.IDField, p.list())
			return nil
		}
		if p.chooseVersions() {
			p.key = keyNumber
			return p.repeated(ctx, p.version)
		}
		if p.field.stated == 0 && p.Report.Read > 0 {
			p.refuse("no feature has an id in the property %q, but null, a list or a truth value; "+
				"name another one with --id-field", p.target.IDField)
			return nil
		}
	case !p.field.gone && p.field.stated > 0 && (p.own.stated == 0 || p.own.missing > 0):
		source, p.key = p.field, keyField
	case p.own.stated > 0:
		p.key = keyOwn
	default:
		if p.Report.Read > 0 {
			p.warn("features have no id of their own; they are numbered, and the numbers change with the file; " +
				"name a property with --id-field")
		}
		return nil
	}
	if source.missing > 0 && source.repeats == 0 {
		f := source.first
		f.Action, f.Reason = input.Warning,
			fmt.Sprintf("features without an id (%s): %d, the first here; each gets its number in the file as its "+
				"id, which changes with the file", source.what, source.missing)
		p.fault(f)
	}
	return p.repeated(ctx, source)
}

func (p *Plan) refuse(format string, a ...any) { p.importFault(input.Refused, format, a...) }
func (p *Plan) warn(format string, a ...any)   { p.importFault(input.Warning, format, a...) }

// importFault reports a fault of the whole import, at the first file.
func (p *Plan) importFault(a input.Action, format string, v ...any) {
	f := Fault{Action: a, Reason: fmt.Sprintf(format, v...)}
	if len(p.layers) > 0 {
		f = p.layers[0].at(input.Place{}, 0)
		f.Action, f.Reason = a, fmt.Sprintf(format, v...)
	}
	p.fault(f)
}

// listed is the number of properties in the result of list.
const listed = 20

// list returns the names of some properties.
func (p *Plan) list() string {
	var names []string
	for _, c := range p.columns {
		names = append(names, c.name)
	}
	if names = append(names, p.left...); len(names) > listed {
		names = append(names[:listed], "…")
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
