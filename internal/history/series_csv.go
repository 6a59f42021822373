package history

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"grense/internal/problem"
)

// SeriesColumns name the columns of a table of values.
type SeriesColumns struct {
	Code, Date, Value string   // defaults: code, date, value
	By                []string // other columns that tell values apart; they are in the answer
}

// SeriesFault is what is wrong with a row of a table. The heading is row 0.
type SeriesFault struct {
	Row    int
	Reason problem.Saying
}

func (f *SeriesFault) Error() string { return f.Said().String() }

// Said is the fault for people, with its row.
func (f *SeriesFault) Said() problem.Saying {
	if f.Row == 0 {
		return problem.Sayf("heading: %s", f.Reason)
	}
	return problem.Sayf("row %d: %s", f.Row, f.Reason)
}

// SayingOf is what an error says of a table, for people; where pages have it in no other language, it is a saying without a translation.
func SayingOf(err error) problem.Saying {
	fault, ofRow := errors.AsType[*SeriesFault](err)
	switch s, said := errors.AsType[problem.Saying](err); {
	case ofRow:
		return fault.Said()
	case said:
		return s
	case errors.Is(err, csv.ErrFieldCount):
		return problem.Sayf("it has more or fewer cells than the heading")
	case errors.Is(err, csv.ErrQuote), errors.Is(err, csv.ErrBareQuote):
		return problem.Sayf("a quotation mark is out of place")
	}
	return problem.Sayf("%s", err.Error())
}

// mostFaults is how many codes that were not in use are told one by one.
const mostFaults = 20

// WriteCSV writes a table of all cells: code, name, date, the columns of By, value, mark and why.
func (x *Series) WriteCSV(w io.Writer, cols SeriesColumns) (SeriesReport, error) {
	out := csv.NewWriter(w)
	if x.comma != 0 {
		out.Comma = x.comma
	}
	head := append([]string{"code", "name", "date"}, cols.By...)
	if err := out.Write(append(head, "value", "mark", "why")); err != nil {
		return x.report, err
	}
	row := make([]string, 0, len(head)+3)
	report, err := x.Cells(func(c Cell) error {
		row = append(row[:0], c.Code, c.Name, c.Date.String())
		if len(cols.By) > 0 {
			row = append(row, strings.Split(c.By, "\x00")...)
		}
		return out.Write(append(row, c.Value, string(c.Mark), c.Why))
	})
	out.Flush()
	return report, errors.Join(err, out.Error())
}

// ReadCSV adds all rows of a table. Days are as 2020-01-01, or 2020 for the first of January. told, unless it is nil, gets the first rows whose code was not in use on
// their day. An error is a *SeriesFault where it is of a row.
func (x *Series) ReadCSV(r io.Reader, cols SeriesColumns, told func(SeriesFault)) error {
	in, comma := openCSV(r)
	x.comma = comma
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return &SeriesFault{0, problem.Sayf("the table is empty")}
	} else if err != nil {
		return &SeriesFault{0, SayingOf(err)}
	}
	for i := range head {
		head[i] = strings.TrimSpace(head[i])
	}
	names := append([]string{orElse(cols.Code, "code"), orElse(cols.Date, "date"), orElse(cols.Value, "value")}, cols.By...)
	at := make([]int, len(names))
	for i, name := range names {
		if slices.ContainsFunc(head, func(s string) bool { return strings.ContainsRune(s, '\r') }) {
			return &SeriesFault{0, problem.Sayf("the lines end with carriage returns alone; save the table with line feeds")}
		}
		at[i] = slices.Index(head, name)
		if at[i] >= 0 && slices.Contains(head[at[i]+1:], name) {
			return &SeriesFault{0, problem.Sayf("the column %q stands twice; name each once", name)}
		}
		if at[i] < 0 {
			return &SeriesFault{0, problem.Sayf("there is no column %q; there are %s", name, strings.Join(head, ", "))}
		}
	}
	in.ReuseRecord = true
	unknown := 0
	by := make([]string, len(cols.By))
	for n := 1; ; n++ {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &SeriesFault{n, SayingOf(err)}
		}
		for i := range by {
			by[i] = strings.ReplaceAll(row[at[3+i]], "\x00", "")
			if !utf8.ValidString(by[i]) {
				return &SeriesFault{n, problem.Sayf("the text is not UTF-8")}
			}
		}
		day, err := seriesDate(strings.TrimSpace(row[at[1]]))
		if err == nil {
			err = x.Add(strings.TrimSpace(row[at[0]]), day, strings.Join(by, "\x00"), strings.TrimSpace(row[at[2]]))
		}
		switch {
		case errors.Is(err, ErrNotKnown):
			if unknown++; unknown <= mostFaults && told != nil {
				told(SeriesFault{n, problem.Sayf("%s on %s: nothing is known before %s",
					strings.TrimSpace(row[at[0]]), day, x.s.begin)})
			}
		case NotUsed(err):
			if unknown++; unknown <= mostFaults && told != nil {
				told(SeriesFault{n, problem.Sayf("%s was not in use on %s", strings.TrimSpace(row[at[0]]), day)})
			}
		case err != nil:
			return &SeriesFault{n, SayingOf(err)}
		}
	}
}

