package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"grense/internal/format/input"
	"grense/internal/ingest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/tempfile"
)

// shownWarnings is the number of warnings about a layer that are logged.
const shownWarnings = 10

// CopyVersion is part of the key of a copy, so that copies of older programs are rebuilt.
const CopyVersion = "4"

// importedCopy is a GeoPackage in the data directory, imported from a file or a directory.
type importedCopy struct {
	source   string // as configured
	version  string // of the program
	path     string
	settings map[string]store.Settings // by layer name or collection id
	log      *slog.Logger
}

// copyState is stored next to the copy.
type copyState struct {
	Key   string       // of the imported files; see files
	Notes []store.Note // about refused layers
}

// isImported reports whether a source is imported into a copy: a directory, or a file that is not a GeoPackage.
func isImported(path string) bool {
	st, err := os.Stat(path)
	return err == nil && (st.IsDir() || ingest.IsData(path) && !strings.EqualFold(filepath.Ext(path), ".gpkg"))
}

// imports is the directory of copies in the data directory.
const imports = "imports"

// newImportedCopy returns the copy of a source. It does not build it.
func newImportedCopy(source string, o Options, settings map[string]store.Settings) (*importedCopy, error) {
	abs, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(o.DataDir, imports)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder for imported copies: %w", err)
	}
	name := fmt.Sprintf("%s-%x.gpkg", store.CollectionID(filepath.Base(abs)), sha256.Sum256([]byte(abs)))
	return &importedCopy{source: source, path: filepath.Join(dir, name), version: o.Version, settings: settings,
		log: o.Logger}, nil
}

// files returns the files of the source, and a key that changes with any of them and with the settings of the import.
func (c *importedCopy) files() (list []string, key string, err error) {
	list = []string{c.source}
	if st, err := os.Stat(c.source); err != nil {
		return nil, "", readable(c.source)
	} else if st.IsDir() {
		if list, err = dataFiles(c.source); err != nil {
			return nil, "", err
		}
	}
	h := sha256.New()
	fmt.Fprintln(h, CopyVersion, c.version)
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		s := c.settings[name]
		fmt.Fprintf(h, "%q %q\n", name, s.IDColumns)
		if s.ValidFrom != "" {
			fmt.Fprintf(h, "%q %q %v\n", s.ValidFrom, s.ValidTo, s.Inclusive)
		}
	}
	for _, f := range list {
		// all files of a Shapefile
		parts, err := filepath.Glob(EscapeGlob(strings.TrimSuffix(f, filepath.Ext(f))) + ".*")
		if err != nil {
			return nil, "", err
		}
		for _, p := range parts {
			if st, err := os.Stat(p); err == nil && !st.IsDir() {
				fmt.Fprintln(h, filepath.Base(p), st.Size(), st.ModTime().UnixNano())
			}
		}
	}
	return list, fmt.Sprintf("%x", h.Sum(nil)), nil
}

// EscapeGlob returns a pattern that matches only s.
func EscapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// dataFiles returns the importable files in a directory, sorted by name.
func dataFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the source: %w", err)
	}
	var list []string
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); !e.IsDir() && !strings.HasPrefix(e.Name(), ".") &&
			ingest.IsData(path) {
			list = append(list, path)
		}
	}
	if len(list) == 0 {
		return nil,
			fmt.Errorf("%s is a folder, and none of its files is read; GeoPackage, GeoJSON, Shapefile and CSV are, "+
				"also as .gz or .zip", dir)
	}
	return list, nil
}

