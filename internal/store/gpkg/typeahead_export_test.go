package gpkg

// TypeAhead reports whether the table of type-ahead of a collection was asked for, and whether it is there.
func (s *Store) TypeAhead(collection string) (begun, ready bool) {
	r := s.current.Load()
	r.typeAhead.mu.Lock()
	defer r.typeAhead.mu.Unlock()
	t, begun := r.typeAhead.tables[collection]
	return begun, t != nil
}

// Folded reports whether the folded texts of a column are there.
func (s *Store) Folded(collection, column string) bool {
	r := s.current.Load()
	r.typeAhead.mu.Lock()
	defer r.typeAhead.mu.Unlock()
	return r.typeAhead.folded[collection+"\x00"+column] != nil
}

// Making returns how many tables are asked for and not there.
func (s *Store) Making() (n int) {
	a := &s.current.Load().typeAhead
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tables {
		n += boolInt(t == nil)
	}
	for _, t := range a.folded {
		n += boolInt(t == nil)
	}
	return n
}
