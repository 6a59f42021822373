package sqlq

import (
	"time"

	"grense/internal/cql2"
)

// bounding is a comparison of a property with an operand.
type bounding struct {
	op  string
	e   cql2.Expr
	arg value
}

// within adds to an exact condition on a property a second one that an index on its column serves, if the exact one
// hides the column. The result may be false where the exact one is null. So nothing is added where the two must differ.
func (c *compiler) within(exact Fragment, property cql2.Expr, bounds ...bounding) Fragment {
	p, isProp := property.(cql2.Prop)
	if !isProp || c.neg || c.three || c.src.Fields[p.Name] == nil || !c.src.Fields[p.Name].IsColumn() {
		return exact
	}
	f := c.src.Fields[p.Name]
	var fs []Fragment
	for _, b := range bounds {
		if !isLiteral(b.e) || len(b.arg.args) != 1 {
			return exact
		}
		x, ok := c.d.Range(c.quoted(f.Column), f, b.op, b.arg.args[0])
		if !ok {
			return exact
		}
		fs = append(fs, x)
	}
	return Join(" AND ", append(fs, paren(exact))...)
}

// during compiles an interval of one property as ranges of its column; ok is false if the normal form of the column
// hides no index, or if there are more properties.
func (c *compiler) during(e cql2.Interval) (Fragment, bool) {
	if e.Start != e.End || len(e.Also) > 0 {
		return Fragment{}, false
	}
	f := c.src.Fields[e.Start]
	absent, ok := c.d.Absent(c.quoted(f.Column), f)
	if !ok {
		return Fragment{}, false
	}
	var fs []Fragment
	for _, x := range []struct {
		op string
		t  *time.Time
	}{{">=", e.From}, {"<=", e.To}} {
		if x.t == nil {
			continue
		}
		v, ok := c.moment(f, *x.t)
		if !ok {
			return Fragment{}, false
		}
		r, ok := c.d.Range(c.quoted(f.Column), f, x.op, v[1].args[0])
		if !ok {
			return Fragment{}, false
		}
		fs = append(fs, r)
	}
	return Join(" OR ", paren(c.join(fs, true)), paren(absent)), true
}
