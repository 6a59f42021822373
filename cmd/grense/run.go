package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"grense/internal/apikey"
	"grense/internal/config"
	"grense/internal/store"
)

// process is what the program gets from the operating system.
type process struct {
	Args           []string // without the name of the program
	Environ        []string // as os.Environ gives it
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       bool             // Stdout is one: a person reads it, and no file keeps it
	Reload         <-chan os.Signal // a value asks serve to open its data anew; may be nil

	last atomic.Pointer[func()] // what heed does last; nil: nothing
}

// lastWait is how long a program that is to end at once takes at most to write what it has to tell.
const lastWait = time.Second

// heed ends the work in order at the first signal. It returns the second, at which the program is to end at once, when what was to be told is written, or cannot be within lastWait.
func (p *process) heed(signals <-chan os.Signal, end func()) os.Signal {
	<-signals
	end()
	again := <-signals
	if last := p.last.Load(); last != nil {
		told := make(chan struct{})
		go func() { (*last)(); close(told) }()
		select {
		case <-told:
		case <-time.After(lastWait):
		}
	}
	return again
}

// cli is the command line. The order is that of the help.
type cli struct {
	Serve      serveCmd      `cmd:"" help:"Serve files, or the built-in demo, over HTTP."`
	Import     importCmd     `cmd:"" help:"Read files into a collection of a GeoPackage or of a PostGIS database."`
	Key        keyCmd        `cmd:"" help:"Make, list and revoke API keys."`
	Check      checkCmd      `cmd:"" help:"Tell what of a source would be served, and what is wrong with it."`
	Tiles      tilesCmd      `cmd:"" help:"Write vector tiles into a file."`
	Register   registerCmd   `cmd:"" help:"Make a register of place names."`
	Lineage    lineageCmd    `cmd:"" help:"Import what became of divisions."`
	Enrich     enrichCmd     `cmd:"" help:"Add divisions to a table of points or codes."`
	Translate  translateCmd  `cmd:"" help:"Add the codes of another day to a table of codes."`
	Harmonise  harmoniseCmd  `cmd:"" help:"Take a table of values of many days to the divisions of one."`
	Config     configCmd     `cmd:"" help:"Check or print the configuration."`
	Health     healthCmd     `cmd:"" help:"Ask a running server whether it is healthy."`
	Completion completionCmd `cmd:"" help:"Print a script that completes commands in a shell."`
	Man        manCmd        `cmd:"" hidden:"" help:"Print the manual page."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Licences   licencesCmd   `cmd:"" help:"Print the licences of the libraries in the program."`
}

const about = `Grense serves administrative divisions as an OGC API, and place names as a SOAP service as well.

Examples:
  grense serve                               the built-in demo on http://localhost:8080
  grense serve kommuner.gpkg                 your own GeoPackage
  grense serve kommuner.gpkg --auth open     without API keys
  grense serve postgres://reader@db/maps     a PostGIS database
  grense import kommuner.geojson --into data.gpkg --collection kommuner
  grense tiles export kommuner.gpkg --out kommuner.pmtiles
  grense enrich places.csv --with kommuner.gpkg --out places2.csv
  grense translate people.csv --column kommunenr --from 2019-01-01 --to 2024-01-01 --out people2024.csv
  grense key create --name "Kari's QGIS"     one more key; it works within seconds
  grense check kommuner.gpkg                 ids, counts and faults, before you publish

"grense serve --help" tells the rest, configuration included.`

// Exit statuses: what failed, and what was asked for wrongly.
const (
	exitFailed = 1
	exitUsage  = 2
)

// run is main without the globals. It returns the exit status, and returns when ctx ends.
func run(ctx context.Context, p *process) int {
	helped := false
	parser, err := kong.New(&cli{}, kong.Name("grense"), kong.Description(about), kong.Writers(p.Stdout, p.Stderr),
		kong.Exit(func(int) { helped = true }), // kong asks for it after --help only; Parse then goes on, and its error does not count
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}))
	if err != nil {
		panic("grense: the command line is declared wrongly: " + err.Error()) // a mistake in our own code
	}
	args := p.Args
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := parser.Parse(args)
	if helped {
		return 0
	}
	if err != nil {
		p.complain(err)
		fmt.Fprintln(p.Stderr, `Try "grense --help".`)
		return exitUsage
	}
	kctx.BindTo(ctx, (*context.Context)(nil))
	if err := kctx.Run(p); err != nil {
		p.complain(err)
		return exitFailed
	}
	return 0
}

// complain prints an error for a person; what looks like a key is hidden.
func (p *process) complain(err error) {
	text := diskFull(err)
	if faults, ok := errors.AsType[config.Faults](err); ok {
		text = fmt.Sprintf("the configuration has %s:\n  %s", count(len(faults), "fault"), strings.ReplaceAll(faults.Error(), "\n", "\n  "))
	}
	fmt.Fprintln(p.Stderr, "grense:", apikey.Redact(text))
}

// diskFull is the text of an error; where the disk is full, it tells what was under way and the cure, and not how that came about.
func diskFull(err error) string {
	text := err.Error()
	if errors.Is(err, store.ErrFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		what, _, _ := strings.Cut(text, ": ")
		return what + ": the disk is full; make room there, or use another one (--data-dir for what the server keeps, TMPDIR for temporary files)"
	}
	return text
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