func orElse(s, usual string) string {
	if s == "" {
		return usual
	}
	return s
}

// seriesDate reads a day, or a year as its first day.
func seriesDate(s string) (Date, error) {
	if len(s) == 4 && strings.Trim(s, "0123456789") == "" {
		s += "-01-01"
	}
	return ParseDate(s)
}

// openCSV tells the separator by the heading, and passes over a byte order mark.
func openCSV(r io.Reader) (*csv.Reader, rune) {
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		b.Discard(3) // they are there
	}
	head, _ := b.Peek(4096) // fewer are all there are
	head, _, _ = bytes.Cut(head, []byte("\n"))
	comma := ','
	for _, sep := range []rune{';', '\t'} {
		if bytes.Count(head, []byte(string(sep))) > bytes.Count(head, []byte(string(comma))) {
			comma = sep
		}
	}
	in := csv.NewReader(b)
	in.Comma = comma
	return in, comma
}

// wrongCSV is the error of a parser that gave a reason.
func wrongCSV(reason string) error {
	for _, err := range []error{csv.ErrFieldCount, csv.ErrQuote, csv.ErrBareQuote} {
		if err.Error() == reason {
			return err
		}
	}
	return errors.New(reason)
}

// ReadWeights reads a table of weights with the columns code and weight, and perhaps date and to. What is wrong with a row is a *SeriesFault.
func ReadWeights(r io.Reader) (out []SuppliedWeight, err error) {
	t, err := tableOf(r)
	if f, ok := errors.AsType[Faults](err); ok && len(f) == 1 && f[0].Line > 0 {
		return nil, &SeriesFault{f[0].Line - 1, SayingOf(wrongCSV(f[0].Reason))}
	}
	if err != nil {
		return nil, err
	}
	if !t.has("code", "weight") {
		return nil, problem.Sayf("a table of weights has the columns code and weight, and perhaps date and to")
	}
	if faults := t.only([]string{"code", "weight", "date", "to"}); faults != nil {
		return nil, &SeriesFault{0, problem.Sayf("%s", faults[0].Reason)}
	}
	for i := range t.rows {
		w := SuppliedWeight{Code: t.value(i, "code"), To: t.value(i, "to"), Weight: t.value(i, "weight")}
		if d := t.value(i, "date"); d != "" {
			if w.Date, err = seriesDate(d); err != nil {
				return nil, &SeriesFault{i + 1, SayingOf(err)}
			}
		}
		if d, err := parseDecimal(w.Weight); err != nil || d.n.Sign() < 0 {
			return nil, &SeriesFault{i + 1, problem.Sayf("the weight %q is no number from 0", w.Weight)}
		}
		out = append(out, w)
	}
	return out, nil
}
