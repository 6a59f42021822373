package tile

import (
	"slices"

	"grense/internal/geo/coverage"
)

// CountKey is the property of an area that stands for many features: about how many of them it has in the tile.
const CountKey = "count"

// Layers of more than manyAreas areas are shown as one area on levels where half of these are smaller than smallArea.
const (
	manyAreas = 5000
	smallArea = 1600 // in cells: 40 cells wide, or 5 pixels of a tile that is 512 pixels wide
)

// joined returns the area that the features of level z cover together if the level is to show that in their place; nil
// else, and if features overlap.
func (l *levels) joined(z int, level *coverage.Level) *coverage.Level {
	key := sectionKey{l.n, "joined " + secArea(z)}
	if v, ok := l.cache.Get(key); ok {
		union, _ := v.(*coverage.Level)
		return union
	}
	var union *coverage.Level
	if isDense(level) {
		if all, ok := level.Union(); ok {
			union = all
		}
	}
	size := int64(len(key.name))
	if union != nil {
		size += union.Bytes()
	}
	l.cache.Put(key, union, size)
	return union
}

// isDense reports whether a level has too many areas that are too small to be shown one by one.
func isDense(level *coverage.Level) bool {
	if level.Features() <= manyAreas {
		return false
	}
	var sizes []float64
	for f := range level.Features() {
		if a := level.Area(f); a > 0 {
			sizes = append(sizes, a)
		}
	}
	if sizes == nil {
		return false
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2] < smallArea
}

// mayJoin reports whether one area may stand for all: the request asks for no certain features or properties.
func (d *drawing) mayJoin() bool {
	return d.q.Properties == nil && d.chosen == nil && (d.shown == nil || d.shown.outlines == nil)
}

// join adds the area that all features of a level cover together. at is what is drawn of the level.
func (d *drawing) join(level, joined *coverage.Level, at frame) error {
	low, high := at.within(d.layer.margin << d.layer.shift).box()
	n := len(level.Search(nil, low, high))
	if n == 0 {
		return nil
	}
	var clip coverage.Clipper
	_, err := d.layer.Polygons(&clip, joined, 0, at.corner, anonymous, []Tag{{Key: CountKey, Value: int64(n)}})
	return err
}
