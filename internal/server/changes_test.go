package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/paulmach/orb/encoding/wkt"

	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// living is a source that changes: some tables of named points, in a file that is replaced or in a database whose
// rows are updated.
type living struct {
	t      testing.TB
	st     store.Store
	path   string    // of the file
	db     *pgx.Conn // nil: it is a file
	tables map[string]*livingTable
}

type livingTable struct {
	rows map[string]livingRow
	wide bool // has one more column
}

type livingRow struct {
	name  string
	extra int64
	at    orb.Point
}

func newLiving(t testing.TB) *living {
	l := &living{t: t, tables: map[string]*livingTable{}}
	if onPostGIS() {
		url := cluster.Database(t)
		var err error
		if l.db, err = pgx.Connect(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.db.Close(context.Background()) })
		l.sql("CREATE EXTENSION IF NOT EXISTS postgis")
		l.create("a")
		l.create("b")
		l.st = openURL(t, url)
		return l
	}
	l.path = filepath.Join(t.TempDir(), "living.gpkg")
	l.create("a")
	l.create("b")
	l.write()
	l.st = openGeoPackage(t, l.path)
	return l
}

func (l *living) sql(text string, args ...any) {
	l.t.Helper()
	if l.db == nil {
		return
	}
	if _, err := l.db.Exec(l.t.Context(), text, args...); err != nil {
		l.t.Fatal(err)
	}
}

func (l *living) create(name string) {
	l.tables[name] = &livingTable{rows: map[string]livingRow{}}
	l.sql("CREATE TABLE " + name + " (id text PRIMARY KEY, name text, extra bigint, hidden text DEFAULT 'x', geom " +
		"geometry(Point, 4326))")
}

func (l *living) drop(name string) {
	delete(l.tables, name)
	l.sql("DROP TABLE " + name)
}

// put writes a row; hidden is a column that is not served.
func (l *living) put(table, id string, r livingRow) {
	l.tables[table].rows[id] = r
	l.sql("INSERT INTO "+table+" (id, name, extra, geom) VALUES ($1, $2, $3, ST_GeomFromText($4, 4326)) ON CONFLICT "+
		"(id) DO UPDATE SET name = excluded.name, extra = excluded.extra, geom = excluded.geom",
		id, r.name, r.extra, wkt.MarshalString(r.at))
}

func (l *living) remove(table, id string) {
	delete(l.tables[table].rows, id)
	l.sql("DELETE FROM "+table+" WHERE id = $1", id)
}

func (l *living) widen(table string) {
	if l.tables[table].wide {
		return
	}
	l.tables[table].wide = true
	l.sql("ALTER TABLE " + table + " ADD wide text")
}

// write replaces the file.
func (l *living) write() {
	l.t.Helper()
	check := func(err error) {
		l.t.Helper()
		if err != nil {
			l.t.Fatal(err)
		}
	}
	ctx := context.Background()
	check(os.RemoveAll(l.path + ".new"))
	w, err := gpkg.Create(ctx, l.path+".new")
	check(err)
	defer w.Close()
	for _, name := range slices.Sorted(maps.Keys(l.tables)) {
		x := l.tables[name]
		c := &store.Collection{ID: name, Table: name, Public: true,
			Key: store.FeatureKey{Column: "id", Type: cql2.TypeText}, TitleProperty: "name",
			Properties: []store.Property{{Name: "name", Column: "name", Type: cql2.TypeText},
				{Name: "extra", Column: "extra", Type: cql2.TypeInteger}},
			Geometry: &store.Geom{Name: "geometry", Column: "geom", Type: "Point", CRS: crs.CRS84}}
		if x.wide {
			c.Properties = append(c.Properties, store.Property{Name: "wide", Column: "wide", Type: cql2.TypeText})
		}
		check(w.Define(ctx, c, false))
		put, err := w.Insert(ctx, name, []string{"id", "name", "extra", "geom"})
		check(err)
		for _, id := range slices.Sorted(maps.Keys(x.rows)) {
			r := x.rows[id]
			check(put(id, r.name, r.extra, store.Geometry{WKB: wkb.MustMarshal(r.at)}))
		}
	}
	check(w.Commit(ctx))
	check(w.Close())
	check(os.Rename(l.path+".new", l.path))
}

// settle makes the store read the changes.
func (l *living) settle(a *api, reload bool) {
	l.t.Helper()
	if l.db == nil {
		l.write()
	}
	if l.db == nil || reload {
		if err := a.srv.Reload(l.t.Context()); err != nil {
			l.t.Fatal(err)
		}
	}
}

