package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/apikey"
	"grense/internal/await"
	"grense/internal/config"
	"grense/internal/server"
	"grense/internal/state"
	"grense/internal/store/postgis/statedb"
)

// until polls a job until it has one of the statuses.
func (a *api) until(job, states string, header ...string) answer {
	a.t.Helper()
	var r answer
	await.Success(a.t, job+" is "+states, func() error {
		r = a.get(job, header...).wants(200)
		if !strings.Contains(states, r.json()["status"].(string)) {
			return fmt.Errorf("job %s", r.Body)
		}
		return nil
	})
	return r
}

// TestJobsHaveStatusAndResults: OGC 18-062r2, 7.11.3, 7.12, 7.13 and 11, at both mounts.
func TestJobsHaveStatusAndResults(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, mount := range []string{"", "/v1"} {
		path := mount + "/processes/echo/execution"
		r := a.send(path, `{"inputs":{"string":"Å"},"outputs":{"string":{}},"response":"raw"}`, "Prefer",
			"respond-async").wants(201)
		job := r.Header.Get("Location")
		if !strings.HasPrefix(job, a.URL+mount+"/jobs/") || r.Header.Get("Preference-Applied") != "respond-async" ||
			r.json()["status"] != "accepted" || r.json()["processID"] != "echo" {
			t.Fatalf("%v %s", r.Header, r.Body)
		}
		a.until(job, "successful")
		r = a.get(job + "/results").wants(200)
		if string(r.Body) != `"Å"` || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("results %s %v", r.Body, r.Header)
		}
		if r = a.get(job+"/results/string", "Range", "bytes=1-2").wants(206); string(r.Body) != "Å" {
			t.Errorf("part %q", r.Body)
		}
		a.get(job + "/results/number").wants(404)
		list := string(a.get(
			mount + "/jobs?limit=1&type=process&processID=echo&status=successful&datetime=2020-01-01T00:00:00Z/.." +
				"&minDuration=0&maxDuration=60").wants(200).Body)
		if !strings.Contains(list, job) || strings.Count(list, `"jobID"`) != 1 {
			t.Errorf("list %s", list)
		}
		for query, want := range map[string]int{"status=failed": 200, "processID=get-distinct-values": 200,
			"processID=other": 400, "minDuration=9": 200, "datetime=../2020-01-01T00:00:00Z": 200, "status=x": 400,
			"type=x": 400, "minDuration=-1": 400, "datetime=x": 400, "limit=0": 400} {
			if r := a.get(mount + "/jobs?" + query).wants(want); want == 200 &&
				strings.Contains(string(r.Body), "jobID") {
				t.Errorf("%s: %s", query, r.Body)
			}
		}
		if r := a.do("DELETE", job).wants(200); r.json()["status"] != "dismissed" {
			t.Errorf("%s", r.Body)
		}
		for _, p := range []string{job, job + "/results", job + "/results/string", mount + "/jobs/x"} {
			if r := a.get(p).wants(404); r.Header.Get("Content-Type") != "application/problem+json" ||
				r.json()["type"] != exceptions+"no-such-job" {
				t.Errorf("%s: %s", p, r.Body)
			}
		}
		// one of several outputs by reference, as a document and raw
		for response, status := range map[string]int{"document": 200, "raw": 204} {
			r = a.send(path, `{"inputs":{"string":"x"},"outputs":{"string":{"transmissionMode":"reference"}},`+
				`"response":"`+response+`"}`, "Prefer", "respond-async").wants(201)
			job := r.Header.Get("Location")
			a.until(job, "successful")
			r = a.get(job + "/results").wants(status)
			if !strings.Contains(string(r.Body)+r.Header.Get("Link"), job+"/results/string") {
				t.Errorf("%s: %s %v", response, r.Body, r.Header)
			}
		}
	}
}

// TestDismissedJobsEndAtOnce also requests results that are not there yet, and gets a message that says so.
func TestDismissedJobsEndAtOnce(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	job := a.send("/processes/echo/execution", `{"inputs":{"string":"x","pause":60}}`, "Prefer", "respond-async").wants(
		201).Header.Get("Location")
	if r := a.get(job + "/results").wants(404); r.json()["type"] != exceptions+"result-not-ready" {
		t.Errorf("%s", r.Body)
	}
	a.until(job, "running")
	if r := a.do("DELETE", job).wants(200); r.json()["status"] != "dismissed" {
		t.Errorf("%s", r.Body)
	}
	if r := a.get(job).wants(200); r.json()["status"] != "dismissed" {
		t.Errorf("%s", r.Body)
	}
	// its worker is free for others
	for range 4 {
		a.until(a.send("/processes/echo/execution", `{"inputs":{"string":"x"}}`, "Prefer", "respond-async").wants(
			201).Header.Get("Location"), "successful")
	}
	a.do("DELETE", job).wants(200)
	a.get(job).wants(404)
}

