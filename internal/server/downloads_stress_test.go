package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/config"
	"grense/internal/format"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// enclosures are the links of a collection to its files: their lengths, by address.
func enclosures(t *testing.T, a *api, collection string) map[string]int64 {
	t.Helper()
	var doc struct {
		Links []struct {
			Rel, Href string
			Length    int64
		}
	}
	_, b := fetchAs(t, a.URL+"/collections/"+collection+"?f=json", nil)
	decode(t, b, &doc)
	out := map[string]int64{}
	for _, l := range doc.Links {
		if l.Rel == "enclosure" {
			out[l.Href] = l.Length
		}
	}
	return out
}

// makeFiles lets the server build the files of a collection.
func (a *api) makeFiles(t *testing.T, collection string) {
	t.Helper()
	for address := range enclosures(t, a, collection) {
		if res, _ := fetchAs(t, address, nil); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", address, res.StatusCode)
		}
	}
}

func TestLengthOfAFileIsStatedOnceItIsBuilt(t *testing.T) {
	t.Parallel()
	if !linksHaveVersion() {
		t.Skip("a link that names no state tells no length")
	}
	a := serve(t, "", nil)
	for address, n := range enclosures(t, a, "fylker") {
		if n != 0 {
			t.Errorf("%s has the length %d before it is made", address, n)
		}
		_, b := fetchAs(t, address, nil)
		if got := enclosures(t, a, "fylker")[address]; got != int64(len(b)) {
			t.Errorf("%s: the link tells %d bytes, the file has %d", address, got, len(b))
		}
	}
}

// TestLinksToADatabaseNameTheStateOfFilesThatAreMade: links to finished files contain the data version and state the
// length. After a write, links lead to the current data.
func TestLinksToADatabaseNameTheStateOfFilesThatAreMade(t *testing.T) {
	t.Parallel()
	var alone storetest.Cluster // any transaction on the server changes the data version
	t.Cleanup(alone.Stop)
	address := fillDatabase(t, alone.Database(t), demoPath(t))
	a := serveStore(t, openURL(t, address), nil)
	link := a.URL + "/collections/fylker/download?f=gpkg"
	states := func(at string, n int64) bool {
		got, ok := enclosures(t, a, "fylker")[at]
		return ok && got == n
	}
	if !states(link, 0) {
		t.Error("a length is told before the file is made")
	}
	var made string
	for range 20 { // the server may run maintenance in between
		res, b := fetchAs(t, link, nil)
		if made = res.Header.Get("Content-Location"); !states(made, int64(len(b))) {
			continue
		}
		if res, again := fetchAs(t, made, nil); res.StatusCode != 200 || !bytes.Equal(again, b) {
			t.Errorf("where the link leads to: %d, %d bytes instead of %d", res.StatusCode, len(again), len(b))
		}
		db, err := pgx.Connect(t.Context(), address)
		if err == nil {
			_, err = db.Exec(t.Context(), "CREATE TABLE other (a INT)")
			db.Close(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if !states(link, 0) {
			t.Error("after a transaction the link is still to what was before")
		}
		return
	}
	t.Errorf("no link to %s with its length", made)
}

// TestInterruptedDownloadsResumeToTheSameBytes breaks a download off a hundred times, and has the cached file rebuilt
// between breaks.
func TestInterruptedDownloadsResumeToTheSameBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := serve(t, "", func(c *config.Config) { c.DataDir = dir })
	random := rand.New(rand.NewPCG(1, 2))
	addresses := slices.Sorted(maps.Keys(enclosures(t, a, "fylker")))
	for _, address := range addresses {
		address = resumable(t, address)
		_, whole := fetchAs(t, address, nil)
		var got []byte
		for n := range 100 {
			// as if others had replaced it; in a database any transaction changes the data version, and the file is
			// gone
			if n%25 == 24 && linksHaveVersion() {
				kept, _ := filepath.Glob(filepath.Join(dir, "downloads", "fylker.*"))
				for _, name := range kept {
					os.Remove(name)
				}
			}
			if len(got) >= len(whole) {
				got = got[:random.IntN(len(whole))]
			}
			got = append(got, some(t, address, len(got), random.IntN(len(whole)/20+2)+1)...)
			if !bytes.HasPrefix(whole, got) {
				t.Fatalf("%s: after %d resumes the first %d bytes differ", address, n, len(got))
			}
		}
		if _, rest := fetchAs(t, address, map[string]string{"Range": fmt.Sprintf("bytes=%d-", len(got))}); len(
			got) < len(whole) && !bytes.Equal(append(got, rest...), whole) {
			t.Errorf("%s: the end differs", address)
		}
	}
}

func demoPath(t *testing.T) string {
	t.Helper()
	path, err := demoFile()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// some reads at most so many bytes from an offset, and hangs up.
func some(t *testing.T, address string, from, most int) []byte {
	t.Helper()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusPartialContent {
		t.Fatalf("%s from %d: %d", address, from, res.StatusCode)
	}
	b := make([]byte, most)
	n, err := io.ReadFull(res.Body, b)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && err != io.EOF {
		t.Fatal(err)
	}
	return b[:n]
}

func TestClientsAtOnceGetTheSameFile(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]*api{"file": serve(t, "", nil),
		"database": serveStore(t, openPostGIS(t, demoPath(t)), nil)} {
		answers := make([][]byte, 6)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { _, answers[i] = fetchAs(t, a.URL+"/collections/kommuner/download?f=gpkg", nil) })
		}
		all.Wait()
		for i, b := range answers {
			if len(b) == 0 || !bytes.Equal(b, answers[0]) {
				t.Errorf("%s: client %d got %d bytes, the first %d", name, i, len(b), len(answers[0]))
			}
		}
	}
}

