package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"grense/internal/format/input"
	"grense/internal/ingest"
	"grense/internal/register"
	"grense/internal/register/official"
	"grense/internal/source"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis/writer"
	"grense/internal/tempfile"
)

type registerImportCmd struct {
	Files       []string `arg:"" name:"file" help:"GML, or CSV, GeoJSON or a GeoPackage with one spelling a row; also as .gz or in a .zip. Several files become one register."`
	Into        string   `required:"" placeholder:"TARGET" help:"GeoPackage to write to, or PostGIS database (postgres://...). Other collections stay."`
	Replace     bool     `help:"Replace the register in the target."`
	SkipRefused bool     `help:"Import the other places if some are refused. Otherwise one refused place refuses all."`
	CRS         string   `name:"crs" placeholder:"EPSG:n" help:"Coordinate system of CSV and GeoJSON that state none or a wrong one."`
	Report      string   `placeholder:"FILE" help:"File for the faults and the unknown codes, one JSON object a line."`
}

func (registerImportCmd) Help() string {
	return `Reads the product "Stedsnavn" as Kartverket publishes it on Geonorge (StedsnavnForVanligBruk), for the country or by county. The same
files give the same register in any order. A place that is in several files is imported once, in its latest version. Codes that no
list has are added to their list, and printed. Cases, decisions, books and maps are not in the product.

A place keeps its stedsnummer as its id. The folder for temporary files (TMPDIR) needs about 2 KB a place.

CSV and GeoJSON need columns named as in the product: stedsnummer, komplettskrivemåte, navneobjekttype and oppdateringsdato; with
several names or spellings also stedsnavnnummer and skrivemåtenummer.

Examples:
  grense register import Basisdata_0000_Norge_4258_Stedsnavn_GML.zip --into register.gpkg
  grense register import stedsnavn.csv --into register.gpkg --crs EPSG:25833 --replace --report faults.jsonl`
}

// shownCodes is the number of unknown codes that are printed; the report has all.
const shownCodes = 10

func (c *registerImportCmd) Run(ctx context.Context, p *process) (err error) {
	id, err := parseCRS(c.CRS)
	if err != nil {
		return err
	}
	report, err := newReport(c.Report, append(c.Files, c.Into)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, report.close()) }()
	start := time.Now()
	im, err := c.run(ctx, p, official.Options{CRS: id, SkipRefused: c.SkipRefused, Fault: report.add})
	if im == nil {
		return err
	}
	for _, code := range im.Codes {
		report.add(code.First)
	}
	printImport(p.Stderr, im, c.Report)
	if err != nil {
		hint := ""
		if im.Refused > 0 && im.Places > 0 && errors.Is(err, input.ErrRefused) && !c.SkipRefused {
			hint = "; --skip-refused imports the others"
		}
		err = notImported(ctx, err, hint)
		report.refuse(c.Files[0], err)
		return err
	}
	_, err = fmt.Fprintf(
		p.Stdout,
		"%s holds %s, %s, %s, imported in %s.\nRead %d, refused %d, occurred again %d, without a position %d; "+
			"%s.\nServe it with: grense serve %s\n",
		source.Shown(c.Into),
		count(im.Places, "place"),
		count(im.Names, "name"),
		count(im.Spellings, "spelling"),
		time.Since(start).Round(100*time.Millisecond),
		im.Read,
		im.Refused,
		im.Twice,
		im.NoPlace,
		count(len(im.Codes), "unknown code"),
		source.Shown(c.Into),
	)
	return err
}

// run reads the files and writes the target. The report is nil if nothing was read.
func (c *registerImportCmd) run(ctx context.Context, p *process, o official.Options) (*official.Report, error) {
	early, err := c.begin(ctx)
	if early != nil {
		defer early.Close()
	}
	if err != nil {
		return nil, err
	}
	temp, done, err := tempfile.Folder("grense-import-")
	if err != nil {
		return nil, err
	}
	defer done()
	reading := newMeter(p.Stderr, "bytes")
	o.TempDir, o.Open = temp, source.GeoPackages(temp)
	o.Progress = func(done, total int64) { reading.show(int(done), int(total)) }
	var writing *meter
	o.Written = func(done, total int) { writing.show(done, total) }
	im, err := official.Read(ctx, c.Files, o)
	defer func() { _ = im.Close() }()
	if err != nil {
		reading.end("")
		return &im.Report, err
	}
	reading.end("writing")
	writing = newMeter(p.Stderr, "places")
	w := early
	if w == nil {
		if w, err = c.create(ctx, im.Dated()); err != nil {
			return &im.Report, c.explain(err)
		}
		defer w.Close()
		if err := register.Define(ctx, w, c.Replace); err != nil {
			return &im.Report, c.explain(err)
		}
	}
	if err := im.Write(ctx, w); err != nil {
		return &im.Report, c.explain(err)
	}
	writing.end("making indexes")
	if err := w.Commit(ctx); err != nil {
		return &im.Report, c.explain(err)
	}
	return &im.Report, nil
}

