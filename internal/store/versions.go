package store

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/cql2"
)

// Versions describes a collection whose rows are versions of features. Rows with the same value of ID are one feature,
// and each row has its own interval of validity. Clients see Feature.Of as id; Row.ID only identifies a row between
// Page and Fetch. Internally the interval is half-open, [Start, End). A null End is open; a row without a Start has no
// time.
type Versions struct {
	ID    string // property with the feature id: text or integer
	Start string // property with the first day or moment of validity; no two versions of a feature have the same
	End   string // property with the end of validity, of the same type as Start
	// Inclusive means that End is the last day or moment of validity, not the first after it.
	Inclusive bool
	// Overlap means that versions of a feature may overlap. At any time the one with the latest Start is valid.
	Overlap bool
}

// TransactionTime reports whether the interval records when a version was registered, not when it was true. INSPIRE
// calls these properties beginLifespanVersion and endLifespanVersion.
func (v *Versions) TransactionTime() bool { return strings.EqualFold(v.Start, "beginLifespanVersion") }

// usualValidity are pairs of column names (start, end), in lower case, that make rows with repeated ids versions
// without configuration.
var usualValidity = [...][2]string{{"gyldigfra", "gyldigtil"}, {"validfrom", "validto"}, {"valid_from", "valid_to"}}

// ValidityOf returns the configured columns of validity, else columns with usual names; "" if there are none. column
// returns the source's spelling of a name.
func (s *Settings) ValidityOf(column func(lower string) (string, bool)) (start, end string, configured bool) {
	if s.ValidFrom != "" {
		return s.ValidFrom, s.ValidTo, true
	}
	if s.Instant != "" || s.IntervalStart != "" || s.IntervalEnd != "" {
		return "", "", false // the configuration gives features a time, so they have no versions
	}
	for _, pair := range usualValidity {
		a, okA := column(pair[0])
		b, okB := column(pair[1])
		if okA && okB {
			return a, b, false
		}
	}
	return "", "", false
}

// IsUsualStart reports whether a name in lower case is a usual name for the start of validity.
func IsUsualStart(lower string) bool {
	return slices.ContainsFunc(usualValidity[:], func(pair [2]string) bool { return pair[0] == lower })
}

// versionMoment and versionDay are the layouts of the start time in the id of a version: a moment in UTC or a day, in
// the basic format of ISO 8601.
const (
	versionDay    = "20060102"
	versionMoment = "20060102T150405.999999999Z"
)

// VersionID returns the id of a version, which is unique in its collection: the feature id, a full stop, and the start
// of the version (profile versions-as-features-unique-ids). start is the served value, RFC 3339.
func VersionID(id, start string) string {
	if t, err := time.Parse(time.DateOnly, start); err == nil {
		return id + "." + t.Format(versionDay)
	}
	t, err := time.Parse(time.RFC3339Nano, start)
	if err != nil {
		return id
	}
	return id + "." + t.UTC().Format(versionMoment)
}

var versionID = regexp.MustCompile(`^(.+?)\.(\d{8}(?:T\d{6}(?:\.\d{1,9})?Z)?)$`)

// ParseVersionID splits the id of a version into the feature id and the start of the version. If the start is a day,
// day is true and start is midnight UTC. ok is false if s is not the id of a version.
func ParseVersionID(s string) (id string, start time.Time, day, ok bool) {
	m := versionID.FindStringSubmatch(s)
	if m == nil {
		return "", time.Time{}, false, false
	}
	layout := versionMoment
	if day = len(m[2]) == len(versionDay); day {
		layout = versionDay
	}
	start, err := time.Parse(layout, m[2])
	return m[1], start, day, err == nil
}

