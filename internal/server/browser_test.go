package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium starts one headless Chromium for a test and its subtests, with additional flags, and returns the context
// of its first tab. It skips the test without Chromium, under the race detector, and on another store than the
// default.
func chromium(t *testing.T, flags ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	if raceDetector {
		t.Skip("the tests in a browser run without the race detector")
	}
	if os.Getenv("GRENSE_TEST_STORE") != "" {
		t.Skip("pages are the same whatever the store")
	}
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium; make chromium installs it on Debian")
	}
	// The browser writes only below this folder, which is removed with the test. Its processes hold the pipe open:
	// when it closes, all of them have ended and write no more.
	dir := t.TempDir()
	alive, holds, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		io.Copy(io.Discard, alive) // output of the browser, not needed
		alive.Close()
		close(gone)
	}()
	// the cancelled context of the test would kill the browser at once
	ctx, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()),
		append(append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(dir),
			chromedp.Env("TMPDIR="+dir),
			chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) { cmd.Stderr = holds }),
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
			// no name is looked up: whatever a page loads from elsewhere fails
			chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		), flags...)...)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		within, enough := context.WithTimeout(ctx, time.Minute)
		defer enough()
		chromedp.Cancel(within) // asks it to end; after the time limit it is killed
		cancel()
		stop()
		select {
		case <-gone:
		case <-time.After(time.Minute):
			t.Error("processes of the browser go on after its end")
		}
	})
	err = chromedp.Do(ctx)
	holds.Close()
	if err != nil {
		t.Fatalf("%s does not start: %v", program, err)
	}
	return ctx
}

// script reads the checks that run inside pages: ours, and axe-core if npm has installed it. have reports whether
// axe-core was found.
func script(t *testing.T) (text string, have bool) {
	t.Helper()
	ours, err := os.ReadFile(filepath.Join("testdata", "browser", "checks.js"))
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(filepath.Join("testdata", "browser", "node_modules", "axe-core", "axe.min.js"))
	if errors.Is(err, os.ErrNotExist) {
		return string(ours), false
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(axe) + "\n;" + string(ours), true
}

// window is how a reader's browser is set.
type window struct {
	dark, noScript, print, reduced bool
	width, height                  int64 // CSS pixels
}

var desk = window{width: 1280, height: 1024}

// A tab is one tab of the browser. It is used by one goroutine at a time.
type tab struct {
	ctx    context.Context
	checks string // evaluated on every page, in a JavaScript world isolated from that of the page
	world  runtime.ExecutionContextID

	mu      sync.Mutex
	traffic traffic
}

// traffic records the requests and faults since the page began to load.
type traffic struct {
	requests []request
	byID     map[network.RequestID]int
	faults   []string // console, exceptions, issues that the browser reports
}

// request is one request of a page.
type request struct {
	id     network.RequestID
	url    string
	kind   network.ResourceType
	status int64
	bytes  float64 // as they came over the wire, header and body
	failed string  // reason; "" when it came
}

// newTab opens a tab, in a browser context of its own when fresh: without the cookies of others.
func newTab(t *testing.T, ctx context.Context, fresh bool, checks string) *tab {
	t.Helper()
	var options []chromedp.ContextOption
	if fresh {
		options = append(options, chromedp.WithNewBrowserContext())
	}
	ctx, cancel := chromedp.NewContext(ctx, options...)
	t.Cleanup(cancel)
	b := &tab{ctx: ctx, checks: checks}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	_, err := chromedp.Call(ctx, audits.Enable, cdp.Empty{})
	if err == nil {
		_, err = chromedp.Call(ctx, emulation.SetFocusEmulationEnabled,
			emulation.SetFocusEmulationEnabledParams{Enabled: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// hear records an event of the browser about the page.
func (b *tab) hear(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tr := &b.traffic
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if strings.HasPrefix(ev.Request.URL, "data:") {
			return
		}
		tr.byID[ev.RequestID] = len(tr.requests) // a redirect has the id of the request that led to it
		tr.requests = append(tr.requests, request{id: ev.RequestID, url: ev.Request.URL, kind: ev.Type})
	case *network.EventResponseReceived:
		if i, ok := tr.byID[ev.RequestID]; ok {
			tr.requests[i].status = ev.Response.Status
		}
	case *network.EventLoadingFinished:
		if i, ok := tr.byID[ev.RequestID]; ok {
			tr.requests[i].bytes = ev.EncodedDataLength
		}
	case *network.EventLoadingFailed:
		if i, ok := tr.byID[ev.RequestID]; ok {
			tr.requests[i].failed = strings.TrimSpace(ev.ErrorText + " " + string(ev.BlockedReason))
		}
	case *runtime.EventConsoleAPICalled:
		var words []string
		for _, a := range ev.Args {
			words = append(words, string(a.Value)+a.Description)
		}
		tr.faults = append(tr.faults, fmt.Sprintf("console.%s: %s", ev.Type, strings.Join(words, " ")))
	case *runtime.EventExceptionThrown:
		tr.faults = append(tr.faults, "exception: "+(&chromedp.ExceptionError{
			ExceptionDetails: ev.ExceptionDetails}).Error())
	case *cdplog.EventEntryAdded:
		// Some pages are documents with an error status; that is no fault.
		if e := ev.Entry; (e.Level == cdplog.EntryLevelError || e.Level == cdplog.EntryLevelWarning) &&
			(e.Source != cdplog.EntrySourceNetwork || len(tr.requests) == 0 || e.URL != tr.requests[0].url) {
			tr.faults = append(tr.faults, fmt.Sprintf("%s %s: %s %s", e.Source, e.Level, e.Text, e.URL))
		}
	case *audits.EventIssueAdded:
		detail, _ := json.Marshal(ev.Issue.Details)
		tr.faults = append(tr.faults, fmt.Sprintf("issue %s: %.300s", ev.Issue.Code, detail))
	}
}

// set changes how the browser shows pages.
func (b *tab) set(w window) error {
	scheme, motion, media := "light", "no-preference", ""
	if w.dark {
		scheme = "dark"
	}
	if w.reduced {
		motion = "reduce"
	}
	if w.print {
		media = "print"
	}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Media: media, Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion}}})
	if err == nil {
		_, err = chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: w.noScript})
	}
	if err == nil {
		_, err = chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride,
			emulation.SetDeviceMetricsOverrideParams{Width: w.width, Height: w.height, DeviceScaleFactor: 1})
	}
	return err
}

