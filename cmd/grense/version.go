package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"grense/internal/backup"
	"grense/internal/source"
	"grense/internal/state"
	"grense/internal/store/gpkg/index"
	"grense/internal/store/gpkg/survey"
	"grense/internal/tile"
)

// What the linker sets (-ldflags "-X main.linked=v1.2.3"): version, commit and its date; empty otherwise.
var linked, linkedCommit, linkedDate string

type versionCmd struct{}

func (versionCmd) Help() string {
	return `Prints the version, the commit and its date, and the versions of the files that the program writes into the data directory. State and
backups of a newer version are refused; the other files are rebuilt.

Examples:
  grense version
  grense version | head -n 1 | cut -d" " -f2`
}

func (versionCmd) Run(p *process) error {
	_, err := io.WriteString(p.Stdout, versionText())
	return err
}

// versionText is what grense version prints.
func versionText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "grense %s (%s, %s/%s)\n", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	line := func(name string, value any) { fmt.Fprintf(&b, "%-12s%v\n", name, value) }
	line("commit", cmp.Or(linkedCommit, buildSetting("vcs.revision")))
	line("date", cmp.Or(linkedDate, buildSetting("vcs.time")))
	line("state", state.FileVersion)
	line("backup", backup.Format)
	line("side files", survey.SideVersion)
	line("indexes", index.Version)
	line("tiles", tile.SideVersion)
	line("copies", source.CopyVersion)
	return b.String()
}

// buildSetting returns what the build recorded under a name, or "unknown".
func buildSetting(name string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == name {
				return s.Value
			}
		}
	}
	return "unknown"
}

// programVersion returns the version set by the linker, else the module version or the commit that the build recorded.
func programVersion() string {
	if linked != "" {
		return linked
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision[:min(len(revision), 12)] + dirty
}
