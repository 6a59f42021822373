package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/feed"
	"grense/internal/history"
	"grense/internal/server"
	"grense/internal/server/surface"
	"grense/internal/source"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/openapi"
)

type checkCmd struct {
	Source     string  `arg:"" optional:"" help:"Source as for serve: a file, a folder of files, or a database. Without it, the data directory is checked; with --explain, the setting source or the demo."`
	Migrate    bool    `help:"First apply the migrations that the schema grense of a database lacks. The role must own it."`
	Collection string  `placeholder:"ID" help:"Collection of --explain."`
	Explain    *string `placeholder:"FILTER" help:"Print the query plan of a filter in CQL2, its cost and its indexes. An empty filter selects all features."`
	dataFlags
}

func (checkCmd) Help() string {
	return `Prints each layer with the collection id that it gets, and what is wrong. The API definition is validated too. For a database, it
lists the migrations that the schema grense lacks, and the rights that the role lacks. The exit status is 1 if a layer is
refused, a setting fits nothing, or the database lacks something. Notes do not change it.

With --explain, it runs a query as an items page does and prints the plan: an index, a table in memory or a scan of all rows; and
the class of cost: page, indexed, scan or geometry.

Without a source, it prints what this version will do with the data directory, and changes nothing there. The exit status is 1 if
this version refuses it.

Examples:
  grense check kommuner.gpkg --collection kommuner --explain "navn LIKE 'Os%'"
  grense check postgres://reader@db.example.org/divisions --config grense.yaml`
}

func (c *checkCmd) Run(ctx context.Context, p *process) error {
	if c.Source == "" && c.Explain == nil && c.Collection == "" {
		return c.checkDataDir(p)
	}
	cfg, dir, err := c.prepare(p, c.Source)
	if err != nil {
		return err
	}
	src := cmp.Or(c.Source, cfg.Source) // "": the demo
	if c.Migrate {
		if err := migrateDatabase(ctx, src); err != nil {
			return err
		}
	}
	cfg.AllowEmpty = true // to list every refused layer instead of failing
	st, err := source.Open(ctx, src,
		source.Options{DataDir: dir, Config: cfg, Logger: p.logger(cfg), Version: programVersion()})
	if err != nil {
		return err
	}
	defer st.Close()
	cat := st.Catalog()
	if err := printLayers(p.Stdout, cat); err != nil {
		return err
	}
	wrong := printNotes(p.Stdout, cat, source.Unmatched(cfg, cat))
	unknown, err := printUnknownSchemes(ctx, p.Stdout, st)
	if err != nil {
		return err
	}
	wrong += unknown
	printUnrecorded(p.Stdout, cfg, cat)
	if cfg.Limits.Answers > 0 {
		if err := printUncached(ctx, p.Stdout, st); err != nil {
			return err
		}
	}
	advised, err := printAdvice(ctx, p.Stdout, src)
	if err != nil {
		return err
	}
	wrong += advised
	if len(cat.Collections) == 0 {
		fmt.Fprintln(p.Stdout, "\nNothing would be served.")
		wrong++
	}
	if err := checkDefinition(ctx, cfg, st); err != nil {
		fmt.Fprintf(p.Stdout, "\nThe API definition would be wrong: %v\n", err)
		wrong++
	}
	if c.Explain != nil || c.Collection != "" {
		e := explained{collection: c.Collection}
		if c.Explain != nil {
			e.filter = *c.Explain
		}
		if err := e.print(ctx, p.Stdout, st); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%s has %s", source.Shown(src), count(wrong, "fault"))
	}
	return nil
}

// printUnknownSchemes prints the collections whose setting codes is not a scheme of the history, and returns their
// number.
func printUnknownSchemes(ctx context.Context, w io.Writer, st store.Store) (wrong int, err error) {
	var h *history.History
	for _, c := range st.Catalog().Collections {
		if c.Codes == "" {
			continue
		}
		if h == nil {
			if h, err = history.Load(ctx, st); err != nil {
				return 0, err
			}
		}
		var known []string
		if h != nil {
			for _, s := range h.Schemes() {
				known = append(known, s.ID)
			}
		}
		if slices.Contains(known, c.Codes) {
			continue
		}
		wrong++
		cure := "there is no history; add one with --history norway, or with grense lineage import"
		if near := cql2.Nearest(c.Codes, known); near != "" {
			cure = "did you mean " + near + "?"
		} else if known != nil {
			cure = "use one of " + strings.Join(known, ", ")
		}
		fmt.Fprintf(w, "\n%s: codes: %s is no scheme of the history; %s\n", c.ID, c.Codes, cure)
	}
	return wrong, nil
}

// checkDefinition builds the API definition of a source as the server would, and validates it.
func checkDefinition(ctx context.Context, cfg config.Config, st store.Store) error {
	cfg.Auth, cfg.BaseURL = "open", cmp.Or(cfg.BaseURL, "http://localhost:8080")
	srv, err := surface.New(
		server.Options{
			Config:        cfg,
			NewGeoPackage: gpkg.CreateBare,
			Store:         st,
			Logger:        slog.New(slog.DiscardHandler),
			Version:       programVersion(),
		},
	)
	if err != nil {
		return err
	}
	defer srv.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.BaseURL+"/openapi", nil)
	if err != nil {
		return err
	}
	var doc document
	srv.Handler().ServeHTTP(&doc, r)
	if doc.status != http.StatusOK {
		return fmt.Errorf("status %d: %s", doc.status, doc.body.Bytes())
	}
	_, err = openapi.Load(ctx, doc.body.Bytes())
	return err
}

