package sqlite

import "strings"

// Schema is the schema of the main database, read once, since every lookup in sqlite_schema is a scan.
type Schema struct {
	version int64
	Tables  map[string]string // SQL by table name in lower case
	// indexes created by statements, by table name in lower case; the last one first
	indexes  map[string][]string
	indexed  map[string]bool   // tables that have an index, also one of a constraint, by name in lower case
	Collated bool              // some statement has a COLLATE
	Views    map[string]string // names by name in lower case
	// ordinary tables with row ids (not virtual, nor part of a virtual one): names by name in lower case
	plain map[string]string
}

// Schema returns the schema in the current transaction.
func (c *Conn) Schema() (*Schema, error) {
	version, err := c.One("PRAGMA main.schema_version")
	if err != nil || c.known != nil && c.known.version == version {
		return c.known, err
	}
	s := &Schema{version: version, Tables: map[string]string{}, indexes: map[string][]string{},
		indexed: map[string]bool{}, Views: map[string]string{}, plain: map[string]string{}}
	err = c.Query(`SELECT type, name, tbl_name, sql, sql LIKE '%COLLATE%' FROM main.sqlite_schema ORDER BY rowid DESC`,
		nil, func(r Row) error {
			s.Collated = s.Collated || r.Bool(4)
			switch r.Text(0) {
			case "table":
				name, sql := Lower(r.Text(1)), r.Text(3)
				s.Tables[name] = sql
				if sql := strings.ToUpper(sql); strings.HasPrefix(sql, "CREATE TABLE ") &&
					!strings.Contains(sql, "WITHOUT") {
					s.plain[name] = r.Text(1)
				}
			case "view":
				s.Views[Lower(r.Text(1))] = r.Text(1)
			case "index":
				of := Lower(r.Text(2))
				s.indexed[of] = true
				if !r.Null(3) {
					s.indexes[of] = append(s.indexes[of], r.Text(1))
				}
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	for name := range s.plain {
		if at := strings.LastIndexByte(name, '_'); at >= 0 && s.plain[name[:at]] == "" && s.Tables[name[:at]] != "" {
			delete(s.plain, name)
		}
	}
	c.known = s
	return s, nil
}

// FreezeSchema reads the schema, and makes ReadTable use it until ThawSchema: SQLite scans all tables for each.
func (c *Conn) FreezeSchema() (s *Schema, err error) {
	s, err = c.Schema()
	c.frozen = s
	return s, err
}

// ThawSchema ends FreezeSchema.
func (c *Conn) ThawSchema() { c.frozen = nil }

// find returns the name of a table or view, and whether it is a view. sure is false if SQLite must decide about a
// table.
func (s *Schema) find(name string) (found string, view, sure bool) {
	name = Lower(name)
	if found := s.Views[name]; found != "" {
		return found, true, true
	}
	if found := s.plain[name]; found != "" {
		return found, false, true
	}
	_, ok := s.Tables[name]
	return "", false, !ok
}

// Lower is lower() of SQLite, which only converts A to Z.
func Lower(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