// TestFullDiskCostsTheKeptCopyOnly puts cached files on a disk on which next to nothing fits.
func TestFullDiskCostsTheKeptCopyOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=48k"); err != nil {
		t.Skipf("NOT TESTED: a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for name, st := range map[string]store.Store{"file": openGeoPackage(t, demoPath(t)),
		"database": openPostGIS(t, demoPath(t))} {
		a := serveStore(t, st, func(c *config.Config) { c.DataDir = dir })
		roomy := serveStore(t, st, nil)
		for _, f := range format.All() {
			res, b := fetchAs(t, a.URL+"/collections/kommuner/download?f="+f.Name, nil)
			_, want := fetchAs(t, roomy.URL+"/collections/kommuner/download?f="+f.Name, nil)
			same := len(b) == len(want) // of GML and zip the addresses within differ, and so do a few bytes
			if res.StatusCode != 200 || !same && f.Name != "gml" && f.Name != "json" {
				t.Errorf("%s, %s: %d, %d bytes instead of %d: %.200s", name, f.Name, res.StatusCode, len(b), len(want),
					b)
			}
		}
		if logs := a.logs.String(); strings.Contains(logs, "request failed") {
			t.Errorf("%s: the log has %s", name, logs)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "downloads", ".partial", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("what was begun stays: %v, %v", left, err)
	}
}

func TestHeadOfADownloadMatchesGet(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, f := range format.All() {
		for _, query := range []string{"", "&navn=Oslo"} {
			address := a.URL + "/collections/fylker/download?f=" + f.Name + query
			head := func() *http.Response {
				res, err := http.Head(address)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				return res
			}
			before := head()
			get, b := fetchAs(t, address, map[string]string{"Accept-Encoding": "identity"})
			after := head()
			for _, h := range []string{"Content-Type", "Content-Disposition", "Content-Crs", "Format-Losses", "Link",
				"Cache-Control", "Vary"} {
				if x, y, z := before.Header.Get(h), get.Header.Get(h), after.Header.Get(h); x != y || y != z {
					t.Errorf("%s: %s is %q, then %q, then %q", address, h, x, y, z)
				}
			}
			if kept := get.Header.Get("ETag"); kept != "" &&
				(after.Header.Get("ETag") != kept || after.ContentLength != int64(len(b))) {
				t.Errorf("%s: HEAD tells %q and %d bytes, GET %q and %d", address, after.Header.Get("ETag"),
					after.ContentLength, kept, len(b))
			}
		}
	}
}

