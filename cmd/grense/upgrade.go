package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"grense/internal/datadir"
	"grense/internal/source"
	"grense/internal/state"
	"grense/internal/store/gpkg/survey"
)

// checkDataDir prints what this version will do with a data directory.
func (c *checkCmd) checkDataDir(p *process) error {
	if c.Migrate {
		return errors.New("--migrate needs a source; name it after check")
	}
	cfg, err := c.load(p, "", nil)
	if err != nil {
		return err
	}
	dir := cfg.DataDir
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintf(p.Stdout, "there is no %s; the first start creates it\n", dir)
		return err
	} else if err != nil {
		return datadir.Denied(err, dir)
	}
	refused, err := printState(p, filepath.Join(dir, datadir.StateFile))
	if err != nil {
		return err
	}
	kept, old, oldBytes, err := sideFilesIn(dir)
	if err != nil {
		return datadir.Denied(err, dir)
	}
	fmt.Fprintf(p.Stdout, "side files  %d of version %d are used as they are\n", kept, survey.SideVersion)
	if old > 0 {
		fmt.Fprintf(p.Stdout, "            %d of other versions, %.1f MiB in all, are built again at the first start, "+
			"which reads the source whole\n", old, float64(oldBytes)/(1<<20))
	}
	if _, err := os.Stat(filepath.Join(dir, "imports")); err == nil {
		fmt.Fprintln(p.Stdout,
			"copies      of sources in other formats are imported again if another version made them")
	}
	if refused {
		return fmt.Errorf("%s was written by a newer version; start that one, or restore a backup into a new folder",
			dir)
	}
	return nil
}

// printState prints what becomes of a state file, and reports whether it is refused.
func printState(p *process, path string) (refused bool, err error) {
	v, err := state.VersionOf(path)
	what := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = fmt.Fprintln(p.Stdout, "state       none; the first start creates it")
		return false, err
	case err != nil:
		return false, datadir.Denied(err, path)
	case v > state.FileVersion:
		what, refused = fmt.Sprintf("this program knows %d and refuses it", state.FileVersion), true
	case v < state.FileVersion:
		what = fmt.Sprintf("the first start makes it version %d, and older programs then refuse it: back up first",
			state.FileVersion)
	default:
		what = "used as it is"
	}
	_, err = fmt.Fprintf(p.Stdout, "state       version %d: %s\n", v, what)
	return refused, err
}

// sideFilesIn counts the side files in a data directory: those of this version, and others with their bytes.
func sideFilesIn(dir string) (kept, old int, oldBytes int64, err error) {
	names, err := filepath.Glob(filepath.Join(source.EscapeGlob(dir), "*.side"))
	if err != nil {
		return 0, 0, 0, err
	}
	for _, name := range names {
		if v, err := state.VersionOf(name); err == nil && v == survey.SideVersion {
			kept++
			continue
		}
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) { // a server has replaced it
			continue
		}
		if err != nil {
			return 0, 0, 0, err
		}
		old++
		oldBytes += info.Size()
	}
	return kept, old, oldBytes, nil
}
