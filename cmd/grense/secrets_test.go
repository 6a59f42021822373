//go:build linux

package main_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"grense/api/placename"
	"grense/internal/apikey"
	"grense/internal/await"
	"grense/internal/store/storetest"
)

// needles returns what would give a secret away: its end, as it is, escaped for an address, and in Base64 wherever it
// stands in the encoded text.
func needles(secret string) (out []string) {
	if len(secret) > 40 { // of a key the id may be shown, and a beginning of the rest is enough to find it
		secret = secret[len("grense_")+9:][:12]
	}
	out = append(out, secret, url.QueryEscape(secret), escapeAll(secret), strings.ToLower(escapeAll(secret)))
	for before, cut := range []int{0, 2, 3} {
		coded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
		if (before+len(secret))%3 > 0 {
			coded = coded[:len(coded)-1]
		}
		out = append(out, coded[cut:])
	}
	return out
}

// exposed names the secret that a text gives away, and shows where; "" if there is none.
func exposed(text string, secrets map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		for _, needle := range needles(secrets[name]) {
			if i := strings.Index(text, needle); i >= 0 {
				return fmt.Sprintf("%s: %q", name, text[max(0, i-150):min(len(text), i+80)])
			}
		}
	}
	return ""
}

// secretPlaces are the places of a request that a secret is put in. Those for credentials take any secret; in the
// others a key is known by its form.
var secretPlaces = map[string]struct {
	credential bool
	put        func(r *http.Request, secret string)
}{
	"X-API-Key":              {true, func(r *http.Request, s string) { r.Header.Set("X-API-Key", s) }},
	"Bearer":                 {true, func(r *http.Request, s string) { r.Header.Set("Authorization", "Bearer "+s) }},
	"another scheme":         {true, func(r *http.Request, s string) { r.Header.Set("Authorization", "ApiKey "+s) }},
	"Basic without encoding": {true, func(r *http.Request, s string) { r.Header.Set("Authorization", "Basic "+s) }},
	"the password of Basic":  {true, func(r *http.Request, s string) { r.SetBasicAuth("x", s) }},
	"the user of Basic":      {true, func(r *http.Request, s string) { r.SetBasicAuth(s, "") }},
	"two that differ": {true, func(r *http.Request, s string) {
		r.SetBasicAuth("x", s)
		r.Header.Set("X-API-Key", s+"x")
	}},
	"the cookie":     {true, addCookie(apikey.Cookie)},
	"another cookie": {true, addCookie("session")},
	"another header": {true, func(r *http.Request, s string) { r.Header.Set("X-Api-Token", s) }},
	"the key parameter": {true, func(r *http.Request, s string) {
		r.URL.RawQuery = strings.Trim(r.URL.RawQuery+"&ApiKey="+url.QueryEscape(s), "&")
	}},
	"the key parameter, beside a wrong escape": {true, func(r *http.Request, s string) {
		r.URL.RawQuery = "apikey=" + s + "&x=%zz"
	}},
	"a body": {true, func(r *http.Request, s string) { setBody(r, s) }},

	"the path": {false, func(r *http.Request, s string) { r.URL.Path += "/" + s }},
	"the path, escaped": {false, func(r *http.Request, s string) {
		r.URL.RawPath, r.URL.Path = r.URL.Path+"/"+escapeAll(s), r.URL.Path+"/"+s
	}},
	"the path, before all": {false, func(r *http.Request, s string) { r.URL.Path = "/" + s + r.URL.Path }},
	"the query":            {false, addQuery("x=%s")},
	"the query, as a name": {false, addQuery("%s=x")},
	"the query, escaped":   {false, func(r *http.Request, s string) { addQuery("x=%s")(r, escapeAll(s)) }},
	"the query, escaped twice": {false, func(r *http.Request, s string) {
		addQuery("x=%s")(r, strings.ReplaceAll(escapeAll(s), "%", "%25"))
	}},
	"the query, escaped, beside a wrong escape": {false, func(r *http.Request, s string) {
		addQuery("x=%s&y=%%zz")(r, strings.ReplaceAll(s, "_", "%5F"))
	}},
	"the query, escaped, where the log cuts it": {false, func(r *http.Request, s string) {
		r.URL.RawQuery = "x=" + strings.ReplaceAll(s, "_", "%5F") + "&z=" + strings.Repeat("%C3", 40)
	}},
	"the query, as a filter":  {false, addQuery("filter=navn='%s'")},
	"the query, as a search":  {false, addQuery("q=%s")},
	"the method":              {false, func(r *http.Request, s string) { r.Method = s }},
	"the user agent":          {false, setHeader("User-Agent")},
	"the referrer":            {false, func(r *http.Request, s string) { r.Header.Set("Referer", "http://x/?key="+s) }},
	"the origin":              {false, setHeader("Origin")},
	"the language":            {false, setHeader("Accept-Language")},
	"the media type":          {false, setHeader("Accept")},
	"the id of the request":   {false, setHeader("X-Request-Id")},
	"the trace":               {false, setHeader("Traceparent")},
	"the address of a proxy":  {false, setHeader("X-Forwarded-For")},
	"the host of a proxy":     {false, setHeader("X-Forwarded-Host")},
	"a preference":            {false, setHeader("Prefer")},
	"a condition":             {false, setHeader("If-None-Match")},
	"a range":                 {false, setHeader("Range")},
	"the action":              {false, setHeader("SOAPAction")},
	"the type of the body":    {false, setHeader("Content-Type")},
	"the headers of a script": {false, setHeader("Access-Control-Request-Headers")},
}