// TestLeavingClientsLeaveNothingBehind disconnects in all stages of a download. Every connection is returned and
// every temporary file is removed.
func TestLeavingClientsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	st := openPostGIS(t, demoPath(t))
	dir := t.TempDir()
	a := serveStore(t, st, func(c *config.Config) { c.DataDir = dir })
	for i := range 40 {
		ctx, hangUp := context.WithTimeout(t.Context(), time.Duration(i)*3*time.Millisecond)
		f := format.All()[i%len(format.All())]
		query := []string{"", "&bbox=0,50,40,80"}[i/2%2]
		req, err := http.NewRequestWithContext(ctx, http.MethodGet,
			a.URL+"/collections/kommuner/download?f="+f.Name+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			io.CopyN(io.Discard, res.Body, 100)
			res.Body.Close()
		}
		hangUp()
	}
	var held []store.Snapshot
	for range 16 { // all connections of the pool; waits for those that are still being returned
		snap, err := st.Snapshot(t.Context())
		if err != nil {
			t.Fatalf("after %d connections: %v", len(held), err)
		}
		held = append(held, snap)
	}
	for _, snap := range held {
		snap.Close()
	}
	for range 2 {
		if res, b := fetchAs(t, a.URL+"/collections/fylker/download?f=gpkg", nil); res.StatusCode != 200 {
			t.Errorf("afterwards: %d %s", res.StatusCode, b)
		}
	}
	a.Server.Close() // waits for the handlers
	if left, _ := filepath.Glob(filepath.Join(dir, "downloads", ".partial", "*")); len(left) > 0 {
		t.Errorf("what was begun stays: %v", left)
	}
}

// many is a store with a collection of so many points.
func many(t *testing.T, n int) (st *gpkg.Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "many.gpkg")
	storetest.Write(t, func(w store.Writer) {
		c := &store.Collection{ID: "many", Table: "many", Public: true, Key: store.FeatureKey{Column: "id"},
			Properties: []store.Property{{Name: "navn", Column: "navn"}},
			Geometry:   &store.Geom{Name: "geom", Column: "geom", Type: "Point", CRS: crs.WGS84}}
		if err := w.Define(t.Context(), c, true); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), "many", []string{"id", "navn", "geom"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := insert(fmt.Sprint(i), "x", store.Geometry{
				WKB: wkb.AppendXY(wkb.AppendHeader(nil, wkb.Point, false), float64(i%360)-180,
					float64(i%170)-85)}); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(t.Context(), path))
	return storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()})), path
}

// TestReloadDuringADownloadGivesTheEarlierStateWhole reloads while a client reads slowly.
func TestReloadDuringADownloadGivesTheEarlierStateWhole(t *testing.T) {
	t.Parallel()
	st, path := many(t, 30000)
	// the client waits while the data are opened, which takes longer if other tests run
	a := serveStore(t, st, func(c *config.Config) { c.Limits.WriteTimeout, c.Limits.Slowest = time.Minute, 0 })
	for _, f := range []string{"geojsonseq", "csv", "gml"} {
		_, want := fetchAs(t, a.URL+"/collections/many/download?f="+f, map[string]string{"Accept-Encoding": "identity"})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL+"/collections/many/download?f="+f,
			nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "identity")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		begin := make([]byte, 1000)
		if _, err := io.ReadFull(res.Body, begin); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+".new", file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		if err := a.srv.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !bytes.Equal(append(begin, rest...), want) {
			t.Errorf("%s: %d bytes instead of %d, %v", f, len(begin)+len(rest), len(want), err)
		}
	}
}
