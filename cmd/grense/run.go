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
	Reload         <-chan os.Signal // a value makes serve reload its data; may be nil

	last atomic.Pointer[func()] // what heed does last; nil: nothing
}

// lastWait is how long a program that is to end at once takes at most to write its last messages.
const lastWait = time.Second

// heed ends the work in order at the first signal. It returns the second, at which the program is to end at once,
// when the last messages are written, or after lastWait.
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
	Import     importCmd     `cmd:"" help:"Import files into a collection of a GeoPackage or a PostGIS database."`
	Key        keyCmd        `cmd:"" help:"Create, list, rotate and revoke API keys."`
	Check      checkCmd      `cmd:"" help:"Validate a source, and print what would be served."`
	Tiles      tilesCmd      `cmd:"" help:"Write vector tiles into a file."`
	Register   registerCmd   `cmd:"" help:"Create a register of place names."`
	Lineage    lineageCmd    `cmd:"" help:"Import the history of divisions, or check it."`
	Enrich     enrichCmd     `cmd:"" help:"Add divisions to a table of points or codes."`
	Translate  translateCmd  `cmd:"" help:"Add the codes of another day to a table of codes."`
	Harmonise  harmoniseCmd  `cmd:"" help:"Convert a time series to the divisions of one date."`
	Backup     backupCmd     `cmd:"" help:"Copy keys, finished jobs and the log of changes into an archive."`
	Restore    restoreCmd    `cmd:"" help:"Restore an archive of backup into a new data directory or database."`
	Config     configCmd     `cmd:"" help:"Check or print the configuration."`
	Health     healthCmd     `cmd:"" help:"Ask a running server whether it is healthy."`
	Completion completionCmd `cmd:"" help:"Print a script that completes commands in a shell."`
	Man        manCmd        `cmd:"" hidden:"" help:"Print the manual page."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Licences   licencesCmd   `cmd:"" help:"Print the licences of the libraries in the program."`
}

const about = `Serve administrative divisions as an OGC API, and place names as a SOAP service.

Each command explains itself: grense COMMAND --help.

Examples:
  grense serve                    the built-in demo on http://localhost:8080
  grense check kommuner.gpkg      ids, counts and faults, before you publish`

// Exit statuses: what failed, and what was used wrongly.
const (
	exitFailed = 1
	exitUsage  = 2
)

// run is main without the globals. It returns the exit status, and returns when ctx ends.
func run(ctx context.Context, p *process) int {
	helped := false
	parser, err := kong.New(&cli{}, kong.Name("grense"), kong.Description(about), kong.Writers(p.Stdout, p.Stderr),
		// kong calls it after --help only; Parse then goes on, and its error does not count
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}), kong.Help(printHelp))
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

// printHelp prints the help of a command with its examples last, where a person looks first.
func printHelp(o kong.HelpOptions, ctx *kong.Context) error {
	text := &ctx.Model.Help
	if selected := ctx.Selected(); selected != nil {
		text = &selected.Detail
	}
	body, examples, _ := strings.Cut(*text, "Examples:\n")
	*text = strings.TrimSpace(body)
	if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintf(ctx.Stdout, "\nExamples:\n%s\n", examples)
	return err
}

// complain prints an error for a person; what looks like a key is hidden.
func (p *process) complain(err error) {
	text := diskFull(err)
	if faults, ok := errors.AsType[config.Faults](err); ok {
		text = fmt.Sprintf("the configuration has %s:\n  %s", count(len(faults), "fault"),
			strings.ReplaceAll(faults.Error(), "\n", "\n  "))
	}
	fmt.Fprintln(p.Stderr, "grense:", apikey.Redact(text))
}

// diskFull returns the text of an error; if the disk is full, it says what was in progress and the cure, and not how
// that came about.
func diskFull(err error) string {
	text := err.Error()
	if errors.Is(err, store.ErrFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		what, _, _ := strings.Cut(text, ": ")
		return what + ": the disk is full; make room there, or use another one (--data-dir for what the server " +
			"keeps, TMPDIR for temporary files)"
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
