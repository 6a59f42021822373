package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"grense/internal/format/input"
	"grense/internal/format/xlsx"
	"grense/internal/history"
	"grense/internal/history/changes"
	"grense/internal/source"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/tempfile"
)

type lineageCmd struct {
	Import lineageImportCmd `cmd:"" help:"Import the history of divisions from tables of changes."`
	Check  lineageCheckCmd  `cmd:"" help:"Compare changes with lists of codes that are valid on a day."`
}

func (lineageCmd) Help() string {
	return `A history holds the codes that were in use on each day, what happened to them, and what replaced them.

Examples:
  grense lineage import norway --into kommuner.gpkg
  grense lineage check kommuner.gpkg --scheme kommune --codes codes.csv --at 2024-01-01`
}

type lineageImportCmd struct {
	Files   []string `arg:"" name:"file" help:"Tables of changes, of a register above or a CSV of your own, also as .gz; several are read as one. Or norway, which is built in."`
	Into    string   `required:"" placeholder:"TARGET" help:"GeoPackage to write to, or PostGIS database (postgres://...). Other collections and schemes stay."`
	Scheme  string   `placeholder:"ID" help:"Scheme of the codes, such as kommune. Required except for norway."`
	Codes   string   `placeholder:"FILE" help:"CSV with the columns code and name (also COM and LIBELLE): the codes in use on the day of --at. Default: only codes in changes are known."`
	At      string   `placeholder:"DAY" help:"Day of the list of --codes, after the changes of that day."`
	Since   string   `placeholder:"DAY" help:"Leave out everything before this day. Default: codes that no change begins count as in use on every day before."`
	Only    []string `placeholder:"PREFIX" help:"Read only codes that begin with one of these, separated by commas, such as E06,E07 of ONS."`
	With    []string `enum:"areas,lakes" placeholder:"KIND" help:"Read these of the register of BFS as divisions of their own: areas (of no municipality), lakes, or both, separated by a comma."`
	Parent  string   `placeholder:"SCHEME:N" help:"Scheme of the parents, and how many first characters of a code are that of its parent, such as fylke:2."`
	Replace bool     `help:"Replace the scheme in the target. Changes that it already has keep the time when they were recorded."`
}

func (lineageImportCmd) Help() string {
	return `All changes are imported, or none. A code that ends must be in use, one that begins must not be. The people or square metres
of a split are known for all its parts or for none. A fault is printed with its line (for KLASS in JSON, its entry) and the reason.

Registers are recognized by their columns:
  KLASS (Norway)       what /changes answers, JSON or CSV
  INSEE (France)       movements of communes, v_mvt_commune
  BFS (Switzerland)    register of municipalities, as published or with the headings of the R package munch; /communes/mutations
  ONS (United Kingdom) Changes.csv and ChangeHistory.csv of the Code History Database, both; choose kinds with --only
  Destatis (Germany)   territorial changes (Gebietsänderungen), XLSX or CSV, with area and people moved
  CBS (Netherlands)    columns ingangsdatum, soort, oude_gemeentecode and nieuwe_gemeentecode (see the documentation)

ONS: ChangeHistory.csv is the list of --codes. Codes of the recoding of 2009 have no known start.
BFS: municipalities by their official names; --with areas,lakes adds areas of no municipality and lakes. It needs no --codes.
Its first entries, of 1960, have no known start; use --since 1960-01-01.
Destatis: municipalities by AGS and the legal day (juristisch). The table does not say whether a municipality that absorbs others
existed before; give the codes of a day before the first change.

A CSV of your own has the columns date, from and to, and may have from_name, to_name, made_of, transfer, people, area, source
and recorded. A code that stays while others join it, or leave it, has a line of its own with the code on both sides. Without
from, a code begins; without to, it ends. made_of names codes, separated by blanks, that were merged into from
earlier and that to consists of. transfer=true moves area between two codes that stay. people and area (square metres) moved
along; 0 is none, and empty is unknown.
Any other column is an error. A row of a second file completes one of the first with the same date, from and to.
The table of KLASS lacks one line: 1992-01-01,0128,0128. Give it in a second file.

A split may undo a merger. The movements of INSEE say what came back (MOD 21); KLASS does not. Where no made_of says it,
the import warns, and codes from before the merger are translated to all parts, marked as ambiguous.

Examples:
  grense lineage import norway --into kommuner.gpkg
  grense lineage import own.csv --scheme ward --codes wards.csv --at 2024-01-01 --into wards.gpkg`
}

