package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"grense/internal/history"
	"grense/internal/history/changes"
	"grense/internal/source"
)

type lineageCheckCmd struct {
	Files  []string `arg:"" name:"file" help:"Tables of changes as for lineage import; or a GeoPackage or database with an imported history; or norway."`
	Codes  []string `required:"" sep:"none" placeholder:"FILE" help:"CSV with the columns code and name (also COM and LIBELLE): the codes in use on the day of --at. May be repeated, each with its --at."`
	At     []string `required:"" sep:"none" placeholder:"DAY" help:"Day of the list of --codes, after the changes of that day. The first is that of the first list, and so on."`
	Scheme string   `placeholder:"ID" help:"Scheme of an imported history, such as kommune. Default: the only one."`
	Since  string   `placeholder:"DAY" help:"Leave out the changes before this day."`
	Only   []string `placeholder:"PREFIX" help:"Read only codes that begin with one of these, separated by commas."`
	With   []string `enum:"areas,lakes" placeholder:"KIND" help:"Read these of the register of BFS too: areas (of no municipality), lakes, or both, separated by a comma."`
	Names  bool     `default:"true" negatable:"" help:"Compare names too."`
}

func (lineageCheckCmd) Help() string {
	return `Replays the changes forwards and backwards, and compares them with each list. Writes a CSV of all differences: the direction, the day of the
list or change, its file and line, the code, and what differs. The exit status is 1 if there are differences.

Forwards, a code is in use from the change that begins it to the one that ends it. Backwards, it is in use before the change that ends
it. So a change that is missing, wrong or out of place shows in at least one direction. A code that no change names must be in
all lists or in none.

Examples:
  grense lineage check kommuner.gpkg --scheme kommune --codes 2024.csv --at 2024-01-01
  grense lineage check changes.csv --codes 2018.csv --at 2018-01-01 --codes 2024.csv --at 2024-01-01`
}

func (c *lineageCheckCmd) Run(ctx context.Context, p *process) error {
	if len(c.Codes) != len(c.At) {
		return fmt.Errorf("--codes stands %s, and --at %s: give each list its day", times(len(c.Codes)),
			times(len(c.At)))
	}
	r, err := c.read(ctx)
	if err != nil {
		return err
	}
	var lists []*history.List
	codes := 0
	for i, name := range c.Codes {
		l, err := readList(name, c.At[i], r.form)
		if err != nil {
			return err
		}
		if len(c.Only) > 0 {
			only := changes.Register{List: l}
			only.Only(c.Only)
		}
		if !c.Names {
			for k := range l.Codes {
				l.Codes[k].Name = ""
			}
		}
		lists, codes = append(lists, l), codes+len(l.Codes)
	}
	found := history.Check(r.changes, r.first, r.last, lists...)
	if err := c.write(p.Stdout, found, lists); err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("%s in %s on %s", count(len(found), "difference"), count(codes, "code"),
			strings.Join(c.At, ", "))
	}
	fmt.Fprintf(p.Stderr, "%s on %s: no differences\n", count(codes, "code"), strings.Join(c.At, ", "))
	return nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// checked is the input of a check: changes, and the code lists before and after them.
type checked struct {
	changes     []history.ChangeRow
	first, last *history.List
	form        changes.Form
}

func (c *lineageCheckCmd) read(ctx context.Context) (r checked, err error) {
	since := history.Date(0)
	if c.Since != "" {
		if since, err = history.ParseDate(c.Since); err != nil {
			return r, fmt.Errorf("--since: %w", err)
		}
	}
	if name := c.Files[0]; len(c.Files) == 1 && (name == "norway" || source.IsDatabase(name) || isGeoPackage(name)) {
		r, err = c.imported(ctx, name)
	} else {
		all, failed := readRegisters(c.Files, c.Only, readOptions(c.With))
		if failed != nil {
			return r, failed
		}
		r = checked{changes: all.Changes, last: all.List, form: all.Form}
	}
	if since != 0 {
		r.changes = slices.DeleteFunc(r.changes, func(x history.ChangeRow) bool { return x.Date < since })
		r.first = nil
	}
	return r, err
}

func isGeoPackage(name string) bool { return strings.EqualFold(filepath.Ext(name), ".gpkg") }

// imported reads one scheme of an imported history or of the built-in one.
func (c *lineageCheckCmd) imported(ctx context.Context, name string) (r checked, err error) {
	if c.Only != nil {
		return r, errors.New("--only is for tables of changes; choose a scheme with --scheme")
	}
	if c.With != nil {
		return r, errors.New("--with is for tables of BFS; give it to grense lineage import")
	}
	var rows []*history.Rows
	if name == "norway" {
		r.form = changes.KlassJSON
		rows, err = history.NorwayRows()
	} else {
		rows, err = lineageIn(ctx, name)
	}
	if err != nil {
		return r, err
	}
	var known []string
	for _, x := range rows {
		if known = append(known, x.Scheme); x.Scheme == c.Scheme || c.Scheme == "" && len(rows) == 1 {
			r.changes, r.first, r.last = x.Replayable()
			return r, nil
		}
	}
	switch {
	case len(rows) == 0:
		return r, fmt.Errorf("%s has no history; import one with grense lineage import", source.Shown(name))
	case c.Scheme == "":
		return r, fmt.Errorf("name the scheme with --scheme; there are %s", strings.Join(known, ", "))
	}
	return r, fmt.Errorf("--scheme %s: there is no such scheme; there are %s", c.Scheme, strings.Join(known, ", "))
}

// write writes the differences as CSV.
func (c *lineageCheckCmd) write(w io.Writer, found []history.Difference, lists []*history.List) error {
	out := csv.NewWriter(w)
	out.Write([]string{"direction", "date", "file", "line", "code", "difference"})
	for _, d := range found {
		direction, file, line := "forwards", "", ""
		if d.Back {
			direction = "backwards"
		}
		switch i := slices.IndexFunc(lists, func(l *history.List) bool { return l.At == d.Date }); {
		case d.List:
			file = filepath.Base(c.Codes[i])
		case d.Line > 0:
			file = filepath.Base(c.Files[d.Line>>fileShift])
		}
		if n := d.Line & (1<<fileShift - 1); n > 0 {
			line = strconv.Itoa(n)
		}
		out.Write([]string{direction, d.Date.String(), file, line, d.Code, d.Text})
	}
	out.Flush()
	return out.Error()
}
