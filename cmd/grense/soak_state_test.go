package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/register"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

// writeMarked makes a file in which every feature, and every spelling of the register in base, bears the mark of a
// state. The files of all states have as many bytes.
func writeMarked(t *testing.T, base, path string, state int) {
	t.Helper()
	b, err := os.ReadFile(base)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer writeInPlace(t, path, state)
	w, err := gpkg.Create(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := &store.Collection{ID: "ting", Table: "ting", Public: true,
		Key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}, TitleProperty: "merke",
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

// Answers that hold marks, by how they are requested: pages, whole or in several batches, features, files of the whole
// collection, and searches of SOAP for every spelling and, through a relation, for those that are documented.
var (
	largeAnswers = []string{"/items?limit=450", "/items?limit=450&f=csv", "/items?limit=450&f=jsonld",
		"/items?limit=250&f=html", "/items/7?f=html", "/download?f=csv", "/download?f=json",
		"/download?f=gpkg", "/download?f=geojsonseq", spellings, related}
	smallAnswers = []string{"/items?limit=10", "/items/7", "/items?limit=3&sortby=-merke", "/items?limit=10&f=csv",
		"/items/9?f=jsonld", "/items?limit=5&filter=merke+LIKE+%27tilstand%25%27", "/items?limit=4&offset=300"}
)

var (
	spellings = soapSearch("findSkrivemaater", "skrivemaateSoek",
		"<t:oppdatertEtter><d:timestamp>1900-01-01T00:00:00Z</d:timestamp></t:oppdatertEtter>")
	related = soapSearch("findSkrivemaater", "skrivemaateSoek",
		"<t:dokumentasjonsdatoEtter><d:date>1700-01-01</d:date></t:dokumentasjonsdatoEtter>")
)

// markedAnswer is what the i-th question asks: in make soak one of thirty is large.
func markedAnswer(i int, long bool) string {
	if long && i%30 != 0 {
		return smallAnswers[i%len(smallAnswers)]
	}
	if long {
		return largeAnswers[i/30%len(largeAnswers)]
	}
	all := slices.Concat(largeAnswers, smallAnswers)
	return all[i%len(all)]
}

// sixtyPlaces fills a register.
func sixtyPlaces(t *testing.T) func(store.Writer) {
	return func(w store.Writer) {
		if err := register.Generate(t.Context(), w, register.Options{Places: 60, Seed: 1}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNoAnswerIsOfTwoStates: the file is replaced and reloaded, or written into in place,
// over and over, while clients read.
func TestNoAnswerIsOfTwoStates(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	dir := t.TempDir()
	base, path := filepath.Join(dir, "base.gpkg"), filepath.Join(dir, "ting.gpkg")
	storetest.Write(t, sixtyPlaces(t))(gpkg.Create(t.Context(), base))
	writeMarked(t, base, path, 0)
	s := serve(t, []string{"GRENSE_AUTH=open", "GRENSE_LOG_LEVEL=error"}, path)
	s.readStates(t, func(state int) {
		if state%2 == 0 {
			writeInPlace(t, path, state)
			return
		}
		writeMarked(t, base, path+".new", state)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	})
}

// TestNoAnswerOfADatabaseIsOfTwoStates is the same for tables that are written into, emptied and filled, or replaced.
func TestNoAnswerOfADatabaseIsOfTwoStates(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	url := cluster.Database(t)
	storetest.Write(t, sixtyPlaces(t))(writer.Create(t.Context(), url))
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	fill := func(state int) string {
		return fmt.Sprintf("INSERT INTO ting SELECT i, '%s' FROM generate_series(1, 450) i", mark(state))
	}
	const table = "CREATE TABLE ting (fid INT PRIMARY KEY, merke TEXT); "
	change := func(state int) {
		sql := fmt.Sprintf("UPDATE ting SET merke = '%s'", mark(state))
		switch {
		case state == 0:
			sql = table + fill(0)
		case state%20 == 10:
			sql = "DROP TABLE ting; " + table + fill(state)
		case state%3 == 1:
			sql = "DELETE FROM ting; " + fill(state)
		case state%3 == 2:
			sql = "TRUNCATE ting; " + fill(state)
		}
		sql = "BEGIN; " + sql + fmt.Sprintf("; UPDATE grense.skrivemaate SET langnavn = '%s'; COMMIT", mark(state))
		if _, err := db.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	change(0)
	s := serve(t, []string{"GRENSE_AUTH=open", "GRENSE_LOG_LEVEL=error"}, url)
	s.away = true // what is replaced gives 503 until it is read
	s.readStates(t, change)
}

// readStates reads answers while change brings the data to one state after the other. Each answer is of one state.
// In make soak there are more clients, and pauses between the changes: without a pause most responses are started
// again, and many are 503.
func (s *serving) readStates(t *testing.T, change func(state int)) {
	t.Helper()
	changes, clients, pause := sharedtest.Rounds(t, 40), 2, 0
	if sharedtest.Soak(t) > 0 {
		clients, pause = 16, 200
	}
	var answers, searches, refused atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	for n := range clients {
		running.Go(func() {
			for i := n; ctx.Err() == nil; i++ {
				ask, body := markedAnswer(i, pause > 0), ""
				if strings.HasPrefix(ask, "<") {
					ask, body = "/soap/stedsnavn/v1/SoekServiceWS", ask
				} else {
					ask = "/collections/ting" + ask
				}
				found, status, err := marksOf(ctx, s.base+ask, body)
				switch {
				case ctx.Err() != nil:
				case status == http.StatusServiceUnavailable:
					refused.Add(1)
				case err != nil || status != http.StatusOK || len(found) != 1:
					t.Errorf("%s: status %d, %v, states %v", ask, status, err, found)
				default:
					answers.Add(1)
					if body != "" {
						searches.Add(1)
					}
				}
			}
		})
	}
	state := 0
	for ; (state < changes || answers.Load() < int64(changes)) && !t.Failed(); state++ {
		change(state + 1)
		s.waitForState(t, state+1)
		for n := 0; n < pause && !t.Failed(); n++ {
			if _, status, err := marksOf(ctx, s.base+"/collections/ting/items/7", ""); status == http.StatusOK {
				answers.Add(1)
			} else if status != http.StatusServiceUnavailable {
				t.Errorf("between changes: status %d, %v", status, err)
			}
		}
	}
	stop()
	running.Wait()
	t.Logf("%d answers, %d of them searches, during %d changes, %d times 503", answers.Load(), searches.Load(), state,
		refused.Load())
	if answers.Load() < int64(changes) || searches.Load() == 0 {
		t.Error("hardly an answer was read; the test proves nothing")
	}
}

// waitForState waits until a state is served.
func (s *serving) waitForState(t *testing.T, state int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for last := 0; ; {
		found, status, err := marksOf(ctx, s.base+"/collections/ting/items/"+strconv.Itoa(1+state%450), "")
		if ctx.Err() != nil {
			t.Fatalf("state %d is not served: status %d, %v, %v", state, last, found, err)
		}
		if len(found) == 1 && found[mark(state)] {
			return
		}
		last = status
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
	end := sqlitex.Transaction(c)
	defer func() {
		if end(&err); err != nil {
			t.Fatal(err)
		}
	}()
	for _, sql := range [...]string{"UPDATE ting SET merke = ?", "UPDATE skrivemaate SET langnavn = ?"} {
		if err = sqlitex.ExecuteTransient(c, sql, &sqlitex.ExecOptions{Args: []any{mark(state)}}); err != nil {
			return
		}
	}
}

// marksOf reads an answer whole, to a search of SOAP where that is given, and gives the states whose marks it holds.
func marksOf(ctx context.Context, url, search string) (found map[string]bool, status int, err error) {
	method := http.MethodGet
	if search != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(search))
	if err != nil {
		return nil, 0, err
	}
	if search != "" {
		req.Header.Set("Content-Type", "text/xml; charset=utf-8")
		req.Header.Set("SOAPAction", `""`)
	}
	res, err := kept.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return marksIn(body), res.StatusCode, err
}

// kept has a connection for each client.
var kept = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}

// marksIn gives the states whose marks a text holds.
func marksIn(body []byte) map[string]bool {
	found, last := map[string]bool{}, ""
	begin := []byte("tilstand-")
	for at := bytes.Index(body, begin); at >= 0 && len(body) >= at+15; at = bytes.Index(body, begin) {
		if m := body[at : at+15]; string(m) != last {
			last = string(m)
			found[last] = true
		}
		body = body[at+15:]
	}
	return found
}