func (c *lineageImportCmd) Run(ctx context.Context, p *process) error {
	rows, err := c.read()
	if err != nil {
		return c.explain(err)
	}
	kept, err := c.existing(ctx, rows)
	if err != nil {
		return err
	}
	now := time.Now().UTC().Format(time.RFC3339)
	for _, r := range rows {
		r.Record(kept, now)
	}
	all := rows
	for _, old := range kept {
		if !slices.ContainsFunc(rows, func(r *history.Rows) bool { return r.Scheme == old.Scheme }) {
			all = append(all, old)
		}
	}
	h, err := history.New(all...)
	if err != nil {
		return c.explain(err)
	}
	if len(kept) > 0 {
		old, err := history.New(kept...)
		if err != nil {
			return fmt.Errorf("the history in %s does not fit: %w", source.Shown(c.Into), err)
		}
		h.Follow(old)
	}
	w, err := createTarget(ctx, c.Into)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", source.Shown(c.Into), err)
	}
	defer w.Close()
	if err = history.Write(ctx, w, h); err == nil {
		err = w.Commit(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", source.Shown(c.Into), err)
	}
	for _, r := range rows {
		s := h.Scheme(r.Scheme)
		fmt.Fprintf(p.Stderr, "%s: %s, %s\n", s.ID, count(len(s.Versions), "version"), count(len(s.Events), "event"))
		warnAssumed(p.Stderr, r.Assumed)
		warnUnsure(p.Stderr, s)
	}
	return nil
}

// mostWarnings is the largest number of warnings of one kind.
const mostWarnings = 20

// warnAssumed prints the codes that absorbed others and of which the table does not show whether they existed before.
func warnAssumed(w io.Writer, all []string) {
	if len(all) == 0 {
		return
	}
	more := ""
	if n := len(all) - mostWarnings; n > 0 {
		more, all = fmt.Sprintf(" and %d more", n), all[:mostWarnings]
	}
	fmt.Fprintf(
		w,
		"warning: these codes took up others, and nothing says whether they were in use before; "+
			"they count as if they were: %s%s. "+
			"Give the codes of a day before the first change with --codes and --at.\n",
		strings.Join(all, ", "),
		more,
	)
}

// warnUnsure prints splits that may undo a merger but do not say which part returned to which code.
func warnUnsure(w io.Writer, s *history.Scheme) {
	all := s.Unsure()
	for i, v := range all {
		if i == mostWarnings {
			fmt.Fprintf(w, "warning: and %d more\n", len(all)-i)
			break
		}
		var to []string
		for _, e := range s.Out(v) {
			if e.To != nil {
				to = append(to, e.To.Code)
			}
		}
		fmt.Fprintf(w, "warning: %s: %s, a merger, was split into %s, and no made_of says what came back to which. "+
			"Older codes are translated to all of them, as ambiguous. Add made_of in a second file.\n",
			v.To, v.Code, strings.Join(to, ", "))
	}
}

// read returns the rows to import.
func (c *lineageImportCmd) read() ([]*history.Rows, error) {
	if len(c.Files) == 1 && c.Files[0] == "norway" {
		if c.Scheme+c.Codes+c.At+c.Since+c.Parent != "" || c.Only != nil || c.With != nil {
			return nil, errors.New(
				"norway is built in, and takes no --scheme, --codes, --at, --since, --only, --with or --parent",
			)
		}
		return history.NorwayRows()
	}
	if c.Scheme == "" {
		return nil, errors.New("name what the codes are of with --scheme, such as kommune")
	}
	if strings.ContainsFunc(c.Scheme, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return nil, fmt.Errorf("--scheme %q: a scheme has neither blanks nor control characters", c.Scheme)
	}
	if (c.Codes == "") != (c.At == "") {
		return nil, errors.New("--codes and --at go together: a list of codes, and the day on which they are in use")
	}
	var since history.Date
	var err error
	if c.Since != "" {
		if since, err = history.ParseDate(c.Since); err != nil {
			return nil, fmt.Errorf("--since: %w", err)
		}
	}
	all, err := readRegisters(c.Files, c.Only, readOptions(c.With))
	if err != nil {
		return nil, err
	}
	all.Changes = slices.DeleteFunc(all.Changes, func(r history.ChangeRow) bool { return r.Date < since })
	list := all.List
	if c.Codes != "" {
		if list, err = readList(c.Codes, c.At, all.Form); err != nil {
			return nil, err
		}
	}
	r, err := history.Replay(c.Scheme, all.Changes, list)
	if err == nil && since != 0 {
		r.Since(since)
	}
	if err == nil && c.Parent != "" {
		err = r.SetParents(c.Parent)
	}
	return []*history.Rows{r}, err
}

// fileShift is the number of bits below the file index in the line number of a change.
const fileShift = 32