// document is a ResponseWriter that keeps the response in memory.
type document struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (d *document) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}

func (d *document) WriteHeader(status int) { d.status = status }

func (d *document) Write(b []byte) (int, error) { return d.body.Write(b) }

// printLayers prints the layers that would be served, then the refused ones.
func printLayers(w io.Writer, cat *store.Catalog) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "LAYER\tCOLLECTION\tCRS\tFEATURES\tGEOMETRY\tID COLUMN\tNOTE")
	for _, c := range cat.Collections {
		if !c.Public {
			continue
		}
		system, geometry := "-", "-"
		if g := c.Geometry; g != nil {
			system, geometry = g.CRS.String(), cmp.Or(g.Type, "any")
			if g.HasZ {
				geometry += " Z"
			}
		}
		note := ""
		if n := notesOf(cat, c.Table); n > 0 {
			note = "served, see below"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Table, c.ID, system, strconv.Itoa(c.Count), geometry,
			idColumn(c), note)
	}
	var refused []string
	for _, n := range cat.Notes {
		if n.Refused && !slices.Contains(refused, n.Layer) {
			refused = append(refused, n.Layer)
			fmt.Fprintf(t, "%s\t-\t-\t-\t-\t-\trefused, see below\n", n.Layer)
		}
	}
	return t.Flush()
}

// printUnrecorded prints the collections whose changes are not recorded because they have too many features.
func printUnrecorded(w io.Writer, cfg config.Config, cat *store.Catalog) {
	o := feed.Options{Most: cfg.Limits.Changes}
	for _, c := range cat.Collections {
		if c.Public && c.Changes == nil && !o.Records(c) {
			fmt.Fprintf(
				w,
				"\n%s: changes are not recorded for /changes, since it has more than limits.changes, %d features; "+
					"changes: true of the collection records them, with some 100 bytes of memory for each feature\n",
				c.ID,
				o.Most,
			)
		}
	}
}

// printUncached prints the collections whose responses are not cached, because the store cannot report whether their
// rows have changed.
func printUncached(ctx context.Context, w io.Writer, st store.Store) error {
	cat := st.Catalog()
	if !cat.Live {
		return nil
	}
	var unknown []string
	for _, c := range cat.Collections {
		v, err := st.Version(ctx, c.ID)
		if err != nil {
			return err
		}
		if v == "" {
			unknown = append(unknown, c.ID)
		}
	}
	switch {
	case len(unknown) == 0:
	case len(unknown) == len(cat.Collections):
		fmt.Fprint(w,
			"\nResponses are not cached: it cannot be seen whether rows have changed. That is so on a replica, "+
				"with Citus, for views, foreign and partitioned tables, and for tables with policies for the role. "+
				"Name the primary, or serve plain tables or materialised views\n")
	default:
		fmt.Fprintf(w,
			"\n%s: responses are not cached, nor are those about all collections. It cannot be seen whether "+
				"rows of views, foreign and partitioned tables, and tables with policies for the role have changed. "+
				"Serve a table or a materialised view instead: CREATE MATERIALIZED VIEW name AS SELECT * FROM view, "+
				"with a unique index. REFRESH MATERIALIZED VIEW CONCURRENTLY name updates it. "+
				"Revoke the right of the role to read the view\n", strings.Join(unknown, ", "))
	}
	return nil
}

// idColumn returns the column with the feature ids. In a collection with versions, several rows have the same id.
func idColumn(c *store.Collection) string {
	if c.Versions != nil {
		return c.Versions.ID
	}
	return c.Key.Column
}

func notesOf(cat *store.Catalog, layer string) (n int) {
	for _, note := range cat.Notes {
		if note.Layer == layer {
			n++
		}
	}
	return n
}

// printNotes prints notes about layers, each reason once. It returns the number of faults: refused layers, and settings
// that match nothing (strangers).
func printNotes(w io.Writer, cat *store.Catalog, strangers []string) int {
	if len(cat.Notes)+len(cat.Bookkeeping)+len(strangers) > 0 {
		fmt.Fprintln(w)
	}
	for _, line := range notesByReason(cat.Notes) {
		fmt.Fprintln(w, line)
	}
	if len(cat.Bookkeeping) > 0 {
		fmt.Fprintf(w,
			"not served: %s: programs keep these tables for themselves; name them under collections to serve them\n",
			strings.Join(cat.Bookkeeping, ", "))
	}
	for _, s := range strangers {
		fmt.Fprintf(w, "%s, configured: no layer and no collection of the source has this name\n", s)
	}
	faults := len(strangers)
	for _, n := range cat.Notes {
		if n.Refused || n.Setting {
			faults++
		}
	}
	return faults
}

// notesByReason returns a line for each reason, with the layers that have it.
func notesByReason(notes []store.Note) []string {
	var reasons []string
	layers := map[string][]string{}
	for _, n := range notes {
		r := "served: "
		switch {
		case n.Refused:
			r = "refused: "
		case n.Setting:
			r = "setting: "
		}
		r += strings.TrimSpace(n.Reason)
		if layers[r] == nil {
			reasons = append(reasons, r)
		}
		layers[r] = append(layers[r], n.Layer)
	}
	for i, r := range reasons {
		reasons[i] = strings.Join(layers[r], ", ") + ", " + r
	}
	return reasons
}
