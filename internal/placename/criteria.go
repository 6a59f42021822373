package placename

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	api "grense/api/placename"
	"grense/internal/cql2"
)

// maxFaults is the largest number of faults in a refusal. A request may have thousands of invalid values.
const maxFaults = 20

// criteria collects the conditions of a request, and the faults in it. An invalid field adds a fault and no condition.
type criteria struct {
	s     *Service
	lists *codeLists
	path  string // of the search object, starting with the wrapper element; that element if there is none
	op    string
	where cql2.And
	exact cql2.Expr // selects the hits that come first; nil if none do
	// conditions of where that also hold for skrivemaate; they limit the look-up of similar names
	scope   cql2.And
	alike   int // number of similar names looked up so far
	later   []func(context.Context) (cql2.Expr, error)
	few     []api.Fault // patterns with too few literals, which are refused unless something narrows the search
	wide    int         // number of such patterns; patterns of one field are counted separately
	narrow  bool        // what later adds narrows the search
	faults  []api.Fault
	unknown bool // a code is missing from the lists, or the register has no lists
}

// conditions are joined by AND. An empty list restricts nothing.
type conditions = []cql2.Expr

// criteria starts the criteria of a request. object is the name of its search object; "" if it has none.
func (s *Service) criteria(l *codeLists, r api.Request, object string) *criteria {
	c := &criteria{s: s, lists: l, op: r.Operation(), path: r.Operation()}
	at, extract := r.Context().SnapshotVersion, s.store.Catalog().Modified
	if !at.IsZero() && at.Before(extract) {
		c.fault("stedsnavnContext/snapshotVersion", at.Format(time.RFC3339), api.OldSnapshot, 0)
	}
	if object != "" {
		c.path += "/" + object
	}
	return c
}

// fault records a fault in a field of the search object.
func (c *criteria) fault(field, value string, reason api.Reason, n int64) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, api.Fault{Path: c.path + "/" + field, Value: value, Reason: reason, N: n})
	}
}

// add adds conditions to the search.
func (c *criteria) add(lists ...conditions) {
	for _, l := range lists {
		c.where = append(c.where, l...)
	}
}

// some returns the condition that a single related row fulfils all conditions; none if there are no conditions.
func some(relation string, lists ...conditions) conditions {
	var all cql2.And
	for _, l := range lists {
		all = append(all, l...)
	}
	if len(all) == 0 {
		return nil
	}
	return conditions{related(relation, all...)}
}

func related(relation string, conds ...cql2.Expr) cql2.Expr {
	if len(conds) == 1 {
		return cql2.Related{Relation: relation, X: conds[0]}
	}
	return cql2.Related{Relation: relation, X: cql2.And(conds)}
}

func prop(name string) cql2.Expr { return cql2.Prop{Name: name} }

func compare(op cql2.CompareOp, property string, v cql2.Expr) cql2.Expr {
	return cql2.Compare{Op: op, L: prop(property), R: v}
}

func equal(property string, v cql2.Expr) conditions {
	return conditions{compare(cql2.Eq, property, v)}
}

// number returns the condition that a property equals *n; none if n is nil.
func number[N int32 | int64](property string, n *N) conditions {
	if n == nil {
		return nil
	}
	return equal(property, cql2.Int(*n))
}

func boolean(property string, b *bool) conditions {
	if b == nil {
		return nil
	}
	return equal(property, cql2.Bool(*b))
}

// Earliest and latest time that stores can compare. Converting a time to UTC may move it beyond them.
var (
	firstMoment = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	lastMoment  = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
)

// moments returns the conditions that a timestamp is later than after and earlier than before. Either may be nil.
func moments(property string, after, before *time.Time) (out conditions) {
	clamp := func(t time.Time) cql2.Expr {
		if t = t.UTC(); t.After(lastMoment) {
			t = lastMoment
		} else if t.Before(firstMoment) {
			t = firstMoment
		}
		return cql2.Timestamp{T: t}
	}
	if after != nil {
		out = append(out, compare(cql2.Gt, property, clamp(*after)))
	}
	if before != nil {
		out = append(out, compare(cql2.Lt, property, clamp(*before)))
	}
	return out
}

// days returns the conditions that a date is later than after and earlier than before. Either may be nil.
func days(property string, after, before *time.Time) (out conditions) {
	if after != nil {
		out = append(out, compare(cql2.Gt, property, cql2.Date{T: *after}))
	}
	if before != nil {
		out = append(out, compare(cql2.Lt, property, cql2.Date{T: *before}))
	}
	return out
}

// code returns the condition that a property equals a code of the list with the same name as the property.
func (c *criteria) code(field, property string, v *string) conditions {
	if v == nil {
		return nil
	}
	return equal(property, cql2.Text(c.stored(field, property, *v)))
}

// codes returns the condition that a property equals one of several codes of the list with the same name.
func (c *criteria) codes(field, property string, codes []string) conditions {
	return c.codesOf(property, field, property, codes)
}

// codesOf returns the condition that a property equals one of several codes of a list.
func (c *criteria) codesOf(list, field, property string, codes []string) conditions {
	return c.oneOf(field, property, codes, func(code string) string { return c.stored(field, list, code) })
}

// oneOf returns the condition that a property equals one of several values, each converted by as.
func (c *criteria) oneOf(field, property string, list []string, as func(string) string) conditions {
	if len(list) == 0 || !c.short(field, len(list)) {
		return nil
	}
	values := make([]cql2.Expr, len(list))
	for i, v := range list {
		values[i] = cql2.Text(as(v))
	}
	return conditions{cql2.In{X: prop(property), List: values}}
}

// short reports whether a list may have n values, and records a fault if not.
func (c *criteria) short(field string, n int) bool {
	if n <= c.s.options.MaxItems {
		return true
	}
	c.fault(field, "", api.LongList, int64(c.s.options.MaxItems))
	return false
}

// kommuner returns the condition that a related row of kommuner has one of the numbers in list and fulfils also.
func (c *criteria) kommuner(list []string, also conditions) conditions {
	const field = "kommunerIds"
	if len(list) > c.s.options.MaxItems {
		c.short(field, len(list))
		return nil
	}
	fine := true
	for _, v := range list {
		switch {
		case !isDigits(v):
			c.fault(field, v, api.NotNumber, 0)
		case len(v) != 4:
			c.fault(field, v, api.BadKommune, 0)
		default:
			continue
		}
		fine = false
	}
	if !fine {
		return nil
	}
	return some("kommuner", c.oneOf(field, "kommunenummer", list, func(number string) string { return number }), also)
}

// typesIn returns the conditions for the types of named features and the municipalities. The rows of kommuner repeat
// the type of their place, so that one index serves both.
func (c *criteria) typesIn(types, kommuner []string) conditions {
	list := c.codes("navneobjekttyperIds", "navneobjekttype", types)
	if len(kommuner) > 0 {
		list = c.kommuner(kommuner, list)
	}
	c.scope = append(c.scope, list...)
	return list
}

// given reports whether a text is present, is not XML whitespace only, and has at most most characters. Other
// whitespace counts as text, although folding removes it.
func (c *criteria) given(field string, v *string, most int) bool {
	return v != nil && strings.Trim(*v, " \t\r\n") != "" && c.fits(field, *v, most)
}

// fits reports whether a text has at most most characters, and records a fault if not.
func (c *criteria) fits(field, v string, most int) bool {
	if utf8.RuneCountInString(v) <= most {
		return true
	}
	c.fault(field, v, api.LongText, int64(most))
	return false
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