func setHeader(name string) func(*http.Request, string) {
	return func(r *http.Request, s string) { r.Header.Set(name, s) }
}

func addCookie(name string) func(*http.Request, string) {
	return func(r *http.Request, s string) { r.AddCookie(&http.Cookie{Name: name, Value: s}) }
}

func addQuery(format string) func(*http.Request, string) {
	return func(r *http.Request, s string) {
		r.URL.RawQuery = strings.Trim(r.URL.RawQuery+"&"+fmt.Sprintf(format, s), "&")
	}
}

func escapeAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

// setBody puts a secret where the body of a request has a gap.
func setBody(r *http.Request, secret string) {
	b, _ := io.ReadAll(r.Body) // of a string
	text := strings.ReplaceAll(string(b), "GAP", secret)
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
}

// secretTargets are the requests that secrets are put in, on a server with a collection. GAP is a gap of a body.
func secretTargets(collection string) [][3]string {
	name := "GAP"
	soap := `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Header><Security><Password>GAP` +
		`</Password></Security></S:Header><S:Body>` + string(placename.AppendRequest(nil, &placename.FindSteder{
		StedSoek: placename.StedSoek{Stedsnavn: &name}}, placename.DefaultBase)) + `</S:Body></S:Envelope>`
	items := "/collections/" + collection + "/items"
	return [][3]string{
		{"GET", items + "?limit=1"}, {"GET", items + "?limit=1&f=html"}, {"GET", items + "/none?f=html"},
		{"GET", "/?f=html"}, {"GET", "/key"}, {"GET", "/search"}, {"GET", "/openapi"},
		{"GET", "/changes?f=html"}, {"GET", "/jobs"}, {"GET", "/jobs/0123456789abcdef?f=html"},
		{"GET", "/lookup?lon=10&lat=60"}, {"GET", "/tiles/WebMercatorQuad/0/0/0"},
		{"GET", "/wms?service=WMS&request=GetCapabilities"}, {"GET", "/wms?version=1.3.0&request=GetMap&layers=" +
			collection + "&styles=&crs=CRS:84&bbox=9,59,11,60&width=9&height=9"},
		{"GET", "/kommuneinfo/v1/kommuner"}, {"GET", "/stedsnavn/v1/navn?sok=oslo"},
		{"POST", items, `{"op":"like","args":[{"property":"GAP"},"GAP"]}`},
		{"POST", "/processes/echo/execution", `{"inputs":{"string":"x"}}`},
		{"POST", "/processes/lookup/execution", `{"inputs":{"GAP":"GAP"}}`},
		{"POST", "/soap/stedsnavn/v1", soap},
		{"POST", "/key", "key=GAP&next=GAP"},
		{"POST", "/key", "key=GAP&next=/collections?GAP&lang=nb"},
		{"OPTIONS", items},
	}
}

