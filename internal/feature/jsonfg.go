package feature

import (
	"slices"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// JSONFGClasses are the conformance classes of the documents of JSONFG (OGC 21-045r1).
var JSONFGClasses = []string{
	"http://www.opengis.net/spec/json-fg-1/1.0/conf/core",
	"http://www.opengis.net/spec/json-fg-1/1.0/conf/types-schemas",
	"http://www.opengis.net/spec/json-fg-1/1.0/conf/profiles",
}

// JSONFG writes features as JSON-FG (OGC 21-045r1): GeoJSON with time, place and feature type. In CRS84 the geometry is
// as in GeoJSON, and place is null. In another CRS place is the geometry in that CRS, in the axis order of its
// authority; geometry is then null or, in the profile jsonfg-plus, in CRS84. It is immutable and safe for concurrent
// use.
type JSONFG struct {
	enc   *Encoder // for the GeoJSON members
	place *Geometry
	want  store.Want
	props int    // number of fetched values that are properties; values for time may follow
	time  [3]int // indexes of the values of the instant, the start and the end; -1: none
	date  [3]bool
}

// NewJSONFG returns an encoder. plus selects the profile jsonfg-plus.
func NewJSONFG(c *store.Collection, o Options, plus bool) (*JSONFG, error) {
	if o.CRS == 0 {
		o.CRS = crs.CRS84
	}
	inner := o
	inner.CRS = crs.CRS84
	j := &JSONFG{}
	if o.CRS != crs.CRS84 && !o.SkipGeometry && c.Geometry != nil {
		g, err := NewGeometry(c.Geometry.CRS, o.CRS)
		if err != nil {
			return nil, err
		}
		g.setPrecision(o.Precision)
		j.place = &g
		inner.Precision = nil // applies to the requested CRS only
		inner.SkipGeometry = !plus
	}
	var err error
	if j.enc, err = NewEncoder(c, inner); err != nil {
		return nil, err
	}
	names, err := propertyNames(c, o.Properties)
	if err != nil {
		return nil, err
	}
	j.props = len(names)
	names = slices.Clone(names)
	for i, n := range [...]string{c.Instant, c.IntervalStart, c.IntervalEnd} {
		j.time[i] = -1
		p, ok := c.Find(n)
		if n == "" || !ok {
			continue
		}
		j.date[i] = p.Type == cql2.TypeDate
		if j.time[i] = slices.Index(names, n); j.time[i] < 0 {
			j.time[i] = len(names)
			names = append(names, n)
		}
	}
	j.want = store.Want{Properties: names, NoGeometry: o.SkipGeometry || c.Geometry == nil}
	return j, nil
}

// Want returns how features must be fetched.
func (j *JSONFG) Want() store.Want { return j.want }

// AppendMembers writes the members of a feature, without braces, so that the caller may add others after a comma.
func (j *JSONFG) AppendMembers(dst []byte, f *store.Feature) ([]byte, error) {
	start := len(dst)
	if err := checkValues(f, len(j.want.Properties)); err != nil {
		return dst, j.enc.wrap(f, err)
	}
	plain := *f
	plain.Values = f.Values[:j.props]
	dst, err := j.enc.AppendMembers(dst, &plain)
	if err != nil {
		return dst[:start], err
	}
	dst = j.appendTime(append(dst, `,"time":`...), f)
	dst = append(dst, `,"place":`...)
	if j.place == nil || f.Geometry.IsNull() {
		return append(dst, "null"...), nil
	}
	if dst, err = j.place.AppendGeoJSON(dst, f.Geometry.WKB); err != nil {
		return dst[:start], j.enc.wrap(f, err)
	}
	return dst, nil
}

// AppendFeature writes a feature of a collection (OGC 21-045r1, 7.2).
func (j *JSONFG) AppendFeature(dst []byte, f *store.Feature) ([]byte, error) {
	start := len(dst)
	dst, err := j.AppendMembers(append(dst, '{'), f)
	if err != nil {
		return dst[:start], err
	}
	return append(dst, '}'), nil
}

// appendTime writes the time of a feature (OGC 21-045r1, 7.3): a date, a timestamp in UTC, an interval with ".." for an
// open end, or null.
func (j *JSONFG) appendTime(dst []byte, f *store.Feature) []byte {
	if text, date := j.moment(f, 0); text != "" {
		if date {
			return append(append(append(dst, `{"date":"`...), text...), `"}`...)
		}
		return append(append(append(dst, `{"timestamp":"`...), text...), `"}`...)
	}
	from, _ := j.moment(f, 1)
	to, _ := j.moment(f, 2)
	if from == "" && to == "" {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"interval":["`...)
	dst = append(append(append(dst, orOpen(from)...), `","`...), orOpen(to)...)
	return append(dst, `"]}`...)
}

func orOpen(s string) string {
	if s == "" {
		return ".."
	}
	return s
}

// moment returns a date or timestamp; "" if the feature has none. Timestamps end in Z.
func (j *JSONFG) moment(f *store.Feature, i int) (text string, date bool) {
	if j.time[i] < 0 {
		return "", false
	}
	s, _ := f.Values[j.time[i]].(string)
	if s == "" || j.date[i] {
		return s, true
	}
	t, ok := Moment(s)
	if !ok {
		return "", false
	}
	return t.Format(time.RFC3339Nano), false
}

// AppendRoot writes the members of a document besides its features: conformance classes, feature type, schema, and the
// reference system of place; without braces.
func (j *JSONFG) AppendRoot(dst []byte, schema string, id crs.ID) []byte {
	dst = append(dst, `"conformsTo":["`...)
	dst = append(append(dst, strings.Join(JSONFGClasses, `","`)...), `"],"featureType":`...)
	dst = appendString(dst, j.enc.coll.ID)
	if schema != "" {
		dst = appendString(append(dst, `,"featureSchema":`...), schema)
	}
	if j.place != nil {
		dst = appendString(append(dst, `,"coordRefSys":`...), id.URI())
	}
	return dst
}

// Moment parses a date or timestamp from a store; without a zone it is UTC.
func Moment(s string) (t time.Time, ok bool) {
	if len(s) == len(time.DateOnly) {
		t, err := time.Parse(time.DateOnly, s)
		return t, err == nil
	}
	s = strings.Replace(strings.ToUpper(s), " ", "T", 1)
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
