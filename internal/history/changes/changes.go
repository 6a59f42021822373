// Package changes reads the tables of changes that statistical offices publish, and lists of codes in use.
package changes

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/history"
	"grense/internal/history/table"
)

// Form is the format of a table of changes.
type Form string

// Formats of tables of changes.
const (
	KlassJSON Form = "klass-json" // /changes.json of KLASS (Statistics Norway); a line is an entry, counted from 1
	KlassCSV  Form = "klass-csv"  // /changes.csv of KLASS
	Insee     Form = "insee"      // v_mvt_commune of INSEE (France)
	BFS       Form = "bfs"        // register of municipalities of BFS (Switzerland), or the mutations of its API
	ONS       Form = "ons"        // Changes.csv or ChangeHistory.csv of ONS (United Kingdom)
	Destatis  Form = "destatis"   // territorial changes of Destatis (Germany)
	CBS       Form = "cbs"        // changes of municipalities published by CBS (Netherlands)
	// Grense's own format, with the columns date, from, to, from_name, to_name, made_of, transfer, people, area, source
	// and recorded.
	Plain Form = "plain"
)

// Register is the contents of a table of changes.
type Register struct {
	Form    Form
	Changes []history.ChangeRow
	List    *history.List // the codes in use after all changes, if the table lists them; otherwise nil
}

// Add appends the changes of another table. line is added to its line numbers. If both have a list, the lists are
// combined, with the date of the later one.
func (r *Register) Add(more *Register, line int) {
	if r.Form == "" || more.Form == KlassJSON || more.Form == KlassCSV {
		r.Form = more.Form
	}
	for _, c := range more.Changes {
		c.Line += line
		r.Changes = append(r.Changes, c)
	}
	if more.List == nil {
		return
	}
	if r.List == nil {
		r.List = &history.List{}
	}
	r.List.At = max(r.List.At, more.List.At)
	for _, l := range more.List.Codes {
		l.Line += line
		r.List.Codes = append(r.List.Codes, l)
	}
}

// Only removes the changes with a code that begins with none of the prefixes, and such codes from the list.
func (r *Register) Only(prefixes []string) {
	other := func(code string) bool {
		return code != "" && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(code, p) })
	}
	r.Changes = slices.DeleteFunc(r.Changes, func(c history.ChangeRow) bool { return other(c.From) || other(c.To) })
	if r.List != nil {
		r.List.Codes = slices.DeleteFunc(r.List.Codes, func(l history.Listed) bool { return other(l.Code) })
	}
}

// form describes a format by the columns that its header line must have.
type form struct {
	name    string // shown in messages
	columns []string
	read    func(*changeTable) (*Register, error)
}

// forms lists the formats in the order in which they are tried.
var forms = []form{
	{"KLASS", []string{"oldCode", "newCode", "changeOccurred"}, (*changeTable).klass},
	{"INSEE", []string{"MOD", "DATE_EFF", "TYPECOM_AV", "COM_AV", "TYPECOM_AP", "COM_AP"}, (*changeTable).insee},
	{"BFS", bfsColumns, (*changeTable).bfs},
	{"BFS (mutations)", bfsMutations, (*changeTable).bfsMutations},
	{"ONS (Changes.csv)", onsChanges, (*changeTable).onsChanges},
	{"ONS (ChangeHistory.csv)", onsHistory, (*changeTable).onsHistory},
	{"CBS", cbsColumns, (*changeTable).cbs},
	{"a CSV of your own", []string{"date", "from", "to"}, (*changeTable).plain},
}

// Options are options for reading a table of changes.
type Options struct {
	Areas, Lakes bool // for BFS: include areas outside municipalities, and cantonal parts of lakes
}

// Read reads a table of changes and detects its format from the contents. CSV may be separated by commas, semicolons or
// tabs; text that is not valid UTF-8 is read as Latin-1. If lines are invalid, the error is a history.Faults.
func Read(r io.Reader, o Options) (*Register, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if t := bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\ufeff"))); len(t) > 0 && t[0] == '{' {
		rows, err := readKlassJSON(t)
		return &Register{Form: KlassJSON, Changes: rows}, err
	}
	t, err := readTable(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	t.options = o
	return t.register()
}

