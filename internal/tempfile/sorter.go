package tempfile

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unsafe"
)

// A Sorter sorts any number of values in bounded memory: sorted runs of them go to a temporary file. T must hold no
// pointers. A Sorter is not safe for concurrent use; call Close.
type Sorter[T any] struct {
	dir     string
	most    int
	compare func(a, b T) int
	held    []T
	n       int
	file    *os.File
	ends    []int64 // of the runs in the file, in bytes
	err     error   // of writing; Sorted returns it
}

// NewSorter returns a Sorter that holds at most so many values in memory, and writes into a folder; "" is that of the
// system.
func NewSorter[T any](dir string, most int, compare func(a, b T) int) *Sorter[T] {
	return &Sorter[T]{dir: dir, most: most, compare: compare}
}

// Len returns how many values were added.
func (s *Sorter[T]) Len() int { return s.n }

// Add adds a value. Sorted returns what went wrong.
func (s *Sorter[T]) Add(v T) {
	if len(s.held) == s.most && s.err == nil {
		s.err = s.spill()
	}
	if s.err == nil {
		s.held, s.n = append(s.held, v), s.n+1
	}
}

func bytesOf[T any](list []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(*new(T))))
}

// spill writes a run.
func (s *Sorter[T]) spill() (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp(s.dir, "grense-sort-*"+end); err != nil {
			return fmt.Errorf("no room to sort in: %w; set TMPDIR to a folder that can be written", err)
		}
		os.Remove(s.file.Name()) // where an open file cannot be removed, Close does it
	}
	slices.SortFunc(s.held, s.compare)
	at := int64(0)
	if len(s.ends) > 0 {
		at = s.ends[len(s.ends)-1]
	}
	n, err := s.file.Write(bytesOf(s.held))
	s.ends, s.held = append(s.ends, at+int64(n)), s.held[:0]
	return err
}

// Sorted calls fn with all values in order. An error of fn ends it and comes back as it is. No value may be added
// afterwards.
func (s *Sorter[T]) Sorted(fn func(T) error) error {
	if s.err != nil {
		return s.err
	}
	slices.SortFunc(s.held, s.compare)
	if s.file == nil {
		for _, v := range s.held {
			if err := fn(v); err != nil {
				return err
			}
		}
		return nil
	}
	m := &merge[T]{compare: s.compare, runs: []*run[T]{{next: s.held}}}
	from := int64(0)
	for _, to := range s.ends {
		part := io.NewSectionReader(s.file, from, to-from)
		m.runs, from = append(m.runs, &run[T]{file: bufio.NewReaderSize(part, 64<<10)}), to
	}
	for _, r := range m.runs {
		if err := r.advance(); err != nil {
			return err
		}
	}
	m.runs = slices.DeleteFunc(m.runs, func(r *run[T]) bool { return r.done })
	heap.Init(m)
	for len(m.runs) > 0 {
		r := m.runs[0]
		if err := fn(r.first[0]); err != nil {
			return err
		}
		if err := r.advance(); err != nil {
			return err
		}
		if r.done {
			heap.Pop(m)
		} else {
			heap.Fix(m, 0)
		}
	}
	return nil
}

// Close removes the temporary file.
func (s *Sorter[T]) Close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
	s.file, s.held, s.err = nil, nil, os.ErrClosed
}

// run is one sorted list: in memory, or in the file.
type run[T any] struct {
	first [1]T
	done  bool
	next  []T
	file  *bufio.Reader
}

// advance takes the next value as the first.
func (r *run[T]) advance() error {
	if r.file == nil {
		if r.done = len(r.next) == 0; !r.done {
			r.first[0], r.next = r.next[0], r.next[1:]
		}
		return nil
	}
	_, err := io.ReadFull(r.file, bytesOf(r.first[:]))
	if r.done = errors.Is(err, io.EOF); r.done {
		return nil
	}
	return err
}

// merge is a heap of runs by their first values.
type merge[T any] struct {
	compare func(a, b T) int
	runs    []*run[T]
}

func (m *merge[T]) Len() int           { return len(m.runs) }
func (m *merge[T]) Less(i, j int) bool { return m.compare(m.runs[i].first[0], m.runs[j].first[0]) < 0 }
func (m *merge[T]) Swap(i, j int)      { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }
func (m *merge[T]) Push(x any)         { m.runs = append(m.runs, x.(*run[T])) }
func (m *merge[T]) Pop() any {
	last := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return last
}
