package history

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"grense/internal/history/table"
	"grense/internal/problem"
)

// SeriesColumns are the column names of a table of values.
type SeriesColumns struct {
	Code, Date, Value string   // "" means code, date, value
	By                []string // other columns that distinguish rows; they are copied to the result
	Skip              bool     // skip and report rows that cannot be read
	Lines             bool     // table and result are one JSON object per line; otherwise CSV with a header line
}

// SeriesFault is an error in a row of a table. The header line is row 0.
type SeriesFault struct {
	Row    int
	Reason problem.Saying
}

func (f *SeriesFault) Error() string { return f.Said().String() }

// Said returns the message for users, with the number of the row.
func (f *SeriesFault) Said() problem.Saying {
	if f.Row == 0 {
		return problem.Sayf("heading: %s", f.Reason)
	}
	return problem.Sayf("row %d: %s", f.Row, f.Reason)
}

// SayingOf returns the translatable message of an error about a table. If there is none, it wraps the error text, which
// then has no translation.
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

// mostFaults is the largest number of codes not in use that are listed.
const mostFaults = 20

// Write writes all cells with the columns code, name, date, those of By, value, low and high (if SeriesOptions.Interval
// is set), mark and why. Numbers in CSV have a decimal comma if numbers in the table that was read have one.
func (x *Series) Write(w io.Writer, cols SeriesColumns) (SeriesReport, error) {
	if cols.Lines {
		return x.writeLines(w, cols)
	}
	out := csv.NewWriter(w)
	if x.comma != 0 {
		out.Comma = x.comma
	}
	head := append([]string{"code", "name", "date"}, cols.By...)
	head = append(head, "value")
	if x.o.Interval {
		head = append(head, "low", "high")
	}
	if err := out.Write(append(head, "mark", "why")); err != nil {
		return x.report, err
	}
	row := make([]string, 0, len(head)+2)
	number := func(s string) string {
		if x.commas {
			return strings.Replace(s, ".", ",", 1)
		}
		return s
	}
	report, err := x.Cells(func(c Cell) error {
		row = append(row[:0], c.Code, c.Name, c.Date.String())
		if len(cols.By) > 0 {
			row = append(row, strings.Split(c.By, "\x00")...)
		}
		row = append(row, number(c.Value))
		if x.o.Interval {
			row = append(row, number(c.Low), number(c.High))
		}
		return out.Write(append(row, string(c.Mark), c.Why))
	})
	out.Flush()
	return report, errors.Join(err, out.Error())
}

// seriesNames are the columns of a result other than those of By.
var seriesNames = []string{"code", "name", "date", "value", "low", "high", "mark", "why"}

// Read adds all rows of a table. A date is a day (2020-01-01), or a year, month, quarter or half-year, which stands for
// its first day: 2020, 2020-02, 2020M02, 2020K1, 2020Q1, 2020H1. report, which may be nil, is called with the first
// rows whose code was not in use on their day, and with those skipped because of SeriesColumns.Skip. The error is a
// *SeriesFault if the table is invalid; otherwise it is an error of r.
func (x *Series) Read(r io.Reader, cols SeriesColumns, report func(SeriesFault)) error {
	for _, name := range cols.By {
		if slices.Contains(seriesNames, name) {
			return &SeriesFault{
				0,
				problem.Sayf("the answer has a column %q of its own; rename that of the table, or leave it out", name),
			}
		}
	}
	next, err := x.rows(r, cols)
	if err != nil {
		return err
	}
	unknown := 0
	for n := 1; ; n++ {
		row, err := next() // code, date, value, then the columns By
		if errors.Is(err, io.EOF) {
			return nil
		}
		day, by := Date(0), ""
		if err == nil {
			for i := range row[3:] {
				row[3+i] = strings.ReplaceAll(row[3+i], "\x00", "")
			}
			if by = strings.Join(row[3:], "\x00"); !utf8.ValidString(by) {
				err = problem.Sayf("the text is not UTF-8")
			}
		}
		if err == nil {
			day, err = seriesDate(strings.TrimSpace(row[1]))
		}
		if err == nil {
			err = x.Add(strings.TrimSpace(row[0]), day, by, strings.TrimSpace(row[2]))
		}
		switch {
		case err == nil:
		case NotUsed(err):
			if unknown++; unknown <= mostFaults && report != nil {
				reason := problem.Sayf("%s was not in use on %s", strings.TrimSpace(row[0]), day)
				if errors.Is(err, ErrNotKnown) {
					reason = problem.Sayf("%s on %s: nothing is known before %s", strings.TrimSpace(row[0]),
						day, x.s.begin)
				}
				report(SeriesFault{n, reason})
			}
		case cols.Skip && isOfRow(err):
			x.report.Rows++
			if x.report.Skipped++; x.report.Skipped <= mostFaults {
				reason := SayingOf(err)
				x.report.Faults = append(x.report.Faults, SkippedRow{n, reason.String()})
				if report != nil {
					report(SeriesFault{n, reason})
				}
			}
		case isOfTable(err):
			return &SeriesFault{n, SayingOf(err)}
		default:
			return err
		}
	}
}

// isOfTable reports whether an error is about the contents of the table, not about reading it or about the spill file.
func isOfTable(err error) bool {
	_, said := errors.AsType[problem.Saying](err)
	_, parsed := errors.AsType[*csv.ParseError](err)
	return said || parsed
}

