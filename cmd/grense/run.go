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
	"grense/internal/systemd"
)

// process holds what the operating system gives the program.
type process struct {
	Args           []string // without the program name
	Environ        []string // as os.Environ returns it
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       bool             // Stdout is a terminal, which a person reads
	Reload         <-chan os.Signal // a value makes serve reload its data; may be nil

	last atomic.Pointer[func()] // called before the second signal ends the program; nil: nothing
}

// manager returns the service manager that has started the program.
func (p *process) manager() systemd.Manager { return systemd.Manager{Environ: p.Environ} }

// lastWait bounds the time for writing the last messages after a second signal.
const lastWait = time.Second

// heed calls end at the first signal, to stop in an orderly way. It returns the second signal, which ends the program,
// after the last messages were written or lastWait has passed.
func (p *process) heed(signals <-chan os.Signal, end func()) os.Signal {
	<-signals
	end()
	again := <-signals
	if last := p.last.Load(); last != nil {
		written := make(chan struct{})
		go func() { (*last)(); close(written) }()
		select {
		case <-written:
		case <-time.After(lastWait):
		}
	}
	return again
}

// cli is the command line. The help lists the commands in the order of the fields.
type cli struct {
	Serve      serveCmd      `cmd:"" help:"Serve files, or the built-in demo, over HTTP."`
	Import     importCmd     `cmd:"" help:"Import files into a collection of a GeoPackage or a PostGIS database."`
	Key        keyCmd        `cmd:"" help:"Create, list, rotate and revoke API keys, and print their use."`
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

	ShowVersion kong.VersionFlag `name:"version" hidden:"" help:"Print the version."`
}

const about = `Serve administrative divisions as an OGC API, and place names as a SOAP service.

Each command explains itself: grense COMMAND --help.

Examples:
  grense serve                    the built-in demo on http://localhost:8080
  grense check kommuner.gpkg      ids, counts and faults, before you publish`

// Exit statuses: for a command that failed, and for a wrong command line.
const (
	exitFailed = 1
	exitUsage  = 2
)

// run is main without global variables. It returns the exit status.
func run(ctx context.Context, p *process) int {
	helped := false
	parser, err := kong.New(&cli{}, kong.Name("grense"), kong.Description(about), kong.Writers(p.Stdout, p.Stderr),
		// kong calls this after --help; Parse then continues, and its error is ignored
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}), kong.Help(printHelp),
		kong.Vars{"version": strings.TrimSuffix(versionText(), "\n")})
	if err != nil {
		panic("grense: the command line is declared wrongly: " + err.Error()) // a programming error
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

// printHelp prints the help of a command with its examples at the end.
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

// complain prints an error. It masks anything that looks like a key.
func (p *process) complain(err error) {
	text := diskFull(err)
	if faults, ok := errors.AsType[config.Faults](err); ok {
		text = fmt.Sprintf("the configuration has %s:\n  %s", count(len(faults), "fault"),
			strings.ReplaceAll(faults.Error(), "\n", "\n  "))
	}
	fmt.Fprintln(p.Stderr, "grense:", apikey.Redact(text))
}

// diskFull returns the text of an error. If the disk is full, the text names the operation and the cure, not the cause.
func diskFull(err error) string {
	text := err.Error()
	if errors.Is(err, store.ErrFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		what, _, _ := strings.Cut(text, ": ")
		return what + ": the disk is full; make room there, or use another one (--data-dir for what the server " +
			"keeps, TMPDIR for temporary files)"
	}
	return text
}

// count returns a number with its noun in singular or plural.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
