package store

// Cost is the class of a question: what its work grows with. A greater Cost is more work.
// It is told before the question runs, so that long questions can be kept from delaying short ones.
type Cost uint8

const (
	// CostPage grows with the features asked for: an id, a page of all features in the order by id.
	CostPage Cost = iota
	// CostIndexed grows with what an index gives: a box, a code, the beginning of an indexed text, a word.
	CostIndexed
	// CostScan grows with the collection: rows are tested one by one, or sorted by what no index holds.
	CostScan
	// CostGeometry grows with the vertices of two geometries: a shape of the question, or another geometry of the row,
	// is compared with geometries.
	CostGeometry
)

// Costs holds every class, the cheapest first.
var Costs = [...]Cost{CostPage, CostIndexed, CostScan, CostGeometry}

// String returns the name of the class, as metrics and `grense check --explain` have it.
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
