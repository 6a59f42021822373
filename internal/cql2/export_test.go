package cql2

// Eval evaluates a checked predicate over a record. It is the reference that compilers are measured by.
// An error is one of the record's.
func Eval(e Expr, r Record) (Truth, error) { return NewMatcher(e).Eval(r) }

// Props lists the properties of the collection that e names, each once, in source order.
// Those within Related belong to the relation and are left out.
func Props(e Expr) []string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case Prop:
			add(x.Name)
		case BBox:
			add(x.Prop)
		case Interval:
			for _, name := range x.Props() {
				add(name)
			}
		case Search:
			for _, name := range x.Props {
				add(name)
			}
		case Related:
			return false
		}
		return true
	})
	return names
}
