package gpkg

// TypeAhead reports whether the type-ahead table of a collection was requested, and whether it is built.
func (s *Store) TypeAhead(collection string) (begun, ready bool) {
	r := s.current.Load()
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	_, ready = s.tables.Get(tableKey{r.rev, collection})
	return r.memory.asked[collection] > 0, ready
}

// Making returns the number of tables that were requested and are not built.
func (s *Store) Making() (n int) {
	r := s.current.Load()
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	for name := range r.memory.asked {
		_, ready := s.tables.Get(tableKey{r.rev, name})
		_, other := s.columns.Get(tableKey{r.rev, name})
		n += boolInt(!ready && !other)
	}
	return n
}

// Tables returns how many tables there are.
func (s *Store) Tables() int64 { return s.tables.Stats().Entries }
