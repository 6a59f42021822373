package gpkg

import "strings"

// schemaList is the schema of the main database, read once: to look for a name in sqlite_schema is a scan.
type schemaList struct {
	version int64
	tables  map[string]string // their SQL, by lowered name
	// that were created by statements, by the lowered name of their table; the last one first
	indexes  map[string][]string
	collated bool              // a statement names a collation
	views    map[string]string // their names, by lowered name
	// names of tables with row ids, which are neither virtual nor parts of virtual ones, by lowered name
	plain map[string]string
}

// schema returns the schema as the transaction sees it.
func (c *conn) schema() (*schemaList, error) {
	version, err := c.one("PRAGMA main.schema_version")
	if err != nil || c.known != nil && c.known.version == version {
		return c.known, err
	}
	s := &schemaList{version: version, tables: map[string]string{}, indexes: map[string][]string{},
		views: map[string]string{}, plain: map[string]string{}}
	err = c.query(`SELECT type, name, tbl_name, sql, sql LIKE '%COLLATE%' FROM main.sqlite_schema ORDER BY rowid DESC`,
		nil, func(r row) error {
			s.collated = s.collated || r.Bool(4)
			switch r.Text(0) {
			case "table":
				name, sql := lowered(r.Text(1)), r.Text(3)
				s.tables[name] = sql
				if sql := strings.ToUpper(sql); strings.HasPrefix(sql, "CREATE TABLE ") &&
					!strings.Contains(sql, "WITHOUT") {
					s.plain[name] = r.Text(1)
				}
			case "view":
				s.views[lowered(r.Text(1))] = r.Text(1)
			case "index":
				if !r.Null(3) {
					of := lowered(r.Text(2))
					s.indexes[of] = append(s.indexes[of], r.Text(1))
				}
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	for name := range s.plain {
		if at := strings.LastIndexByte(name, '_'); at >= 0 && s.plain[name[:at]] == "" && s.tables[name[:at]] != "" {
			delete(s.plain, name)
		}
	}
	c.known = s
	return s, nil
}

// find returns the name of a table or view in the schema, and whether it is a view.
// sure is false for a table that SQLite has to describe.
func (s *schemaList) find(name string) (found string, view, sure bool) {
	name = lowered(name)
	if found := s.views[name]; found != "" {
		return found, true, true
	}
	if found := s.plain[name]; found != "" {
		return found, false, true
	}
	_, ok := s.tables[name]
	return "", false, !ok
}

// lowered is lower() of SQLite, which knows A to Z only.
func lowered(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
