package gpkg

// TypeAhead reports whether the table of type-ahead of a collection was asked for, and whether it is there.
func (s *Store) TypeAhead(collection string) (begun, ready bool) {
	r := s.current.Load()
	r.typeAhead.mu.Lock()
	defer r.typeAhead.mu.Unlock()
	_, ready = s.tables.Get(tableKey{r.rev, collection})
	return r.typeAhead.begun[collection], ready
}

// Making returns how many tables are asked for and not there.
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