// ReadRows reads a table of changes from the rows of a spreadsheet. lines holds the line number of each row.
func ReadRows(rows [][]string, lines []int, o Options) (*Register, error) {
	if len(rows) == 0 {
		return nil, errors.New("the table is empty")
	}
	t := &changeTable{Table: table.New(rows[0]), options: o}
	t.Rows, t.Lines = rows[1:], lines[1:]
	return t.register()
}

// changeTable is a table of changes that is being read.
type changeTable struct {
	*table.Table
	options Options
}

// readTable reads a table. If it is no CSV, the error is a history.Faults.
func readTable(r io.Reader) (*changeTable, error) {
	t, err := table.Read(r)
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, history.Faults{{Line: p.Line, Reason: p.Err.Error()}}
	}
	if err != nil {
		return nil, err
	}
	return &changeTable{Table: t}, nil
}

// only returns faults for columns that are not in known and for columns that occur twice.
func (t *changeTable) only(known []string) (faults history.Faults) {
	for _, reason := range t.Unknown(known) {
		faults.Add(1, "%s", reason)
	}
	return faults
}

func (t *changeTable) register() (*Register, error) {
	t.withHeading()
	if d, n := destatisHeading(slices.Concat([][]string{t.First}, t.Rows)); n > 0 {
		t.Rows, t.Lines = t.Rows[n-1:], t.Lines[n-1:]
		return d.read(t)
	}
	var known []string
	for _, f := range forms {
		if t.Has(f.columns...) {
			return f.read(t)
		}
		known = append(known, f.name+": "+strings.Join(f.columns, ", "))
	}
	known = append(known,
		"Destatis: Regionaleinheit, (AGS), Name, Änderungsart, Fläche, Einwohner, (AGS), Name, juristisch")
	return nil, fmt.Errorf(
		"the table is of no known form. Its first line has to name the columns of one of these:\n  %s",
		strings.Join(known, "\n  "),
	)
}

// oneOf returns the value of a column. It adds a fault unless the value is in known, which is separated by spaces.
func (t *changeTable) oneOf(f *history.Faults, i int, column, known string) string {
	v := t.Value(i, column)
	if all := strings.Fields(known); v != "" && !slices.Contains(all, v) {
		f.Add(t.Lines[i], "%s is %q, which is not known; correct it to one of %s, or leave the line out", column, v,
			strings.Join(all, ", "))
	}
	return v
}

// date parses the day in a column: 2020-01-31, 31.01.2020, or in one of the layouts others (see time.Parse); a time of
// day may follow. It adds a fault and returns 0 if the value is not a day.
func (t *changeTable) date(f *history.Faults, i int, column string, others ...string) history.Date {
	v := t.Value(i, column)
	day, _, _ := strings.Cut(strings.ReplaceAll(v, "T", " "), " ")
	for _, layout := range append(others, time.DateOnly, "2.1.2006") {
		if d, err := time.Parse(layout, day); err == nil && d.Year() > 0 {
			return history.DateOf(d)
		}
	}
	also := ""
	for _, layout := range others {
		also += " or " + time.Date(2020, 1, 31, 0, 0, 0, 0, time.UTC).Format(strings.Replace(layout, "/1/", "/01/", 1))
	}
	f.Add(t.Lines[i], "%s is %q; write a day, such as 2020-01-31 or 31.01.2020%s", column, v, also)
	return 0
}

