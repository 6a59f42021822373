package demo

// Cell is the area of a municipality in integers: centimetres in EPSG:25833, x before y. It is nearly convex and covers
// more than a third of its bounds, so that random points in the bounds soon hit it. It is immutable.
type Cell struct {
	MinX, MinY, MaxX, MaxY int64 // bounds, centimetres

	ring []vertex // centimetres, counter-clockwise, open
}

// place is the position of a point relative to a ring.
type place uint8

const (
	outside place = iota
	border
	inside
)

// newCell returns a cell for a ring in metres.
func newCell(ring []vertex) Cell {
	c := Cell{MinX: 100 * ring[0].x, MinY: 100 * ring[0].y, MaxX: 100 * ring[0].x, MaxY: 100 * ring[0].y}
	for _, v := range ring {
		v = vertex{100 * v.x, 100 * v.y}
		c.ring = append(c.ring, v)
		c.MinX, c.MaxX = min(c.MinX, v.x), max(c.MaxX, v.x)
		c.MinY, c.MaxY = min(c.MinY, v.y), max(c.MaxY, v.y)
	}
	return c
}

// Contains reports whether the point x, y (centimetres) lies inside, not on the border. It is exact.
func (c Cell) Contains(x, y int64) bool { return c.place(vertex{x, y}) == inside }

func (c Cell) place(p vertex) place {
	if p.x < c.MinX || p.x > c.MaxX || p.y < c.MinY || p.y > c.MaxY {
		return outside
	}
	at := outside
	for k, a := range c.ring {
		b := c.ring[(k+1)%len(c.ring)]
		if a.y > b.y {
			a, b = b, a
		}
		side := orient(a, b, p)
		if side == 0 && a.y <= p.y && p.y <= b.y && min(a.x, b.x) <= p.x && p.x <= max(a.x, b.x) {
			return border
		}
		if a.y <= p.y && p.y < b.y && side > 0 { // a ray to the east crosses the edge
			at = inside - at
		}
	}
	return at
}
