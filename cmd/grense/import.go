package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/source"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/tempfile"
)

type importCmd struct {
	Files      []string `arg:"" name:"file" help:"Files of one of the formats above, or a PostGIS database."`
	Into       string   `required:"" placeholder:"TARGET.gpkg" help:"GeoPackage to write to, or PostGIS database, whose schema grense gets the tables. Other collections stay."`
	Collection string   `required:"" placeholder:"ID" help:"Id of the collection: lower-case letters, digits, - and _."`
	Layer      string   `placeholder:"NAME" help:"Layer to import, if there are several; of a database, the table, or schema.table."`
	IDField    string   `name:"id-field" placeholder:"NAME" help:"Property with the feature ids. Default: the id of the format, else the property id if unique, else a number."`
	TitleField string   `placeholder:"NAME" help:"Property that names a feature to people."`
	Columns    []string `placeholder:"NAME,..." help:"Import these properties only, with those of --id-field and --title-field. Default: all."`
	CRS        string   `name:"crs" placeholder:"EPSG:n" help:"Coordinate system, for files that state none or a wrong one."`
	Replace    bool     `help:"Replace the collection if it exists."`
	Strict     bool     `help:"Refuse the import if a polygon cannot be repaired, or a ring or line has too few positions."`
	FeatureMB  int64    `name:"feature-memory" default:"1024" placeholder:"MB" help:"Memory for checking one feature; a larger one is refused. About 4000 positions take 1 MB."`
	Report     string   `placeholder:"FILE" help:"File for the faults, one JSON object a line."`
}

func (importCmd) Help() string {
	return `Formats: GeoJSON, GeoJSONSeq, TopoJSON, GeoPackage, Shapefile, FlatGeobuf, GeoParquet, GML, KML, CSV and XLSX, also as .gz or in a .zip.
A PostGIS database (postgres://...) is read and written too.

The files are read twice: once to find types, ids and faults, and once to write. If a single feature is refused, nothing is
written. A broken polygon is repaired if it is clear what it covers. Others are written as they are, and listed. Rings of fewer
than four positions are left out, and listed. With --strict, both refuse the import.

Examples:
  grense import kommuner.geojson --into data.gpkg --collection kommuner --id-field kommunenummer --title-field navn
  grense import points.csv --into postgres://writer@db.example.org/maps --collection points --crs EPSG:25833`
}

// shownFaults is the number of faults of one kind that are printed; the report has all.
const shownFaults = 10

func (c *importCmd) Run(ctx context.Context, p *process) (err error) {
	id, err := parseCRS(c.CRS)
	if err != nil {
		return err
	}
	if c.FeatureMB < 1 || c.FeatureMB > 1<<20 {
		return fmt.Errorf("--feature-memory %d is not between 1 and %d", c.FeatureMB, 1<<20)
	}
	report, err := newReport(c.Report, append(c.Files, c.Into)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, report.close()) }()
	noun := "bytes"
	if source.IsDatabase(c.Files[0]) {
		noun = "features"
	}
	bar := newMeter(p.Stderr, noun)
	in := importing{
		files: c.Files, into: c.Into, layer: c.Layer,
		options: input.Options{CRS: id, Limits: input.Limits{Feature: c.FeatureMB << 20}},
		target: ingest.Target{
			Collection: c.Collection,
			IDField:    c.IDField,
			TitleField: c.TitleField,
			Columns:    c.Columns,
			Replace:    c.Replace,
			Strict:     c.Strict,
		},
		watch: ingest.Watch{Fault: report.add, Progress: func(done, total int64) { bar.show(int(done), int(total)) }},
	}
	start := time.Now()
	plan, err := in.run(ctx, func() { bar.end("making indexes") })
	if plan != nil {
		printFaults(p.Stderr, &plan.Report, c.Report)
	}
	if err != nil {
		err = notImported(ctx, err, "")
		report.refuse(c.Files[0], err)
		return err
	}
	r := plan.Report
	_, err = fmt.Fprintf(
		p.Stdout,
		"%s: %s in collection %s (%s), imported in %s.\n%s\nServe it with: grense serve %s\n",
		source.Shown(c.Into),
		count(r.Written, "feature"),
		c.Collection,
		describeCollection(plan.Collection),
		time.Since(start).Round(10*time.Millisecond),
		countFaults(r),
		source.Shown(c.Into),
	)
	return err
}

