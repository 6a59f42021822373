package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"grense/internal/enrich"
	"grense/internal/history"
	"grense/internal/source"
)

// tableFlags are the flags for the table to read and the file to write.
type tableFlags struct {
	File  string `arg:"" optional:"" help:"CSV with a header, also as .gz. Default, and -: standard input."`
	Out   string `placeholder:"FILE" help:"File to write. It appears when it is complete. Defaults to standard output."`
	Force bool   `help:"Replace the file if it exists."`
}

type translateCmd struct {
	tableFlags
	Column      string `required:"" placeholder:"NAME" help:"Column with the codes."`
	From        string `required:"" placeholder:"DAY" help:"Day on which the codes were in use, such as 2019-01-01."`
	To          string `required:"" placeholder:"DAY" help:"Day whose codes are added. It may be before --from."`
	Scheme      string `default:"kommune" placeholder:"ID" help:"Scheme of the codes: kommune (since 1838), fylke (since 1972), or one of --history. Defaults to kommune."`
	History     string `placeholder:"SOURCE" help:"GeoPackage or PostGIS database with an imported history (grense lineage import). Defaults to the built-in one of Norway."`
	OnAmbiguous string `name:"on-ambiguous" default:"list" enum:"list,null,largest,error" placeholder:"CHOICE" help:"Treatment of a code that is several on the other day: list (default), null, largest or error; see above."`
	As          string `default:"translated" placeholder:"NAME" help:"Name of the new column; NAME_name and NAME_error follow it. Defaults to translated."`
}

func (translateCmd) Help() string {
	return `Adds three columns to a table: the code of another day, its name, and an error. Rows keep their order and their text. A row whose
code is unknown, or was not in use on the day of --from, has an error. A summary goes to standard error.

Mergers that were undone are followed: 1534 (Haram) of 2019 is 1580 in 2024, and 1504 (Ålesund) is 1508, though both were 1507 in
between. --on-ambiguous decides about a code that is several on the other day:
  list      all of them, separated by blanks: 1507 of 2020 is "1508 1580" in 2024
  null      nothing
  largest   the one in which most of its people lived, if that is known of all of them; else the row has an error
  error     the command fails at the first such row

A code that a spreadsheet turned into a number (301) is matched with its zeros (0301) if that is unambiguous, and counted. Separators,
byte order marks and Windows-1252 are detected. The output is UTF-8. Tables may have any length.

Examples:
  grense translate people.csv --column kommunenr --from 2017-01-01 --to 2024-01-01 --out people2024.csv
  grense translate communes.csv --column COM --from 2018-01-01 --to 2025-01-01 --scheme commune --history communes.gpkg`
}

func (c *translateCmd) Run(ctx context.Context, p *process) error {
	codes, err := c.translator(ctx)
	if err != nil {
		return err
	}
	in, size, err := c.open(p)
	if err != nil {
		return err
	}
	defer in.Close()
	t := &translating{
		Translation: enrich.Translation{Codes: codes, Added: [2]string{c.As, c.As + "_name"}},
		from:        c.From,
		to:          c.To,
	}
	t.table = enrich.NewCSV(t, enrich.Options{Code: c.Column, Error: c.As + "_error"})
	if c.Out != "" || !isTerminal(p.Stdout) {
		t.meter = newMeter(p.Stderr, "bytes")
	}
	if err = c.writeTo(p.Stdout, func(w io.Writer) error {
		return t.run(w, interruptible(ctx, in), size)
	}); err != nil {
		return c.explained(ctx, t, err)
	}
	_, err = fmt.Fprintln(p.Stderr, t.summary(c.As+"_error"))
	return err
}

// translator checks the flags and loads the history.
func (c *translateCmd) translator(ctx context.Context) (*history.Translator, error) {
	from, err := history.ParseDate(c.From)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	to, err := history.ParseDate(c.To)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	if err := c.free(); err != nil {
		return nil, err
	}
	s, err := schemeOf(ctx, c.History, c.Scheme)
	if err != nil {
		return nil, err
	}
	return s.NewTranslator(from, to, history.Choice(c.OnAmbiguous)), nil
}

