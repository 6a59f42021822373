package server_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/await"
	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

// keepsNone is a configuration without a response cache.
func keepsNone(c *config.Config) { c.Limits.Answers = 0 }

// cachedBefore repeats a request until the response comes from the cache, and returns it. It must repeat, since other
// tests write to the same database cluster and so change the data version.
func (a *api) cachedBefore(path string, header ...string) answer {
	a.t.Helper()
	var r answer
	await.True(a.t, path+" is cached", func() bool {
		r = a.get(path, header...)
		return a.wasCached(r)
	})
	return r
}

// wasCached reports whether the log marks the response as cached.
func (a *api) wasCached(r answer) (cached bool) {
	id := `"request":"` + r.Header.Get("X-Request-Id") + `"`
	// the line is written after the response is sent
	await.True(a.t, "the log has "+id, func() bool {
		for line := range strings.SplitSeq(a.logs.String(), "\n") {
			if strings.Contains(line, id) && strings.Contains(line, `"msg":"request"`) {
				cached = strings.Contains(line, `"cached":true`)
				return true
			}
		}
		return false
	})
	return cached
}

// sameHeaders are the header fields that cached responses share with new ones.
var sameHeaders = []string{"Content-Type", "Content-Language", "Content-Encoding", "Content-Crs", "Link", "ETag",
	"Vary", "Cache-Control", "Ogc-Numbermatched", "Ogc-Numberreturned", "Content-Disposition",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "X-Content-Type-Options", "Content-Security-Policy",
	"Referrer-Policy", "Content-Bbox", "Link-Template", "Memento-Datetime"}

// TestKeptAnswersAreWhatIsMade: a cached response equals, byte for byte except for its time, that of a server without
// a cache, in each representation, language and coding.
func TestKeptAnswersAreWhatIsMade(t *testing.T) {
	t.Parallel()
	kept := serve(t, "", nil)
	// Both have one address, as links show it.
	made := serveStore(t, kept.store, func(c *config.Config) { keepsNone(c); c.BaseURL = kept.URL })
	paths := []string{"/collections/kommuner/items", "/collections/kommuner/items?limit=3&offset=2",
		"/v1/collections/kommuner/items?limit=2", "/collections/kommuner/items?bbox=10,59,11,60&lang=en",
		"/collections/kommuner/items?filter=" + escape("navn LIKE 'B%'"), "/collections/kommuner/items?f=csv",
		"/collections/kommuner/items?f=jsonld&limit=5", "/collections/kommuner/items?f=html&limit=20&lang=nn",
		"/collections/kommuner/items?f=gml&limit=4", "/collections/kommuner/items?profile=jsonfg&limit=4",
		"/collections/kommuner/items?resulttype=hits",
		"/collections/kommuner/items/0301", "/collections/kommuner/items/0301?f=html",
		"/collections/kommuner/items/0301?f=jsonld",
		"/collections/fylker/items/03?crs=http://www.opengis.net/def/crs/EPSG/0/25833",
		"/lookup?lon=10.75&lat=59.91", "/lookup?lon=0&lat=70", "/lookup?lon=10.75&lat=59.91&f=html", "/lookup?f=html"}
	for _, path := range paths {
		for _, coding := range []string{"gzip", "identity"} {
			want := made.get(path, "Accept-Encoding", coding).wants(http.StatusOK)
			got := kept.cachedBefore(path, "Accept-Encoding", coding).wants(http.StatusOK)
			plain := func(r answer) string {
				if r.Header.Get("Content-Encoding") == "gzip" {
					return stamped(gunzip(t, r.Body))
				}
				return stamped(r.Body)
			}
			await.Success(t, path+", "+coding, func() error {
				a, b := plain(got), plain(want)
				if a == b {
					return nil
				}
				// its map may have been drawn before borders were shared
				want = made.get(path, "Accept-Encoding", coding).wants(http.StatusOK)
				at := 0
				for at < min(len(a), len(b)) && a[at] == b[at] {
					at++
				}
				at = max(at-200, 0)
				return fmt.Errorf("the cached response is from byte %d on\n%.500s\nwant\n%.500s", at, a[at:], b[at:])
			})
			for _, name := range sameHeaders {
				if a, b := got.Header.Values(name), want.Header.Values(name); !slices.Equal(a, b) {
					t.Errorf("%s, %s: %s is %q, want %q", path, coding, name, a, b)
				}
			}
			if n := got.Header.Get("Content-Length"); n != strconv.Itoa(len(got.Body)) {
				t.Errorf("%s, %s: length %s of %d bytes", path, coding, n, len(got.Body))
			}
			head := kept.do("HEAD", path, "Accept-Encoding", coding).wants(http.StatusOK)
			if len(head.Body) != 0 || !slices.Equal(head.Header.Values("Etag"), got.Header.Values("Etag")) {
				t.Errorf("HEAD %s: %d bytes, %v", path, len(head.Body), head.Header)
			}
			if tag := got.Header.Get("ETag"); tag != "" {
				if r := kept.get(path, "Accept-Encoding", coding, "If-None-Match", tag).wants(
					http.StatusNotModified); len(r.Body) != 0 || r.Header.Get("ETag") != tag {
					t.Errorf("%s: 304 with %d bytes, %v", path, len(r.Body), r.Header)
				}
			}
		}
	}
}