// notImported returns the error of a failed import; hint is appended. If ctx has ended, it only reports the
// interruption.
func notImported(ctx context.Context, err error, hint string) error {
	if ctx.Err() != nil {
		return errors.New("nothing was imported: interrupted")
	}
	if errors.Is(err, store.ErrFull) {
		return fmt.Errorf("nothing was imported: %w", err)
	}
	return fmt.Errorf("nothing was imported: %s%s", input.Reason(err), hint)
}

// parseCRS parses --crs; 0 for "".
func parseCRS(s string) (crs.ID, error) {
	if s == "" {
		return 0, nil
	}
	if id, _, wrong := input.Reference(s); wrong == "" {
		return id, nil
	} else if _, ok := strings.CutPrefix(strings.ToUpper(s), "EPSG:"); ok {
		return 0, fmt.Errorf("--crs %s: %s", s, wrong)
	}
	return 0, fmt.Errorf(
		"--crs %s is not the name of a reference system that is served; give its code, for example --crs EPSG:25833",
		s,
	)
}

func describeCollection(c *store.Collection) string {
	what := "no geometry"
	if g := c.Geometry; g != nil {
		what = "geometries of several types"
		if g.Type != "" {
			what = g.Type
		}
		what += ", " + g.CRS.String()
	}
	return what + ", id from " + idColumn(c)
}

func countFaults(r ingest.Report) string {
	s := fmt.Sprintf("Read %d, written %d; without geometry %d, repaired %d, invalid and kept %d, rings turned %d, %s.",
		r.Read, r.Written, r.Null, r.Repaired, r.Kept, r.Turned, count(r.Warnings, "warning"))
	if r.Dropped > 0 {
		s += fmt.Sprintf("\nRings or lines of too few positions were left out of %s.", count(r.Dropped, "feature"))
	}
	if a := r.Area; a.Read > 0 {
		s += fmt.Sprintf("\nArea of the polygons: %s km² read, %s km² written; repairs moved %.2g km².", km2(a.Read),
			km2(a.Written), a.Moved/1e6)
	}
	return s
}

// km2 converts square metres to a text in square kilometres with nine significant digits.
func km2(m2 float64) string {
	return strconv.FormatFloat(m2/1e6, 'f', max(0, 8-int(math.Floor(math.Log10(m2/1e6)))), 64)
}

// printFaults prints the first faults of each kind, refusals last. Of reversed rings it only prints the number.
func printFaults(w io.Writer, r *ingest.Report, file string) {
	shown, left := map[input.Action]int{}, r.Refused+r.Repaired+r.Dropped+r.Kept+r.Warnings
	show := func(refused bool) {
		for _, f := range r.Faults {
			if f.Action == input.Turned || (f.Action == input.Refused) != refused || shown[f.Action] == shownFaults {
				continue
			}
			fmt.Fprintln(w, f)
			shown[f.Action]++
			left--
		}
	}
	show(false)
	show(true)
	if left > 0 {
		where := "--report FILE writes all"
		if file != "" {
			where = "all are in " + file
		}
		fmt.Fprintf(w, "... and %s; %s\n", count(left, "more fault"), where)
	}
}

// reportFile writes faults as JSON lines, refusals first. Without a file it discards them.
type reportFile struct {
	f, others *os.File // others is a temporary file for faults that are not refusals; close appends it
	w, wait   *bufio.Writer
	refused   bool
	err       error
}

// newReport creates a report. It refuses to overwrite one of the files in others.
func newReport(name string, others ...string) (*reportFile, error) {
	if name == "" {
		return &reportFile{}, nil
	}
	if is, err := os.Stat(name); err == nil {
		for _, x := range others {
			if other, err := os.Stat(x); err == nil && os.SameFile(is, other) {
				return nil, fmt.Errorf("cannot write the report over %s; choose another file", x)
			}
		}
	}
	r := &reportFile{}
	var err error
	if r.f, err = os.Create(name); err == nil {
		r.others, err = os.CreateTemp("", "grense-report-")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write the report: %w", err)
	}
	r.w, r.wait = bufio.NewWriter(r.f), bufio.NewWriter(r.others)
	return r, nil
}

