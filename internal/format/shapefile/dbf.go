package shapefile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"grense/internal/format/input"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/encoding"
)

// dbfTable reads the table of a Shapefile (dBASE III and IV, level 5) row by row.
type dbfTable struct {
	in      *bufio.Reader
	fields  []dbfField
	rows    int // as the header states
	text    encoding.Encoding
	guessed bool // the encoding is not stated: UTF-8 if it fits
	row     []byte
	read    int
}

type dbfField struct {
	name     string
	kind     byte
	from, to int // offsets in the row
}

// openDBF reads the header. A refusal is returned as a reason.
func openDBF(in io.Reader, cpg string) (*dbfTable, string, error) {
	t := &dbfTable{in: bufio.NewReaderSize(in, 64<<10)}
	head := make([]byte, 32)
	if _, err := io.ReadFull(t.in, head); err != nil {
		return nil, "the .dbf has no whole header", ignoreEnd(err)
	}
	t.rows = int(binary.LittleEndian.Uint32(head[4:]))
	size, length := int(binary.LittleEndian.Uint16(head[8:])), int(binary.LittleEndian.Uint16(head[10:]))
	if size < 33 || length < 1 {
		return nil, "the .dbf has no whole header", nil
	}
	if reason := t.setEncoding(cpg, head[29]); reason != "" {
		return nil, reason, nil
	}
	rest := make([]byte, size-32)
	if _, err := io.ReadFull(t.in, rest); err != nil {
		return nil, "the header of the .dbf is cut off", ignoreEnd(err)
	}
	from, seen := 1, map[string]bool{}
	for ; len(rest) >= 32 && rest[0] != 0x0d; rest = rest[32:] {
		raw := rest[:11]
		if t.text != utf16Text {
			if i := strings.IndexByte(string(raw), 0); i >= 0 {
				raw = raw[:i]
			}
		} else {
			raw = raw[:10]
		}
		name, ok := decode(t.text, raw)
		if !ok {
			return nil, t.wrongText(fmt.Sprintf("the name of field %d", len(t.fields)+1)), nil
		}
		n := int(rest[16])
		if rest[11] == 'C' {
			n += int(rest[17]) << 8 // a text may be longer than 255 bytes
		}
		f := dbfField{name: strings.TrimSpace(name), kind: rest[11], from: from, to: from + n}
		if f.name == "" || seen[f.name] {
			f.name = fmt.Sprintf("%s_%d", f.name, len(t.fields)+1)
		}
		seen[f.name] = true
		if from += n; from > length {
			return nil, fmt.Sprintf("the fields of the .dbf are longer than its rows of %d bytes", length), nil
		}
		t.fields = append(t.fields, f)
	}
	t.row = make([]byte, length)
	return t, "", nil
}

func (t *dbfTable) names() []string {
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		names[i] = f.name
	}
	return names
}

// ignoreEnd drops the error of a file that is too short, which the reason describes.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

func (t *dbfTable) setEncoding(cpg string, driver byte) string {
	if cpg = strings.Trim(cpg, "\ufeff \t\r\n\x00"); cpg != "" {
		e, ok := codePage(cpg)
		if !ok {
			return fmt.Sprintf("the encoding %q of the .cpg is not known; write one such as UTF-8 or 1252 there",
				input.Shorten(cpg))
		}
		t.text = e
		return ""
	}
	if name, ok := drivers[driver]; ok {
		t.text = codePages[name]
		return ""
	}
	t.text, t.guessed = encoding.Nop, true
	return ""
}

// wrongText returns the reason for a text that cannot be decoded.
func (t *dbfTable) wrongText(what string) string {
	if t.guessed {
		return what + " is not UTF-8, and nothing states another encoding; write its name, such as 1252, into a .cpg " +
			"file beside the .dbf"
	}
	return what + " is not in the encoding that the .cpg or the .dbf states; write the right one, such as UTF-8 or " +
		"1252, into the .cpg"
}

// next reads one row; io.EOF at the end. deleted reports that dBASE marks the row as deleted.
func (t *dbfTable) next() (fields []input.Field, deleted bool, reason string, err error) {
	if t.read == t.rows {
		return nil, false, "", io.EOF
	}
	if _, err := io.ReadFull(t.in, t.row); err != nil {
		if ignoreEnd(err) != nil {
			return nil, false, "", err
		}
		return nil, false, "", io.ErrUnexpectedEOF
	}
	t.read++
	fields = make([]input.Field, 0, len(t.fields))
	for _, f := range t.fields {
		v, wrong := t.value(f)
		if wrong != "" && reason == "" {
			reason = wrong
		}
		fields = append(fields, input.Field{Name: f.name, Value: v})
	}
	return fields, t.row[0] == '*', reason, nil
}

// value reads one field of the row.
func (t *dbfTable) value(f dbfField) (input.Value, string) {
	raw := t.row[f.from:f.to]
	nothing := input.Value{Kind: input.Null}
	if f.kind == 'C' {
		s, ok := decode(t.text, raw)
		switch {
		case !ok:
			return nothing, t.wrongText(fmt.Sprintf("the text of field %s", f.name))
		case s == "":
			return nothing, ""
		}
		return input.Value{Kind: input.Text, Text: s}, ""
	}
	s := strings.Trim(string(raw), " \x00")
	switch f.kind {
	case 'N', 'F':
		s = strings.TrimPrefix(s, "+")
		if s == "" || strings.Trim(s, "*") == "" { // stars mean that the value did not fit
			return nothing, ""
		}
		if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "-.") {
			s = strings.Replace(s, ".", "0.", 1)
		}
		s = strings.TrimSuffix(s, ".")
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return input.Value{Kind: input.Integer, Text: strconv.FormatInt(n, 10)}, "" // also for 007
		}
		if _, ok := input.NumberSyntax([]byte(s)); !ok {
			return nothing, fmt.Sprintf("the field %s holds %q, which is not a number", f.name, input.Shorten(s))
		}
		return input.Value{Kind: input.Number, Text: s}, ""
	case 'L':
		switch s {
		case "T", "t", "Y", "y", "1":
			return input.Value{Kind: input.Boolean, Text: "true"}, ""
		case "F", "f", "N", "n", "0":
			return input.Value{Kind: input.Boolean, Text: "false"}, ""
		}
		return nothing, ""
	case 'D':
		if strings.Trim(s, "0") == "" {
			return nothing, ""
		}
		d, err := time.Parse("20060102", s)
		if err != nil {
			return nothing, fmt.Sprintf("the field %s holds %q, which is not a date", f.name, input.Shorten(s))
		}
		return input.Value{Kind: input.Text, Text: d.Format(time.DateOnly)}, ""
	}
	return nothing, fmt.Sprintf("the field %s has type %q, which is not read", f.name, f.kind)
}
