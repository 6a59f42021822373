package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mattn/go-isatty"

	"grense/internal/register"
	"grense/internal/source"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/writer"
)

type registerCmd struct {
	Import   registerImportCmd   `cmd:"" help:"Import the official place names into a register."`
	Generate registerGenerateCmd `cmd:"" help:"Generate a register of invented places."`
	Upgrade  registerUpgradeCmd  `cmd:"" help:"Upgrade a register of an older Grense."`
}

func (registerCmd) Help() string {
	return `A register holds places, names, spellings, cases, decisions, books and maps. The SOAP searches read it.

Examples:
  grense register import Basisdata_0000_Norge_4258_Stedsnavn_GML.zip --into register.gpkg
  grense register generate --places 100000 --seed 1 --out register.gpkg`
}

type registerGenerateCmd struct {
	Places int    `default:"3000" placeholder:"N" help:"Number of places. Defaults to 3000."`
	Seed   uint64 `default:"20260101" placeholder:"S" help:"Seed. The same seed gives the same bytes. Defaults to 20260101."`
	Out    string `required:"" placeholder:"TARGET" help:"GeoPackage to write, or PostGIS database (postgres://...), whose other collections stay."`
	Force  bool   `help:"Replace the file if it exists, or the register of the database."`
}

func (registerGenerateCmd) Help() string {
	return `The places are invented, the municipalities are those of the demo. A smaller register is the beginning of a larger one.

Examples:
  grense register generate --places 100000 --out register.gpkg
  grense register generate --places 1000 --seed 1 --out postgres://writer@db.example.org/names`
}

func (c *registerGenerateCmd) Run(ctx context.Context, p *process) error {
	if err := c.free(ctx); err != nil {
		return err
	}
	start := time.Now()
	create := func() (store.Writer, error) { return gpkg.CreateDated(ctx, c.Out, register.Date()) }
	if source.IsDatabase(c.Out) {
		create = func() (store.Writer, error) { return writer.Create(ctx, c.Out) }
	}
	w, err := create()
	if err != nil {
		return fmt.Errorf("cannot write the register: %w", err)
	}
	defer w.Close()
	bar := newMeter(p.Stderr, "places")
	if err := register.Generate(ctx, w, register.Options{Places: c.Places, Seed: c.Seed, Progress: bar.show}); err !=
		nil {
		return fmt.Errorf("cannot create the register: %w", err)
	}
	bar.end("making indexes")
	if err := w.Commit(ctx); err != nil {
		return fmt.Errorf("cannot write the register: %w", err)
	}
	_, err = fmt.Fprintf(
		p.Stdout,
		"%s holds %s (seed %d), made in %s.\nServe it with: grense serve %s\n",
		source.Shown(c.Out),
		count(c.Places, "place"),
		c.Seed,
		time.Since(start).Round(100*time.Millisecond),
		source.Shown(c.Out),
	)
	return err
}

// free returns an error if the target exists and may not be replaced, or cannot be written.
func (c *registerGenerateCmd) free(ctx context.Context) error {
	if source.IsDatabase(c.Out) {
		if has, err := hasRegister(ctx, c.Out); err != nil || c.Force || !has {
			return err
		}
		return fmt.Errorf("%s holds a register already; choose another database, or replace it with --force",
			source.Shown(c.Out))
	}
	if _, err := os.Stat(c.Out); err == nil && !c.Force {
		return fmt.Errorf("%s exists; choose another file, or replace it with --force", c.Out)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write the register: %w", err)
	}
	if _, err := os.Stat(filepath.Dir(c.Out)); err != nil {
		return fmt.Errorf("cannot write the register: there is no folder %s", filepath.Dir(c.Out))
	}
	return nil
}

// hasRegister reports whether a database holds a register. It only reads, so that it does not block other readers.
func hasRegister(ctx context.Context, url string) (bool, error) {
	st, err := postgis.Open(ctx, url, postgis.Options{AllowEmpty: true})
	if err != nil {
		return false, fmt.Errorf("cannot open %s: %w", source.Shown(url), err)
	}
	defer st.Close()
	_, ok := st.Catalog().Collection("sted")
	return ok, nil
}

// A meter shows progress twice a second if w is a terminal.
type meter struct {
	w     io.Writer
	noun  string
	start time.Time
	last  time.Time
	on    bool
}

func newMeter(w io.Writer, noun string) *meter {
	return &meter{w: w, noun: noun, start: time.Now(), on: isTerminal(w)}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// show prints done of total steps, the rate and the time left; total is 0 if unknown.
func (m *meter) show(done, total int) {
	if !m.on || time.Since(m.last) < time.Second/2 || done == 0 {
		return
	}
	m.last = time.Now()
	took := time.Since(m.start)
	if total == 0 {
		fmt.Fprintf(m.w, "\r%d %s, %.0f a second   ", done, m.noun, float64(done)/took.Seconds())
		return
	}
	left := time.Duration(float64(took) / float64(done) * float64(total-done))
	fmt.Fprintf(m.w, "\r%3d %% of %s, %.0f a second, %s left   ", 100*done/total, m.noun, float64(done)/took.Seconds(),
		left.Round(time.Second))
}

// end clears the line and prints the next step.
func (m *meter) end(next string) {
	if m.on {
		fmt.Fprintf(m.w, "\r\033[K%s\n", next)
	}
}