// readOptions converts the values of --with.
func readOptions(with []string) changes.Options {
	return changes.Options{Areas: slices.Contains(with, "areas"), Lakes: slices.Contains(with, "lakes")}
}

// readRegisters reads tables of changes and joins them. If prefixes are given, it keeps codes that begin with one of
// them. Line numbers contain the file index, shifted by fileShift.
func readRegisters(names, prefixes []string, o changes.Options) (*changes.Register, error) {
	all := &changes.Register{}
	for i, name := range names {
		one, err := readRegister(name, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all.Add(one, i<<fileShift)
	}
	if o != (changes.Options{}) && all.Form != changes.BFS {
		return nil, errors.New("--with is for the register of BFS; leave it out")
	}
	if len(prefixes) > 0 {
		if all.Only(prefixes); len(all.Changes) == 0 {
			return nil, fmt.Errorf("--only %s: no change names only codes that begin so", strings.Join(prefixes, ","))
		}
	}
	return all, nil
}

// readRegister reads one table of changes. In a workbook it uses the first sheet that is such a table.
func readRegister(name string, o changes.Options) (one *changes.Register, err error) {
	if !strings.EqualFold(filepath.Ext(name), ".xlsx") {
		err = withFile(name, func(r io.Reader) error {
			one, err = changes.Read(r, o)
			return err
		})
		return one, err
	}
	sheets, err := xlsx.Sheets(name, input.Limits{})
	if err != nil {
		return nil, err
	}
	for _, s := range sheets {
		one, err = changes.ReadRows(s.Rows, s.Lines, o)
		if _, isTable := errors.AsType[history.Faults](err); err == nil || isTable {
			return one, err
		}
	}
	return nil, fmt.Errorf("no sheet is a table of changes: %w", err)
}

// readList reads the list of the codes in use on a day.
func readList(name, day string, form changes.Form) (list *history.List, err error) {
	at, err := history.ParseDate(day)
	if err != nil {
		return nil, fmt.Errorf("--at: %w", err)
	}
	err = withFile(name, func(r io.Reader) error {
		list, err = changes.ReadList(r, at, form)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

// withFile calls fn with the content of a file. It unpacks names that end in .gz.
func withFile(name string, fn func(io.Reader) error) error {
	f, err := openText(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return fn(f)
}

// openText opens a file. It unpacks names that end in .gz.
func openText(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil || !strings.HasSuffix(strings.ToLower(name), ".gz") {
		return f, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// existing returns the history in the target; nil if there is none or the target does not exist yet.
func (c *lineageImportCmd) existing(ctx context.Context, rows []*history.Rows) ([]*history.Rows, error) {
	if _, err := os.Stat(c.Into); !source.IsDatabase(c.Into) && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	kept, err := lineageIn(ctx, c.Into)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if !c.Replace && slices.ContainsFunc(kept, func(k *history.Rows) bool { return k.Scheme == r.Scheme }) {
			return nil, fmt.Errorf("%s has a history of %s already; replace it with --replace",
				source.Shown(c.Into), r.Scheme)
		}
	}
	return kept, nil
}

// lineageIn returns the history in a GeoPackage or a database; nil if there is none.
func lineageIn(ctx context.Context, name string) (rows []*history.Rows, err error) {
	var st store.Store
	if source.IsDatabase(name) {
		st, err = postgis.Open(ctx, name, postgis.Options{AllowEmpty: true})
	} else {
		temp, done, err := tempfile.Folder("grense-lineage-")
		if err != nil {
			return nil, err
		}
		defer done()
		if st, err = source.GeoPackages(temp)(ctx, name); err != nil {
			return nil, fmt.Errorf("cannot open %s: %w", name, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", source.Shown(name), err)
	}
	defer st.Close()
	if rows, err = history.LoadRows(ctx, st); err != nil {
		return nil, fmt.Errorf("cannot read the history in %s: %w", source.Shown(name), err)
	}
	return rows, nil
}

// explain replaces the line numbers in an error by the file and the line in it.
func (c *lineageImportCmd) explain(err error) error {
	faults, ok := errors.AsType[history.Faults](err)
	if !ok || len(c.Files) < 2 {
		return err
	}
	named := make(history.Faults, len(faults))
	for i, f := range faults {
		named[i] = f
		if k := f.Line >> fileShift; f.Line > 0 && k < len(c.Files) {
			named[i] = history.Fault{
				Reason: fmt.Sprintf("%s, line %d: %s", filepath.Base(c.Files[k]), f.Line&(1<<fileShift-1), f.Reason),
			}
		}
	}
	return named
}