// TestFailedJobsAnswerWithTheirFailure: OGC 18-062r2, 7.13.
func TestFailedJobsAnswerWithTheirFailure(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	job := a.send("/processes/echo/execution", `{"inputs":{"string":{"href":"http://192.0.2.1/x"}}}`, "Prefer",
		"respond-async").wants(201).Header.Get("Location")
	a.until(job, "failed")
	r := a.get(job + "/results").wants(400)
	if r.Header.Get("Content-Type") != "application/problem+json" ||
		!strings.Contains(string(r.Body), "/inputs/string/href") {
		t.Errorf("%s %s", r.Header.Get("Content-Type"), r.Body)
	}
}

// TestJobsOfOneKeyAreNotThereForAnother, on all routes of jobs.
func TestJobsOfOneKeyAreNotThereForAnother(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	other, rec, err := apikey.New("other", time.Time{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.state.PutKey(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if err := a.keys.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	job := a.send("/processes/echo/execution", `{"inputs":{"string":"secret"},"outputs":{"string":{}}}`, "Prefer",
		"respond-async", "X-API-Key", a.key).wants(201).Header.Get("Location")
	a.until(job, "successful", "X-API-Key", a.key)
	id := job[strings.LastIndex(job, "/")+1:]
	asked := 0
	for _, rt := range a.srv.KeyedRoutes() {
		if !strings.HasPrefix(rt.Path, "/jobs") {
			continue
		}
		path := strings.NewReplacer("{jobId}", id, "{outputId}", "string").Replace(rt.Path)
		for _, method := range []string{"GET", "HEAD", "DELETE"} {
			for _, mount := range []string{"", "/v1"} {
				asked++
				r := a.do(method, mount+path, "X-API-Key", other)
				if strings.Contains(string(r.Body), "secret") || strings.Contains(string(r.Body), `"jobID"`) ||
					rt.Path != "/jobs" && r.StatusCode != 404 && r.StatusCode != 405 {
					t.Errorf("%s %s: %d %s", method, path, r.StatusCode, r.Body)
				}
			}
		}
	}
	if r := a.get(job+"/results", "X-API-Key", a.key).wants(200); asked < 20 || string(r.Body) != `"secret"` {
		t.Errorf("%d requests; the job is %s", asked, r.Body)
	}
}

// TestExportsAreFilesOfTheirCollections: synchronously, as the front ends of other servers send it.
func TestExportsAreFilesOfTheirCollections(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	run := func(id, inputs string) answer {
		t.Helper()
		return a.send("/processes/"+id+"/execution", `{"inputs":`+inputs+`,"response":"raw"}`, "Prefer",
			"respond-async")
	}
	count := func(r answer, collection string) int {
		t.Helper()
		path := filepath.Join(t.TempDir(), "x.gpkg")
		if err := os.WriteFile(path, r.wants(200).Body, 0o600); err != nil {
			t.Fatal(err)
		}
		st := openGeoPackage(t, path)
		c, ok := st.Catalog().Collection(collection)
		if !ok {
			t.Fatalf("no layer %s", collection)
		}
		return c.Count
	}
	whole := a.get("/collections/kommuner/items?resulttype=hits").wants(200).json()["numberMatched"].(float64)
	r := run("export-collection-gpkg", `{"collection_id":"kommuner"}`)
	if n := count(r, "kommuner"); float64(n) != whole || r.Header.Get(
		"Content-Disposition") != `attachment; filename=kommuner.gpkg` ||
		r.Header.Get("Content-Type") != "application/geopackage+sqlite3" {
		t.Errorf("%d of %v features, %v", n, whole, r.Header)
	}
	if n := count(run("export-all-gpkg", `{"collection_ids":"fylker, kommuner"}`), "fylker"); n != 15 {
		t.Errorf("%d counties", n)
	}
	sum := 0
	for _, f := range a.get("/collections/fylker/items?skipGeometry=true").wants(200).page().Features {
		lines := strings.Count(
			string(run("export-collection-csv",
				`{"collection_id":"kommuner","area_type":"fylke","area_id":"`+f.ID+`"}`).wants(200).Body), "\n") - 1
		if lines < 1 {
			t.Errorf("%s has %d municipalities", f.ID, lines)
		}
		sum += lines
	}
	if float64(sum) != whole {
		t.Errorf("the counties have %d municipalities of %v", sum, whole)
	}
	if n := count(run("export-by-area-gpkg", `{"collection_id":"kommuner","area_type":"fylke","area_name":"Oslo"}`),
		"kommuner_fylke_oslo"); n != 1 {
		t.Errorf("%d in Oslo", n)
	}
	within := strings.Count(
		string(run("export-collection-csv",
			`{"collection_id":"kommuner","area_type":"fylke","area_id":"11","predicate":"intersects"}`).wants(
			200).Body), "\n")
	if within < 10 {
		t.Errorf("%d lines by a spatial predicate", within)
	}
	if r := run("get-distinct-values", `{"resource_name":"fylker","queryable":"x"}`).wants(400); strings.Contains(
		string(r.Body), "geometry") || !strings.Contains(string(r.Body), "navn") {
		t.Errorf("what may be used instead: %s", r.Body)
	}
	if r := run("get-distinct-values", `{"resource_name":"fylker","queryable":"nr"}`).wants(200); !strings.HasPrefix(
		string(r.Body), `{"id":"values","value":["03",`) {
		t.Errorf("%s", r.Body)
	}
	for id, faulty := range map[string][]string{
		"export-collection-gpkg": {`{}`, `{"collection_id":"x"}`, `{"collection_id":"kommuner","crs":"EPSG:1"}`,
			`{"collection_id":"kommuner","properties":"x"}`},
		"export-all-gpkg": {`{"collection_ids":"kommuner,x"}`, `{"collection_ids":"kommuner,kommuner"}`},
		"export-by-area-gpkg": {`{"collection_id":"kommuner","area_type":"fylke"}`,
			`{"collection_id":"kommuner","area_type":"x","area_name":"Oslo"}`,
			`{"collection_id":"kommuner","area_type":"fylke","area_name":"Nusfjord"}`,
			`{"collection_id":"kommuner","area_type":"fylke","area_id":"99"}`,
			`{"collection_id":"kommuner","area_type":"fylke","area_name":"Oslo","area_name_field":"x"}`,
			`{"collection_id":"fylker","area_type":"kommune","area_id":"0301"}`},
		"get-distinct-values": {`{"resource_name":"fylker","queryable":"x"}`,
			`{"resource_name":"fylker","queryable":"geometry"}`, `{"resource_name":"fylker"}`},
	} {
		for _, in := range faulty {
			if r := run(id, in); r.StatusCode != 400 || !strings.Contains(string(r.Body), `"/inputs/`) {
				t.Errorf("%s %s: %d %s", id, in, r.StatusCode, r.Body)
			}
		}
	}
}

// TestProcessesRunFromTheirPages, without scripts: each form returns its outputs, or links to its job.
func TestProcessesRunFromTheirPages(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	form := func(path, body string) answer {
		return a.send(path, body, "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
	}
	if page := string(a.get("/processes/echo?f=html").wants(200).Body); !strings.Contains(page, `name="string"`) ||
		!strings.Contains(page, `value="job"`) {
		t.Error("no form")
	}
	if r := form("/processes/echo/execution", "string=%C3%85&number=2&array=%5B1%5D&run=now").wants(200); string(
		r.Body) != `{"string":"Å","number":2,"array":[1]}` {
		t.Errorf("%s", r.Body)
	}
	if r := form("/processes/echo/execution", "number=x").wants(400); !strings.HasPrefix(
		r.Header.Get("Content-Type"), "text/html") {
		t.Errorf("%s", r.Body)
	}
	form("/processes/export-collection-csv/execution", "collection_id=fylker&predicate=code").wants(200)
	for _, path := range []string{"/processes/harmonise-series?f=html", "/processes/translate-codes?f=html"} {
		if page := string(a.get(path).wants(200).Body); !strings.Contains(page, `<textarea name="table"`) {
			t.Errorf("%s: a table is typed in a field of one line", path)
		}
	}
	r := form("/processes/echo/execution", "string=x&pause=60&run=job").wants(http.StatusSeeOther)
	job, _, inWords := strings.Cut(r.Header.Get("Location"), "?")
	if !inWords {
		t.Errorf("the page of the job is in another language: %s", job)
	}
	if page := string(a.get(job+"?f=html&lang=en", "Accept", "text/html").wants(200).Body); !strings.Contains(
		page, `http-equiv="refresh"`) || !strings.Contains(page, "<progress") {
		t.Errorf("%s", page)
	}
	if page := string(a.get("/jobs?f=html&lang=en").wants(200).Body); !strings.Contains(page, "<td>Echo</td>") {
		t.Errorf("the list of jobs does not tell what they do: %s", page)
	}
	if list := form(job+"?lang=nn", "").wants(http.StatusSeeOther).Header.Get("Location"); list != "/jobs?lang=nn" {
		t.Errorf("after a job is dismissed comes %s", list)
	}
	if r := a.until(job, "dismissed"); strings.Contains(string(r.Body), "results") {
		t.Errorf("%s", r.Body)
	}
}

// TestFullDiskFailsTheJobOnly: a job whose outputs do not fit on the disk fails and states the reason. Everything
// else goes on, smaller jobs too.
func TestFullDiskFailsTheJobOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=160k"); err != nil {
		t.Skipf("NOT TESTED: a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	kept, err := state.Open(t.Context(), filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	if err := kept.PrepareJobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	filled := &filling{Jobs: kept, path: filepath.Join(dir, "filled")}
	a := serveOptions(t, openGeoPackage(t, demoPath(t)), nil, func(o *server.Options) { o.Jobs = filled })
	run := func(id, body string) answer {
		return a.send("/processes/"+id+"/execution", body, "Prefer", "respond-async")
	}
	noRoom := func(r answer) {
		t.Helper()
		if r.wants(503); !strings.Contains(string(r.Body), "There is no room") ||
			r.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%.300s", r.Body)
		}
		a.get("/collections/kommuner/items?limit=1").wants(200)
	}
	table := a.URL + "/collections/kommuner/items?f=csv&limit=1000&skipGeometry=true"
	// more than there is room for
	job := run("join-table", `{"inputs":{"collection_id":"kommuner","code":"id","table":{"href":"`+table+`"}}}`).wants(
		201).Header.Get("Location")
	a.until(job, "failed")
	noRoom(a.get(job + "/results"))
	noRoom(run("echo", `{"inputs":{"string":"`+strings.Repeat("x", 400<<10)+`"}}`)) // not even its input has room
	a.until(run("echo", `{"inputs":{"string":"x"}}`).wants(201).Header.Get("Location"), "successful")
	filled.now.Store(true) // as soon as the job is taken
	job = run("echo", `{"inputs":{"string":"`+strings.Repeat("x", 9000)+`"}}`).wants(201).Header.Get("Location")
	a.until(job, "failed")
	noRoom(a.get(job + "/results"))
	if err := os.Remove(filled.path); err != nil {
		t.Fatal(err)
	}
	a.until(run("echo", `{"inputs":{"string":"x"}}`).wants(201).Header.Get("Location"), "successful")
}

// TestFullDiskOfTheDatabaseFailsTheJobOnly is TestFullDiskFailsTheJobOnly for a database that reports a full disk.
// The log names what was full.
func TestFullDiskOfTheDatabaseFailsTheJobOnly(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	kept, err := statedb.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	if err := kept.PrepareJobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF TG_TABLE_NAME = 'job' THEN IF octet_length(NEW.request) < 20000 THEN RETURN NEW; END IF; END IF;
			RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER no_room BEFORE INSERT ON grense.job_piece FOR EACH ROW EXECUTE FUNCTION no_room();
		CREATE TRIGGER no_room BEFORE INSERT ON grense.job FOR EACH ROW EXECUTE FUNCTION no_room()`); err != nil {
		t.Fatal(err)
	}
	a := serveOptions(t, openGeoPackage(t, demoPath(t)), nil, func(o *server.Options) { o.Jobs = kept })
	noRoom := func(r answer) {
		t.Helper()
		if r.wants(503); !strings.Contains(string(r.Body), "There is no room") ||
			!strings.Contains(a.logs.String(), "could not extend file") {
			t.Errorf("%.300s", r.Body)
		}
	}
	run := func(text string) answer {
		return a.send("/processes/echo/execution", `{"inputs":{"string":"`+text+`"}}`, "Prefer", "respond-async")
	}
	job := run("x").wants(201).Header.Get("Location")
	a.until(job, "failed")
	noRoom(a.get(job + "/results"))
	noRoom(run(strings.Repeat("x", 40000)))
}

// filling is a job store whose disk is full as soon as a job starts.
type filling struct {
	state.Jobs
	path string
	now  atomic.Bool
	turn sync.Mutex
}

func (f *filling) ClaimJob(ctx context.Context, worker string, now, stale time.Time) (state.Job, bool, error) {
	f.turn.Lock()
	defer f.turn.Unlock()
	return f.Jobs.ClaimJob(ctx, worker, now, stale)
}

func (f *filling) PutJob(ctx context.Context, j state.Job) error {
	f.turn.Lock()
	defer f.turn.Unlock()
	if err := f.Jobs.PutJob(ctx, j); err != nil || !f.now.CompareAndSwap(true, false) {
		return err
	}
	if err := os.WriteFile(f.path, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk is not full: %w", err)
	}
	return nil
}
