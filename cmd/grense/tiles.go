package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"grense/internal/archive"
	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/source"
	"grense/internal/store"
	"grense/internal/tile"
)

type tilesCmd struct {
	Export tilesExportCmd `cmd:"" help:"Write the vector tiles of a source into one file."`
}

func (tilesCmd) Help() string {
	return `Put the file on any web server, open it in QGIS, or give it to "grense serve --tiles".

Examples:
  grense tiles export kommuner.gpkg --out kommuner.pmtiles
  grense serve kommuner.gpkg --tiles kommuner.pmtiles`
}

type tilesExportCmd struct {
	Source      string   `arg:"" help:"Source as for serve: a file, a folder of files, or a database."`
	Out         string   `required:"" placeholder:"FILE" help:"File to write, PMTiles (.pmtiles) or MBTiles (.mbtiles). It appears when it is complete."`
	Collections []string `placeholder:"ID,..." help:"Collections, one layer each, in this order. Defaults to all with geometries."`
	MinZoom     int      `name:"min-zoom" default:"0" placeholder:"Z" help:"First level. Levels whose features are too small are left out. Defaults to 0."`
	MaxZoom     int      `name:"max-zoom" default:"12" placeholder:"Z" help:"Last level, at most 14. Map libraries enlarge its tiles. Defaults to 12."`
	Datetime    string   `placeholder:"DAY" help:"Day or timestamp that selects versions of features. Defaults to now."`
	Force       bool     `help:"Replace the file if it exists."`
	dataFlags
}

func (tilesExportCmd) Help() string {
	return `Writes the tiles that the server gives, in Web Mercator (WebMercatorQuad), with all properties.

An export that was interrupted continues when the same command is run again. Its progress is in FILE.part; delete that to
give it up. If data or flags have changed, it starts from the beginning.

Each level has about four times the tiles of the previous one. Level 12 shows borders to some two metres.

Examples:
  grense tiles export kommuner.gpkg --out kommuner.pmtiles
  grense tiles export norge.gpkg --out map.mbtiles --collections fylker,kommuner --min-zoom 3 --max-zoom 10`
}

func (c *tilesExportCmd) Run(ctx context.Context, p *process) error {
	if err := c.check(); err != nil {
		return err
	}
	cfg, dir, err := c.prepare(p, c.Source)
	if err != nil {
		return err
	}
	log := p.logger(cfg)
	st, err := source.Open(ctx, c.Source,
		source.Options{DataDir: dir, Config: cfg, Logger: log, Version: programVersion()})
	if err != nil {
		return err
	}
	defer st.Close()
	names, err := c.chosen(st.Catalog())
	if err != nil {
		return err
	}
	at, err := c.moment(cfg.Service.TimeZone, st.Catalog(), names)
	if err != nil {
		return err
	}
	// An export uses one version of the levels, even if other programs write to the database.
	maker := tile.NewMaker(
		tile.Options{Dir: filepath.Join(dir, "tiles"), Bytes: exportBytes, Check: 1000 * time.Hour, Log: log},
	)
	defer maker.Close()
	start := time.Now()
	made, err := maker.Export(
		ctx,
		st,
		tile.Export{
			AsOf:        at,
			Path:        c.Out,
			Collections: names,
			First:       c.MinZoom,
			Last:        c.MaxZoom,
			Name:        cfg.Service.Title.In("nb"),
			Attribution: attribution(cfg.Service.Licence),
			Report:      exportProgress(p),
		},
	)
	if err != nil {
		return c.explained(err)
	}
	info, err := os.Stat(c.Out)
	if err != nil {
		return err
	}
	how := "made"
	if made.Resumed {
		how = "gone on with and finished"
	}
	_, err = fmt.Fprintf(p.Stdout,
		"%s holds %s (%d different) of levels %d to %d, %.1f MB, %s in %s.\nServe it with: "+
			"grense serve %s --tiles %s\n",
		c.Out, count(made.Tiles, "tile"), made.Different, made.First, made.Last, float64(info.Size())/1e6, how,
		time.Since(start).Round(100*time.Millisecond), source.Shown(c.Source), c.Out)
	return err
}

// exportBytes is the size of the cache of levels in an export.
const exportBytes = 256 << 20

