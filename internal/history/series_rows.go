package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"grense/internal/problem"
)

// maxRow is the largest length of a row in bytes.
const maxRow = 1 << 20

var errLongRow = errors.New("history: a row is too long")

func longRow() error {
	return fmt.Errorf("%w: %w", errLongRow,
		problem.Sayf("it is longer than %d bytes; is a quotation mark never closed?", maxRow))
}

// skipMark skips a byte order mark.
func skipMark(b *bufio.Reader) {
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		b.Discard(3) // cannot fail after Peek
	}
}

// rows reads the table. next returns the requested cells of the next row: code, date and value, then those of By. They
// are valid until the next call.
func (x *Series) rows(r io.Reader, cols SeriesColumns) (next func() ([]string, error), err error) {
	names := append(
		[]string{orElse(cols.Code, "code"), orElse(cols.Date, "date"), orElse(cols.Value, "value")},
		cols.By...)
	if cols.Lines {
		return lineRows(r, names), nil
	}
	bounded := &rowBound{r: r}
	b := bufio.NewReaderSize(bounded, 64<<10)
	if mark, _ := b.Peek(2); string(mark) == "\xff\xfe" || string(mark) == "\xfe\xff" {
		return nil, &SeriesFault{0, problem.Sayf("the table is UTF-16; save it as UTF-8")}
	}
	in, comma := openCSV(b)
	x.comma = comma
	head, err := in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, &SeriesFault{0, problem.Sayf("the table is empty")}
	case err != nil && isOfTable(err):
		return nil, &SeriesFault{0, SayingOf(err)}
	case err != nil:
		return nil, err
	}
	at, err := findColumns(head, names)
	if err != nil {
		return nil, err
	}
	in.ReuseRecord = true
	row := make([]string, len(names))
	return func() ([]string, error) {
		bounded.read = 0
		cells, err := in.Read()
		if err != nil {
			return row, err
		}
		for i, c := range at {
			row[i] = cells[c]
		}
		return row, nil
	}, nil
}

// findColumns returns the indexes of the columns with the given names in a header line. If no name is equal, one that
// differs only in case is accepted.
func findColumns(head, names []string) ([]int, error) {
	for i := range head {
		head[i] = strings.TrimSpace(head[i])
	}
	at := make([]int, len(names))
	for i, name := range names {
		if slices.ContainsFunc(head, func(s string) bool { return strings.ContainsRune(s, '\r') }) {
			return nil, &SeriesFault{
				0,
				problem.Sayf("the lines end with carriage returns alone; save the table with line feeds"),
			}
		}
		is := func(s string) bool { return s == name }
		if !slices.Contains(head, name) {
			is = func(s string) bool { return strings.EqualFold(s, name) }
		}
		at[i] = slices.IndexFunc(head, is)
		if at[i] >= 0 && slices.ContainsFunc(head[at[i]+1:], is) {
			return nil, &SeriesFault{0, problem.Sayf("the column %q stands twice; name each once", name)}
		}
		if at[i] < 0 {
			return nil,
				&SeriesFault{0, problem.Sayf("there is no column %q; there are %s", name, strings.Join(head, ", "))}
		}
	}
	return at, nil
}

// rowBound is a reader that fails when more than maxRow bytes are read for one row, so that an unclosed quotation mark
// cannot fill the memory. Set read to 0 before each row.
type rowBound struct {
	r    io.Reader
	read int
}

func (b *rowBound) Read(p []byte) (int, error) {
	if b.read > maxRow {
		return 0, longRow()
	}
	n, err := b.r.Read(p)
	b.read += n
	return n, err
}

// lineRows returns a function that reads one JSON object per line and skips empty lines.
func lineRows(r io.Reader, names []string) func() ([]string, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	skipMark(b)
	in := bufio.NewScanner(b)
	in.Buffer(nil, maxRow)
	row := make([]string, len(names))
	return func() ([]string, error) {
		for in.Scan() {
			if err := in.Err(); err != nil { // reading failed in the middle of the line
				return row, err
			}
			if line := bytes.TrimSpace(in.Bytes()); len(line) > 0 {
				return row, readObject(line, names, row)
			}
		}
		switch err := in.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return row, longRow()
		case err != nil:
			return row, err
		}
		return row, io.EOF
	}
}

// readObject sets row to the members of a JSON object with the given names. null becomes an empty cell.
func readObject(line []byte, names, row []string) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	wrong := problem.Sayf("it is no JSON object")
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return wrong
	}
	seen := make([]bool, len(names))
	for dec.More() {
		var v any
		key, err := dec.Token()
		if err == nil {
			err = dec.Decode(&v)
		}
		if err != nil {
			return wrong
		}
		for i, name := range names {
			if key != name {
				continue
			}
			if seen[i] {
				return problem.Sayf("the member %q is written twice; write it once", name)
			}
			seen[i] = true
			switch v := v.(type) {
			case nil:
				row[i] = ""
			case string:
				row[i] = v
			case json.Number:
				row[i] = v.String()
			default:
				return problem.Sayf("the member %q is neither a text nor a number", name)
			}
		}
	}
	if _, err := dec.Token(); err != nil {
		return wrong
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return wrong
	}
	if i := slices.Index(seen, false); i >= 0 {
		return problem.Sayf("there is no member %q; write null where there is no value", names[i])
	}
	return nil
}

// writeLines writes the cells as one JSON object per line. A missing value is null.
func (x *Series) writeLines(w io.Writer, cols SeriesColumns) (SeriesReport, error) {
	out := bufio.NewWriter(w)
	var row []byte
	text := func(name, value string) {
		a, _ := json.Marshal(name)
		b, _ := json.Marshal(value)
		row = append(append(append(append(row, a...), ':'), b...), ',')
	}
	number := func(name, value string) { row = append(row, `"`+name+`":`+orElse(value, "null")+","...) }
	report, err := x.Cells(func(c Cell) error {
		row = append(row[:0], '{')
		text("code", c.Code)
		text("name", c.Name)
		text("date", c.Date.String())
		if len(cols.By) > 0 {
			for i, by := range strings.Split(c.By, "\x00") {
				text(cols.By[i], by)
			}
		}
		number("value", c.Value)
		if x.o.Interval {
			number("low", c.Low)
			number("high", c.High)
		}
		text("mark", string(c.Mark))
		text("why", c.Why)
		row[len(row)-1] = '}'
		_, err := out.Write(append(row, '\n'))
		return err
	})
	return report, errors.Join(err, out.Flush())
}