// begin checks that the target can take a register before the files are read. For an existing GeoPackage it returns the
// writer.
func (c *registerImportCmd) begin(ctx context.Context) (store.Writer, error) {
	if source.IsDatabase(c.Into) {
		if c.Replace {
			return nil, nil
		}
		if has, err := hasRegister(ctx, c.Into); err != nil || !has {
			return nil, err
		}
		return nil, c.explain(store.ErrExists)
	}
	if _, err := os.Stat(filepath.Dir(c.Into)); err != nil {
		return nil, fmt.Errorf("cannot write the register: there is no folder %s", filepath.Dir(c.Into))
	}
	if _, err := os.Stat(c.Into); err != nil {
		return nil, nil
	}
	w, err := gpkg.Create(ctx, c.Into)
	if err != nil {
		return nil, c.explain(err)
	}
	if err := register.Define(ctx, w, c.Replace); err != nil {
		return w, c.explain(err)
	}
	return w, nil
}

// create creates a target for which begin returned no writer. A new GeoPackage gets the date of its content, so that
// equal files give equal bytes.
func (c *registerImportCmd) create(ctx context.Context, dated time.Time) (store.Writer, error) {
	if source.IsDatabase(c.Into) {
		return writer.Create(ctx, c.Into)
	}
	return gpkg.CreateDated(ctx, c.Into, dated)
}

func (c *registerImportCmd) explain(err error) error {
	if errors.Is(err, store.ErrExists) {
		return fmt.Errorf("%s holds a register already; replace it with --replace, or choose another target",
			source.Shown(c.Into))
	}
	return fmt.Errorf("cannot write %s: %w", source.Shown(c.Into), err)
}

// printImport prints the faults in groups, then the codes that are in no list, then the refusals.
func printImport(w io.Writer, r *official.Report, file string) {
	more := false
	show := func(refused bool) {
		for _, g := range r.Groups {
			if (g.Action == input.Refused) != refused {
				continue
			}
			fmt.Fprintf(w, "%s, %s: %s\n", g.Action, count(g.Count, "time"), g.What)
			for _, f := range g.First {
				fmt.Fprintln(w, "  "+placeOf(f)+strings.TrimPrefix(f.Reason, g.What+": "))
			}
			more = more || g.Count > len(g.First)
		}
	}
	show(false)
	if n := len(r.Codes); n > 0 {
		fmt.Fprintf(
			w,
			"%s that no list has; each is kept and added to its list, and searches find it. If one is a slip, "+
				"correct the file; if it is new, all is well.\n",
			count(n, "code"),
		)
	}
	for i, c := range r.Codes {
		if i == shownCodes {
			more = true
			break
		}
		near := ""
		if c.Near != "" {
			near = fmt.Sprintf("; is %s meant?", c.Near)
		}
		fmt.Fprintf(w, "  %s %s, %s, first %s%s\n", c.List, c.Value, count(c.Count, "place"),
			strings.TrimSuffix(placeOf(c.First), ": "), near)
	}
	show(true)
	if more {
		where := "--report FILE writes all"
		if file != "" {
			where = "all are in " + file
		}
		fmt.Fprintf(w, "... and more; %s\n", where)
	}
}

// placeOf returns the place of a fault: file, line, id.
func placeOf(f ingest.Fault) string {
	s := f.File
	if f.Line > 0 {
		s += fmt.Sprintf(":%d", f.Line)
	}
	if f.ID != "" {
		s += ", stedsnummer " + f.ID
	}
	return s + ": "
}
