package table_test

import (
	"encoding/csv"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"grense/internal/history/table"
)

// show writes a table as text: rows with their line numbers.
func show(t *table.Table) string {
	out := []string{strings.Join(t.First, "|")}
	for i, row := range t.Rows {
		out = append(out, string(rune('0'+t.Lines[i]))+":"+strings.Join(row, "|"))
	}
	return strings.Join(out, " ; ")
}

// TestTablesAreReadAsPeopleSaveThem: spreadsheets of several countries, editors of several systems.
func TestTablesAreReadAsPeopleSaveThem(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, text, want string }{
		{"commas", "a,b\n1,2\n", "a|b ; 2:1|2"},
		{"semicolons", "a;b\n1,5;2\n", "a|b ; 2:1,5|2"},
		{"tabs", "a\tb\n1,5;6\t2\n", "a|b ; 2:1,5;6|2"},
		{"as many commas as semicolons", "a,b;c\n1,2;3\n", "a|b;c ; 2:1|2;3"},
		{"more semicolons than commas", "a,b;c;d\n1;2;3\n", "a,b|c|d ; 2:1|2|3"},
		{"more semicolons than tabs", "a;b;c\td\n1;2;3\n", "a|b|c\td ; 2:1|2|3"},
		{"more tabs than semicolons", "a\tb\tc;d\n1\t2\t3\n", "a|b|c;d ; 2:1|2|3"},
		{"commas in a quoted header", "\"a\";\"b, c, d\"\n1;2\n", "a|b, c, d ; 2:1|2"},
		{"a line end in a quoted header", "\"a,\n,\";b;c\n1;2;3\n", "a,\n,|b|c ; 3:1|2|3"},
		{"separators of later lines", "a,b\n1;;;;,2\n", "a|b ; 2:1;;;;|2"},
		{"an empty line before semicolons", "\r\n\na;b\n1;2\n", "a|b ; 4:1|2"},
		{"one column", "a\n1\n2\n", "a ; 2:1 ; 3:2"},
		{"a header alone", "a,b", "a|b"},
		{"no line end at the end", "a,b\n1,2", "a|b ; 2:1|2"},
		{"a byte order mark", "\ufeffa,b\n1,2\n", "a|b ; 2:1|2"},
		{"a byte order mark before a quote", "\ufeff\"a\",b\n1,2\n", "a|b ; 2:1|2"},
		{"line ends of Windows", "a,b\r\n1,2\r\n", "a|b ; 2:1|2"},
		{"line ends of old Macs", "a,b\r1,2\r3,4\r", "a|b ; 2:1|2 ; 3:3|4"},
		{"empty lines", "\na,b\n\n1,2\n\n\n3,4\n", "a|b ; 4:1|2 ; 7:3|4"},
		{"a line end in a value", "a,b\n\"1\n1\",2\n3,4\n", "a|b ; 2:1\n1|2 ; 4:3|4"},
		{"a separator in quotes", "a;b\n\"1;1\";2\n", "a|b ; 2:1;1|2"},
		{"a quote in quotes", "a,b\n\"say \"\"x\"\"\",2\n", `a|b ; 2:say "x"|2`},
		{"UTF-8", "å,b\nÆrøskøbing,2\n", "å|b ; 2:Ærøskøbing|2"},
		{"Latin-1", "\xe5,b\n\xc6r\xf8sk\xf8bing,2\n", "å|b ; 2:Ærøskøbing|2"},
		{"blanks stay in a row", "a,b\n 1 ,2\n", "a|b ; 2: 1 |2"},
		{"empty values", "a,b\n,\n", "a|b ; 2:|"},
	} {
		got, err := table.Read(strings.NewReader(x.text))
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
		} else if s := show(got); s != x.want {
			t.Errorf("%s: %q, want %q", x.name, s, x.want)
		}
	}
}