// step changes something at random, and reports whether a table changed.
func (l *living) step(r *rand.Rand) (defined bool) {
	names := slices.Sorted(maps.Keys(l.tables))
	for range 1 + r.IntN(4) {
		name := names[r.IntN(len(names))]
		x := l.tables[name]
		if x == nil {
			continue
		}
		id := strconv.Itoa(r.IntN(40))
		switch n := r.IntN(40); {
		case n == 0 && len(l.tables) > 1:
			l.drop(name)
			defined = true
		case n == 1 && len(l.tables) < 3:
			for _, fresh := range []string{"a", "b", "c"} {
				if l.tables[fresh] == nil {
					l.create(fresh)
					break
				}
			}
			defined = true
		case n == 2:
			l.widen(name)
			defined = true
		case n < 12:
			l.remove(name, id)
		default:
			l.put(name, id, livingRow{"name " + strconv.Itoa(r.IntN(3)), int64(r.IntN(3)),
				orb.Point{float64(r.IntN(5)), 60}})
		}
	}
	return defined
}

// replica is a copy that is built from the responses of the service alone.
type replica struct {
	a     *api
	after int64
	held  map[string]map[string]string // features by collection and id
	seen  []string                     // entries of the log, whole

	entries []string // number, kind, collection and id
}

// follow reads the log to its end and fetches the features that its entries link to.
func (x *replica) follow(limit int) {
	t := x.a.t
	t.Helper()
	for {
		path := fmt.Sprintf("/changes?after=%d&limit=%d", x.after, limit)
		r := x.a.get(path).wants(200)
		var doc struct {
			Changes []struct {
				Seq                   int64
				Op, Collection, ID    string
				Title, Href, Recorded string
			}
			Last  int64
			Links []link
		}
		if err := json.Unmarshal(r.Body, &doc); err != nil {
			t.Fatal(err)
		}
		for _, c := range doc.Changes {
			if x.after++; c.Seq != x.after {
				t.Fatalf("change %d after %d", c.Seq, x.after-1)
			}
			x.seen = append(x.seen, fmt.Sprint(c.Seq, c.Op, c.Collection, c.ID, c.Recorded, c.Title))
			x.entries = append(x.entries, fmt.Sprint(c.Seq, " ", c.Op, " ", c.Collection, " ", c.ID))
			switch c.Op {
			case "load":
				x.held[c.Collection] = featuresAt(x.a, c.Href)
			case "drop":
				delete(x.held, c.Collection)
			case "remove":
				delete(x.held[c.Collection], c.ID)
			default:
				if f := x.a.get(c.Href); f.StatusCode == 200 { // else it has been deleted, as a later entry says
					x.held[c.Collection][c.ID] = plainFeature(t, f.Body)
				}
			}
		}
		if doc.Last != x.after {
			t.Fatalf("last is %d, want %d", doc.Last, x.after)
		}
		if _, more := find(doc.Links, "next", ""); !more {
			return
		}
	}
}