// TestKeptAnswersHaveTheTimeOfTheRequest: the member timeStamp is never that of an earlier answer.
func TestKeptAnswersHaveTheTimeOfTheRequest(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, coding := range []string{"gzip", "identity"} {
		for range 5 {
			before := time.Now().Add(-time.Microsecond)
			r := a.cachedBefore("/collections/kommuner/items?limit=7", "Accept-Encoding", coding)
			if r.Header.Get("Content-Encoding") == "gzip" {
				r.Body = gunzip(t, r.Body)
			}
			at, err := time.Parse(time.RFC3339Nano, r.page().TimeStamp)
			if err != nil || at.Before(before) || at.After(time.Now()) {
				t.Errorf("asked at %v, answered at %q, %v", before, r.page().TimeStamp, err)
			}
		}
	}
}

// TestKeptAnswersNeedAKey: a response that was cached for a client with a key is refused to one without.
func TestKeptAnswersNeedAKey(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	for _, path := range []string{"/collections/kommuner/items", "/collections/kommuner/items/0301",
		"/lookup?lon=10.75&lat=59.91"} {
		a.cachedBefore(path, "X-API-Key", a.key).wants(http.StatusOK)
		a.get(path).wants(http.StatusUnauthorized)
		a.get(path, "X-API-Key", a.key+"x").wants(http.StatusUnauthorized)
	}
}

// TestKeptAnswersPayTheirRate: a cached response is charged like the first one.
func TestKeptAnswersPayTheirRate(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Limits.Rate = 1 })
	refused := 0
	for range 30 {
		r := a.get("/collections/kommuner/items/0301")
		if r.Header.Get("RateLimit") == "" && r.StatusCode == http.StatusOK {
			t.Fatalf("no RateLimit: %v", r.Header)
		}
		if r.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 {
		t.Error("none of 30 requests was refused at one a second")
	}
}

// TestACrawlKeepsNoAnswers: responses that were requested only once do not fill the cache.
func TestACrawlKeepsNoAnswers(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for i := range 300 {
		a.get("/collections/kommuner/items?limit=1&offset=" + strconv.Itoa(i)).wants(http.StatusOK)
	}
	if m := httpGetMetrics(t, a); !strings.Contains(m, `grense_cache_entries{cache="answers"} 0`) {
		t.Error("answers of a crawl were kept")
	}
}

