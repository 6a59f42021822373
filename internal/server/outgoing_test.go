package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"grense/internal/config"
	"grense/internal/server"
)

func TestPrivateAddressesAreNotPublic(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"93.184.216.34": true, "2606:2800:220:1::1": true, "127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.1.1": false,
		"0.0.0.0": false, "255.255.255.255": false, "224.0.0.1": false, "198.18.0.1": false, "192.0.0.8": false, "::1": false, "::": false, "fe80::1": false, "fc00::1": false, "fd12::1": false,
		"64:ff9b::a00:1": false, "2002:a00:1::": false, "2001:db8::1": false, "ff02::1": false} {
		if got := server.IsPublic(netip.MustParseAddr(s)); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

// other is a server that inputs may refer to and callbacks go to.
func other(t *testing.T) (s *httptest.Server, posted func() []string) {
	t.Helper()
	var mu sync.Mutex
	var list []string
	fail := 1
	m := http.NewServeMux()
	m.HandleFunc("GET /data/t.csv", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		io.WriteString(w, "kode\n301\n")
	})
	m.HandleFunc("GET /data/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/data/t.csv", http.StatusFound) })
	m.HandleFunc("GET /secret/t.csv", func(w http.ResponseWriter, _ *http.Request) { t.Error("what is not allowed was read") })
	m.HandleFunc("POST /data/{what}", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if what := r.PathValue("what"); what == "success" && fail > 0 { // it is tried again
			fail--
			w.WriteHeader(503)
			return
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		list = append(list, r.PathValue("what")+" "+string(b))
	})
	s = httptest.NewServer(m)
	t.Cleanup(s.Close)
	return s, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(list) }
}

// TestOtherServersAreReadOnlyWhereTheOperatorAllows: OGC 18-062r2, 7.11.2.4.
func TestOtherServersAreReadOnlyWhereTheOperatorAllows(t *testing.T) {
	t.Parallel()
	o, _ := other(t)
	a := serve(t, "", func(c *config.Config) { c.Processes.Allow = []string{o.URL + "/data/"} })
	ask := func(path string) answer {
		return a.run("enrich-table", `{"inputs":{"table":{"href":"`+path+`"},"collections":"kommuner"},"outputs":{"table":{}}}`)
	}
	if r := ask(o.URL + "/data/t.csv").wants(400); !strings.Contains(string(r.Body), "not public") {
		t.Errorf("a private address: %s", r.Body)
	}
	a.srv.DialAnywhere()
	if r := ask(o.URL + "/data/t.csv").wants(200); string(r.Body) != "kode,kommuner_id,kommuner_name,enrich_error\n301,0301,Oslo,\n" {
		t.Errorf("%s", r.Body)
	}
	host := strings.TrimPrefix(o.URL, "http://")
	for _, path := range []string{o.URL + "/data/away", o.URL + "/data/none", o.URL + "/secret/t.csv", o.URL + "/data/../secret/t.csv", o.URL + "/data/%2e%2e/secret/t.csv", o.URL + "/database", o.URL + "/data/t.csv#x",
		"https://" + host + "/data/t.csv", "http://u@" + host + "/data/t.csv", o.URL + "@example.org/data/t.csv", "ftp://" + host + "/data/t.csv"} {
		if r := ask(path); r.StatusCode != 400 || !strings.Contains(string(r.Body), `"/inputs/table/href"`) {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.Body)
		}
	}
}

// TestSubscribersAreCalledBack where the operator allows it (OGC 18-062r2, 9); the class is declared only then.
func TestSubscribersAreCalledBack(t *testing.T) {
	t.Parallel()
	o, posted := other(t)
	a := serve(t, "", func(c *config.Config) {
		c.Processes.Allow, c.Processes.Callbacks = []string{o.URL + "/data"}, true
	})
	a.srv.DialAnywhere()
	plain := serve(t, "", nil)
	const class = "http://www.opengis.net/spec/ogcapi-processes-1/1.0/conf/callback"
	if strings.Contains(string(plain.get("/conformance").Body), class) || !strings.Contains(string(a.get("/conformance").Body), class) {
		t.Error("the class callback")
	}
	body := func(in, uri string) string {
		return `{"inputs":{` + in + `},"outputs":{"string":{}},"subscriber":{"successUri":"` + uri + `","inProgressUri":"` + o.URL + `/data/progress","failedUri":"` + o.URL + `/data/failed"}}`
	}
	for _, r := range []answer{plain.run("echo", body(`"string":"x"`, o.URL+"/data/success"), "Prefer", "respond-async"), a.run("echo", body(`"string":"x"`, o.URL+"/data/success")),
		a.run("echo", body(`"string":"x"`, o.URL+"/secret"), "Prefer", "respond-async"), a.run("echo", body(`"string":"x"`, ""), "Prefer", "respond-async"),
		a.run("echo", body(`"string":"x"`, "http://169.254.169.254/"), "Prefer", "respond-async")} {
		if r.StatusCode != 400 || !strings.Contains(string(r.Body), `"/subscriber`) {
			t.Errorf("%d %s", r.StatusCode, r.Body)
		}
	}
	a.run("echo", body(`"string":"Å"`, o.URL+"/data/success"), "Prefer", "respond-async").wants(201)
	a.run("echo", body(`"string":{"href":"`+o.URL+`/data/none"}`, o.URL+"/data/success"), "Prefer", "respond-async").wants(201)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		got := posted()
		has := func(name, part string) bool {
			return slices.ContainsFunc(got, func(s string) bool {
				what, doc, _ := strings.Cut(s, " ")
				return what == name && strings.Contains(doc, part) && json.Valid([]byte(doc))
			})
		}
		if has("success", `{"string":"Å"}`) && has("failed", "/inputs/string/href") && has("progress", `"status":"running"`) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q", got)
		}
	}
}
