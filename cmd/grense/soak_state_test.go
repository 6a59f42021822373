package main_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// writeMarked makes a file in which every feature bears the mark of a state. The files of all states have as many bytes.
func writeMarked(t *testing.T, path string, state int) {
	t.Helper()
	w, err := gpkg.Create(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := &store.Collection{ID: "ting", Table: "ting", Public: true, Key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}, TitleProperty: "merke",
		Properties: []store.Property{{Name: "merke", Column: "merke", Type: cql2.TypeText}}}
	if err := w.Define(context.Background(), c, false); err != nil {
		t.Fatal(err)
	}
	insert, err := w.Insert(context.Background(), "ting", []string{"merke"})
	for i := 0; i < 450 && err == nil; i++ {
		err = insert(mark(state))
	}
	if err == nil {
		err = w.Commit(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func mark(state int) string { return fmt.Sprintf("tilstand-%06d", state) }

var marks = regexp.MustCompile(`tilstand-\d{6}`)

// markedAnswers are the forms in which a page, whole or in several batches, and a feature are asked for.
var markedAnswers = []string{"/items?limit=450", "/items?limit=450&f=csv", "/items?limit=450&f=jsonld", "/items?limit=250&f=html", "/items?limit=10", "/items/7", "/items/7?f=html", "/items?limit=3&sortby=-merke"}

// TestNoAnswerIsOfTwoStates: the file is replaced and reloaded, or written into in place, over and over, while clients read. The long run
// reads a million answers.
func TestNoAnswerIsOfTwoStates(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	changes, wanted, clients := 40, int64(0), 2
	if os.Getenv("GRENSE_SOAK") != "" {
		changes, wanted, clients = 200, 1_000_000, 4
	}
	path := filepath.Join(t.TempDir(), "ting.gpkg")
	writeMarked(t, path, 0)
	s := serve(t, []string{"GRENSE_AUTH=open", "GRENSE_LOG_LEVEL=warn"}, path)
	var answers, refused atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for n := range clients {
		running.Go(func() {
			for i := n; ctx.Err() == nil; i++ {
				url := s.base + "/collections/ting" + markedAnswers[i%len(markedAnswers)]
				found, status, err := marksOf(ctx, url)
				switch {
				case ctx.Err() != nil:
				case status == http.StatusServiceUnavailable:
					refused.Add(1)
				case err != nil || status != http.StatusOK || len(found) != 1:
					t.Errorf("%s: status %d, %v, states %v", url, status, err, found)
				default:
					answers.Add(1)
				}
			}
		})
	}
	state := 0
	for ; (state < changes || answers.Load() < wanted) && !t.Failed(); state++ {
		changeMarked(t, s, path, state+1)
	}
	stop()
	running.Wait()
	t.Logf("%d answers during %d changes, %d times 503", answers.Load(), state, refused.Load())
	if answers.Load() < int64(changes) {
		t.Error("hardly an answer was read; the test proves nothing")
	}
}

// changeMarked brings the file to another state, by replacing it or by writing into it, and waits until that is served.
func changeMarked(t *testing.T, s *serving, path string, state int) {
	t.Helper()
	if state%2 == 0 {
		writeInPlace(t, path, state)
	} else {
		writeMarked(t, path+".new", state)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		found, _, err := marksOf(ctx, s.base+"/collections/ting/items/"+strconv.Itoa(1+state%450))
		if ctx.Err() != nil {
			t.Fatalf("state %d is not served: %v, %v", state, found, err)
		}
		if len(found) == 1 && found[mark(state)] {
			return
		}
	}
}

// writeInPlace changes all features in one transaction, as another program does.
func writeInPlace(t *testing.T, path string, state int) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetBusyTimeout(time.Minute)
	if err := sqlitex.ExecuteTransient(c, "UPDATE ting SET merke = ?", &sqlitex.ExecOptions{Args: []any{mark(state)}}); err != nil {
		t.Fatal(err)
	}
}

// marksOf reads an answer whole and gives the states whose marks it holds.
func marksOf(ctx context.Context, url string) (found map[string]bool, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	found = map[string]bool{}
	for _, m := range marks.FindAll(body, -1) {
		found[string(m)] = true
	}
	return found, res.StatusCode, err
}
