package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// linked is the version that the linker sets (-ldflags "-X main.linked=v1.2.3"); "" otherwise.
var linked string

type versionCmd struct{}

func (versionCmd) Help() string {
	return `Prints one line, with the version of Go and the platform.

Examples:
  grense version
  grense version | cut -d" " -f2`
}

func (versionCmd) Run(p *process) error {
	_, err := fmt.Fprintf(p.Stdout, "grense %s (%s, %s/%s)\n", programVersion(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
	return err
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