// TestSecretsStayInside puts keys, passwords and cookies into every place of requests, and makes the server fail. It
// looks for them in answers, log, metrics, traces, a backup, settings, arguments, stacks and the data directory.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"file", "database"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			home, collection := t.TempDir(), "areas"
			traces, token := &lockedBuffer{}, "Coll3ctor-t0ken"
			collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(traces, r.Body)
				if strings.Contains(traces.String(), "getJobs") {
					w.WriteHeader(http.StatusBadRequest) // so that the log speaks of the collector
				}
			}))
			t.Cleanup(collector.Close)
			first := apikey.Generate()
			secrets := map[string]string{"the first key": first, "the token of the collector": token}
			env := []string{"GRENSE_TRACES_ENDPOINT=" + collector.URL + "/v1/traces?token=" + token,
				"GRENSE_FIRST_KEY_FILE=" + writeSecret(t, "first-key", first), "GRENSE_TRUSTED_PROXIES=127.0.0.1",
				"GRENSE_COMPAT_WMS=true", "GRENSE_COMPAT_KOMMUNEINFO=true", "GRENSE_COMPAT_STEDSNAVN=true",
				"GRENSE_COMPAT_KEY_PARAMETER=apikey", "GRENSE_LOG_LEVEL=debug"}
			own := &storetest.Cluster{Private: true}
			t.Cleanup(own.Stop)
			if store == "database" {
				address, err := url.Parse(areasTable(t, own))
				if err != nil {
					t.Fatal(err)
				}
				const password = "Dat4base+p@ss/word"
				address.User = url.UserPassword("postgres", password)
				secrets["the password of the database"] = password
				env = append(env, "GRENSE_SOURCE_FILE="+writeSecret(t, "source", address.String()))
			} else {
				collection = "kommuner" // of the demo
			}
			grense := func(args ...string) string {
				t.Helper()
				cmd := program(t, t.Context(), home, args...)
				cmd.Env = append(cmd.Env, env...)
				var errs bytes.Buffer
				cmd.Stderr = &errs
				out, err := cmd.Output()
				if err != nil {
					t.Errorf("grense %v: %v\n%s%s", args, err, out, &errs)
				}
				if args[0] != "key" {
					out = append(out, errs.Bytes()...)
				}
				return string(out)
			}
			start := program(t, t.Context(), home, "serve", "--addr", "127.0.0.1:0")
			start.Env = append(start.Env, env...)
			w := watch(t, start)
			(&serving{addr: w.addr, ended: w.ended, log: os.DevNull}).awaitData(t)

			key := strings.TrimSpace(grense("key", "create", "--name", "a key"))
			cut := apikey.Generate()
			asked := map[string]string{"a valid key": key, "an unknown key": apikey.Generate(),
				"a key without its end": cut[:len(cut)-4], "the first key": first,
				"another password": "hunter2-Pa55word"}
			maps.Copy(secrets, asked)
			look := func(where, text string) {
				t.Helper()
				if found := exposed(text, secrets); found != "" {
					t.Errorf("%s: there is %s", where, found)
				}
			}
			logged := func(text string) func() bool {
				return func() bool { return strings.Contains(w.log.String(), text) }
			}
			answers := 0
			for name, secret := range asked {
				for at, place := range secretPlaces {
					if !place.credential && len(secret) < 40 {
						continue
					}
					for _, x := range secretTargets(collection) {
						if at == "a body" && x[2] == "" {
							continue
						}
						code, text := w.send(t, x, secret, place.put)
						answers++
						look(fmt.Sprintf("the answer %d to %s %s with %s in %s", code, x[0], x[1], name, at), text)
					}
				}
			}
			t.Logf("%d answers", answers)
			if code, text := w.send(t, secretTargets(collection)[0], key, secretPlaces["X-API-Key"].put); code != 200 {
				t.Fatalf("the valid key gives %d: %s", code, text)
			}

			look("the metrics", answerOf(http.DefaultClient, w.meter))
			arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", w.cmd.Process.Pid))
			if err != nil || !strings.Contains(string(arguments), "serve") {
				t.Fatalf("%q: %v", arguments, err)
			}
			look("the arguments of the process", string(arguments))
			for _, args := range [][]string{{"config", "show"}, {"key", "list"}, {"key", "usage", "--csv"},
				{"key", "export"}, {"check"}} {
				look("grense "+strings.Join(args, " "), grense(args...))
			}
			file := filepath.Join(t.TempDir(), "backup.zip")
			look("grense backup", grense("backup", file))
			lookIntoBackup(t, file, look)
			if store == "database" {
				if halted, err := own.Halt(); err != nil || !halted {
					t.Fatalf("the database does not stop: %v", err)
				}
				for _, x := range secretTargets(collection) {
					code, text := w.send(t, x, key, secretPlaces["the password of Basic"].put)
					look(fmt.Sprintf("the answer %d to %s without the database", code, x[1]), text)
				}
				w.cmd.Process.Signal(syscall.SIGHUP)
				await.True(t, "the failure of the reload is logged", logged("reload failed"))
				if err := own.Resume(); err != nil {
					t.Fatal(err)
				}
			}
			await.True(t, "traces come", func() bool { return strings.Contains(traces.String(), "getFeatures") })
			await.True(t, "the log speaks of the collector", logged("collector of traces"))
			look("the traces", traces.String())
			w.cmd.Process.Signal(syscall.SIGQUIT) // prints what a panic prints
			<-w.ended
			if n := strings.Count(w.log.String(), "msg=request"); n < answers ||
				!strings.Contains(w.log.String(), "goroutine ") {
				t.Errorf("the log lacks requests or stacks: %.2000s", w.log)
			}
			for line := range strings.Lines(w.log.String()) {
				look("the log", line)
			}
			look("the output", w.out.String())
			for _, name := range must1(filepath.Glob(filepath.Join(home, ".local/share/grense/*"))) {
				if b, err := os.ReadFile(name); err == nil && !strings.Contains(name, "demo-") {
					look(name, string(b))
				}
			}
		})
	}
}

func writeSecret(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// send sends a request with a secret in a place and returns status, and header with body. The cookie that the key form
// sets is left out.
func (w *watched) send(t *testing.T, x [3]string, secret string, put func(*http.Request, string)) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), x[0], "http://"+w.addr+x[1], strings.NewReader(x[2]))
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case x[1] == "/key":
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	case strings.HasPrefix(x[2], "{"):
		req.Header.Set("Content-Type", "application/json")
		if strings.Contains(x[1], "echo") {
			req.Header.Set("Prefer", "respond-async")
		}
	case x[2] != "":
		req.Header.Set("Content-Type", "text/xml; charset=utf-8")
	}
	put(req, secret)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, body := exchange(t, client, req)
	if x[0] == "POST" && x[1] == "/key" {
		res.Header.Del("Set-Cookie")
	}
	return res.StatusCode, fmt.Sprint(res.Header, "\n", string(body))
}

// lookIntoBackup looks at each file of a backup.
func lookIntoBackup(t *testing.T, file string, look func(where, text string)) {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if len(z.File) < 3 {
		t.Errorf("the backup has %d files", len(z.File))
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		look(f.Name+" of the backup", string(b))
	}
}
