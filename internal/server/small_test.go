package server_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/config"
	"grense/internal/store/gpkg"
)

func TestPlainHTTPIsNotPromisedAgainOverTLS(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	if got := a.get("/").Header.Get("Strict-Transport-Security"); got != "" {
		t.Errorf("without TLS: %q", got)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.TLS = &tls.ConnectionState{}
	w := httptest.NewRecorder()
	a.srv.Handler().ServeHTTP(w, r)
	if got := w.Header().Get("Strict-Transport-Security"); got != "max-age=31536000" {
		t.Errorf("with TLS: %q", got)
	}
}

func TestDrainingEndsConnectionsWithTheirAnswers(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	if r := a.get("/collections").wants(http.StatusOK); r.Close {
		t.Error("a connection was closed before the time")
	}
	a.srv.SetReady(false)
	if r := a.get("/collections").wants(http.StatusOK); !r.Close {
		t.Error("the connection stays open, and is reset later")
	}
}

func TestKeyFormOfOtherOriginsIsRefused(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	form := url.Values{"key": {a.key}}.Encode()
	for origin, want := range map[string]int{"": 303, a.URL: 303, "https://evil.example": 400, "null": 400,
		a.URL + ".evil.example": 400, "file://": 400} {
		var header []string
		if origin != "" {
			header = []string{"Origin", origin}
		}
		if r := a.post("/key", "application/x-www-form-urlencoded", form, header...); r.StatusCode != want {
			t.Errorf("%q: status %d, want %d", origin, r.StatusCode, want)
		}
	}
}

func TestForwardedPrefixIsAPath(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) {
		c.TrustedProxies = []netip.Prefix{
			netip.MustParsePrefix("127.0.0.0/8")}
	})
	for prefix, want := range map[string]string{"/geo": "/geo", "/geo/": "/geo", "/a/b": "/a/b", "/..": "",
		"/a/../b": "", "/./a": "", "/a//b": "", "a": "", "//evil.example": ""} {
		for _, l := range a.get("/", "X-Forwarded-Prefix", prefix).wants(http.StatusOK).links() {
			if l.Rel == "data" && !strings.HasSuffix(l.Href, want+"/collections") || strings.Contains(l.Href, "..") {
				t.Errorf("%s: %s", prefix, l.Href)
			}
		}
	}
}

// TestIdsThatAreDotsHaveLinks: "." and ".." are no segments to be resolved.
func TestIdsThatAreDotsHaveLinks(t *testing.T) {
	t.Parallel()
	a := serve(t, foreign(t, `CREATE TABLE x (id TEXT PRIMARY KEY, a TEXT); INSERT INTO x VALUES ('.', 'one'), ('..', 'two');
		INSERT INTO gpkg_contents (table_name, data_type) VALUES ('x', 'attributes');`), nil)
	for id, want := range map[string]string{".": "/items/%2E", "..": "/items/%2E%2E"} {
		body := string(a.get("/collections/x/items?f=html").wants(http.StatusOK).Body)
		if !strings.Contains(body, want+"?") && !strings.Contains(body, want+`"`) {
			t.Errorf("%s: no link with %s", id, want)
		}
		a.get("/collections/x" + want).wants(http.StatusOK)
	}
}

// foreign creates a GeoPackage with an SQL script, as another program would.
func foreign(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "foreign.gpkg")
	w, err := gpkg.Create(t.Context(), path)
	if err == nil {
		err = w.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := sqlitex.ExecuteScript(db, script, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefinitionForbidsWhatTheServerForbids(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, query := range []string{"filter=", "cursor=", "datetime=", "properties=0"} {
		a.get("/collections/kommuner/items?" + query).wants(http.StatusBadRequest)
	}
	doc := a.get("/openapi").wants(http.StatusOK).json()
	shared := doc["components"].(map[string]any)["parameters"].(map[string]any)
	for _, name := range []string{"filter", "cursor", "datetime"} {
		if got := shared[name].(map[string]any)["schema"].(map[string]any)["minLength"]; got != 1.0 {
			t.Errorf("%s: minLength %v", name, got)
		}
	}
	get := doc["paths"].(map[string]any)["/collections/kommuner/items"].(map[string]any)["get"].(map[string]any)
	for _, p := range get["parameters"].([]any) {
		if m := p.(map[string]any); m["name"] == "properties" {
			if m["schema"].(map[string]any)["items"].(map[string]any)["enum"] == nil {
				t.Error("properties may be anything")
			}
		}
	}
}

func TestRunsOfOneLetterAreTheirOwnWord(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	if n := a.get("/collections/kommuner/items?limit=1&q=" + strings.Repeat("a", 50)).wants(
		http.StatusOK).json()["numberMatched"]; n != 0.0 {
		t.Errorf("%v features have a word of fifty a", n)
	}
	if n := a.get("/collections/kommuner/items?limit=1&q=a").wants(http.StatusOK).json()["numberMatched"]; n == 0.0 {
		t.Error("no feature has a word with a")
	}
}
