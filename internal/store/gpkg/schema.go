package gpkg

import "strings"

// schemaList is the schema of the main database, read once: to look for a name in sqlite_schema is a scan.
type schemaList struct {
	version  int64
	tables   map[string]string   // their SQL, by lowered name
	indexes  map[string][]string // that were created by statements, by the lowered name of their table; the last one first
	collated bool                // a statement names a collation
}

// schema returns the schema as the transaction sees it.
func (c *conn) schema() (*schemaList, error) {
	version, err := c.one("PRAGMA main.schema_version")
	if err != nil || c.known != nil && c.known.version == version {
		return c.known, err
	}
	s := &schemaList{version: version, tables: map[string]string{}, indexes: map[string][]string{}}
	err = c.query(`SELECT type, name, tbl_name, sql, sql LIKE '%COLLATE%' FROM main.sqlite_schema ORDER BY rowid DESC`, nil, func(r row) error {
		s.collated = s.collated || r.Bool(4)
		switch r.Text(0) {
		case "table":
			s.tables[lowered(r.Text(1))] = r.Text(3)
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
	c.known = s
	return s, nil
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
