package gpkg

import "strings"

// schemaList is the schema of the main database, read once, since every lookup in sqlite_schema is a scan.
type schemaList struct {
	version int64
	tables  map[string]string // SQL by table name in lower case
	// indexes created by statements, by table name in lower case; the last one first
	indexes  map[string][]string
	collated bool              // some statement has a COLLATE
	views    map[string]string // names by name in lower case
	// ordinary tables with row ids (not virtual, nor part of a virtual one): names by name in lower case
	plain map[string]string
}

// schema returns the schema in the current transaction.
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

// find returns the name of a table or view, and whether it is a view. sure is false if SQLite must decide about a
// table.
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

// lowered is lower() of SQLite, which only converts A to Z.
func lowered(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