// TestFilesLeaveOtherAnswersKept: a new file invalidates only the pages of its collection in the cache.
func TestFilesLeaveOtherAnswersKept(t *testing.T) {
	t.Parallel()
	if !linksHaveVersion() {
		t.Skip("links to files of a database name no state")
	}
	a := serve(t, "", func(c *config.Config) { c.DataDir, c.Limits.Downloads = t.TempDir(), 1<<30 })
	const page = "/collections/kommuner/items?limit=3&f=html"
	lasting := []string{"/collections/kommuner/items?limit=3", "/collections/kommuner/items/0301",
		"/lookup?lon=10.75&lat=59.91&f=html"}
	before := string(a.cachedBefore(page).Body)
	for _, path := range lasting {
		a.cachedBefore(path)
	}
	a.makeFiles(t, "kommuner")
	for _, path := range lasting {
		if !a.wasCached(a.get(path)) {
			t.Errorf("%s is made anew because of files", path)
		}
	}
	if r := a.get(page); a.wasCached(r) || string(r.Body) == before {
		t.Error("the page does not tell the lengths of its files")
	}
	a.cachedBefore(page)
	a.makeFiles(t, "kommuner")
	if !a.wasCached(a.get(page)) {
		t.Error("the page is made anew though no file came")
	}
}

// counters is a collection whose rows count upwards while a server answers.
type counters struct {
	t    testing.TB
	st   store.Store
	path string // of the file
	url  string // of the database; "": it is a file
}

func counterText(row, n int) string { return fmt.Sprintf("teller-%d-%d", row, n) }

// rowsOfCounters is how many rows there are.
const rowsOfCounters = 10

func newCounters(t testing.TB) *counters {
	fill := func(ctx context.Context, w store.Writer) error {
		c := &store.Collection{ID: "tellere", Table: "tellere", Public: true,
			Key: store.FeatureKey{Column: "id", Type: cql2.TypeText}, TitleProperty: "navn",
			Properties: []store.Property{{Name: "navn", Column: "navn", Type: cql2.TypeText}},
			Geometry:   &store.Geom{Name: "geometry", Column: "geom", Type: "Point", CRS: crs.CRS84}}
		if err := w.Define(ctx, c, false); err != nil {
			return err
		}
		put, err := w.Insert(ctx, c.ID, []string{"id", "navn", "geom"})
		for i := range rowsOfCounters {
			if err == nil {
				err = put(strconv.Itoa(i), counterText(i, 0), store.Geometry{WKB: wkb.MustMarshal(orb.Point{10, 60})})
			}
		}
		return err
	}
	x := &counters{t: t}
	if onPostGIS() {
		x.url = cluster.Database(t)
		storetest.Write(t, func(w store.Writer) {
			if err := fill(context.Background(), w); err != nil {
				t.Fatal(err)
			}
		})(writer.Create(t.Context(), x.url))
		x.st = openURL(t, x.url)
		return x
	}
	x.path = filepath.Join(t.TempDir(), "tellere.gpkg")
	if _, err := fillFile(x.path, fill); err != nil {
		t.Fatal(err)
	}
	x.st = openGeoPackage(t, x.path)
	return x
}

// writer returns a function that sets a row to a number, in its own transaction.
func (x *counters) writer() (set func(row, n int) error) {
	x.t.Helper()
	if x.url != "" {
		db, err := pgx.Connect(x.t.Context(), x.url)
		if err != nil {
			x.t.Fatal(err)
		}
		x.t.Cleanup(func() { db.Close(context.Background()) })
		return func(row, n int) error {
			_, err := db.Exec(x.t.Context(), "UPDATE grense.tellere SET navn = $1 WHERE id = $2", counterText(row, n),
				strconv.Itoa(row))
			return err
		}
	}
	db := writable(x.t, x.path)
	return func(row, n int) error {
		return sqlitex.Execute(db, "UPDATE tellere SET navn = ? WHERE id = ?",
			&sqlitex.ExecOptions{Args: []any{counterText(row, n), strconv.Itoa(row)}})
	}
}

