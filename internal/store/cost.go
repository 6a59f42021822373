package store

// Cost is the class of a query by what its work grows with; more expensive classes have greater values. It is estimated
// before the query runs, so that long queries do not delay short ones.
type Cost uint8

const (
	// CostPage: work grows with the number of requested features: an id, or a page of all features in the order by id.
	CostPage Cost = iota
	// CostIndexed: work grows with the result of an index: a box, a code, the beginning of an indexed text, a word.
	CostIndexed
	// CostScan: work grows with the collection: rows are tested one by one, or sorted without an index.
	CostScan
	// CostGeometry: work grows with the vertices of geometries that are compared, with a shape in the query or with
	// another geometry of the row.
	CostGeometry
)

// Costs lists the classes, the cheapest first.
var Costs = [...]Cost{CostPage, CostIndexed, CostScan, CostGeometry}

// String returns the name of the class in metrics and in `grense check --explain`.
func (c Cost) String() string {
	switch c {
	case CostPage:
		return "page"
	case CostIndexed:
		return "indexed"
	case CostScan:
		return "scan"
	case CostGeometry:
		return "geometry"
	}
	return "unknown"
}
