package store

// Cost is the class of a query: what its work grows with. A greater Cost is more work.
// It is estimated before the query runs, so that long queries can be kept from delaying short ones.
type Cost uint8

const (
	// CostPage grows with the requested features: an id, a page of all features in the order by id.
	CostPage Cost = iota
	// CostIndexed grows with the result of an index: a box, a code, the beginning of an indexed text, a word.
	CostIndexed
	// CostScan grows with the collection: rows are tested one by one, or sorted without an index.
	CostScan
	// CostGeometry grows with the vertices of two geometries: geometries are compared with a shape in the query,
	// or with another geometry of the row.
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
