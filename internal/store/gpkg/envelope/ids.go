package envelope

import (
	"slices"
	"strconv"

	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
)

// IDs are the ids of all rows of a layer, ascending. The index of an id is called its place. It is immutable.
type IDs struct {
	first   int64 // first of consecutive ids
	run     int   // number of consecutive ids, instead of numbers
	numbers []int64
	texts   []string // if ids are texts
}

// Len returns the number of ids.
func (x *IDs) Len() int { return x.run + len(x.numbers) + len(x.texts) }

// number returns the id at a place, if ids are numbers.
func (x *IDs) number(place int64) int64 {
	if x.run > 0 {
		return x.first + place
	}
	return x.numbers[place]
}

// Size returns the memory of the ids in bytes.
func (x *IDs) Size() int {
	n := 8*cap(x.numbers) + 16*cap(x.texts)
	for _, s := range x.texts {
		n += len(s)
	}
	return n
}

// Text returns the id at a place as text.
func (x *IDs) Text(place uint32) string {
	if x.texts != nil {
		return x.texts[place]
	}
	return strconv.FormatInt(x.number(int64(place)), 10)
}

// Place returns the place of an id, or where it would be inserted.
func (x *IDs) Place(id any) (int, bool) {
	if s, ok := id.(string); ok {
		return slices.BinarySearch(x.texts, s)
	}
	n, _ := id.(int64)
	switch {
	case x.run == 0:
		return slices.BinarySearch(x.numbers, n)
	case n < x.first:
		return 0, false
	case n > x.first+int64(x.run-1):
		return x.run, false
	}
	return int(n - x.first), true
}

// ReadIDs reads the ids of a layer in order. It fails if they are not ascending texts or integers.
func ReadIDs(c *sqlite.Conn, l *layer.Layer) (*IDs, error) {
	ids := &IDs{}
	table, id := l.SQL.Table, l.IDExpr(layer.Alias)
	err := c.Query("SELECT "+id+" FROM "+table+" AS "+layer.Alias+" ORDER BY "+id, nil, func(row sqlite.Row) error {
		return ids.add(row, l.TextID)
	})
	return ids, err
}

// add appends the id of the next row. It fails if the ids are not ascending texts or integers.
func (x *IDs) add(r sqlite.Row, text bool) error {
	if r.Null(0) {
		return errNoRoom
	}
	if !text {
		id := r.Int(0)
		n := x.Len()
		switch {
		case n == 0:
			x.first = id
		case x.number(int64(n-1)) >= id:
			return errNoRoom
		case x.run > 0 && x.first+int64(n) != id:
			for i := range n {
				x.numbers = append(x.numbers, x.first+int64(i))
			}
			x.run = 0
		}
		if x.numbers == nil {
			x.run++
		} else {
			x.numbers = append(x.numbers, id)
		}
		return nil
	}
	id := r.Text(0)
	if n := len(x.texts); n > 0 && x.texts[n-1] >= id {
		return errNoRoom
	}
	x.texts = append(x.texts, id)
	return nil
}