// TestTablesThatCannotBeReadAreErrors: the error of a line that is no CSV has its number.
func TestTablesThatCannotBeReadAreErrors(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, text, want string
		line             int // of a csv.ParseError; 0 for another error
	}{
		{"nothing", "", "the table is empty", 0},
		{"a byte order mark alone", "\ufeff", "the table is empty", 0},
		{"empty lines alone", "\n\r\n\n", "the table is empty", 0},
		{"UTF-16", "a\x00,\x00b\x00", "the table holds NUL, as UTF-16 does; save it as UTF-8", 0},
		{"a NUL in UTF-8", "a,b\n1,\x00\n", "the table holds NUL, as UTF-16 does; save it as UTF-8", 0},
		{"a row that is too long", "a,b\n1,2\n1,2,3\n", "wrong number of fields", 3},
		{"a row that is too short", "a,b\n1\n", "wrong number of fields", 2},
		{"a quote within a value", "a,b\n1,2\n1,2\"\n", `bare " in non-quoted-field`, 3},
		{"a quote without its end", "a,b\n\"1,2\n", `extraneous or missing " in quoted-field`, 2},
		{"a quote without its end in the header", "\"a,b\n1,2\n", `extraneous or missing " in quoted-field`, 2},
	} {
		_, err := table.Read(strings.NewReader(x.text))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", x.name, err, x.want)
			continue
		}
		p, ok := errors.AsType[*csv.ParseError](err)
		if ok != (x.line > 0) || ok && p.Line != x.line {
			t.Errorf("%s: %#v, want line %d", x.name, err, x.line)
		}
	}
	if _, err := table.Read(io.MultiReader(strings.NewReader("a,b\n"), broken{})); !errors.Is(err,
		io.ErrUnexpectedEOF) {
		t.Errorf("a broken connection: %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestColumnsAreFoundInAnyCase, with blanks around them; values come without blanks.
func TestColumnsAreFoundInAnyCase(t *testing.T) {
	t.Parallel()
	x, err := table.Read(strings.NewReader("Code, NAME ,Å,code\n 1 ,  Oslo\u00a0,x,2\n3,,,\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		columns string
		has     bool
		values  string // of both rows; of several columns the first that the table has
	}{
		{"code", true, "1,3"}, {"CODE", true, "1,3"}, {"name", true, "Oslo,"}, {"å", true, "x,"}, {"Å", true, "x,"},
		{"a", false, ","}, {"", false, ","}, {"nr code", false, "1,3"}, {"name code", true, "Oslo,"},
		{"code name", true, "1,3"},
	} {
		columns := strings.Fields(c.columns)
		if c.columns == "" {
			columns = []string{""}
		}
		if got := x.Has(columns...); got != c.has {
			t.Errorf("has %q: %t", c.columns, got)
		}
		if got := x.Value(0, columns...) + "," + x.Value(1, columns...); got != c.values {
			t.Errorf("values of %q: %q, want %q", c.columns, got, c.values)
		}
	}
	if !x.Has() || x.Value(0) != "" {
		t.Error("no columns: missing, or with a value")
	}
	short := table.New([]string{"a", "b"}) // rows of spreadsheets end at their last value
	short.Rows, short.Lines = [][]string{{"1"}, {}}, []int{2, 3}
	if got := short.Value(0, "a") + short.Value(0, "b") + short.Value(1, "a"); got != "1" {
		t.Errorf("rows that are short: %q", got)
	}
}

// TestUnknownColumnsAreNamedWithTheNearest, and columns that stand twice.
func TestUnknownColumnsAreNamedWithTheNearest(t *testing.T) {
	t.Parallel()
	known := []string{"date", "from", "to", "from_name"}
	for _, x := range []struct {
		header string
		want   []string
	}{
		{"date,from,to", nil},
		{"Date, FROM ,to", nil},
		{"", []string{`there is no column ""; leave it out. The columns are date, from, to, from_name`}},
		{"dato,from", []string{`there is no column "dato"; write date, or leave it out`}},
		{"from-name", []string{`there is no column "from-name"; write from_name, or leave it out`}},
		{"population", []string{
			`there is no column "population"; leave it out. The columns are date, from, to, from_name`}},
		{"from,date,From", []string{`the column "from" stands twice; name each once`}},
		{"x1,from,x1", []string{`there is no column "x1"; leave it out. The columns are date, from, to, from_name`,
			`the column "x1" stands twice; name each once`}},
	} {
		if got := table.New(strings.Split(x.header, ",")).Unknown(known); !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", x.header, got, x.want)
		}
	}
}

// TestWhatIsWrittenIsReadAgain: any values, with each separator.
func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	pieces := []string{"a", "æ", " ", ",", ";", "\t", `"`, "\n", "1.5", "İ", "e\u0301", "\ufeff", "0301"}
	for range 2000 {
		var rows [][]string
		for range 1 + r.IntN(4) {
			row := []string{"x", "", "z"}
			for range r.IntN(4) {
				row[1] += pieces[r.IntN(len(pieces))]
			}
			rows = append(rows, row)
		}
		header := []string{"a", "b", "c"}
		for _, comma := range ",;\t" {
			var b strings.Builder
			w := csv.NewWriter(&b)
			w.Comma = comma
			if err := w.WriteAll(append([][]string{header}, rows...)); err != nil {
				t.Fatal(err)
			}
			got, err := table.Read(strings.NewReader(b.String()))
			if err != nil || !slices.EqualFunc(got.Rows, rows, slices.Equal) || len(got.Lines) != len(rows) {
				t.Fatalf("%q: %v, %v", b.String(), got, err)
			}
			for i, line := range got.Lines { // counted by hand
				before := strings.Count(strings.Join(slices.Concat(rows[:i]...), ""), "\n")
				if line != 2+i+before {
					t.Fatalf("%q: row %d is of line %d, want %d", b.String(), i, line, 2+i+before)
				}
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "a", "a,b\n1,2", "\ufeff\"a\";b\r\n1;2\r\n", "\xff,\xfe\n,\n", "a\rb", "\"", ",\n,,",
		"a;b\tc\n\n\"\n\"", "İ,ß\nı,ẞ\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := table.Read(strings.NewReader(string(b)))
		if err != nil {
			return
		}
		if len(x.Columns) != len(x.First) || len(x.Rows) != len(x.Lines) {
			t.Fatalf("%q: %d of %d columns, %d lines of %d rows", b, len(x.Columns), len(x.First), len(x.Lines),
				len(x.Rows))
		}
		if len(x.Columns) > 20 { // the checks take the square of the columns
			return
		}
		if !x.Has(x.Columns...) {
			t.Errorf("%q: has no %q", b, x.Columns)
		}
		for i, row := range x.Rows {
			if len(row) != len(x.First) || i > 0 && x.Lines[i] <= x.Lines[i-1] {
				t.Errorf("%q: row %d of line %d has %d values", b, i, x.Lines[i], len(row))
			}
			for _, c := range x.Columns {
				if v := x.Value(i, c); v != strings.TrimSpace(v) {
					t.Errorf("%q: %q has blanks", b, v)
				}
			}
		}
	})
}