// isOfRow reports whether an error concerns only one row, so that reading can continue with the next.
func isOfRow(err error) bool {
	return isOfTable(err) && !errors.Is(err, ErrTooMany) && !errors.Is(err, errLongRow)
}

func orElse(s, usual string) string {
	if s == "" {
		return usual
	}
	return s
}

// seriesDate parses a day, or a year, month, quarter or half-year, for which it returns the first day.
func seriesDate(s string) (Date, error) {
	year, rest := s, ""
	if len(s) > 4 {
		year, rest = s[:4], s[4:]
	}
	if len(year) != 4 || strings.Trim(year, "0123456789") != "" || strings.Count(s, "-") == 2 {
		return ParseDate(s)
	}
	months := map[byte]int{'M': 1, '-': 1, 'K': 3, 'Q': 3, 'H': 6}
	if rest == "" {
		return ParseDate(year + "-01-01")
	}
	length := months[rest[0]]
	n, err := strconv.Atoi(rest[1:])
	if length == 0 || err != nil || n < 1 || n > 12/length || length == 1 && len(rest) != 3 ||
		length > 1 && len(rest) != 2 {
		return ParseDate(s)
	}
	return ParseDate(fmt.Sprintf("%s-%02d-01", year, (n-1)*length+1))
}

// isNone reports whether a cell stands for a missing value.
func isNone(s string) bool {
	switch s {
	case "", ".", "..", "...", "…", ":", "-", "–":
		return true
	}
	return strings.EqualFold(s, "NA") || strings.EqualFold(s, "N/A") || strings.EqualFold(s, "NaN")
}

// parseValue parses a number with a decimal point or comma, spaces as thousands separators, and a hyphen or U+2212 as
// minus sign. If the CSV separator is a comma, a comma before exactly three digits is an error, because it could
// separate thousands. comma reports whether the number has a decimal comma.
func parseValue(s string, separator rune) (d decimal, comma bool, err error) {
	plain := s
	if rest, minus := strings.CutPrefix(s, "\u2212"); minus {
		plain = "-" + rest
	}
	if i := strings.IndexAny(plain, " \u00a0\u202f"); i > 0 {
		groups := strings.FieldsFunc(plain, func(r rune) bool { return r == ' ' || r == '\u00a0' || r == '\u202f' })
		for k, g := range groups {
			if whole, _, _ := strings.Cut(strings.ReplaceAll(g, ",", "."), "."); k > 0 && len(whole) != 3 {
				return d, false, problem.Sayf("%q is no number; write digits, with a point before decimals", s)
			}
		}
		plain = strings.Join(groups, "")
	}
	if i := strings.IndexByte(plain, ','); i >= 0 && strings.Count(plain, ",") == 1 && !strings.Contains(plain, ".") {
		if separator == ',' && len(plain)-i-1 == 3 {
			return d, false, problem.Sayf(
				"%q may be thousands or decimals; write decimals with a point, and nothing between thousands",
				s,
			)
		}
		plain, comma = plain[:i]+"."+plain[i+1:], true
	}
	if d, err = parseDecimal(plain); err != nil {
		return d, comma, problem.Sayf("%q is no number; write digits, with a point before decimals", s)
	}
	return d, comma, nil
}

// bareCode removes a prefix of letters (K-0301) and a name (0301 Oslo) from a code.
func bareCode(s string) string {
	s, _, _ = strings.Cut(s, " ")
	if prefix, rest, ok := strings.Cut(s, "-"); ok && prefix != "" &&
		strings.IndexFunc(prefix, func(r rune) bool { return !unicode.IsLetter(r) }) < 0 {
		return rest
	}
	return s
}

// openCSV returns a CSV reader that skips a byte order mark, and the separator, detected from the header line.
func openCSV(r io.Reader) (*csv.Reader, rune) {
	b := bufio.NewReaderSize(r, 64<<10)
	skipMark(b)
	head, _ := b.Peek(4096) // less if the table is shorter
	head, _, _ = bytes.Cut(head, []byte("\n"))
	comma := ','
	for _, sep := range []rune{';', '\t', '|'} {
		if bytes.Count(head, []byte(string(sep))) > bytes.Count(head, []byte(string(comma))) {
			comma = sep
		}
	}
	in := csv.NewReader(b)
	in.Comma = comma
	return in, comma
}

// wrongCSV returns the error for CSV that the parser rejected for the given reason.
func wrongCSV(reason string) error {
	for _, err := range []error{csv.ErrFieldCount, csv.ErrQuote, csv.ErrBareQuote} {
		if err.Error() == reason {
			return err
		}
	}
	return errors.New(reason)
}

// ReadWeights reads a table of weights with the columns code and weight, and optionally date and to. The error is a
// *SeriesFault if a row is invalid.
func ReadWeights(r io.Reader) (out []SuppliedWeight, err error) {
	t, err := table.Read(r)
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, &SeriesFault{p.Line - 1, SayingOf(wrongCSV(p.Err.Error()))}
	}
	if err != nil {
		return nil, err
	}
	if !t.Has("code", "weight") {
		return nil, problem.Sayf("a table of weights has the columns code and weight, and perhaps date and to")
	}
	if reasons := t.Unknown([]string{"code", "weight", "date", "to"}); reasons != nil {
		return nil, &SeriesFault{0, problem.Sayf("%s", reasons[0])}
	}
	for i := range t.Rows {
		w := SuppliedWeight{Code: t.Value(i, "code"), To: t.Value(i, "to"), Weight: t.Value(i, "weight")}
		if d := t.Value(i, "date"); d != "" {
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
