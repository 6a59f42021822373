package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"grense/internal/enrich"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/surface"
	"grense/internal/source"
)

type enrichCmd struct {
	tableFlags
	With        string `placeholder:"SOURCE" help:"Divisions, a source as for serve. Defaults to the demo, whose borders are schematic."`
	X           string `placeholder:"NAME" help:"Column with the longitude or easting. Defaults to lon, lng, longitude, x and the like."`
	Y           string `placeholder:"NAME" help:"Column with the latitude or northing. Defaults to lat, latitude, y and the like."`
	Code        string `placeholder:"NAME" help:"Column with codes, the ids of divisions, instead of points. Defaults to code, kode, kommunenummer, id and the like if there are no points."`
	CRS         string `name:"crs" default:"OGC:CRS84" placeholder:"CRS" help:"Coordinate system of the points, such as EPSG:25833; always x before y. Defaults to OGC:CRS84, degrees."`
	Collections string `placeholder:"IDS" help:"Collections, separated by commas. Defaults to all collections of areas."`
	Datetime    string `placeholder:"DAY" help:"Day or timestamp that selects versions of divisions. Defaults to now."`
	dataFlags
}

func (enrichCmd) Help() string {
	return `Adds the id and the title of the division for each collection of areas: the division that contains the row's point, or that its code
names. The last column, enrich_error, says why a row could not be read. Rows keep their order and their text. The table is CSV with a
header, or a JSON object a line. A summary goes to standard error.

A point on a border gets the first of its divisions by id. A code that a spreadsheet turned into a number (301) is matched with its
zeros (0301) if that is unambiguous, and counted. Separators, byte order marks, decimal commas and Windows-1252 are detected. The
output is UTF-8. Tables may have any length. POST /enrich of a server does the same.

Examples:
  grense enrich places.csv --with kommuner.gpkg --out places2.csv
  grense enrich measured.csv.gz --x EAST --y NORTH --crs EPSG:25833 --with kommuner.gpkg --collections kommuner`
}

func (c *enrichCmd) Run(ctx context.Context, p *process) error {
	points, ok := crs.Parse(c.CRS)
	if !ok {
		return fmt.Errorf("--crs %s: there is no such system; use one such as %s or EPSG:25833", c.CRS, crs.CRS84)
	}
	if err := c.free(); err != nil {
		return err
	}
	in, size, err := c.open(p)
	if err != nil {
		return err
	}
	defer in.Close()
	find, done, err := c.finder(ctx, p, points)
	if err != nil {
		return err
	}
	defer done()
	var meter *meter
	if c.Out != "" || !isTerminal(p.Stdout) {
		meter = newMeter(p.Stderr, "bytes")
	}
	var report enrich.Report
	err = c.writeTo(p.Stdout, func(w io.Writer) error {
		report, err = c.enrich(w, interruptible(ctx, in), find, func(bytes int) {
			if meter != nil {
				meter.show(bytes, int(size))
			}
		})
		return err
	})
	if ctx.Err() != nil {
		return errors.New("interrupted; the table was not enriched to its end")
	}
	if err != nil {
		return fmt.Errorf("cannot enrich %s: %w", c.table(), err)
	}
	if meter != nil {
		meter.end("enriched")
	}
	_, err = fmt.Fprintln(p.Stderr, enrichSummary(report))
	return err
}

// enrich writes the table with divisions. The first byte that is not white space decides between CSV and JSON lines.
func (c *enrichCmd) enrich(w io.Writer, r io.Reader, find enrich.Finder, read func(bytes int)) (enrich.Report, error) {
	head := make([]byte, 512)
	n, err := io.ReadAtLeast(r, head, 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return enrich.Report{}, err
	}
	head = head[:n]
	o := enrich.Options{X: c.X, Y: c.Y, Code: c.Code}
	t := enrich.NewCSV(find, o)
	if enrich.IsLines(head) {
		t = enrich.NewLines(find, o)
	}
	err = t.Run(w, io.MultiReader(bytes.NewReader(head), r), read)
	return t.Report, err
}

// finder opens the source of the divisions. The caller must call the returned function to close it.
func (c *enrichCmd) finder(ctx context.Context, p *process, points crs.ID) (enrich.Finder, func(), error) {
	cfg, dir, err := c.prepare(p, c.With)
	if err != nil {
		return nil, nil, err
	}
	st, err := source.Open(ctx, c.With,
		source.Options{DataDir: dir, Config: cfg, Logger: p.logger(cfg), Version: programVersion()})
	if err != nil {
		return nil, nil, err
	}
	cfg.Auth, cfg.BaseURL = "open", "http://localhost"
	srv, err := surface.New(
		server.Options{Config: cfg, Store: st, Logger: slog.New(slog.DiscardHandler), Version: programVersion()},
	)
	if err != nil {
		st.Close()
		return nil, nil, err
	}
	done := func() { srv.Close(); st.Close() }
	find, err := srv.Divisions(ctx, c.Collections, c.Datetime, points)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("--with %s: %s", source.Shown(c.With), strings.TrimPrefix(err.Error(), "invalid; "))
	}
	return find, done, nil
}

// enrichSummary returns a sentence about how many rows got a division.
func enrichSummary(r enrich.Report) string {
	s := fmt.Sprintf("%s: %d with a division", count(r.Rows, "row"), r.Matched)
	if r.Unmatched > 0 {
		s += fmt.Sprintf(", %d in none", r.Unmatched)
	}
	if r.Errors > 0 {
		s += fmt.Sprintf(", %d with an error (see the column %s)", r.Errors, enrich.ErrorColumn)
	}
	if r.RestoredCodes > 0 {
		s += fmt.Sprintf("; %d had lost zeros at the beginning of the code, which were put back", r.RestoredCodes)
	}
	return s
}
