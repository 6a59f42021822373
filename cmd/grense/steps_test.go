//go:build unix

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"grense/internal/sharedtest"
)

// step is a part of make attack or make soak, which runs as a process of its own and is killed at its bound.
type step struct {
	name    string
	dir     string // where it runs
	args    []string
	environ []string
	bound   time.Duration
	output  string // file
}

// stepResult is what a step measured, and why it failed or was skipped.
type stepResult struct {
	name    string
	took    time.Duration
	figures []sharedtest.Figure
	skipped string
	failed  string
}

// run runs the step to its end. The processes it started end with it.
func (s step) run(t *testing.T) stepResult {
	t.Helper()
	out, err := os.Create(s.output)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	report := filepath.Join(t.TempDir(), "figures.jsonl")
	cmd := exec.Command(s.args[0], s.args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, out, out
	cmd.Env = append(append(os.Environ(), "GRENSE_STEP_REPORT="+report), s.environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	late := time.AfterFunc(s.bound, kill)
	err = cmd.Wait()
	inTime := late.Stop()
	kill() // what it left behind
	r := stepResult{name: s.name, took: time.Since(start)}
	text, readErr := os.ReadFile(s.output)
	if readErr != nil {
		t.Fatal(readErr)
	}
	lines, _ := os.ReadFile(report)
	for line := range bytes.Lines(lines) {
		var f sharedtest.Figure
		if json.Unmarshal(line, &f) == nil {
			r.figures = append(r.figures, f)
		}
	}
	if m := skippedFor.FindSubmatch(text); m != nil {
		r.skipped = string(m[1])
	}
	switch {
	case !inTime:
		r.failed = "did not end in " + seconds(s.bound)
	case err != nil && !fuzzTimeIsOver.Match(text):
		r.failed = "see " + filepath.Base(s.output)
	}
	return r
}

// fuzzTimeIsOver matches the output of a fuzz target for which go test reports the end of -fuzztime, which found a
// worker busy, as a failure without an input.
var fuzzTimeIsOver = regexp.MustCompile(`(?m)^--- FAIL: Fuzz\w+ \([^)]*\)\n    context deadline exceeded\nFAIL\n`)

// seconds prints a duration in whole seconds.
func seconds(d time.Duration) string { return d.Round(time.Second).String() }

var skippedFor = regexp.MustCompile(`SKIPPED: (.*)`)

// verdict is ok, or what is wrong.
func (r stepResult) verdict() string {
	switch {
	case r.failed != "":
		return "**failed**: " + r.failed
	case r.skipped != "":
		return "skipped in part: " + r.skipped
	}
	return "ok"
}

// table writes the results of a run as Markdown. head is what stands above them, with the duration for %s.
func table(t *testing.T, file, head string, took time.Duration, load string, results []stepResult) {
	t.Helper()
	var b strings.Builder
	failed := 0
	for _, r := range results {
		if r.failed != "" {
			failed++
		}
	}
	fmt.Fprintf(&b, "%s\n\n%d steps, %d failed, %s on %d processors. Load of the machine before: %s.\n\n", head,
		len(results), failed, seconds(took),
		runtime.NumCPU(), load)
	fmt.Fprintf(&b, "| What was tried | Figure | Bound | Noise | |\n|---|---:|---:|---:|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| **%s**, %s | | | | %s |\n", r.name, seconds(r.took), r.verdict())
		for _, f := range r.figures {
			what, verdict := strings.Replace(f.What, "  ", "… ", 1), "ok"
			if f.Failed {
				verdict = "**failed**"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", what, f.Got, f.Bound, f.Noise, verdict)
		}
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Print(b.String())
}

// lasts is the duration that a variable holds. Without it the test is no run of make.
func lasts(t *testing.T, name string) time.Duration {
	t.Helper()
	if os.Getenv(name) == "" {
		t.Skip("run by make")
	}
	d, err := time.ParseDuration(os.Getenv(name))
	if err != nil || d <= 0 {
		t.Fatalf("%s=%q: set a duration, as 20m", name, os.Getenv(name))
	}
	return d
}

// load is the load average of the last minute, where the system has it.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(b)); err == nil && len(f) > 0 {
		return f[0]
	}
	return "unknown"
}

// stepFolder empties bin/NAME, for outputs.
func stepFolder(t *testing.T, name string) string {
	t.Helper()
	dir := rootPath(t, "bin", name)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

const attackHead = `# Attacks and soak

` + "`make attack` and `make soak` measured these figures, and `make attacks-page` wrote this page." + `
Clients and server shared the processors. Noise is what a bare handler took at the same time; four times that is
allowed beyond the bound.

## Attacks`

// TestMakeAttack runs each test whose name begins with TestAttack as a step, and writes bin/attack.md.
func TestMakeAttack(t *testing.T) {
	total, before := lasts(t, "GRENSE_MAKE_ATTACK"), load()
	out, err := exec.Command(os.Args[0], "-test.list", "^TestAttack"+os.Getenv("GRENSE_STEPS")).Output()
	if err != nil {
		t.Fatal(err)
	}
	dir, files, start := stepFolder(t, "attack"), t.TempDir(), time.Now()
	var results []stepResult
	names := slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool {
		return !strings.HasPrefix(name, "TestAttack") || name == "TestAttackFixtures"
	})
	for _, name := range append([]string{"TestAttackFixtures"}, names...) {
		bound := max(2*time.Minute, total/3)
		s := step{name: strings.TrimPrefix(name, "TestAttack"), dir: ".", bound: bound,
			output: filepath.Join(dir, name+".txt"),
			args: []string{os.Args[0], "-test.run", "^" + name + "$", "-test.v", "-test.timeout",
				(bound - 5*time.Second).String()},
			environ: []string{"GRENSE_ATTACK=" + total.String(), "GRENSE_ATTACK_FILES=" + files}}
		r := s.run(t)
		fmt.Printf("%-50s %8s  %s\n", s.name, seconds(r.took), r.verdict())
		if results = append(results, r); r.failed != "" {
			t.Fail()
		}
	}
	table(t, rootPath(t, "bin", "attack.md"), attackHead, time.Since(start), before, results)
}

// soakSteps are the tests whose loops are longer in make soak, by package. TestEveryLoopOfSoakIsAStep looks for
// packages that are missing.
var soakSteps = []struct{ pkg, tests string }{
	{"cmd/grense", "TestKilledImportsLeaveTheTarget"},
	{"cmd/grense", "TestAKilledImportOfLineageLosesNothing"},
	{"cmd/grense", "TestALongTableIsEnrichedInLittleMemory"},
	{"cmd/grense", "TestNoAnswerIsOfTwoStates"},
	{"cmd/grense", "TestNoAnswerOfADatabaseIsOfTwoStates"},
	{"cmd/grense", "TestSoakRegister"},
	{"internal/cql2", "TestGeometriesMadeReadyGiveTheSameAnswers|TestAreasAreTestedAsSimpleFeaturesDoes|" +
		"TestBoundsPromiseNothingFalse|TestExtentOfABoxCoversItInAnotherCRS|" +
		"TestBoxesNearFewEdges|TestLikeFoldedAgreesWithFoldAndLike|" +
		"TestLikeAgreesWithRegularExpressions|" +
		"TestSpatialPredicatesAgreeWithTheIntersectionMatrix|TestPredicatesAgreeWhereGeometriesTouch"},
	{"internal/geo/relate", "TestBoxTouchesAgreesWithSimpleFeatures"},
	{"internal/geo/locate", "TestAcceptGEOSFindsTheSameAreas|TestPostGISFindsTheSameAreas"},
	{"internal/history", "TestTranslationsOverRegistersHoldTogether"},
	{"internal/ingest", "TestRepairAgreesWithGEOS"},
	{"internal/register", "TestNamesAreThoseOfTheRecipe|TestStedsnummerIsAPermutation"},
	{"internal/server", "TestHangUpsLeaveNothing"},
	{"internal/server", "TestNonsenseAddressesOfTiles"},
	{"internal/server", "TestSearchOfFrance"},
	{"internal/server", "TestBoxesInEachCRSAgreeWithANaiveLoop"},
	{"internal/soap", "TestMutatedRequestsNeverBreakTheService"},
	{"internal/store/gpkg", "TestPagesOfPlacesAgreeWithThoseOfSQL"},
	{"internal/store/gpkg", "TestRealFilesArriveWhole"},
	{"internal/store/gpkg", "TestContract|TestNumbersOfForeignFilesCompareExactly"},
	{"internal/store/postgis", "TestContract|TestNumbersOfForeignTablesCompareExactly"},
	{"internal/store/postgis", "TestRegisterPlans"},
	{"internal/store/postgis", "TestZoo"},
	{"internal/store/postgis", "TestSoakAMillionRows"},
	{"internal/tile", "TestSoakTilesByShapely"},
	{"internal/tile", "TestSoakBothStoresGiveTheSameTiles"},
}

// usesSoak finds a test that asks how long make soak is.
var usesSoak = regexp.MustCompile(`sharedtest\.(Rounds|Soak)\(`)

func TestEveryLoopOfSoakIsAStep(t *testing.T) {
	t.Parallel()
	root := rootPath(t)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		pkg, _ := filepath.Rel(root, filepath.Dir(path))
		if err == nil && usesSoak.Match(text) && !slices.ContainsFunc(soakSteps,
			func(s struct{ pkg, tests string }) bool { return s.pkg == filepath.ToSlash(pkg) }) {
			t.Errorf("%s is not in soakSteps", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

const soakHead = `## Soak

Each loop runs once as in ` + "`make test`" +
	`, then as often as its share of the time allows. Each fuzz target runs for its share.`

// TestMakeSoak runs the steps of make soak, each target of fuzzing among them, and writes bin/soak.md.
func TestMakeSoak(t *testing.T) {
	total, before, only := lasts(t, "GRENSE_MAKE_SOAK"), load(), regexp.MustCompile(os.Getenv("GRENSE_STEPS"))
	dir, start := stepFolder(t, "soak"), time.Now()
	var results []stepResult
	add := func(r stepResult) {
		fmt.Printf("%-110.110s %8s  %s\n", r.name, seconds(r.took), r.verdict())
		if results = append(results, r); r.failed != "" {
			t.Fail()
		}
	}
	share := total * 55 / 100 / time.Duration(len(soakSteps))
	for n, x := range soakSteps {
		if !only.MatchString(x.tests) {
			continue
		}
		s := step{name: fmt.Sprintf("%s: %s", x.pkg, strings.ReplaceAll(x.tests, "|", ", ")), dir: rootPath(t, x.pkg),
			bound: 2*share + 4*time.Minute, output: filepath.Join(dir, fmt.Sprintf("loop-%02d.txt", n)),
			args:    []string{built(t, dir, x.pkg, false), "-test.v", "-test.run", "^(" + x.tests + ")$"},
			environ: []string{"GRENSE_SOAK=1"}}
		r := s.run(t)
		if factor := min(100, int(share/max(r.took, time.Millisecond))-1); factor > 1 && r.failed == "" {
			s.environ = []string{fmt.Sprintf("GRENSE_SOAK=%d", factor)}
			first := r.took
			r = s.run(t)
			r.took += first
			r.figures = append(r.figures,
				sharedtest.Figure{What: "  as often as in make test", Got: fmt.Sprint(factor)})
		}
		add(r)
	}
	targets := fuzzTargets(t)
	each := max(2*time.Second, total*40/100/time.Duration(len(targets))-5*time.Second).Round(time.Second)
	for n, x := range targets {
		if !only.MatchString(x.tests) {
			continue
		}
		s := step{name: fmt.Sprintf("%s: %s", x.pkg, x.tests), dir: rootPath(t, x.pkg), bound: each + time.Minute,
			output: filepath.Join(dir, fmt.Sprintf("fuzz-%02d.txt", n)),
			args: []string{built(t, dir, x.pkg, true), "-test.run", "^$", "-test.fuzz", "^" + x.tests + "$",
				"-test.fuzztime", each.String(), "-test.fuzzcachedir", filepath.Join(dir, "fuzz")}}
		r := s.run(t)
		if text, err := os.ReadFile(s.output); err == nil {
			if m := executions.FindAllSubmatch(text, -1); m != nil {
				r.figures = append(r.figures, sharedtest.Figure{What: "  executions", Got: string(m[len(m)-1][1])})
			}
		}
		add(r)
	}
	table(t, rootPath(t, "bin", "soak.md"), soakHead, time.Since(start), before, results)
}

// executions finds how often a fuzz target ran.
var executions = regexp.MustCompile(`execs: (\d+)`)

// fuzzTargets lists the fuzz targets of all packages.
func fuzzTargets(t *testing.T) (all []struct{ pkg, tests string }) {
	t.Helper()
	cmd := exec.Command("make", "-s", "fuzz-targets")
	cmd.Dir = rootPath(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, pkg, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, struct{ pkg, tests string }{pkg, name})
	}
	return all
}

// built compiles the tests of a package into dir, unless that is done already, and returns the program.
func built(t *testing.T, dir, pkg string, fuzzing bool) string {
	t.Helper()
	args := []string{"test", "-c", "-o", filepath.Join(dir, strings.ReplaceAll(pkg, "/", "-")+".test")}
	if fuzzing {
		args = []string{"test", "-c", "-fuzz", ".", "-o",
			filepath.Join(dir, strings.ReplaceAll(pkg, "/", "-")+"-fuzz.test")}
	}
	bin := args[len(args)-1]
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	cmd := exec.Command("go", append(args, "./"+pkg)...)
	cmd.Dir = rootPath(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}