func readKlassJSON(b []byte) ([]history.ChangeRow, error) {
	var doc struct {
		CodeChanges []struct{ OldCode, OldName, NewCode, NewName, ChangeOccurred string } `json:"codeChanges"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("the document is no table of changes of KLASS: %w", err)
	}
	if doc.CodeChanges == nil {
		return nil, errors.New("the document is no table of changes of KLASS: it has no list codeChanges")
	}
	var faults history.Faults
	var out []history.ChangeRow
	for i, c := range doc.CodeChanges {
		out = klass(&faults, out, i+1, [5]string{c.OldCode, c.OldName, c.NewCode, c.NewName, c.ChangeOccurred})
	}
	return out, faults.Err()
}

// klass appends a change of KLASS. v holds old code and name, new code and name, and the day.
func klass(f *history.Faults, out []history.ChangeRow, line int, v [5]string) []history.ChangeRow {
	for i := range v {
		v[i] = strings.TrimSpace(v[i])
	}
	d, err := history.ParseDate(v[4])
	if err != nil {
		f.Add(line, "%v", err)
	}
	return append(
		out,
		history.ChangeRow{
			EdgeRow:  history.EdgeRow{Line: line, Date: d, From: v[0], To: v[2]},
			FromName: withoutLabel(v[1]),
			ToName:   withoutLabel(v[3]),
		},
	)
}

// withoutLabel removes the suffix with which KLASS distinguishes equal names: "Våler (Østfold)" becomes "Våler".
func withoutLabel(name string) string {
	if i := strings.LastIndex(name, " ("); i > 0 && strings.HasSuffix(name, ")") {
		return name[:i]
	}
	return name
}

func (t *changeTable) klass() (*Register, error) {
	var faults history.Faults
	var out []history.ChangeRow
	for i := range t.Rows {
		out = klass(&faults,
			out,
			t.Lines[i],
			[5]string{
				t.Value(i, "oldcode"),
				t.Value(i, "oldname"),
				t.Value(i, "newcode"),
				t.Value(i, "newname"),
				t.Value(i, "changeoccurred"),
			},
		)
	}
	return &Register{Form: KlassCSV, Changes: out}, faults.Err()
}

// plainColumns are the columns of the format Plain.
var plainColumns = []string{
	"date", "from", "to", "from_name", "to_name", "made_of", "transfer", "people", "area", "source", "recorded",
}

func (t *changeTable) plain() (*Register, error) {
	faults := t.only(plainColumns)
	out := []history.ChangeRow{}
	for i := range t.Rows {
		line := t.Lines[i]
		c := history.ChangeRow{
			EdgeRow: history.EdgeRow{
				Line:     line,
				From:     t.Value(i, "from"),
				To:       t.Value(i, "to"),
				Of:       strings.Fields(t.Value(i, "made_of")),
				Source:   t.Value(i, "source"),
				Recorded: t.Value(i, "recorded"),
			},
			FromName: t.Value(i, "from_name"),
			ToName:   t.Value(i, "to_name"),
		}
		c.Date = t.date(&faults, i, "date")
		if c.From == "" && c.To == "" {
			faults.Add(line, "a change names no code")
		}
		if _, err := time.Parse(time.RFC3339, c.Recorded); c.Recorded != "" && err != nil {
			faults.Add(line, "recorded is %q; write a moment, as 2024-02-16T12:00:00Z", c.Recorded)
		}
		switch v := t.Value(i, "transfer"); strings.ToLower(v) { // spreadsheets write TRUE
		case "", "false", "no", "0":
		case "true", "yes", "1":
			c.Transfer = true
		default:
			faults.Add(line, "transfer is %q; write true or false", v)
		}
		count := func(name string) history.Count {
			v := t.Value(i, name)
			if v == "" {
				return history.Count{}
			}
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n < 0 {
				faults.Add(line, "%s is %q; write a whole number, or nothing where it is not known", name, v)
			}
			return history.CountOf(n)
		}
		c.People, c.Area = count("people"), count("area")
		out = append(out, c)
	}
	return &Register{Form: Plain, Changes: out}, faults.Err()
}

// ReadList reads the codes in use on a day from CSV with the columns code and name; it also accepts the columns of
// INSEE (COM and LIBELLE) and KLASS. If form is a format of KLASS, the code 9999 (not stated) is left out, and suffixes
// that distinguish equal names are removed.
func ReadList(r io.Reader, at history.Date, form Form) (*history.List, error) {
	t, err := readTable(r)
	if err != nil {
		return nil, err
	}
	if !t.Has("code") && !t.Has("com") {
		return nil, errors.New("a list of codes has a column code, and name")
	}
	l := &history.List{At: at}
	for i := range t.Rows {
		if kind := t.Value(i, "typecom"); kind != "" && kind != "COM" {
			continue
		}
		x := history.Listed{Line: t.Lines[i], Code: t.Value(i, "code", "com"), Name: t.Value(i, "name", "libelle")}
		if form == KlassJSON || form == KlassCSV {
			if x.Name = withoutLabel(x.Name); x.Code == "9999" {
				continue
			}
		}
		l.Codes = append(l.Codes, x)
	}
	return l, nil
}
