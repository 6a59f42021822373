package placename

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	api "grense/api/placename"
	"grense/internal/cql2"
)

// maxFaults bounds the faults of one refusal; a request may hold thousands of bad values.
const maxFaults = 20

// criteria collects what a request selects and what is wrong with it. A field that is bad gives a fault and no
// condition.
type criteria struct {
	s     *Service
	lists *codeLists
	path  string // of the search object, from the wrapper; the wrapper itself where there is none
	op    string
	where cql2.And
	exact cql2.Expr // holds for hits that come first; nil: none do
	// the part of where that holds on skrivemaate just as well; it bounds the look-up of similar names
	scope   cql2.And
	alike   int // similar names looked up so far
	later   []func(context.Context) (cql2.Expr, error)
	few     []api.Fault // patterns with few literals, which are refused where nothing narrows the search
	wide    int         // number of such patterns, those of one field counted each
	narrow  bool        // what is found later narrows it
	faults  []api.Fault
	unknown bool // a code is not in the lists, or the register has no lists
}

// conditions all hold; none when there are none.
type conditions = []cql2.Expr

// criteria starts the criteria of a request whose search object is the parameter object, "" for none.
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

// fault records what is wrong with a field of the search object.
func (c *criteria) fault(field, value string, reason api.Reason, n int64) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, api.Fault{Path: c.path + "/" + field, Value: value, Reason: reason, N: n})
	}
}

// add restricts the search.
func (c *criteria) add(lists ...conditions) {
	for _, l := range lists {
		c.where = append(c.where, l...)
	}
}

// some restricts to what has a row in the relation for which all conditions hold; nothing when there are none.
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

// number is equality with a number.
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

// The moments between which a store can compare; a time with a zone may lie outside by hours.
var (
	firstMoment = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	lastMoment  = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
)

// moments is a timestamp strictly between two moments.
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

// days is a day strictly between two days.
func days(property string, after, before *time.Time) (out conditions) {
	if after != nil {
		out = append(out, compare(cql2.Gt, property, cql2.Date{T: *after}))
	}
	if before != nil {
		out = append(out, compare(cql2.Lt, property, cql2.Date{T: *before}))
	}
	return out
}

// code is equality with a code of the list that is called like the property.
func (c *criteria) code(field, property string, v *string) conditions {
	if v == nil {
		return nil
	}
	return equal(property, cql2.Text(c.stored(field, property, *v)))
}

// codes is equality with one of several codes of the list that is called like the property.
func (c *criteria) codes(field, property string, codes []string) conditions {
	return c.codesOf(property, field, property, codes)
}

// codesOf is equality with one of several codes of a list.
func (c *criteria) codesOf(list, field, property string, codes []string) conditions {
	return c.oneOf(field, property, codes, func(code string) string { return c.stored(field, list, code) })
}

// oneOf is equality with one of several values, each passed through as.
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

// short checks the number of values in a list.
func (c *criteria) short(field string, n int) bool {
	if n <= c.s.options.MaxItems {
		return true
	}
	c.fault(field, "", api.LongList, int64(c.s.options.MaxItems))
	return false
}

// kommuner is a municipality in a list of numbers, with what else its rows repeat.
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

// typesIn is a type of named feature in a list, and a municipality in a list. Municipalities repeat the type of their
// places, so that one index serves both.
func (c *criteria) typesIn(types, kommuner []string) conditions {
	list := c.codes("navneobjekttyperIds", "navneobjekttype", types)
	if len(kommuner) > 0 {
		list = c.kommuner(kommuner, list)
	}
	c.scope = append(c.scope, list...)
	return list
}

// given reports whether there is a text that is not blank and fits. Blanks other than those of XML are a text, which
// is nothing when folded.
func (c *criteria) given(field string, v *string, most int) bool {
	return v != nil && strings.Trim(*v, " \t\r\n") != "" && c.fits(field, *v, most)
}

// fits checks the length of a text.
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
