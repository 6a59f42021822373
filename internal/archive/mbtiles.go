package archive

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// mbFile reads an MBTiles file.
type mbFile struct {
	mu sync.Mutex
	c  *sqlite.Conn
}

// database opens an SQLite file. Without write it is opened as immutable and must not change.
func database(path string, write bool) (*sqlite.Conn, error) {
	u := url.URL{Path: filepath.ToSlash(path)}
	flags, params := sqlite.OpenReadOnly, "?mode=ro&immutable=1"
	if write {
		flags, params = sqlite.OpenReadWrite|sqlite.OpenCreate, "?mode=rwc"
	}
	c, err := sqlite.OpenConn("file:"+u.EscapedPath()+params, flags|sqlite.OpenURI)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	c.SetBusyTimeout(time.Second) // otherwise it waits forever
	return c, nil
}

func openMB(path string, m *Metadata) (*mbFile, error) {
	c, err := database(path, false)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	err = sqlitex.Execute(
		c,
		"SELECT name, value FROM metadata",
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			values[s.ColumnText(0)] = s.ColumnText(1)
			return nil
		}},
	)
	ok := err == nil && values["format"] == "pbf"
	for name, to := range map[string]*int{"minzoom": &m.First, "maxzoom": &m.Last} {
		var err error
		*to, err = strconv.Atoi(values[name])
		ok = ok && err == nil
	}
	for i, v := range strings.Split(values["bounds"], ",") {
		f, err := strconv.ParseFloat(v, 64)
		if ok = ok && err == nil && i < len(m.Bounds); ok {
			m.Bounds[i] = f
		}
	}
	m.Name, m.Attribution, m.Layers = values["name"], values["attribution"], []byte(values["json"])
	if !ok {
		return nil, errors.Join(ErrFormat, c.Close())
	}
	return &mbFile{c: c}, nil
}

func (f *mbFile) tile(z, row, col int) (data []byte, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = sqlitex.Execute(
		f.c,
		"SELECT tile_data FROM tiles WHERE zoom_level=? AND tile_column=? AND tile_row=?",
		&sqlitex.ExecOptions{
			Args: []any{z, col, 1<<z - 1 - row},
			ResultFunc: func(s *sqlite.Stmt) error {
				data = make([]byte, s.ColumnLen(0))
				s.ColumnBytes(0, data)
				return nil
			}},
	)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return data, nil
}

func (f *mbFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.c.Close()
}
