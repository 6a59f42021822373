package history

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
	"unicode/utf8"

	"grense/internal/cql2"
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
	Changes []ChangeRow
	List    *List // the codes in use after all changes, if the table lists them; otherwise nil
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
		r.List = &List{}
	}
	r.List.At = max(r.List.At, more.List.At)
	for _, l := range more.List.Codes {
		l.Line += line
		r.List.Codes = append(r.List.Codes, l)
	}
}

// Only removes the changes without a code that begins with one of the prefixes, and such codes from the list.
func (r *Register) Only(prefixes []string) {
	other := func(code string) bool {
		return code != "" && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(code, p) })
	}
	r.Changes = slices.DeleteFunc(r.Changes, func(c ChangeRow) bool { return other(c.From) || other(c.To) })
	if r.List != nil {
		r.List.Codes = slices.DeleteFunc(r.List.Codes, func(l Listed) bool { return other(l.Code) })
	}
}

// form describes a format by the columns that its header line must have.
type form struct {
	name    string // shown in messages
	columns []string
	read    func(*table) (*Register, error)
}

// forms lists the formats in the order in which they are tried.
var forms = []form{
	{"KLASS", []string{"oldCode", "newCode", "changeOccurred"}, (*table).klass},
	{"INSEE", []string{"MOD", "DATE_EFF", "TYPECOM_AV", "COM_AV", "TYPECOM_AP", "COM_AP"}, (*table).insee},
	{"BFS", bfsColumns, (*table).bfs},
	{"BFS (mutations)", bfsMutations, (*table).bfsMutations},
	{"ONS (Changes.csv)", onsChanges, (*table).onsChanges},
	{"ONS (ChangeHistory.csv)", onsHistory, (*table).onsHistory},
	{"CBS", cbsColumns, (*table).cbs},
	{"a CSV of your own", []string{"date", "from", "to"}, (*table).plain},
}

// ReadOptions are options for reading a table of changes.
type ReadOptions struct {
	Areas, Lakes bool // for BFS: include areas outside municipalities, and cantonal parts of lakes
}

// ReadRegister reads a table of changes and detects its format from the contents. CSV may be separated by commas,
// semicolons or tabs; text that is not valid UTF-8 is read as Latin-1. If lines are invalid, the error is a Faults.
func ReadRegister(r io.Reader, o ReadOptions) (*Register, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if t := bytes.TrimSpace(b); len(t) > 0 && t[0] == '{' {
		rows, err := readKlassJSON(b)
		return &Register{Form: KlassJSON, Changes: rows}, err
	}
	t, err := readTable(b)
	if err != nil {
		return nil, err
	}
	t.options = o
	return t.register()
}

// ReadRows reads a table of changes from the rows of a spreadsheet. lines holds the line number of each row.
func ReadRows(rows [][]string, lines []int, o ReadOptions) (*Register, error) {
	if len(rows) == 0 {
		return nil, errors.New("the table is empty")
	}
	t := &table{first: rows[0], rows: rows[1:], lines: lines[1:], options: o}
	for _, c := range rows[0] {
		t.columns = append(t.columns, strings.ToLower(strings.TrimSpace(c)))
	}
	return t.register()
}

