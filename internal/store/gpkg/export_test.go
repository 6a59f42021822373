package gpkg

import (
	"context"
	"math"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/sqlite"
)

// SettleAfter sets how long a file must have been left alone before its stamp is trusted.
func (s *Store) SettleAfter(d time.Duration) { s.settled = d }

// Stamped reports whether the stamp of the file shows its version.
func (s *Store) Stamped() bool {
	_, ok := s.current.Load().stamped()
	return ok
}

// HasStamp reports whether the file system keeps times that only the kernel sets.
func (s *Store) HasStamp() bool {
	_, ok := file.StampOf(s.path)
	return ok
}

// Unchanged returns for how long the file at the path of the store has not been changed.
func (s *Store) Unchanged() time.Duration {
	stamp, ok := file.StampOf(s.path)
	if !ok {
		return math.MaxInt64
	}
	return time.Since(time.Unix(0, stamp.Changed))
}

// BrokenPromise looks at a file that nobody should write into.
func (s *Store) BrokenPromise() bool { return s.current.Load().promise.broken() }

// Plan returns what SQLite says of the statements for a question: of the page, then of the count.
func (s *Store) Plan(q store.Query) (page, count []string, err error) {
	r, err := s.acquire()
	if err != nil {
		return nil, nil, err
	}
	defer r.release()
	qu, err := newQuery(r, q)
	if err != nil {
		return nil, nil, err
	}
	qu.compile()
	l := qu.l
	err = r.use(context.Background(), func(c *sqlite.Conn) error {
		qu.table = l.SQL.Table
		explain := func(sql string, args []any) (plan []string, err error) {
			err = c.Query("EXPLAIN QUERY PLAN "+sql, args, func(r sqlite.Row) error {
				plan = append(plan, r.Text(3))
				return nil
			})
			return plan, err
		}
		sql, args := qu.statement(false, q.Limit+1, 0)
		if page, err = explain(sql, args); err != nil {
			return err
		}
		sql, args = qu.countStatement()
		count, err = explain(sql, args)
		return err
	})
	return page, count, err
}

// Ways returns the names of the strategies, in order.
func Ways() (names []string) {
	for _, w := range strategies {
		names = append(names, w.name)
	}
	return names
}

// ColumnsAtOnce lets a question wait until the values of columns that it asks for are in memory, however few there are.
// With few, more than a handful of rows are left to SQLite.
func (s *Store) ColumnsAtOnce(few bool) {
	s.limits.from, s.limits.records, s.limits.wait = 1, 1, true
	if few {
		s.limits.wide = 9
	}
	s.current.Load().memory.limits = s.limits
}

// Indexed returns how many tables the index file has.
func (s *Store) Indexed() (n int) {
	s.current.Load().use(context.Background(), func(c *sqlite.Conn) error {
		if sessionOf(c).index == nil {
			return nil
		}
		all, err := c.One("SELECT count(*) FROM idx.tables")
		n = int(all)
		return err
	})
	return n
}

// Columns returns how many columns have their values in memory.
func (s *Store) Columns() int {
	return int(s.columns.Stats().Entries)
}

// Shapes is how many geometries are kept.
func (s *Store) Shapes() int64 { return s.shapes.Stats().Entries }

// Numbers gives the first column of each row of a statement, while the file is being read.
func (s *Store) Numbers(ctx context.Context, sql string, fn func(int64) error) error {
	r, err := s.acquire()
	if err != nil {
		return err
	}
	defer r.release()
	return r.use(ctx, func(c *sqlite.Conn) error {
		return c.Query(sql, nil, func(row sqlite.Row) error { return fn(row.Int(0)) })
	})
}

// Packed reports whether the properties of a collection are in a file of records.
func (s *Store) Packed(collection string) bool {
	r, err := s.acquire()
	if err != nil {
		return false
	}
	defer r.release()
	l, err := r.layer(collection)
	if err != nil {
		return false
	}
	_, ok := r.memory.columns.Get(tableKey{r.rev, recordsName(l)})
	return ok
}

// Beside is Neighbours from memory alone; false where the ids are not there.
func (s *Store) Beside(collection, id string) (at store.Row, prev, next string, ok bool) {
	r, err := s.acquire()
	if err != nil {
		return at, "", "", false
	}
	defer r.release()
	l, err := r.layer(collection)
	if err != nil {
		return at, "", "", false
	}
	return r.neighboursInMemory(l, id)
}

// Large has all layers taken for large ones, until the next reload.
func (s *Store) Large() {
	for _, l := range s.current.Load().layers {
		l.Large = true
	}
}