// FeatureID returns a value of the property Versions.ID as a feature id; "" for other types and null.
func FeatureID(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// IsFeature returns a filter that selects all versions of a feature; ok is false if no feature can have the id.
func (c *Collection) IsFeature(id string) (cql2.Expr, bool) {
	p, _ := c.Find(c.Versions.ID)
	prop := cql2.Prop{Name: p.Name}
	if p.Type != cql2.TypeInteger {
		return cql2.Compare{Op: cql2.Eq, L: prop, R: cql2.Text(id)}, id != ""
	}
	n, err := strconv.ParseInt(id, 10, 64)
	return cql2.Compare{Op: cql2.Eq, L: prop, R: cql2.Int(n)}, err == nil && strconv.FormatInt(n, 10) == id
}

// RowsOf returns rows for Fetch that select features by id; for features with versions, the version valid at a moment.
// In a collection with versions it skips unknown ids.
func (c *Collection) RowsOf(ctx context.Context, from interface {
	Page(context.Context, Query) (*Page, error)
}, ids []string, at time.Time) ([]Row, error) {
	if c.Versions == nil {
		return Current(ids...), nil
	}
	var list cql2.Or
	for _, id := range ids {
		if e, ok := c.IsFeature(id); ok {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	p, err := from.Page(ctx, Query{Collection: c.ID, Filter: list, Limit: len(list), Count: CountNone, AsOf: at})
	if err != nil {
		return nil, err
	}
	return p.Rows, nil
}

// LifeQuery selects the versions of one feature, and the features before and after it.
type LifeQuery struct {
	Collection, ID string    // ID is that of the feature
	At             time.Time // moment at which the features before and after must be valid
	Limit          int       // largest number of versions
}

// Life holds the versions of a feature, the earliest first; empty if there is no such feature.
type Life struct {
	Versions []FeatureVersion
	// ids of the features before and after this one, in the order by id, among those valid at the moment; "" if none
	Prev, Next string
}

// FeatureVersion is one version of a feature.
type FeatureVersion struct {
	Row        Row
	Start, End string // as served in properties; "" if null
}

// SetVersions makes the rows of a collection versions; id, start and end are names of columns. It returns why that is
// impossible, or "".
func (c *Collection) SetVersions(id, start, end string, inclusive bool) (fault string) {
	var v Versions
	for _, x := range [...]struct {
		to     *string
		column string
		what   string
		ok     func(cql2.Type) bool
	}{
		{&v.ID, id, "text or whole numbers", func(t cql2.Type) bool {
			return t == cql2.TypeText || t == cql2.TypeInteger
		}},
		{&v.Start, start, "days or moments", isTime}, {&v.End, end, "days or moments", isTime},
	} {
		for i := range c.Properties {
			if p := &c.Properties[i]; strings.EqualFold(p.Column, x.column) && !p.Hidden && x.ok(p.Type) {
				*x.to = p.Name
			}
		}
		if *x.to == "" {
			return fmt.Sprintf("there is no column %q that holds %s throughout and is served", x.column, x.what)
		}
	}
	v.Inclusive = inclusive
	a, _ := c.Find(v.Start)
	b, _ := c.Find(v.End)
	if a.Type != b.Type {
		return fmt.Sprintf("columns %q and %q are not both days or both moments", start, end)
	}
	c.Versions, c.Key.Property = &v, v.ID
	c.Instant, c.IntervalStart, c.IntervalEnd, c.Times = "", v.Start, v.End, nil
	return ""
}

// Moment normalises a moment for Query.AsOf. For versions in days that is midnight UTC of the day, so that all moments
// of a day give the same query. It returns the zero time if the collection has no versions.
func (c *Collection) Moment(t time.Time) time.Time {
	if c.Versions == nil || t.IsZero() {
		return time.Time{}
	}
	if p, ok := c.Find(c.Versions.Start); ok && p.Type == cql2.TypeDate {
		return Asked(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC))
	}
	return t
}

// Asked adjusts a moment for Query.AsOf, whose zero value selects all versions: it moves the zero time by a nanosecond.
func Asked(t time.Time) time.Time {
	if t.IsZero() {
		return t.Add(time.Nanosecond)
	}
	return t
}

func isTime(t cql2.Type) bool { return t == cql2.TypeDate || t == cql2.TypeTimestamp }