// refresh rebuilds the copy if the files have changed, and returns its state.
func (c *importedCopy) refresh(ctx context.Context) (*copyState, error) {
	files, key, err := c.files()
	if err != nil {
		return nil, err
	}
	if st, err := c.state(); err == nil && st.Key == key {
		return st, nil
	}
	prefix := "." + filepath.Base(c.path) + "."
	tempfile.Sweep(filepath.Dir(c.path), prefix, "")
	fresh, done, err := tempfile.Begin(filepath.Dir(c.path), prefix)
	if err != nil {
		return nil, fmt.Errorf("cannot write the imported copy: %w", err)
	}
	defer done()
	defer os.Remove(fresh)
	st, err := c.build(ctx, files, fresh)
	if err != nil {
		return nil, err
	}
	st.Key = key
	b, err := json.Marshal(st)
	if err == nil {
		err = os.Rename(fresh, c.path)
	}
	if err == nil { // after a crash before this point, the copy is rebuilt
		err = os.WriteFile(c.statePath(), b, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write the imported copy: %w", err)
	}
	return st, nil
}

func (c *importedCopy) statePath() string { return strings.TrimSuffix(c.path, ".gpkg") + ".json" }

// state reads the state of the copy. It fails if there is none.
func (c *importedCopy) state() (*copyState, error) {
	if _, err := os.Stat(c.path); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(c.statePath())
	if err != nil {
		return nil, err
	}
	st := &copyState{}
	return st, json.Unmarshal(b, st)
}

// build imports all layers of the files into a new GeoPackage.
func (c *importedCopy) build(ctx context.Context, files []string, path string) (*copyState, error) {
	temp, done, err := tempfile.Folder("grense-import-")
	if err != nil {
		return nil, err
	}
	defer done()
	w, err := gpkg.Create(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("cannot write the imported copy: %w", err)
	}
	defer w.Close()
	b := &copyBuild{importedCopy: c, w: w, taken: map[string]bool{}, tables: map[string]bool{},
		options: input.Options{OpenGeoPackage: GeoPackages(temp), TempDir: temp}}
	for _, f := range files {
		if err := b.file(ctx, f); err != nil {
			return nil, err
		}
	}
	if len(b.taken) == 0 {
		return nil, fmt.Errorf("cannot serve %s: %s", c.source, cmp.Or(b.first, "it holds no layer"))
	}
	if err := w.Commit(ctx); err != nil {
		return nil, fmt.Errorf("cannot write the imported copy: %w", err)
	}
	return &copyState{Notes: b.notes}, nil
}

// copyBuild is a copy in progress.
type copyBuild struct {
	*importedCopy
	w       store.Writer
	taken   map[string]bool // used collection ids
	tables  map[string]bool // used names, in lower case
	notes   []store.Note
	first   string // reason of the first refusal
	options input.Options
}

// file imports the layers of one file. Faults of the content become notes, so that other files are imported.
func (b *copyBuild) file(ctx context.Context, path string) error {
	src, err := ingest.Open(ctx, path, b.options)
	if err != nil {
		return b.refused(filepath.Base(path), err)
	}
	defer src.Close()
	for _, l := range src.Layers {
		if err := b.layer(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func (b *copyBuild) refused(layer string, err error) error {
	if !errors.Is(err, input.ErrRefused) {
		return fmt.Errorf("cannot import %s: %w", b.source, err)
	}
	reason := input.Reason(err)
	if strings.Contains(reason, "--id-field") {
		reason += "; for serve, set id_column of the collection in the configuration"
	} else if strings.Contains(reason, " --") {
		reason += "; it is a flag of grense import"
	}
	b.first = cmp.Or(b.first, reason)
	b.notes = append(b.notes, store.Note{Layer: layer, Refused: true, Reason: reason})
	return nil
}

func (b *copyBuild) layer(ctx context.Context, l *ingest.Layer) error {
	start := time.Now()
	id := store.Unique(store.CollectionID(l.Name), func(s string) bool { return b.taken[s] })
	show := progress(b.log)
	watch := ingest.Watch{Progress: func(done, total int64) { show(l.Name, int(done), int(total)) }}
	table, err := FreeTable(l.Name)
	if err != nil {
		return err
	}
	table = store.Unique(table, func(s string) bool { return b.tables[strings.ToLower(s)] })
	target := ingest.Target{Collection: id, Table: table, Title: store.Text{"": l.Name},
		IDField: cmp.Or(b.settings[l.Name].SingleID(), b.settings[id].SingleID())}
	if s := cmp.Or(b.settings[l.Name].ValidFrom, b.settings[id].ValidFrom); s != "" {
		target.ValidFrom, target.ValidTo = s, cmp.Or(b.settings[l.Name].ValidTo, b.settings[id].ValidTo)
		target.Inclusive = b.settings[l.Name].Inclusive || b.settings[id].Inclusive
	}
	plan, err := ingest.Survey(ctx, []*ingest.Layer{l}, target, watch)
	if err != nil {
		return b.refused(l.Name, err)
	}
	if err := plan.Write(ctx, b.w); err != nil {
		return fmt.Errorf("cannot import %s: %w", l.File, err)
	}
	b.taken[id], b.tables[strings.ToLower(table)] = true, true
	r, shown := &plan.Report, 0
	for _, f := range r.Faults {
		if f.Action == input.Warning && shown < shownWarnings {
			shown++
			b.log.Warn("imported with a warning", "collection", id, "fault", f.String())
		}
	}
	b.log.Info("imported", "file", l.File, "collection", id, "features", r.Written, "repaired", r.Repaired, "invalid",
		r.Kept, "took_ms", time.Since(start).Milliseconds())
	return nil
}

// importedStore serves a copy. Reload imports changed files.
type importedStore struct {
	store.Store
	copy *importedCopy

	mu       sync.Mutex
	notes    []store.Note
	of, with *store.Catalog // last catalog of Store, and the same with notes
}

// Catalog returns the catalog of the copy, with notes about refused layers.
func (s *importedStore) Catalog() *store.Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.Store.Catalog(); c != s.of {
		with := *c
		with.Notes = append(slices.Clip(c.Notes), s.notes...)
		s.of, s.with = c, &with
	}
	return s.with
}

// Reload imports files that have changed.
func (s *importedStore) Reload(ctx context.Context) error {
	st, err := s.copy.refresh(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.notes, s.of = st.Notes, nil
	s.mu.Unlock()
	return s.Store.Reload(ctx)
}

// openImported serves a directory, or a file that is not a GeoPackage, from a copy in the data directory.
func openImported(ctx context.Context, source string, so Options, o gpkg.Options) (store.Store, error) {
	c, err := newImportedCopy(source, so, o.Settings)
	if err != nil {
		return nil, err
	}
	st, err := c.refresh(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range st.Notes {
		so.Logger.Warn("a layer is not served", "layer", n.Layer, "reason", n.Reason)
	}
	o.Unchanging = true // copies are replaced, never modified
	inner, err := gpkg.Open(ctx, c.path, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the imported copy: %w", err),
			ignoreMissing(os.Remove(c.statePath())))
	}
	return &importedStore{Store: inner, copy: c, notes: st.Notes}, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
