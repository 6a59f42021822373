package history

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"grense/internal/problem"
)

// spill keeps values of a series in a file, so that as many are in memory as a day has. The file has no name while it
// is used, so that nothing is left behind by a process that is killed; where the system does not allow that, Close
// removes it.
type spill struct {
	file  *os.File
	end   int64
	parts map[Date][]piece
}

// piece is a piece of a file.
type piece struct{ at, length int64 }

func newSpill(dir string) (*spill, error) {
	f, err := os.CreateTemp(dir, "grense-series-")
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	_ = os.Remove(f.Name()) // Close does it elsewhere
	return &spill{file: f, parts: map[Date][]piece{}}, nil
}

func (s *spill) close() error {
	if s == nil {
		return nil
	}
	err := s.file.Close()
	if e := os.Remove(s.file.Name()); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}

// put writes the blocks of a day.
func (s *spill) put(d Date, blocks map[string]map[int32]decimal) error {
	w := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.end), 1<<16)
	n := int64(0)
	var room [binary.MaxVarintLen64]byte
	number := func(v uint64) {
		b := binary.AppendUvarint(room[:0], v)
		n += int64(len(b))
		w.Write(b) // its error is that of Flush
	}
	text := func(v string) {
		number(uint64(len(v)))
		n += int64(len(v))
		w.WriteString(v)
	}
	for by, block := range blocks {
		text(by)
		number(uint64(len(block)))
		for v, x := range block {
			number(uint64(v))
			text(x.String())
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	s.parts[d] = append(s.parts[d], piece{s.end, n})
	s.end += n
	return nil
}

// each calls fn with each value of a day.
func (s *spill) each(d Date, fn func(by string, v int32, x decimal) error) error {
	if s == nil {
		return nil
	}
	for _, p := range s.parts[d] {
		r := bufio.NewReaderSize(io.NewSectionReader(s.file, p.at, p.length), 1<<16)
		text := func() (string, error) {
			n, err := binary.ReadUvarint(r)
			if err != nil {
				return "", err
			}
			b := make([]byte, n)
			_, err = io.ReadFull(r, b)
			return string(b), err
		}
		for {
			by, err := text()
			if errors.Is(err, io.EOF) {
				break
			}
			n, err2 := binary.ReadUvarint(r)
			if err = errors.Join(err, err2); err != nil {
				return fmt.Errorf("history: %w", err)
			}
			for range n {
				v, err := binary.ReadUvarint(r)
				if err != nil {
					return fmt.Errorf("history: %w", err)
				}
				value, err := text()
				if err != nil {
					return fmt.Errorf("history: %w", err)
				}
				x, err := parseDecimal(value)
				if err == nil {
					err = fn(by, int32(v), x)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// flush writes the values in memory to the file.
func (x *Series) flush() error {
	if x.file == nil {
		f, err := newSpill(x.o.Spill)
		if err != nil {
			return err
		}
		x.file = f
	}
	for d, blocks := range x.blocks {
		if err := x.file.put(d, blocks); err != nil {
			return err
		}
		delete(x.blocks, d)
	}
	x.cells = 0
	return nil
}

// load returns the blocks of a day, by what else their values are of.
func (x *Series) load(d Date) (map[string]map[int32]decimal, error) {
	blocks := x.blocks[d]
	if x.file == nil || x.file.parts[d] == nil {
		return blocks, nil
	}
	all, cells := map[string]map[int32]decimal{}, 0
	add := func(by string, v int32, value decimal) error {
		if all[by] == nil {
			all[by] = map[int32]decimal{}
		}
		if _, twice := all[by][v]; twice {
			return problem.Sayf("%s on %s stands twice; name the columns that tell the rows apart", x.s.Versions[v].Code, d)
		}
		if cells++; cells > x.o.MaxCells {
			return fmt.Errorf("%w: %w", ErrTooMany, problem.Sayf("more than %d values on %s; harmonise it in parts", x.o.MaxCells, d))
		}
		all[by][v] = value
		return nil
	}
	err := x.file.each(d, add)
	for by, block := range blocks {
		for v, value := range block {
			if err == nil {
				err = add(by, v, value)
			}
		}
	}
	return all, err
}

// Close frees the file of values that did not fit into memory.
func (x *Series) Close() error {
	err := x.file.close()
	x.file = nil
	return err
}