// schemeOf returns a scheme of the history in source, or of the built-in history if source is "".
func schemeOf(ctx context.Context, source, id string) (*history.Scheme, error) {
	h, err := history.Norway()
	if source != "" {
		h, err = importedHistory(ctx, source)
	}
	if err != nil {
		return nil, err
	}
	s := h.Scheme(id)
	if s == nil {
		var known []string
		for _, x := range h.Schemes() {
			known = append(known, x.ID)
		}
		return nil, fmt.Errorf("--scheme %s: there is no such scheme; there are %s", id, strings.Join(known, ", "))
	}
	return s, nil
}

// importedHistory loads the history in a source.
func importedHistory(ctx context.Context, name string) (*history.History, error) {
	rows, err := lineageIn(ctx, name)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%s has no history; import one with grense lineage import", source.Shown(name))
	}
	if err != nil {
		return nil, err
	}
	return history.New(rows...)
}

// open opens the table; size is its length in bytes, 0 if unknown.
func (c tableFlags) open(p *process) (in io.ReadCloser, size int64, err error) {
	if c.File == "" || c.File == "-" {
		return io.NopCloser(p.Stdin), 0, nil
	}
	if in, err = openText(c.File); err != nil {
		return nil, 0, err
	}
	if f, ok := in.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			size = st.Size()
		}
	}
	return in, size, nil
}

// free returns an error if the file of --out exists and may not be replaced.
func (c tableFlags) free() error {
	if _, err := os.Stat(c.Out); c.Out != "" && err == nil && !c.Force {
		return fmt.Errorf("%s exists; choose another file, or replace it with --force", c.Out)
	}
	return nil
}

// table returns the name of the table for messages.
func (c tableFlags) table() string {
	if c.File == "" || c.File == "-" {
		return "standard input"
	}
	return c.File
}

// writeTo calls write with standard output, or with a temporary file that replaces the file of --out after success.
func (c tableFlags) writeTo(stdout io.Writer, write func(io.Writer) error) error {
	if c.Out == "" {
		return write(stdout)
	}
	f, err := os.CreateTemp(filepath.Dir(c.Out), filepath.Base(c.Out)+".*.tmp")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s", filepath.Dir(c.Out))
	}
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), c.Out)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// explained returns an error with the place in the table and the cure.
func (c *translateCmd) explained(ctx context.Context, t *translating, err error) error {
	what := c.table()
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted; the table was not translated to its end")
	case errors.Is(err, history.ErrAmbiguous):
		return fmt.Errorf("%s, row %d: %s of %s is %s on %s; choose --on-ambiguous list, null or largest", what,
			t.table.Report.Rows, t.Asked, t.from, strings.ReplaceAll(t.Several, " ", " and "), t.to)
	}
	return fmt.Errorf("cannot translate %s: %w", what, err)
}

// interruptible returns a reader of in that fails when ctx ends, even while in blocks.
func interruptible(ctx context.Context, in io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err) // nil becomes io.EOF
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	return r
}

// translating is a translation of one table in progress.
type translating struct {
	enrich.Translation
	from, to string
	table    *enrich.Table
	meter    *meter // nil: no progress is shown
}

func (t *translating) run(w io.Writer, r io.Reader, size int64) error {
	if t.meter == nil {
		return t.table.Run(w, r, nil)
	}
	if err := t.table.Run(w, r, func(bytes int) { t.meter.show(bytes, int(size)) }); err != nil {
		return err
	}
	t.meter.end("translated")
	return nil
}

// summary returns a sentence about how many rows were translated.
func (t *translating) summary(faults string) string {
	r := t.table.Report
	s := fmt.Sprintf("%s: %d translated", count(r.Rows, "row"), r.Matched)
	if r.Unmatched > 0 {
		s += fmt.Sprintf(", %d left empty", r.Unmatched)
	}
	if r.Errors > 0 {
		s += fmt.Sprintf(", %d with an error (see the column %s)", r.Errors, faults)
	}
	if t.Ambiguous > 0 {
		s += fmt.Sprintf("; of %d the code is several on %s", t.Ambiguous, t.to)
	}
	if r.RestoredCodes > 0 {
		s += fmt.Sprintf("; %d had lost zeros at the beginning of the code, which were put back", r.RestoredCodes)
	}
	return s
}
