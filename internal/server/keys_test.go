package server_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"grense/internal/apikey"
	"grense/internal/config"
)

func keyed(t *testing.T) *api { return serve(t, "", func(c *config.Config) { c.Auth = "required" }) }

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestDataNeedAKeyAndMetadataDoNot(t *testing.T) {
	t.Parallel()
	a := keyed(t)
	for _, p := range []string{"/", "/v1", "/openapi", "/conformance", "/collections", "/v1/collections/kommuner",
		"/collections/kommuner/schema", "/collections/kommuner/queryables", "/TileMatrixSets",
		"/TileMatrixSets/WebMercatorQuad", "/processes", "/processes/echo", "/healthz", "/readyz"} {
		a.get(p).wants(200)
	}
	for _, p := range []string{"/collections/kommuner/items", "/v1/collections/kommuner/items/0301",
		"/collections/kommuner/items?limit=x", "/collections/kommuner/items/9999", "/collections/fylker/items?f=xml"} {
		r := a.get(p).wants(401)
		if strings.Contains(string(r.Body), "Oslo") {
			t.Errorf("%s: data without a key", p)
		}
		a.do("HEAD", p).wants(401)
		a.do("OPTIONS", p).wants(204)
		a.do("DELETE", p).wants(405)
	}
	a.get("/collections/nowhere/items").wants(404)
}

func TestKeyCarriers(t *testing.T) {
	t.Parallel()
	a := keyed(t)
	const path = "/collections/kommuner/items?limit=1"
	other := a.key[:len(a.key)-1] + "0"
	if other == a.key {
		other = a.key[:len(a.key)-1] + "1"
	}
	for name, tt := range map[string]struct {
		header []string
		status int
	}{
		"X-API-Key":                {[]string{"X-API-Key", a.key}, 200},
		"bearer":                   {[]string{"Authorization", "Bearer " + a.key}, 200},
		"basic, any user":          {[]string{"Authorization", basic("apikey", a.key)}, 200},
		"basic, no user":           {[]string{"Authorization", basic("", a.key)}, 200},
		"cookie":                   {[]string{"Cookie", apikey.Cookie + "=" + a.key}, 200},
		"the same twice":           {[]string{"X-API-Key", a.key, "Authorization", "Bearer " + a.key}, 200},
		"two that differ":          {[]string{"X-API-Key", a.key, "Authorization", "Bearer " + other}, 401},
		"wrong":                    {[]string{"X-API-Key", other}, 401},
		"nonsense":                 {[]string{"X-API-Key", "hello"}, 401},
		"empty basic":              {[]string{"Authorization", "Basic "}, 401},
		"basic that is not base64": {[]string{"Authorization", "Basic %%%"}, 401},
		"another scheme":           {[]string{"Authorization", "Negotiate abc"}, 401},
	} {
		r := a.get(path, tt.header...)
		if r.StatusCode != tt.status {
			t.Errorf("%s: %d, want %d", name, r.StatusCode, tt.status)
		}
		if r.StatusCode == 401 && (len(r.Header.Values("WWW-Authenticate")) != 2 ||
			!strings.HasPrefix(r.Header.Get("WWW-Authenticate"), `ApiKey realm="data"`)) {
			t.Errorf("%s: WWW-Authenticate %q", name, r.Header.Values("WWW-Authenticate"))
		}
		if r.StatusCode == 200 && (r.Header.Get("Cache-Control") != "private, no-cache" ||
			!strings.Contains(r.Header.Get("Vary"), "X-API-Key")) {
			t.Errorf("%s: Cache-Control %q, Vary %q", name, r.Header.Get("Cache-Control"), r.Header.Get("Vary"))
		}
	}
	// The server never reads the key from the URL: the parameter is unknown, and the message does not repeat the key.
	if r := a.get(path+"&api_key="+a.key, "X-API-Key", a.key).wants(400); strings.Contains(string(r.Body), a.key) {
		t.Errorf("the key is echoed: %s", r.Body)
	}
	a.get(path + "&X-API-Key=" + a.key).wants(401)
	if page := a.get(path, "Accept", "text/html").wants(401); len(page.Header.Values("WWW-Authenticate")) != 1 {
		t.Errorf("a browser would pop up a dialog: %q", page.Header.Values("WWW-Authenticate"))
	}
}

func TestUnauthorizedAnswersAreAlike(t *testing.T) {
	t.Parallel()
	a := keyed(t)
	body := func(header ...string) string {
		d := a.get("/collections/kommuner/items", header...).wants(401).json()
		delete(d, "instance")
		var b strings.Builder
		for _, k := range []string{"type", "title", "detail", "code", "description"} {
			b.WriteString(d[k].(string))
		}
		return b.String()
	}
	want := body()
	for _, k := range []string{"nonsense", a.key + "x", "grense_abcdefgh_0123456789012345678901234567890123456"} {
		if got := body("X-API-Key", k); got != want {
			t.Errorf("with %q: %s, without: %s", k, got, want)
		}
	}
}

func TestPageWithoutKeyShowsFormAndSchemaButNoData(t *testing.T) {
	t.Parallel()
	a := keyed(t)
	r := a.get("/v1/collections/kommuner/items?f=html").wants(401)
	page := string(r.Body)
	for _, want := range []string{"<form", `action="/v1/key?lang=nb"`, `name="key"`, "areal_km2", "Kommuner"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "Oslo") {
		t.Error("the page holds data")
	}
}

