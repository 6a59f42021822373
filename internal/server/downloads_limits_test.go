package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/format/xlsx"
	"grense/internal/store"
)

// crowded is a store that reports a given number of matches. It fails the test if features are read for a file.
type crowded struct {
	store.Store
	t       *testing.T
	matched int
}

func (s *crowded) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	if q.Count == store.CountExact && q.Limit == 0 {
		return &store.Page{Matched: s.matched}, nil
	}
	return s.Store.Page(ctx, q)
}

func (s *crowded) Snapshot(ctx context.Context) (store.Snapshot, error) {
	if s.matched > xlsx.MaxRows {
		s.t.Error("a file was begun that cannot be")
	}
	return s.Store.Snapshot(ctx)
}

// TestTooManyRowsForASheetAreRefusedBeforeWork: by the number of matches, of all and of selections, with the cure.
func TestTooManyRowsForASheetAreRefusedBeforeWork(t *testing.T) {
	t.Parallel()
	st := openTest(t, demoPath(t))
	for matched, status := range map[int]int{xlsx.MaxRows: 200, xlsx.MaxRows + 1: 400} {
		a := serveStore(t, &crowded{st, t, matched}, nil)
		for _, query := range []string{"", "&filter=areal_km2%20%3E%200", "&bbox=0,50,40,80", "&q=o"} {
			r := a.get("/collections/kommuner/download?f=xlsx" + query)
			if r.StatusCode != status || status == 400 && (!strings.Contains(
				string(r.Body), "1048575 rows; narrow the selection by a filter, or use f=csv") ||
				r.Header.Get("Content-Disposition") != "") {
				t.Errorf("%d features%s: %d %.300s", matched, query, r.StatusCode, r.Body)
			}
			if head := a.do("HEAD", "/collections/kommuner/download?f=xlsx"+query); head.StatusCode != status {
				t.Errorf("HEAD of %d features%s: %d", matched, query, head.StatusCode)
			}
		}
	}
}

// TestDownloadHasOneVersionDuringConcurrentWrites: writing and reopening the data change neither a response in
// flight nor one that resumes it.
func TestDownloadHasOneVersionDuringConcurrentWrites(t *testing.T) {
	t.Parallel()
	name := "first"
	st, rewrite := writtenStore(t, func(ctx context.Context, w store.Writer) error {
		c := &store.Collection{ID: "x", Table: "x", Public: true, Key: store.FeatureKey{Column: "id"},
			Properties: []store.Property{{Name: "navn", Column: "navn"}}}
		if err := w.Define(ctx, c, true); err != nil {
			return err
		}
		insert, err := w.Insert(ctx, "x", []string{"id", "navn"})
		for i := 0; i < 30000 && err == nil; i++ {
			err = insert(fmt.Sprint(i), name)
		}
		return err
	})
	a := serveStore(t, st, func(c *config.Config) { c.Limits.Downloads = 0 }) // only one file is cached
	ask := func(address string, header ...string) answer {
		return a.get(strings.TrimPrefix(address, a.URL), append([]string{"Accept-Encoding", "identity"}, header...)...)
	}
	const gpkgFile = "/collections/x/download?f=gpkg"
	for round, f := range []string{"geojsonseq", "csv", "gml", "parquet"} {
		kept := ask(gpkgFile).wants(200)
		address, tag := kept.Header.Get("Content-Location"), kept.Header.Get("ETag")
		slow, err := http.Get(a.URL + "/collections/x/download?f=" + f + "&filter=navn%20IS%20NOT%20NULL")
		if err != nil {
			t.Fatal(err)
		}
		begin := make([]byte, 500)
		if _, err := io.ReadFull(slow.Body, begin); err != nil {
			t.Fatal(err)
		}
		before := name
		name = fmt.Sprintf("after %d", round)
		rewrite()
		if err := a.srv.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(slow.Body)
		slow.Body.Close()
		if whole := append(begin, rest...); err != nil || f != "parquet" &&
			bytes.Count(whole, []byte(before)) != 30000 || bytes.Contains(whole, []byte(name)) {
			t.Errorf("%s: %d of %q, %d of %q, %v", f, bytes.Count(whole, []byte(before)), before,
				bytes.Count(whole, []byte(name)), name, err)
		}
		for _, x := range []struct {
			status int
			header []string
			want   []byte
		}{{206, []string{"Range", "bytes=100-"}, kept.Body[100:]},
			{206, []string{"Range", "bytes=100-", "If-Range", tag}, kept.Body[100:]},
			{206, []string{"Range", "bytes=100-", "If-Match", tag}, kept.Body[100:]},
			{200, []string{"Range", "bytes=100-", "If-Range", `"other"`}, kept.Body},
			{412, []string{"Range", "bytes=100-", "If-Match", `"other"`}, nil}} {
			if r := ask(address, x.header...); r.StatusCode != x.status ||
				x.want != nil && !bytes.Equal(r.Body, x.want) {
				t.Errorf("the kept file with %v: %d, %d bytes", x.header, r.StatusCode, len(r.Body))
			}
		}
		if now := ask(gpkgFile).wants(200); now.Header.Get("Content-Location") == address ||
			now.Header.Get("ETag") == tag {
			t.Error("another state has the same name")
		}
		if r := ask(address, "Range", "bytes=100-"); r.StatusCode != 410 {
			t.Errorf("once its place is taken: %d", r.StatusCode)
		}
	}
}
