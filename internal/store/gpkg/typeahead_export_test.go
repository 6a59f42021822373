package gpkg

// TypeAhead reports whether the type-ahead table of a collection was requested, and whether it is built.
func (s *Store) TypeAhead(collection string) (begun, ready bool) {
	r := s.current.Load()
	r.typeAhead.mu.Lock()
	defer r.typeAhead.mu.Unlock()
	_, ready = s.tables.Get(tableKey{r.rev, collection})
	return r.typeAhead.begun[collection], ready
}

// Making returns the number of tables that were requested and are not built.
func (s *Store) Making() (n int) {
	r := s.current.Load()
	r.typeAhead.mu.Lock()
	defer r.typeAhead.mu.Unlock()
	for name := range r.typeAhead.begun {
		_, ready := s.tables.Get(tableKey{r.rev, name})
		n += boolInt(!ready)
	}
	return n
}

// Tables returns how many tables there are.
func (s *Store) Tables() int64 { return s.tables.Stats().Entries }