func (r *reportFile) add(f ingest.Fault) {
	if r.f == nil || r.err != nil {
		return
	}
	w := r.wait
	if f.Action == input.Refused {
		w, r.refused = r.w, true
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	r.err = enc.Encode(f)
}

// refuse adds the error of a failed import, unless the report already has a refusal.
func (r *reportFile) refuse(file string, err error) {
	if !r.refused {
		r.add(ingest.Fault{File: source.Shown(file), Action: input.Refused, Reason: err.Error()})
	}
}

func (r *reportFile) close() error {
	if r.f == nil {
		return nil
	}
	err := errors.Join(r.err, r.w.Flush(), r.wait.Flush())
	if err == nil {
		_, err = r.others.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(r.f, r.others)
	}
	if err := errors.Join(err, r.f.Close(), r.others.Close(), os.Remove(r.others.Name())); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// importing imports one collection into a GeoPackage or a database.
type importing struct {
	files   []string // paths of files or addresses of databases
	into    string
	layer   string // "": the file has only one
	options input.Options
	target  ingest.Target
	watch   ingest.Watch
}

// run surveys the files, writes the collection, and calls indexing before it builds indexes. The plan is nil if a file
// could not be opened.
func (in *importing) run(ctx context.Context, indexing func()) (*ingest.Plan, error) {
	temp, done, err := tempfile.Folder("grense-import-")
	if err != nil {
		return nil, err
	}
	defer done()
	in.options.OpenGeoPackage = source.GeoPackages(temp)
	in.options.TempDir = temp
	var layers []*ingest.Layer
	for _, name := range in.files {
		src, closer, err := in.open(ctx, name)
		if err != nil {
			return nil, err
		}
		defer closer()
		l, err := chooseLayer(src, in.layer)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	if in.target.Table, err = source.FreeTable(in.target.Collection); err != nil {
		return nil, err
	}
	plan, err := ingest.Survey(ctx, layers, in.target, in.watch)
	if err != nil {
		return plan, err
	}
	w, err := createTarget(ctx, in.into)
	if err != nil {
		return plan, fmt.Errorf("cannot write %s: %w", source.Shown(in.into), err)
	}
	defer w.Close()
	if err := plan.Write(ctx, w); err != nil {
		return plan, in.explain(err)
	}
	indexing()
	if err := w.Commit(ctx); err != nil {
		return plan, fmt.Errorf("cannot write %s: %w", source.Shown(in.into), err)
	}
	return plan, nil
}

// open opens a file or a database as a source of layers. The caller must call the returned function to close it.
func (in *importing) open(ctx context.Context, name string) (*ingest.Source, func() error, error) {
	if source.IsDatabase(name) {
		if in.options.CRS != 0 {
			return nil, nil, errors.New("--crs is for files; a database states the reference system of each table")
		}
		st, err := postgis.Open(ctx, name, postgis.Options{AllowEmpty: true, Uncut: true})
		if err != nil {
			return nil, nil, fmt.Errorf("cannot open %s: %w", source.Shown(name), err)
		}
		return &ingest.Source{Path: source.Shown(name), Layers: ingest.StoreLayers(source.Shown(name), st)}, st.Close,
			nil
	}
	src, err := ingest.Open(ctx, name, in.options)
	if err != nil {
		return nil, nil, err
	}
	return src, src.Close, nil
}

func (in *importing) explain(err error) error {
	if errors.Is(err, store.ErrExists) {
		return fmt.Errorf("%s has a collection %s already; replace it with --replace, or choose another id",
			source.Shown(in.into), in.target.Collection)
	}
	return err
}

// chooseLayer returns the layer with a name, or the only layer if name is "".
func chooseLayer(src *ingest.Source, name string) (*ingest.Layer, error) {
	var names []string
	for _, l := range src.Layers {
		if l.Name == name || name == "" && len(src.Layers) == 1 {
			return l, nil
		}
		if !slices.Contains(names, l.Name) {
			names = append(names, l.Name)
		}
	}
	for _, l := range src.Layers {
		if strings.EqualFold(l.Name, name) {
			return l, nil
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s has no layer with features", src.Path)
	case name == "":
		return nil, fmt.Errorf("%s has %s (%s); choose one with --layer", filepath.Base(src.Path),
			count(len(names), "layer"), strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%s has no layer %s, but %s", filepath.Base(src.Path), name, strings.Join(names, ", "))
}
