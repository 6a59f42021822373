package archive

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// ErrBusy reports that another program is writing the same file.
var ErrBusy = errors.New("archive: another program is making this file")

// ErrPart reports that FILE.part is not an unfinished file of this package.
var ErrPart = errors.New("archive: not a file that was begun")

// Writer writes a file. Until it is finished, the tiles are in an MBTiles database next to it (FILE.part), written in
// several transactions. It is for one goroutine.
type Writer struct {
	path string
	c    *sqlite.Conn
	next uint64
	open bool // in a transaction
}

// partID is the application_id of an unfinished file, mbID that of MBTiles.
const (
	partID = 0x67725061
	mbID   = 0x4d504258
)

// Begin begins a file in the format of its extension (IsPath), or continues an unfinished one with the same state.
// state identifies what is exported from which data.
func Begin(path, state string) (*Writer, error) {
	w := &Writer{path: path}
	c, err := database(w.part(), true)
	if err != nil {
		return nil, err
	}
	w.c = c
	if err := w.begin(state); err != nil {
		c.Close()
		if code := sqlite.ErrCode(err).ToPrimary(); code == sqlite.ResultBusy {
			return nil, ErrBusy
		} else if code == sqlite.ResultNotADB {
			return nil, fmt.Errorf("%w: %s", ErrPart, w.part())
		}
		return nil, err
	}
	return w, nil
}

func (w *Writer) part() string { return w.path + ".part" }

const schema = `
CREATE TABLE IF NOT EXISTS part (state TEXT, next INTEGER);
CREATE TABLE IF NOT EXISTS metadata (name TEXT, value TEXT);
CREATE TABLE IF NOT EXISTS map (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_id TEXT);
CREATE TABLE IF NOT EXISTS images (number INTEGER PRIMARY KEY, tile_id TEXT UNIQUE, tile_data BLOB);`

func (w *Writer) begin(state string) error {
	for _, s := range []string{"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA cache_size=-32768", "BEGIN IMMEDIATE"} {
		if err := w.exec(s); err != nil {
			return err
		}
	}
	w.open = true
	id, err := w.number("PRAGMA application_id")
	if err != nil {
		return err
	}
	tables, err := w.number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	switch {
	case id == mbID: // finished, but the program ended before the rename
		if err := sqlitex.ExecuteScript(w.c,
			"DROP VIEW IF EXISTS tiles; DROP TABLE IF EXISTS map; DROP TABLE IF EXISTS images; "+
				"DROP TABLE IF EXISTS metadata;", nil); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
	case id != partID && tables > 0:
		return fmt.Errorf("%w: %s", ErrPart, w.part())
	}
	if err := sqlitex.ExecuteScript(w.c, fmt.Sprint("PRAGMA application_id=", partID, ";", schema), nil); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	same, err := w.number("SELECT count(*) FROM part WHERE state=?", state)
	switch {
	case err != nil:
		return err
	case same == 0:
		for _, s := range [...]string{"DELETE FROM part", "DELETE FROM map", "DELETE FROM images",
			"DELETE FROM metadata"} {
			if err := w.exec(s); err != nil {
				return err
			}
		}
		err = w.exec("INSERT INTO part VALUES (?, 0)", state)
	default:
		var n int64
		n, err = w.number("SELECT next FROM part")
		w.next = uint64(n)
	}
	return err
}

func (w *Writer) exec(sql string, args ...any) error {
	if err := sqlitex.Execute(w.c, sql, &sqlitex.ExecOptions{Args: args}); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

func (w *Writer) number(sql string, args ...any) (n int64, err error) {
	err = sqlitex.Execute(w.c, sql, &sqlitex.ExecOptions{Args: args, ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	}})
	if err != nil {
		return 0, fmt.Errorf("archive: %w", err)
	}
	return n, nil
}

// Next returns the first ID that is missing; tiles with smaller ids have been written.
func (w *Writer) Next() uint64 { return w.next }

// Put adds a gzipped tile. Tiles must come in the order of their ID.
func (w *Writer) Put(z, row, col int, data []byte) error {
	if !w.open {
		if err := w.exec("BEGIN IMMEDIATE"); err != nil {
			return err
		}
		w.open = true
	}
	sum := sha256.Sum256(data)
	key := hex.EncodeToString(sum[:16])
	if err := w.exec("INSERT INTO images (tile_id, tile_data) VALUES (?, ?) ON CONFLICT DO NOTHING", key,
		data); err != nil {
		return err
	}
	return w.exec("INSERT INTO map VALUES (?, ?, ?, ?)", z, col, 1<<z-1-row, key)
}

// Save commits the tiles so far. After an interruption, writing continues at next.
func (w *Writer) Save(next uint64) error {
	if err := w.exec("UPDATE part SET next=?", int64(next)); err != nil {
		return err
	}
	w.next = next
	if !w.open {
		return nil
	}
	w.open = false
	return w.exec("COMMIT")
}

// Counts returns the numbers of tiles and of distinct tiles.
func (w *Writer) Counts() (tiles, different int, err error) {
	a, err := w.number("SELECT count(*) FROM map")
	if err != nil {
		return 0, 0, err
	}
	b, err := w.number("SELECT count(*) FROM images")
	return int(a), int(b), err
}