func (t *table) register() (*Register, error) {
	t.withHeading()
	if d, n := destatisHeading(slices.Concat([][]string{t.first}, t.rows)); n > 0 {
		t.rows, t.lines = t.rows[n-1:], t.lines[n-1:]
		return d.read(t)
	}
	var known []string
	for _, f := range forms {
		if t.has(f.columns...) {
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
func (t *table) oneOf(f *Faults, i int, column, known string) string {
	v := t.value(i, column)
	if all := strings.Fields(known); v != "" && !slices.Contains(all, v) {
		f.add(t.lines[i], "%s is %q, which is not known; correct it to one of %s, or leave the line out", column, v,
			strings.Join(all, ", "))
	}
	return v
}

// date parses the day in a column: 2020-01-31, 31.01.2020, or in one of the layouts others (see time.Parse); a time of
// day may follow. It adds a fault and returns 0 if the value is not a day.
func (t *table) date(f *Faults, i int, column string, others ...string) Date {
	v := t.value(i, column)
	day, _, _ := strings.Cut(strings.ReplaceAll(v, "T", " "), " ")
	for _, layout := range append(others, time.DateOnly, "2.1.2006") {
		if d, err := time.Parse(layout, day); err == nil && d.Year() > 0 {
			return DateOf(d)
		}
	}
	also := ""
	for _, layout := range others {
		also += " or " + time.Date(2020, 1, 31, 0, 0, 0, 0, time.UTC).Format(strings.Replace(layout, "/1/", "/01/", 1))
	}
	f.add(t.lines[i], "%s is %q; write a day, such as 2020-01-31 or 31.01.2020%s", column, v, also)
	return 0
}

func readKlassJSON(b []byte) ([]ChangeRow, error) {
	var doc struct {
		CodeChanges []struct{ OldCode, OldName, NewCode, NewName, ChangeOccurred string } `json:"codeChanges"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("the document is no table of changes of KLASS: %w", err)
	}
	var faults Faults
	var out []ChangeRow
	for i, c := range doc.CodeChanges {
		out = faults.klass(out, i+1, [5]string{c.OldCode, c.OldName, c.NewCode, c.NewName, c.ChangeOccurred})
	}
	return out, faults.orNil()
}

// orNil returns f as an error; nil if there are no faults.
func (f Faults) orNil() error {
	if f == nil {
		return nil
	}
	return f
}

// klass appends a change of KLASS. v holds old code and name, new code and name, and the day.
func (f *Faults) klass(out []ChangeRow, line int, v [5]string) []ChangeRow {
	for i := range v {
		v[i] = strings.TrimSpace(v[i])
	}
	d, err := ParseDate(v[4])
	if err != nil {
		f.add(line, "%v", err)
	}
	return append(
		out,
		ChangeRow{
			EdgeRow:  EdgeRow{Line: line, Date: d, From: v[0], To: v[2]},
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

// table is a table with a header line.
type table struct {
	columns []string // column names in lower case
	first   []string // column names as written
	rows    [][]string
	lines   []int
	options ReadOptions
}

// tableOf reads a table from r, skipping a byte order mark.
func tableOf(r io.Reader) (*table, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return readTable(bytes.TrimPrefix(b, []byte("\ufeff")))
}

func readTable(b []byte) (*table, error) {
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, errors.New("the table holds NUL, as UTF-16 does; save it as UTF-8")
	}
	if bytes.IndexByte(b, '\n') < 0 {
		b = bytes.ReplaceAll(b, []byte("\r"), []byte("\n"))
	}
	if !utf8.Valid(b) { // then it is Latin-1
		runes := make([]rune, len(b))
		for i, x := range b {
			runes[i] = rune(x)
		}
		b = []byte(string(runes))
	}
	head, _, _ := bytes.Cut(b, []byte("\n"))
	r := csv.NewReader(bytes.NewReader(b))
	for _, sep := range []rune{';', '\t'} {
		if bytes.ContainsRune(head, sep) && bytes.Count(head, []byte(string(sep))) > bytes.Count(head, []byte(",")) {
			r.Comma = sep
		}
	}
	t := &table{}
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if p, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, Faults{{p.Line, p.Err.Error()}}
		}
		if err != nil {
			return nil, err
		}
		if t.columns == nil {
			t.first = row
			for _, c := range row {
				t.columns = append(t.columns, strings.ToLower(strings.TrimSpace(c)))
			}
			continue
		}
		line, _ := r.FieldPos(0)
		t.rows, t.lines = append(t.rows, row), append(t.lines, line)
	}
	if t.columns == nil {
		return nil, errors.New("the table is empty")
	}
	return t, nil
}

func (t *table) has(columns ...string) bool {
	for _, c := range columns {
		if !slices.Contains(t.columns, strings.ToLower(c)) {
			return false
		}
	}
	return true
}

// value returns the value of the first of columns that exists; "" if none does.
func (t *table) value(i int, columns ...string) string {
	for _, c := range columns {
		if k := slices.Index(t.columns, strings.ToLower(c)); k >= 0 && k < len(t.rows[i]) {
			return strings.TrimSpace(t.rows[i][k])
		}
	}
	return ""
}

func (t *table) klass() (*Register, error) {
	var faults Faults
	var out []ChangeRow
	for i := range t.rows {
		out = faults.klass(
			out,
			t.lines[i],
			[5]string{
				t.value(i, "oldcode"),
				t.value(i, "oldname"),
				t.value(i, "newcode"),
				t.value(i, "newname"),
				t.value(i, "changeoccurred"),
			},
		)
	}
	return &Register{Form: KlassCSV, Changes: out}, faults.orNil()
}

// plainColumns are the columns of the format Plain.
var plainColumns = []string{
	"date", "from", "to", "from_name", "to_name", "made_of", "transfer", "people", "area", "source", "recorded",
}

// only returns faults for columns that are not in known and for columns that occur twice.
func (t *table) only(known []string) (faults Faults) {
	for i, c := range t.columns {
		near := cql2.Nearest(c, known)
		switch {
		case slices.Contains(t.columns[:i], c):
			faults.add(1, "the column %q stands twice; name each once", c)
		case slices.Contains(known, c):
		case near != "":
			faults.add(1, "there is no column %q; write %s, or leave it out", c, near)
		default:
			faults.add(1, "there is no column %q; leave it out. The columns are %s", c, strings.Join(known, ", "))
		}
	}
	return faults
}

func (t *table) plain() (*Register, error) {
	faults := t.only(plainColumns)
	out := []ChangeRow{}
	for i := range t.rows {
		line := t.lines[i]
		c := ChangeRow{
			EdgeRow: EdgeRow{
				Line:     line,
				From:     t.value(i, "from"),
				To:       t.value(i, "to"),
				Of:       strings.Fields(t.value(i, "made_of")),
				Source:   t.value(i, "source"),
				Recorded: t.value(i, "recorded"),
			},
			FromName: t.value(i, "from_name"),
			ToName:   t.value(i, "to_name"),
		}
		c.Date = t.date(&faults, i, "date")
		if c.From == "" && c.To == "" {
			faults.add(line, "a change names no code")
		}
		if _, err := time.Parse(time.RFC3339, c.Recorded); c.Recorded != "" && err != nil {
			faults.add(line, "recorded is %q; write a moment, as 2024-02-16T12:00:00Z", c.Recorded)
		}
		switch v := t.value(i, "transfer"); v {
		case "", "false", "no", "0":
		case "true", "yes", "1":
			c.Transfer = true
		default:
			faults.add(line, "transfer is %q; write true or false", v)
		}
		for name, to := range map[string]*Count{"people": &c.People, "area": &c.Area} {
			v := t.value(i, name)
			if v == "" {
				continue
			}
			n, err := strconv.ParseInt(v, 10, 64)
			if *to = CountOf(n); err != nil || n < 0 {
				faults.add(line, "%s is %q; write a whole number, or nothing where it is not known", name, v)
			}
		}
		out = append(out, c)
	}
	return &Register{Form: Plain, Changes: out}, faults.orNil()
}

// ReadList reads the codes in use on a day from CSV with the columns code and name; it also accepts the columns of
// INSEE (COM and LIBELLE) and KLASS. If form is a format of KLASS, the code 9999 (not stated) is left out, and suffixes
// that distinguish equal names are removed.
func ReadList(r io.Reader, at Date, form Form) (*List, error) {
	t, err := tableOf(r)
	if err != nil {
		return nil, err
	}
	if !t.has("code") && !t.has("com") {
		return nil, errors.New("a list of codes has a column code, and name")
	}
	l := &List{At: at}
	for i := range t.rows {
		if kind := t.value(i, "typecom"); kind != "" && kind != "COM" {
			continue
		}
		x := Listed{Line: t.lines[i], Code: t.value(i, "code", "com"), Name: t.value(i, "name", "libelle")}
		if form == KlassJSON || form == KlassCSV {
			if x.Name = withoutLabel(x.Name); x.Code == "9999" {
				continue
			}
		}
		l.Codes = append(l.Codes, x)
	}
	return l, nil
}