// plainFeature is a feature without its links.
func plainFeature(t testing.TB, b []byte) string {
	t.Helper()
	var f struct {
		ID                   any
		Properties, Geometry json.RawMessage
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v %s %s", f.ID, f.Properties, f.Geometry)
}

// features are all of a collection, by id; none where there is no such collection any more.
func features(a *api, collection string) map[string]string {
	a.t.Helper()
	return featuresAt(a, "/collections/"+collection+"/items")
}

// featuresAt are the features of the items at an address, by their ids there.
func featuresAt(a *api, address string) map[string]string {
	a.t.Helper()
	out := map[string]string{}
	sep := "?"
	if strings.Contains(address, "?") {
		sep = "&"
	}
	r := a.get(address + sep + "limit=1000")
	if r.StatusCode != 200 {
		return out
	}
	var p struct{ Features []json.RawMessage }
	if err := json.Unmarshal(r.Body, &p); err != nil {
		a.t.Fatal(err)
	}
	for _, f := range p.Features {
		var id struct{ ID string }
		if err := json.Unmarshal(f, &id); err != nil {
			a.t.Fatal(err)
		}
		out[id.ID] = plainFeature(a.t, f)
	}
	return out
}

func TestACopyThatFollowsChangesEqualsTheSource(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	l := newLiving(t)
	a := serveStore(t, l.st, nil)
	copies := []*replica{{a: a, held: map[string]map[string]string{}}, {a: a, held: map[string]map[string]string{}}}
	points := 100
	if testing.Short() {
		points = 30
	}
	for n := 0; n < points; n++ {
		for range 1 + r.IntN(2) {
			l.settle(a, l.step(r))
			// a table was just rebuilt
			if err := a.srv.RecordChanges(t.Context()); errors.Is(err, store.ErrChanged) ||
				errors.Is(err, store.ErrUnavailable) {
				err = a.srv.RecordChanges(t.Context())
				if err != nil {
					t.Fatal(err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
		}
		for i, x := range copies {
			if i == 1 && r.IntN(5) > 0 { // this one looks rarely
				continue
			}
			x.follow(1 + r.IntN(20))
			want := map[string]map[string]string{}
			for name := range l.tables {
				want[name] = features(a, name)
				if len(want[name]) != len(l.tables[name].rows) {
					t.Fatalf("%s has %d features, want %d", name, len(want[name]), len(l.tables[name].rows))
				}
			}
			if !maps.EqualFunc(x.held, want, maps.Equal) {
				t.Fatalf("at point %d the copy is\n%v\nwant\n%v\n%s", n, x.held, want,
					strings.Join(x.seen[max(0, len(x.seen)-20):], "\n"))
			}
		}
	}
	copies[1].follow(1000)
	if !slices.Equal(copies[0].seen, copies[1].seen) {
		t.Error("who reads later reads other entries")
	}
}

func TestChangesAreReadInParts(t *testing.T) {
	t.Parallel()
	l := newLiving(t)
	a := serveStore(t, l.st, nil)
	look := func() {
		t.Helper()
		if err := a.srv.RecordChanges(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if doc := a.get("/changes").wants(200).json(); len(doc["changes"].([]any)) != 0 || doc["last"] != 0.0 {
		t.Errorf("before anything is recorded: %v", doc)
	}
	a.get("/changes?after=1").wants(410) // of a log that was there before
	look()
	for i := range 5 {
		l.put("a", strconv.Itoa(i), livingRow{name: "n<" + strconv.Itoa(i), at: orb.Point{1, 60}})
	}
	l.settle(a, false)
	look()
	first := a.get("/changes?limit=4").wants(200)
	l.put("a", "3", livingRow{name: "other", at: orb.Point{1, 60}})
	l.remove("a", "4")
	if l.db != nil {
		l.sql("UPDATE a SET hidden = 'y'") // which nobody is served... but as a column of the table
	}
	l.settle(a, false)
	look()
	again := a.get("/changes?limit=4").wants(200)
	if !bytes.Equal(first.Body, again.Body) || first.Header.Get("ETag") != again.Header.Get("ETag") {
		t.Errorf("a full part is another later:\n%s\n%s", first.Body, again.Body)
	}
	a.get("/changes?limit=4", "If-None-Match", first.Header.Get("ETag")).wants(304)
	doc := a.get("/changes/latest?limit=2").wants(200).json()
	last := doc["last"].(float64)
	if n := len(doc["changes"].([]any)); n != 2 || doc["changes"].([]any)[0].(map[string]any)["seq"] != last {
		t.Errorf("latest: %v", doc)
	}
	tail := a.get(fmt.Sprintf("/changes?after=%d", int(last))).wants(200).json()
	if len(tail["changes"].([]any)) != 0 || tail["last"] != last {
		t.Errorf("after the last: %v", tail)
	}
	for _, bad := range []string{"?after=-1", "?after=x", "?limit=0", "?since=1", "?f=rss",
		"?after=99999999999999999999"} {
		a.get("/changes" + bad).wants(400)
	}
	a.get("/changes/latest?after=1").wants(400)
	a.get("/changes?after=" + strconv.Itoa(int(last)+1)).wants(410)
}

func TestChangesAsAtomAndJSONFeed(t *testing.T) {
	t.Parallel()
	l := newLiving(t)
	l.put("a", "1", livingRow{name: "Ås & Sør <b>", at: orb.Point{1, 60}})
	l.settleFile()
	a := serveStore(t, l.st, nil)
	if err := a.srv.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.srv.RecordChanges(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.put("a", "1", livingRow{name: "Ås & Sør <i>", at: orb.Point{1, 60}})
	l.put("a", "2", livingRow{name: "B", at: orb.Point{1, 60}})
	l.settle(a, false)
	if err := a.srv.RecordChanges(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, mount := range []string{"", "/v1"} {
		for _, r := range []answer{a.get(mount + "/changes/latest?f=atom&lang=en").wants(200),
			a.get(mount+"/changes/latest?lang=en", "Accept", "application/atom+xml").wants(200)} {
			if ct := r.Header.Get("Content-Type"); ct != "application/atom+xml; charset=utf-8" {
				t.Errorf("type %s", ct)
			}
			var f struct {
				XMLName            xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
				ID, Title, Updated string
				Author             struct {
					Name string `xml:"name"`
				} `xml:"author"`
				Entries []struct {
					ID      string `xml:"id"`
					Title   string `xml:"title"`
					Updated string `xml:"updated"`
				} `xml:"entry"`
			}
			if err := xml.Unmarshal(r.Body, &f); err != nil {
				t.Fatal(err)
			}
			if len(f.Entries) != 4 || f.Author.Name == "" || !slices.ContainsFunc(f.Entries, func(e struct {
				ID      string `xml:"id"`
				Title   string `xml:"title"`
				Updated string `xml:"updated"`
			}) bool {
				return e.Title == "a: Ås & Sør <i> (1) – changed" && e.ID == a.URL+"/changes?after=2&limit=1" &&
					e.Updated != ""
			}) {
				t.Errorf("%s", r.Body)
			}
		}
		r := a.get(mount + "/changes/latest?f=jsonfeed&lang=en").wants(200)
		doc := r.json()
		if r.Header.Get("Content-Type") != "application/feed+json" ||
			doc["version"] != "https://jsonfeed.org/version/1.1" || len(doc["items"].([]any)) != 4 ||
			!strings.HasPrefix(doc["feed_url"].(string), a.URL+mount+"/changes/latest") {
			t.Errorf("%s", r.Body)
		}
		a.get(mount+"/changes", "Accept", "application/feed+json").wants(200)
		page := string(a.get(mount + "/changes/latest?f=html&lang=nn").wants(200).Body)
		if !strings.Contains(page, "Ås &amp; Sør &lt;i&gt;") || !strings.Contains(page, "endra") ||
			!strings.Contains(page, mount+"/collections/a/items/1?f=html") {
			t.Errorf("page: %s", page)
		}
	}
}

// settleFile replaces the file before it is served again.
func (l *living) settleFile() {
	if l.db == nil {
		l.write()
	}
}

func TestChangesNeedAKeyAndAPlaceToKeepThem(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	for _, path := range []string{"/changes", "/v1/changes?after=x", "/changes/latest"} {
		a.get(path).wants(401)
	}
	a.get("/changes", "X-API-Key", a.key).wants(200)
	none := serveWithout(t)
	if r := none.get("/changes").wants(404); !strings.Contains(string(r.Body), "schema grense") {
		t.Errorf("no cure: %s", r.Body)
	}
	none.get("/changes/latest").wants(404)
	if strings.Contains(string(none.get("/openapi").wants(200).Body), `"/changes"`) ||
		!strings.Contains(string(serve(t, "", nil).get("/openapi").wants(200).Body), `"/changes/latest"`) {
		t.Error("the API definition tells of changes where there are none, or not where there are")
	}
}

func TestChangesOfLargeCollectionsAreRecordedWhenAskedFor(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Limits.Changes = 100 })
	if err := a.srv.RecordChanges(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := string(a.get("/changes").wants(200).Body)
	if !strings.Contains(text, `"fylker"`) || strings.Contains(text, `"kommuner"`) {
		t.Errorf("recorded: %s", text)
	}
}

// TestACopyThatFollowsChangesHasAllVersions: if features have versions, the entries of changes are versions, by the
// ids that they have among all versions.
func TestACopyThatFollowsChangesHasAllVersions(t *testing.T) {
	t.Parallel()
	change := func([]any) bool { return true }
	st, rewrite := writtenStore(t, func(ctx context.Context, w store.Writer) error {
		return writeVersions(ctx, w, func(row []any) bool { return change(row) })
	})
	a := serveStore(t, st, nil)
	x := &replica{a: a, held: map[string]map[string]string{}}
	set := func(name string, column int, to any) func([]any) bool {
		return func(row []any) bool {
			if row[1] == name {
				row[column] = to
			}
			return true
		}
	}
	for _, step := range []struct {
		entries string
		change  func(row []any) bool
	}{
		{"1 load areas , 2 load buildings ", nil},
		{"3 update areas 1.20010101", set("Old", 1, "Older")},
		{"4 remove areas 2.20050101, 5 update areas 1.20010101", func(row []any) bool { return row[1] != "Ended" }},
		{"6 update areas 3.20200101, 7 add areas 2.20050101", set("Young", 3, "2025-01-01")},
		{"8 update areas 3.20200101, 9 update buildings 1.20121014T164317Z", set("14.0", 1, "14.1")},
		{"10 remove areas 5.a.20100101, 11 add areas 5.a.20090101, 12 update buildings 1.20121014T164317Z",
			set("Again", 2, "2009-01-01")},
	} {
		if step.change != nil {
			change = step.change
			rewrite()
			if err := a.srv.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.srv.RecordChanges(t.Context()); err != nil {
			t.Fatal(err)
		}
		from := len(x.entries)
		x.follow(2)
		if got := strings.Join(x.entries[from:], ", "); got != step.entries {
			t.Errorf("%q, want %q", got, step.entries)
		}
		for id, n := range map[string]int{"areas": 7, "buildings": 2} {
			if want := featuresAt(a, "/collections/"+id+"/items?datetime=0001-01-01/.."); !maps.Equal(
				x.held[id], want) || step.change == nil && len(want) != n {
				t.Errorf("after %s the copy of %s is %v, want %v", step.entries, id, x.held[id], want)
			}
		}
	}
}