// check returns an error if flags are wrong.
func (c *tilesExportCmd) check() error {
	const deepest = 14
	switch {
	case !archive.IsPath(c.Out):
		return fmt.Errorf("--out %s: the ending of the name says the format; let it be .pmtiles or .mbtiles", c.Out)
	case c.MinZoom < 0 || c.MaxZoom > deepest || c.MinZoom > c.MaxZoom:
		return fmt.Errorf("--min-zoom %d and --max-zoom %d: levels are 0 to %d, the first one not above the last",
			c.MinZoom, c.MaxZoom, deepest)
	}
	if _, err := os.Stat(c.Out); err == nil && !c.Force {
		return fmt.Errorf("%s exists; choose another file, or replace it with --force", c.Out)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write the tiles: %w", err)
	}
	if _, err := os.Stat(filepath.Dir(c.Out)); err != nil {
		return fmt.Errorf("cannot write the tiles: there is no folder %s", filepath.Dir(c.Out))
	}
	return nil
}

// chosen returns the ids of the collections to export.
func (c *tilesExportCmd) chosen(cat *store.Catalog) ([]string, error) {
	var all []string
	set, _ := tile.Find("WebMercatorQuad")
	for _, coll := range cat.Collections {
		if coll.Public && set.Takes(coll) {
			all = append(all, coll.ID)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no collection with geometries that Web Mercator can show",
			source.Shown(c.Source))
	}
	if c.Collections == nil {
		return all, nil
	}
	seen := map[string]bool{}
	for _, id := range c.Collections {
		if !slices.Contains(all, id) || seen[id] {
			return nil, fmt.Errorf("--collections %s: name each once, of %s", strings.Join(c.Collections, ","),
				strings.Join(all, ", "))
		}
		seen[id] = true
	}
	return c.Collections, nil
}

// moment returns the time at which exported versions must be valid, from --datetime or the clock, in a time zone.
func (c *tilesExportCmd) moment(zone string, cat *store.Catalog, names []string) (time.Time, error) {
	in, err := time.LoadLocation(zone) // "": UTC
	if err != nil || c.Datetime == "" {
		return time.Now().In(in), err
	}
	at, ok := cql2.ParseInstant(c.Datetime, in)
	if !ok {
		return at,
			fmt.Errorf("--datetime %s: write a day as 2024-01-31 or a moment as 2024-01-31T12:00:00Z", c.Datetime)
	}
	if !slices.ContainsFunc(names, func(id string) bool {
		coll, _ := cat.Collection(id)
		return coll.Versions != nil
	}) {
		return at, fmt.Errorf("--datetime %s: leave it out; features of %s have no versions", c.Datetime,
			strings.Join(names, ", "))
	}
	return at, nil
}

// explained adds the cure to an error.
func (c *tilesExportCmd) explained(err error) error {
	switch {
	case errors.Is(err, archive.ErrBusy):
		return fmt.Errorf("another program is writing %s; wait for it, or choose another file", c.Out)
	case errors.Is(err, archive.ErrPart):
		return fmt.Errorf("%s.part is in the way, and no export that was begun; delete or rename it", c.Out)
	case errors.Is(err, store.ErrChanged):
		return fmt.Errorf("the data changed during the export; run the command again")
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("the export was broken off; give the command again to go on with it")
	}
	return fmt.Errorf("cannot write the tiles: %w", err)
}

// attribution returns the licence as HTML for map libraries.
func attribution(l config.Licence) string {
	if l.URL == "" || l.Name == "" {
		return html.EscapeString(l.Name)
	}
	return `<a href="` + html.EscapeString(l.URL) + `">` + html.EscapeString(l.Name) + "</a>"
}

// exportProgress returns a function that prints the progress of an export on a terminal.
func exportProgress(p *process) func(collection string, done, total int) {
	bar, of := newMeter(p.Stderr, ""), "?"
	return func(collection string, done, total int) {
		if collection != of {
			bar.end("")
			of = collection
			bar = newMeter(p.Stderr, "tiles")
			if collection != "" {
				bar.noun = "the levels of " + collection
			}
		}
		bar.show(done, total)
		if collection == "" && done == total {
			bar.end("putting the file together")
		}
	}
}

// openTiles opens the archive of --tiles and checks that it fits the data; nil if path is "".
func openTiles(path string, cat *store.Catalog) (*tile.Archive, error) {
	if path == "" {
		return nil, nil
	}
	const cure = "create it again: grense tiles export SOURCE --out FILE"
	a, err := tile.OpenArchive(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("--tiles: there is no file %s; %s", path, cure)
		}
		return nil, fmt.Errorf("--tiles: %w; %s", err, cure)
	}
	if err := a.Fits(cat); err != nil {
		a.Close()
		return nil, fmt.Errorf("--tiles %s does not fit the source: %s; %s", path,
			strings.ReplaceAll(err.Error(), "\n", "; "), cure)
	}
	return a, nil
}