// journal switches the journal mode of the file, as another program does while the server reads it.
func (x *counters) journal(mode string) {
	x.t.Helper()
	db := writable(x.t, x.path)
	if err := errors.Join(sqlitex.ExecuteTransient(db, "PRAGMA journal_mode="+mode, nil), db.Close()); err != nil {
		x.t.Fatal(err)
	}
}

// writable opens a GeoPackage that others serve, with the functions that the triggers of its index call.
func writable(t testing.TB, path string) *sqlite.Conn {
	t.Helper()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() }) // again does no harm
	db.SetBlockOnBusy()
	for _, name := range []string{"ST_MinX", "ST_MaxX", "ST_MinY", "ST_MaxY", "ST_IsEmpty"} {
		f := func(sqlite.Context, []sqlite.Value) (sqlite.Value, error) { return sqlite.IntegerValue(0), nil }
		if err := db.CreateFunction(name, &sqlite.FunctionImpl{NArgs: 1, AllowIndirect: true, Scalar: f}); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// TestKeptAnswersFollowWriters lets ten programs write while clients repeat their requests. No response misses a
// commit older than its request, with and without a cache, in every journal mode of a file.
func TestKeptAnswersFollowWriters(t *testing.T) {
	t.Parallel()
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	for name, change := range map[string]func(*config.Config){"kept": nil, "not kept": keepsNone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			followsWriters(t, newCounters(t), rounds, change)
		})
		if !onPostGIS() {
			t.Run("WAL, "+name, func(t *testing.T) {
				t.Parallel()
				x := newCounters(t)
				x.journal("WAL")
				followsWriters(t, x, rounds, change)
			})
		}
	}
}

func followsWriters(t *testing.T, x *counters, rounds int, change func(*config.Config)) {
	a := serveStore(t, x.st, change)
	var committed [rowsOfCounters]atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var writers, readers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	for row := range rowsOfCounters {
		set := x.writer()
		r := rand.New(rand.NewPCG(1, uint64(row)))
		writers.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				if err := set(row, n); err != nil {
					t.Error(err)
					return
				}
				committed[row].Store(int64(n))
				await.Pace(time.Duration(r.IntN(200)) * time.Millisecond)
			}
		})
	}
	paths := []string{"/collections/tellere/items", "/collections/tellere/items?f=csv",
		"/collections/tellere/items?f=html", "/collections/tellere/items/3", "/collections/tellere/items/3?f=html",
		"/collections/tellere/items?filter=navn%20LIKE%20'teller-3-%25'"}
	ask := func(path string) {
		var before [rowsOfCounters]int64
		for i := range before {
			before[i] = committed[i].Load()
		}
		r := a.get(path)
		if r.StatusCode == http.StatusServiceUnavailable { // the data did not rest
			return
		}
		r.wants(http.StatusOK)
		for _, x := range numbersIn(t, path, r) {
			if x.n < before[x.row] {
				t.Errorf("%s: row %d is %d, was %d before", path, x.row, x.n, before[x.row])
			}
		}
	}
	for _, path := range paths {
		readers.Go(func() {
			for range rounds {
				ask(path)
			}
		})
	}
	for range 3 { // requests that are not cached, nearly at once
		readers.Go(func() {
			for n := range rounds {
				ask("/collections/tellere/items?limit=" + strconv.Itoa(rowsOfCounters+n))
			}
		})
	}
	readers.Wait()
	stop()
	writers.Wait()
	for _, path := range paths {
		a.get(path)
		a.get(path)
		for _, x := range numbersIn(t, path, a.get(path)) {
			if x.n != committed[x.row].Load() {
				t.Errorf("%s: row %d is %d at rest, want %d", path, x.row, x.n, committed[x.row].Load())
			}
		}
	}
}