// open loads a page and returns its status.
func (b *tab) open(w window, address string) (int, error) {
	if err := b.set(w); err != nil {
		return 0, err
	}
	return b.load(chromedp.Steps(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.Navigate, page.NavigateParams{URL: address})
		return err
	})))
}

// load runs an action that loads a page, waits for the page and returns its status. The checks can run afterwards.
func (b *tab) load(act chromedp.Action[chromedp.Void]) (int, error) {
	b.mu.Lock()
	b.traffic = traffic{byID: map[network.RequestID]int{}}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	res, err := chromedp.RunResponse(ctx, act)
	if err != nil {
		return 0, err
	}
	tree, err := chromedp.Call(b.ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	world, err := chromedp.Call(b.ctx, page.CreateIsolatedWorld,
		page.CreateIsolatedWorldParams{FrameID: tree.FrameTree.Frame.ID, WorldName: "checks"})
	if err != nil {
		return 0, err
	}
	b.world = world.ExecutionContextID
	return int(res.Status), b.ask(b.checks, nil)
}

// ask evaluates an expression in the page and decodes its value into v, unless v is nil. It waits for a promise.
func (b *tab) ask(expression string, v any) error {
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	yes := true
	res, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, ContextID: b.world, AwaitPromise: &yes, ReturnByValue: &yes})
	if err != nil {
		return fmt.Errorf("%.60s: %w", expression, err)
	}
	if res.ExceptionDetails != nil {
		return fmt.Errorf("%.60s: %w", expression, &chromedp.ExceptionError{ExceptionDetails: res.ExceptionDetails})
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(res.Result.Value, v)
}

// happened returns a copy of the traffic since the page began to load.
func (b *tab) happened() traffic {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.traffic
	t.requests = append([]request(nil), t.requests...)
	t.faults = append([]string(nil), t.faults...)
	return t
}

// body is the document as it came.
func (b *tab) body() ([]byte, error) {
	t := b.happened()
	for _, r := range t.requests {
		if r.kind == network.ResourceTypeDocument && r.status != 0 {
			res, err := chromedp.Call(b.ctx, network.GetResponseBody, network.GetResponseBodyParams{RequestID: r.id})
			return []byte(res.Body), err
		}
	}
	return nil, errors.New("there is no document")
}

// sameServer reports whether an address is on the server at base.
func sameServer(address, base string) bool {
	u, err := url.Parse(address)
	v, _ := url.Parse(base)
	return err == nil && u.Scheme == v.Scheme && u.Host == v.Host
}
