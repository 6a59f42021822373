package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"grense/internal/await"
	"grense/internal/store/storetest"
)

// worker is a grense serve that a test kills.
type worker struct {
	base string
	cmd  *exec.Cmd
}

// startWorker starts one on a home, where no keys are requested.
func startWorker(t *testing.T, home string, args ...string) *worker {
	t.Helper()
	w := &worker{cmd: program(t, t.Context(), home,
		append([]string{"serve", "--addr", "127.0.0.1:0", "--auth", "open"}, args...)...)}
	w.cmd.Env = append(w.cmd.Env, "GRENSE_ALLOW_EMPTY=true")
	var errs bytes.Buffer
	w.cmd.Stderr = &errs
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.kill() })
	for in := bufio.NewScanner(out); in.Scan(); {
		if m := baseLine.FindStringSubmatch(in.Text()); m != nil {
			w.base = m[1]
			go io.Copy(io.Discard, out)
			return w
		}
	}
	w.cmd.Wait()
	t.Fatalf("serve %v does not start:\n%s", args, &errs)
	return nil
}

// kill ends it as kill -9 does.
func (w *worker) kill() {
	w.cmd.Process.Kill()
	w.cmd.Wait()
}

// submit begins a job that waits for so many seconds, and returns its id.
func (w *worker) submit(t *testing.T, pause string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", w.base+"/processes/echo/execution",
		strings.NewReader(`{"inputs":{"string":"Å","pause":`+pause+`},"outputs":{"string":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Prefer", "respond-async")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var job struct{ JobID string }
	if err := json.NewDecoder(res.Body).Decode(&job); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("%d: %v", res.StatusCode, err)
	}
	return job.JobID
}

// get is what a path below the base holds.
func (w *worker) get(t *testing.T, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, b := exchange(t, http.DefaultClient, req)
	return string(b)
}

// await waits until a job has a state.
func (w *worker) await(t *testing.T, job, state string) {
	t.Helper()
	await.Success(t, job+" is "+state, func() error {
		text := w.get(t, "/jobs/"+job+"?f=json")
		if strings.Contains(text, `"status":"`+state+`"`) {
			return nil
		}
		if strings.Contains(text, `"status":"failed"`) {
			t.Fatalf("%s is not %s: %s", job, state, text)
		}
		return errors.New(text)
	})
}

// TestAJobSurvivesTheEndOfItsServer, which is started again on the same folder.
func TestAJobSurvivesTheEndOfItsServer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	w := startWorker(t, home)
	job := w.submit(t, "2")
	w.await(t, job, "running")
	w.kill()
	w = startWorker(t, home)
	w.await(t, job, "successful")
	if got := w.get(t, "/jobs/"+job+"/results"); got != `"Å"` {
		t.Errorf("%s", got)
	}
}

// TestJobsAreFinishedByOtherServersOfADatabase when one of three is killed; each dismisses what another works on.
func TestJobsAreFinishedByOtherServersOfADatabase(t *testing.T) {
	t.Parallel()
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	address := cluster.Database(t)
	var all [3]*worker
	for i := range all {
		all[i] = startWorker(t, t.TempDir(), address)
	}
	var jobs []string
	for range 6 { // two for each
		jobs = append(jobs, all[0].submit(t, "3"))
	}
	for _, job := range jobs {
		all[1].await(t, job, "running")
	}
	all[0].kill()
	for _, job := range jobs {
		all[1].await(t, job, "successful")
		if got := all[2].get(t, "/jobs/"+job+"/results"); got != `"Å"` {
			t.Errorf("%s", got)
		}
	}
	jobs = nil
	for range 5 { // one more than there are workers left
		jobs = append(jobs, all[1].submit(t, "50"))
	}
	for _, job := range jobs[:4] {
		all[1].await(t, job, "running")
	}
	req, err := http.NewRequestWithContext(t.Context(), "DELETE", all[1].base+"/jobs/"+jobs[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", res, err)
	}
	res.Body.Close()
	all[2].await(t, jobs[4], "running") // in the place of the one that was dismissed
}