// TestAnswersFollowAWriterInWALMode: the next response has, finds and counts what another program committed in WAL
// mode, and its ETag changes. That also holds after checkpoints and after that program has ended.
func TestAnswersFollowAWriterInWALMode(t *testing.T) {
	t.Parallel()
	if onPostGIS() {
		t.Skip("a database is no file")
	}
	for name, change := range map[string]func(*config.Config){"kept": nil, "not kept": keepsNone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newCounters(t)
			a := serveStore(t, x.st, change)
			const items = "/collections/tellere/items"
			tile := "/collections/tellere/tiles/WebMercatorQuad/14/4757/8647"
			etags := map[string]string{}
			shows := func(n int) {
				t.Helper()
				text := counterText(3, n)
				for _, path := range []string{items + "/3", items + "/3?f=html", items, items + "?navn=" + text, tile} {
					for range 3 { // the third may come from the cache
						r := a.get(path, "If-None-Match", etags[path]).wants(http.StatusOK)
						if !strings.Contains(string(r.Body), text) {
							t.Errorf("%s does not show %s", path, text)
						}
						if tag := r.Header.Get("ETag"); tag != "" && tag == etags[path] {
							t.Errorf("%s has the ETag of the state before %s", path, text)
						}
					}
				}
				if r := a.get(items + "?limit=1&navn=" + text).wants(http.StatusOK).json(); r["numberMatched"] != 1.0 {
					t.Errorf("%v match %s", r["numberMatched"], text)
				}
				for _, path := range []string{items + "/3", items, tile} {
					etags[path] = a.get(path).Header.Get("ETag")
				}
			}
			shows(0)
			x.journal("WAL")
			n := 0
			for _, then := range []string{"", "PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(TRUNCATE)", ""} {
				for range 3 {
					n++
					db := writable(t, x.path)
					err := sqlitex.Execute(db, "UPDATE tellere SET navn = ? WHERE id = '3'",
						&sqlitex.ExecOptions{Args: []any{counterText(3, n)}})
					if err = errors.Join(err, sqlitex.ExecuteTransient(db, cmp.Or(then, "SELECT 1"), nil),
						db.Close()); err != nil {
						t.Fatal(err)
					}
					shows(n)
				}
			}
		})
	}
}

// TestPartsOfPagesFollowTheData: table, linked data and map of an HTML page are cached per data version, and are the
// same bytes in each coding.
func TestPartsOfPagesFollowTheData(t *testing.T) {
	t.Parallel()
	x := newCounters(t)
	a := serveStore(t, x.st, keepsNone)
	set := x.writer()
	const path = "/collections/tellere/items?f=html"
	for n := range 3 {
		if err := set(3, n); err != nil {
			t.Fatal(err)
		}
		want := ""
		// from the third on with parts that are compressed
		for i, coding := range []string{"identity", "gzip", "gzip", "gzip", "identity"} {
			r := a.get(path, "Accept-Encoding", coding).wants(http.StatusOK)
			if coding == "gzip" {
				r.Body = gunzip(t, r.Body)
			}
			if i == 0 {
				want = string(r.Body)
			}
			if string(r.Body) != want {
				t.Errorf("answer %d of state %d, %s, is another than the first", i, n, coding)
			}
			if got := strings.Count(string(r.Body), counterText(3, n)); got < 2 { // table and linked data
				t.Errorf("answer %d tells state %d %d times", i, n, got)
			}
		}
	}
}

var counted = regexp.MustCompile(`teller-(\d+)-(\d+)`)

// number is the number of a row that a response shows.
type number struct {
	row int
	n   int64
}

func numbersIn(t testing.TB, path string, r answer) (out []number) {
	for _, m := range counted.FindAllStringSubmatch(string(r.Body), -1) {
		var x number
		x.row, _ = strconv.Atoi(m[1])
		x.n, _ = strconv.ParseInt(m[2], 10, 64)
		out = append(out, x)
	}
	if len(out) == 0 {
		t.Fatalf("%s: no rows in %.2000s", path, r.Body)
	}
	return out
}
