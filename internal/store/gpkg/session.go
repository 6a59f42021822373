package gpkg

import (
	"grense/internal/store/gpkg/index"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
)

// session is what the store keeps with a connection.
type session struct {
	pinned *uint64     // revision of the held transaction; nil: none
	writes int         // foreignWrites.writes when the pages of the connection were last discarded
	index  *index.File // attached as schema idx; nil: none
	blob   []byte      // buffer for a geometry
}

func sessionOf(c *sqlite.Conn) *session {
	s, ok := c.Owner.(*session)
	if !ok {
		s = &session{}
		c.Owner = s
	}
	return s
}

// shrink frees a large buffer.
func (s *session) shrink() {
	if cap(s.blob) > layer.BatchBytes {
		s.blob = nil
	}
}