func TestKeyFormSetsTheCookie(t *testing.T) {
	t.Parallel()
	a := keyed(t)
	post := func(form url.Values, header ...string) *http.Response {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", a.URL+"/v1/key", strings.NewReader(form.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		return res
	}
	next := a.URL + "/v1/collections/kommuner/items?f=html"
	res := post(url.Values{"key": {a.key}, "next": {next}})
	if res.StatusCode != 303 || a.URL+res.Header.Get("Location") != next || len(res.Cookies()) != 1 {
		t.Fatalf("%d, Location %q, cookies %v", res.StatusCode, res.Header.Get("Location"), res.Cookies())
	}
	if ck := res.Cookies()[0]; !ck.HttpOnly || ck.SameSite != http.SameSiteStrictMode || ck.Value != a.key ||
		ck.Secure {
		t.Errorf("cookie %+v", ck)
	}
	a.get("/v1/collections/kommuner/items?f=html", "Cookie", apikey.Cookie+"="+a.key).wants(200)
	for _, evil := range []string{"https://evil.example/", "//evil.example", a.URL + ".evil.example/", `/\evil.example`,
		"javascript:alert(1)", a.URL + "evil.example"} {
		if res := post(url.Values{"key": {a.key}, "next": {evil}}); res.Header.Get("Location") != "/v1/collections" {
			t.Errorf("next=%s leads to %s", evil, res.Header.Get("Location"))
		}
	}
	if res := post(url.Values{"key": {a.key}, "next": {a.URL + "//evil.example/x"}}); res.Header.Get(
		"Location") != "/evil.example/x" {
		t.Errorf("a path that begins like a host leads to %s", res.Header.Get("Location"))
	}
	if res := post(url.Values{"key": {"wrong"}}); res.StatusCode != 401 || len(res.Cookies()) != 0 {
		t.Errorf("a wrong key: %d %v", res.StatusCode, res.Cookies())
	}
	if res := post(url.Values{"key": {""}}); res.StatusCode != 303 || res.Cookies()[0].MaxAge >= 0 {
		t.Errorf("an empty key: %d %v", res.StatusCode, res.Cookies())
	}
	if res := post(url.Values{"key": {a.key}}, "Sec-Fetch-Site", "cross-site"); res.StatusCode != 400 {
		t.Errorf("from another site: %d", res.StatusCode)
	}
	if res := post(url.Values{"key": {strings.Repeat("x", 10000)}}); res.StatusCode != 400 {
		t.Errorf("a long form: %d", res.StatusCode)
	}
}

func TestKeyFormKeepsTheLanguage(t *testing.T) {
	t.Parallel()
	a := keyed(t)
	if page := string(a.get("/key?f=html&lang=nn").wants(200).Body); !strings.Contains(page, `action="/key?lang=nn"`) {
		t.Error("the form goes to a page in another language")
	}
	form := "application/x-www-form-urlencoded"
	if page := string(a.post("/key?lang=nn", form, "key=wrong", "Accept-Language", "en").wants(
		401).Body); !strings.Contains(page, "<html lang=\"nn") {
		t.Errorf("after a wrong key: %.300s", page)
	}
	if to := a.post("/key?lang=nn", form, "key="+a.key, "Accept-Language", "en").wants(303).Header.Get(
		"Location"); to != "/collections?lang=nn" {
		t.Errorf("after a key: %s", to)
	}
}

func TestSecureCookieUnderHTTPS(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required"; c.BaseURL = "https://maps.example.org/geo" })
	req, _ := http.NewRequestWithContext(t.Context(), "POST", a.URL+"/geo/key",
		strings.NewReader(url.Values{"key": {a.key}}.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if ck := res.Cookies()[0]; !ck.Secure || ck.Path != "/geo/" {
		t.Errorf("cookie %+v", ck)
	}
}

func TestKeysReachNeitherLogsNorAnswers(t *testing.T) {
	t.Parallel()
	a := keyed(t)
	for _, p := range []string{"/collections/kommuner/items?limit=1", "/collections/" + a.key + "/items",
		"/collections/kommuner/items/" + a.key, "/?key=" + a.key, "/" + a.key,
		"/collections/kommuner/items?navn=" + a.key, "/collections/kommuner/items?f=" + a.key + "&f=html"} {
		for _, accept := range []string{"application/json", "text/html"} {
			r := a.get(p, "X-API-Key", a.key, "Accept", accept, "User-Agent", "agent "+a.key, "Referer", a.key)
			if strings.Contains(string(r.Body), a.key) || strings.Contains(r.Header.Get("Link"), a.key) {
				t.Errorf("%s as %s: the answer holds the key", p, accept)
			}
		}
	}
	if logs := a.logs.String(); strings.Contains(logs, a.key) || !strings.Contains(logs, "_***") {
		t.Error("the logs hold the key, or nothing was blotted out")
	}
	if m := httpGetMetrics(t, a); strings.Contains(m, a.key) || !strings.Contains(m, "grense_requests_total") {
		t.Error("the metrics hold the key, or nothing at all")
	}
}

func TestLogHasThePathOfTheRequestAndNoOneTimeCode(t *testing.T) {
	t.Parallel()
	a := keyed(t)
	a.get("/v1/conformance").wants(200)
	a.get("/v1/key?code=Code0123456789").wants(410)
	if logs := a.logs.String(); !strings.Contains(logs, `"path":"/v1/conformance"`) ||
		!strings.Contains(logs, `"path":"/v1/key"`) || strings.Contains(logs, "Code0123456789") {
		t.Errorf("log:\n%s", logs)
	}
}

func TestRevokedAndExpiredKeysAreRefused(t *testing.T) {
	t.Parallel()
	key, rec, err := apikey.New("old", time.Now().Add(-time.Minute), time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if apikey.Status(rec, time.Now()) != "expired" {
		t.Errorf("status %s", apikey.Status(rec, time.Now()))
	}
	a := keyed(t)
	a.get("/collections/kommuner/items", "X-API-Key", key).wants(401)
}
