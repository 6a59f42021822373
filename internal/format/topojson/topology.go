package topojson

import (
	"encoding/binary"
	"grense/internal/format/output"
	"slices"
	"strconv"
)

// cell is a position on a grid.
type cell [2]int32

// topology finds the arcs that runs of positions share: the pieces between the positions where borders meet,
// part or end. It moves nothing: a piece that does not match in every digit is an arc of its own.
type topology struct {
	at    []cell  // positions of the runs, one after the other
	ends  []int32 // end of each run in at
	rings []bool  // by run: it is closed

	arcs   int     // arcs that were written
	id     []int32 // by position: its first index in at
	beside [][2]int32
	begin  []int32 // start of each arc in way, and the end of the last one
	way    []int32 // the ids of arcs
	table  []int32 // hash table with open addressing, of a power of two: positions and then arcs, as number plus 1
}

// Values of beside that are not neighbours.
const (
	unseen   = -1
	junction = -2
)

// settle writes the references of each run, preceded by their number, and the new arcs as JSON, separated by commas.
// Then it forgets the runs.
func (t *topology) settle(refs, arcs *output.Scratch) error {
	t.number()
	t.meet()
	t.begin, t.way = append(t.begin[:0], 0), t.way[:0]
	clear(t.table) // there are no more arcs than positions
	var line, list []int32
	var b []byte
	start := int32(0)
	for i, end := range t.ends {
		line = append(line[:0], t.id[start:end]...)
		start = end
		if t.rings[i] {
			t.turnToJunction(line)
		}
		list = list[:0]
		from := 0
		for k := 1; k < len(line); k++ {
			if k == len(line)-1 || t.isJunction(line[k]) {
				list = append(list, t.arc(line[from:k+1]))
				from = k
			}
		}
		b = binary.AppendUvarint(b[:0], uint64(len(list)))
		for _, r := range list {
			b = binary.AppendVarint(b, int64(r))
		}
		if _, err := refs.Write(b); err != nil {
			return err
		}
	}
	err := t.write(arcs)
	t.arcs += len(t.begin) - 1
	t.at, t.ends, t.rings = t.at[:0], t.ends[:0], t.rings[:0]
	return err
}

// number sets id.
func (t *topology) number() {
	size := 16
	for size < 2*len(t.at) {
		size *= 2
	}
	if size > len(t.table) {
		t.table = make([]int32, size)
	}
	table, size := t.table, len(t.table)
	clear(table)
	t.id = slices.Grow(t.id[:0], len(t.at))[:len(t.at)]
	for i, p := range t.at {
		h := (uint64(uint32(p[0]))<<32 | uint64(uint32(p[1]))) * 0x9e3779b97f4a7c15
		at := int(h>>32) & (size - 1)
		for table[at] != 0 && t.at[table[at]-1] != p {
			at = (at + 1) & (size - 1)
		}
		if table[at] == 0 {
			table[at] = int32(i) + 1
		}
		t.id[i] = table[at] - 1
	}
}

// meet finds the junctions: ends of lines, and positions where runs have different neighbours.
func (t *topology) meet() {
	t.beside = slices.Grow(t.beside[:0], len(t.at))[:len(t.at)]
	for i := range t.beside {
		t.beside[i] = [2]int32{unseen, unseen}
	}
	start := int32(0)
	for i, end := range t.ends {
		run := t.id[start:end]
		start = end
		n := len(run)
		if t.rings[i] && run[0] == run[n-1] {
			n--
			for k := range n {
				t.pass(run[k], run[(k+n-1)%n], run[(k+1)%n])
			}
			continue
		}
		t.beside[run[0]], t.beside[run[n-1]] = [2]int32{junction, junction}, [2]int32{junction, junction}
		for k := 1; k < n-1; k++ {
			t.pass(run[k], run[k-1], run[k+1])
		}
	}
}

func (t *topology) pass(v, a, b int32) {
	if a > b {
		a, b = b, a
	}
	switch t.beside[v] {
	case [2]int32{unseen, unseen}:
		t.beside[v] = [2]int32{a, b}
	case [2]int32{a, b}:
	default:
		t.beside[v] = [2]int32{junction, junction}
	}
}

func (t *topology) isJunction(v int32) bool { return t.beside[v][0] == junction }

// turnToJunction rotates a ring to begin at its first junction. A ring without one begins at the position that came
// first in the file, so that a hole and its filling begin alike.
func (t *topology) turnToJunction(ring []int32) {
	n := len(ring) - 1
	if n < 1 || ring[0] != ring[n] {
		return
	}
	at := slices.IndexFunc(ring[:n], t.isJunction)
	if at < 0 {
		at = slices.Index(ring, slices.Min(ring))
	}
	slices.Reverse(ring[:at])
	slices.Reverse(ring[at:n])
	slices.Reverse(ring[:n])
	ring[n] = ring[0]
}

// arc returns the reference of an arc: its number, or the complement if it is written in reverse.
func (t *topology) arc(line []int32) int32 {
	last := len(line) - 1
	back := line[0] > line[last] || line[0] == line[last] && line[1] > line[last-1]
	if back {
		slices.Reverse(line)
		defer slices.Reverse(line)
	}
	sum := uint64(len(line))
	for _, v := range line {
		sum = (sum ^ uint64(v)) * 0x9e3779b97f4a7c15
		sum ^= sum >> 29
	}
	at := int(sum>>32) & (len(t.table) - 1)
	for t.table[at] != 0 && !slices.Equal(t.way[t.begin[t.table[at]-1]:t.begin[t.table[at]]], line) {
		at = (at + 1) & (len(t.table) - 1)
	}
	if t.table[at] == 0 {
		t.table[at] = int32(len(t.begin))
		t.way = append(t.way, line...)
		t.begin = append(t.begin, int32(len(t.way)))
	}
	found := t.table[at] - 1
	if found += int32(t.arcs); back {
		return ^found
	}
	return found
}

// write writes the new arcs: the first position, then differences (TopoJSON 1.0, 2.1.4).
func (t *topology) write(out *output.Scratch) error {
	var b []byte
	for i := 1; i < len(t.begin); i++ {
		b = b[:0]
		if t.arcs > 0 || i > 1 {
			b = append(b, ',')
		}
		b = append(b, '\n')
		sep := byte('[')
		var last [2]int64
		for _, v := range t.way[t.begin[i-1]:t.begin[i]] {
			p := [2]int64{int64(t.at[v][0]), int64(t.at[v][1])}
			b = strconv.AppendInt(append(b, sep, '['), p[0]-last[0], 10)
			b = append(strconv.AppendInt(append(b, ','), p[1]-last[1], 10), ']')
			sep, last = ',', p
		}
		if _, err := out.Write(append(b, ']')); err != nil {
			return err
		}
	}
	return nil
}
