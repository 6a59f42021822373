package sqlq

import (
	"time"

	"grense/internal/cql2"
)

// bounding is a comparison of a property with literals: several for IN.
type bounding struct {
	op   string
	es   []cql2.Expr
	args []value
}

func bound1(op string, e cql2.Expr, arg value) bounding {
	return bounding{op, []cql2.Expr{e}, []value{arg}}
}

// within adds to an exact condition one on the stored column, for an index, if the exact one hides the column. The
// result may be false where the exact one is null; if that matters, it returns the exact condition unchanged.
func (c *compiler) within(exact Fragment, property cql2.Expr, bounds ...bounding) Fragment {
	p, isProp := property.(cql2.Prop)
	if !isProp || c.neg || c.three || c.src.Fields[p.Name] == nil || !c.src.Fields[p.Name].IsColumn() {
		return exact
	}
	f := c.src.Fields[p.Name]
	var fs []Fragment
	enough := true
	for _, b := range bounds {
		args, ok := b.arguments()
		if !ok {
			return exact
		}
		x, same, ok := c.d.Range(c.quoted(f.Column), f, b.op, args...)
		if !ok {
			return exact
		}
		fs, enough = append(fs, x), enough && same
	}
	if enough {
		return Join(" AND ", fs...)
	}
	return Join(" AND ", append(fs, paren(exact))...)
}

// arguments returns the values of the literals; false if an operand is not a literal.
func (b bounding) arguments() (args []any, ok bool) {
	for i, e := range b.es {
		if !isLiteral(e) || len(b.args[i].args) != 1 {
			return nil, false
		}
		args = append(args, b.args[i].args[0])
	}
	return args, true
}

// during compiles an interval of one property as ranges of its column; false if the normal form does not hide the
// column, or if there are several properties.
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
		r, _, ok := c.d.Range(c.quoted(f.Column), f, x.op, v[1].args[0])
		if !ok {
			return Fragment{}, false
		}
		fs = append(fs, r)
	}
	return Join(" OR ", paren(c.join(fs, true)), paren(absent)), true
}