// Finish completes the file and renames it to its path, replacing an existing file.
func (w *Writer) Finish(m Metadata) error {
	if err := w.Save(w.next); err != nil {
		return err
	}
	if ending(w.path) == endPM {
		return w.finishPM(&m)
	}
	return w.finishMB(&m)
}

func (w *Writer) finishMB(m *Metadata) error {
	lon, lat, z := m.center()
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for name, value := range map[string]string{"name": m.Name, "attribution": m.Attribution, "type": "overlay",
		"version": "1", "format": "pbf",
		"minzoom": fmt.Sprint(m.First), "maxzoom": fmt.Sprint(m.Last),
		"bounds": fmt.Sprintf("%v,%v,%v,%v", m.Bounds[0], m.Bounds[1], m.Bounds[2], m.Bounds[3]),
		"center": fmt.Sprintf("%v,%v,%d", lon, lat, z), "json": string(m.Layers)} {
		if value == "" {
			continue
		}
		if err := w.exec("INSERT INTO metadata VALUES (?, ?)", name, value); err != nil {
			return err
		}
	}
	err := sqlitex.ExecuteScript(
		w.c,
		fmt.Sprint(
			"DROP TABLE part; CREATE UNIQUE INDEX name ON metadata (name); CREATE UNIQUE INDEX map_index ON map "+
				"(zoom_level, tile_column, tile_row);",
			"CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM map JOIN images USING "+
				"(tile_id);PRAGMA application_id=",
			mbID,
		),
		nil,
	)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if err := w.exec("COMMIT"); err != nil {
		return err
	}
	err = w.c.Close()
	w.c = nil
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return place(w.part(), w.path)
}

// entries returns the runs of tiles. The offsets follow the order in which distinct tiles were added.
func (w *Writer) entries() (s pmTiles, err error) {
	var offsets []uint64
	var lengths []uint32
	err = sqlitex.Execute(
		w.c,
		"SELECT number, length(tile_data) FROM images ORDER BY number",
		&sqlitex.ExecOptions{ResultFunc: func(st *sqlite.Stmt) error {
			if int(st.ColumnInt64(0)) != len(offsets)+1 {
				return errors.New("archive: numbers do not follow each other")
			}
			offsets, lengths = append(offsets, s.size), append(lengths, uint32(st.ColumnInt64(1)))
			s.size += uint64(st.ColumnInt64(1))
			return nil
		}},
	)
	if err != nil {
		return s, err
	}
	s.contents = len(offsets)
	err = sqlitex.Execute(
		w.c,
		"SELECT zoom_level, tile_row, tile_column, number FROM map JOIN images USING (tile_id) ORDER BY map.rowid",
		&sqlitex.ExecOptions{ResultFunc: func(st *sqlite.Stmt) error {
			z, n := st.ColumnInt(0), st.ColumnInt64(3)-1
			id := ID(z, 1<<z-1-st.ColumnInt(1), st.ColumnInt(2))
			s.addressed++
			if k := len(s.list) - 1; k >= 0 && s.list[k].offset == offsets[n] && s.list[k].id+
				uint64(s.list[k].run) == id {
				s.list[k].run++
				return nil
			}
			s.list = append(s.list, entry{id: id, run: 1, offset: offsets[n], length: lengths[n]})
			return nil
		}},
	)
	return s, err
}

func (w *Writer) finishPM(m *Metadata) error {
	s, err := w.entries()
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	whole := w.path + ".whole"
	f, err := os.Create(whole)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	err = s.write(out, m)
	if err == nil {
		err = w.images(out)
	}
	if err = errors.Join(err, out.Flush(), f.Close()); err != nil {
		os.Remove(whole)
		return fmt.Errorf("archive: %w", err)
	}
	if err := place(whole, w.path); err != nil {
		return err
	}
	err = w.c.Close()
	w.c = nil
	return errors.Join(err, os.Remove(w.part()))
}

// images writes the distinct tiles in the order of their numbers.
func (w *Writer) images(out io.Writer) error {
	var buf []byte
	return sqlitex.Execute(
		w.c,
		"SELECT tile_data FROM images ORDER BY number",
		&sqlitex.ExecOptions{ResultFunc: func(st *sqlite.Stmt) error {
			n := st.ColumnLen(0)
			if cap(buf) < n {
				buf = make([]byte, 2*n)
			}
			st.ColumnBytes(0, buf[:n])
			_, err := out.Write(buf[:n])
			return err
		}},
	)
}

// place renames a complete file after syncing it to disk.
func place(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close(), os.Rename(from, to))
	}
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if dir, err := os.Open(filepath.Dir(to)); err == nil {
		_ = dir.Sync() // not supported by every system
		dir.Close()
	}
	return nil
}

// Close closes the database. An unfinished file remains for the next Begin.
func (w *Writer) Close() error {
	if w.c == nil {
		return nil
	}
	c := w.c
	w.c = nil
	return c.Close()
}
