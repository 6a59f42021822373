package official

import (
	"bufio"
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Limits of an externalSort: bytes in memory, and number of files merged at the same time.
const (
	sortMemory = 48 << 20
	mergedRuns = 64
)

// externalSort sorts any number of records by key in bounded memory. Records that do not fit are sorted in parts, which
// are written to files in dir and merged. The order of records with equal keys is undefined. It is not safe for
// concurrent use.
type externalSort struct {
	dir    string
	memory int // in bytes; 0 means sortMemory
	data   []byte
	items  []sortRecord
	runs   []*os.File
}

// sortRecord is the position of a record in data.
type sortRecord struct{ from, key, to int }

// add adds a copy of a record.
func (s *externalSort) add(key, value []byte) error {
	limit := s.memory
	if limit == 0 {
		limit = sortMemory
	}
	if len(s.items) > 0 && len(s.data)+len(key)+len(value)+24*len(s.items) > limit {
		if err := s.spill(); err != nil {
			return err
		}
	}
	from := len(s.data)
	s.data = append(append(s.data, key...), value...)
	s.items = append(s.items, sortRecord{from, from + len(key), len(s.data)})
	return nil
}

func (s *externalSort) sort() {
	slices.SortFunc(s.items,
		func(a, b sortRecord) int { return bytes.Compare(s.data[a.from:a.key], s.data[b.from:b.key]) })
}

// spill writes the records in memory to a file.
func (s *externalSort) spill() error {
	s.sort()
	err := s.run(func(put func(key, value []byte) error) error {
		for _, i := range s.items {
			if err := put(s.data[i.from:i.key], s.data[i.key:i.to]); err != nil {
				return err
			}
		}
		return nil
	})
	s.data, s.items = s.data[:0], s.items[:0]
	if err == nil && len(s.runs) > mergedRuns {
		runs := s.runs
		s.runs = nil
		err = s.run(func(put func(key, value []byte) error) error { return merge(context.Background(), runs, put) })
		err = errors.Join(err, remove(runs))
	}
	return err
}

// run writes a file. fill calls put with its records in order.
func (s *externalSort) run(fill func(put func(key, value []byte) error) error) error {
	f, err := os.CreateTemp(s.dir, "run-*")
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	s.runs = append(s.runs, f)
	w := bufio.NewWriterSize(f, 256<<10)
	var head []byte
	err = fill(func(key, value []byte) error {
		head = binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(len(key))), uint64(len(value)))
		w.Write(head)
		w.Write(key)
		_, err := w.Write(value) // a bufio.Writer returns the first error again
		return err
	})
	if err := errors.Join(err, w.Flush()); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	return nil
}

// each calls fn with the records in order and removes them. key and value are valid until fn returns.
func (s *externalSort) each(ctx context.Context, fn func(key, value []byte) error) error {
	if len(s.runs) == 0 {
		s.sort()
		for n, i := range s.items {
			if n&1023 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if err := fn(s.data[i.from:i.key], s.data[i.key:i.to]); err != nil {
				return err
			}
		}
		s.data, s.items = nil, nil
		return nil
	}
	err := s.spill()
	s.data, s.items = nil, nil
	if err != nil {
		return err
	}
	return merge(ctx, s.runs, fn)
}

// close removes the files.
func (s *externalSort) close() error {
	runs := s.runs
	s.data, s.items, s.runs = nil, nil, nil
	return remove(runs)
}

func remove(files []*os.File) (err error) {
	for _, f := range files {
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return err
}

// sortedRun is a sorted file that is being read.
type sortedRun struct {
	r          *bufio.Reader
	record     []byte
	key, value []byte
}

// next reads the next record; io.EOF after the last.
func (r *sortedRun) next() error {
	k, err := binary.ReadUvarint(r.r)
	if err != nil {
		return err
	}
	v, err := binary.ReadUvarint(r.r)
	if err != nil {
		return err
	}
	r.record = slices.Grow(r.record[:0], int(k+v))[:k+v]
	if _, err := io.ReadFull(r.r, r.record); err != nil {
		return err
	}
	r.key, r.value = r.record[:k], r.record[k:]
	return nil
}

// runHeap is a heap with the run with the lowest key first.
type runHeap []*sortedRun

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return bytes.Compare(h[i].key, h[j].key) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*sortedRun)) }
func (h *runHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// merge calls fn with the records of sorted files in the order of their keys.
func merge(ctx context.Context, files []*os.File, fn func(key, value []byte) error) error {
	var h runHeap
	for _, f := range files {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("register: %w", err)
		}
		r := &sortedRun{r: bufio.NewReaderSize(f, 128<<10)}
		switch err := r.next(); {
		case errors.Is(err, io.EOF):
		case err != nil:
			return fmt.Errorf("register: %w", err)
		default:
			h = append(h, r)
		}
	}
	heap.Init(&h)
	for n := 0; len(h) > 0; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fn(h[0].key, h[0].value); err != nil {
			return err
		}
		switch err := h[0].next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&h)
		case err != nil:
			return fmt.Errorf("register: %w", err)
		default:
			heap.Fix(&h, 0)
		}
	}
	return nil
}
