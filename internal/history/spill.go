package history

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"grense/internal/problem"
)

// spill holds values of a series in a temporary file, so that only those of one day are in memory. The file is unlinked
// right after it is created, so that nothing remains if the process is killed. Where the operating system does not
// allow that, Close removes it.
type spill struct {
	file  *os.File
	end   int64
	parts map[Date][]piece
}

// piece is a byte range of the file.
type piece struct{ at, length int64 }

func newSpill(dir string) (*spill, error) {
	f, err := os.CreateTemp(dir, "grense-series-")
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	_ = os.Remove(f.Name()) // where this fails, Close removes the file
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

// put writes values of one day. places holds their keys in order.
func (s *spill) put(d Date, places []seriesKey, values map[seriesKey]decimal) error {
	w := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.end), 1<<16)
	n := int64(0)
	var room [binary.MaxVarintLen64]byte
	number := func(v uint64) {
		b := binary.AppendUvarint(room[:0], v)
		n += int64(len(b))
		w.Write(b) // Flush returns its error
	}
	for _, at := range places {
		number(uint64(at.block))
		number(uint64(at.version))
		v := values[at]
		text := v.String()
		number(uint64(len(text)))
		n += int64(len(text))
		w.WriteString(text)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	s.parts[d] = append(s.parts[d], piece{s.end, n})
	s.end += n
	return nil
}

// days calls fn with each day that has values, in ascending order.
func (s *spill) days(fn func(Date) error) error {
	if s == nil {
		return nil
	}
	for _, d := range slices.Sorted(maps.Keys(s.parts)) {
		if err := fn(d); err != nil {
			return err
		}
	}
	return nil
}

// each calls fn with each value of a day.
func (s *spill) each(d Date, fn func(at seriesKey, v decimal) error) error {
	for _, p := range s.parts[d] {
		r := bufio.NewReaderSize(io.NewSectionReader(s.file, p.at, p.length), 1<<16)
		for {
			block, err := binary.ReadUvarint(r)
			if errors.Is(err, io.EOF) {
				break
			}
			version, err2 := binary.ReadUvarint(r)
			length, err3 := binary.ReadUvarint(r)
			text := make([]byte, min(length, maxDigits+2))
			_, err4 := io.ReadFull(r, text)
			if err = errors.Join(err, err2, err3, err4); err != nil {
				return fmt.Errorf("history: %w", err)
			}
			v, err := parseDecimal(string(text))
			if err == nil {
				err = fn(seriesKey{int32(block), int32(version)}, v)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the values in memory to the file and removes them from memory.
func (x *Series) flush() error {
	if x.file == nil {
		f, err := newSpill(x.o.Spill)
		if err != nil {
			return err
		}
		x.file = f
	}
	for all := x.sorted(); len(all) > 0; {
		d := x.blocks[all[0].block].date
		n := 1
		for n < len(all) && x.blocks[all[n].block].date == d {
			n++
		}
		if err := x.file.put(d, all[:n], x.values); err != nil {
			return err
		}
		all = all[n:]
	}
	clear(x.values)
	return nil
}

// load returns the values of a day. If there is no file, the map holds the values of all days.
func (x *Series) load(d Date) (map[seriesKey]decimal, error) {
	if x.file == nil {
		return x.values, nil
	}
	all := map[seriesKey]decimal{}
	add := func(at seriesKey, v decimal) error {
		if _, twice := all[at]; twice {
			return problem.Sayf("%s on %s stands twice; name the columns that tell the rows apart",
				x.s.Versions[at.version].Code, d)
		}
		if len(all) == x.o.MaxCells {
			return fmt.Errorf("%w: %w", ErrTooMany,
				problem.Sayf("more than %d values on %s; harmonise it in parts", x.o.MaxCells, d))
		}
		all[at] = v
		return nil
	}
	return all, x.file.each(d, add)
}

// Close removes the temporary file.
func (x *Series) Close() error {
	err := x.file.close()
	x.file = nil
	return err
}
