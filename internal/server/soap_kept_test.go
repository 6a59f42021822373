package server_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite/sqlitex"

	"grense/api/placename"
	"grense/internal/await"
	"grense/internal/config"
)

// askedBefore posts until the response comes from the cache, and returns it.
func (a *api) askedBefore(media, body string, header ...string) answer {
	a.t.Helper()
	var r answer
	await.True(a.t, fmt.Sprintf("cached: %.500s", body), func() bool {
		r = a.post(endpoint, media, body, header...).wants(http.StatusOK)
		return a.wasCached(r)
	})
	return r
}

func unzipped(r answer) string {
	if r.Header.Get("Content-Encoding") == "gzip" {
		return string(gunzip(r.t, r.Body))
	}
	return string(r.Body)
}

// enveloped is a SOAP 1.1 message with r.
func enveloped(r placename.Request) string {
	return `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>` +
		string(placename.AppendRequest(nil, r, placename.DefaultBase)) + `</S:Body></S:Envelope>`
}

// TestKeptSearchesAreWhatIsFound: a cached search result equals, byte for byte, that of a server without a cache, in
// each version and coding.
func TestKeptSearchesAreWhatIsFound(t *testing.T) {
	t.Parallel()
	kept := serveRegister(t, nil)
	made := serveStore(t, kept.store, func(c *config.Config) { keepsNone(c); c.BaseURL = kept.URL })
	messages := map[string][]string{"text/xml; charset=utf-8": nil, "application/soap+xml; charset=utf-8": nil}
	for _, op := range placename.TheContract().Operations {
		for media := range messages {
			messages[media] = append(messages[media], string(
				placename.ExampleRequest(op.Name, strings.HasPrefix(media, "application"), placename.DefaultBase)))
		}
	}
	some := "*berg*"
	messages["text/xml; charset=utf-8"] = append(messages["text/xml; charset=utf-8"],
		enveloped(&placename.FindSteder{StedSoek: placename.StedSoek{Stedsnavn: &some}}),
		enveloped(&placename.FindSkrivemaater{SkrivemaateSoek: placename.SkrivemaateSoek{Stedsnavn: &some},
			Flags: placename.Flags{BeregnVisningsnavn: true, InkluderGeometri: true}}))
	for media, list := range messages {
		for _, message := range list {
			for _, coding := range []string{"gzip", "identity"} {
				want := made.post(endpoint, media, message, "Accept-Encoding", coding).wants(http.StatusOK)
				got := kept.askedBefore(media, message, "Accept-Encoding", coding)
				if a, b := unzipped(got), unzipped(want); a != b {
					t.Errorf("%.300s, %s: the kept answer is\n%.500s\nwant\n%.500s", message, coding, a, b)
				}
				for _, name := range sameHeaders {
					if a, b := got.Header.Values(name), want.Header.Values(name); !slices.Equal(a, b) {
						t.Errorf("%.300s, %s: %s is %q, want %q", message, coding, name, a, b)
					}
				}
				if n := got.Header.Get("Content-Length"); n != strconv.Itoa(len(got.Body)) {
					t.Errorf("%s: length %s of %d bytes", coding, n, len(got.Body))
				}
			}
		}
	}
}

// TestSearchesAreKeptOnceThereAreFiles: building a file does not remove cached searches, since no search result
// contains its size.
func TestSearchesAreKeptOnceThereAreFiles(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.DataDir = t.TempDir() })
	a.makeFiles(t, "sted")
	a.askedBefore("text/xml", string(placename.ExampleRequest("findSteder", false, placename.DefaultBase)))
}

// TestKeptSearchesAreOfTheQuestion: messages with the same criteria share a cache entry, however they are written and
// whatever they say of their sender. Other criteria have their own entry, and so has a message to which the response
// must refer.
func TestKeptSearchesAreOfTheQuestion(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, nil)
	name, other := "*berg*", "*vik*"
	r := placename.FindSteder{StedSoek: placename.StedSoek{Stedsnavn: &name}}
	const media = "text/xml"
	want := a.askedBefore(media, enveloped(&r))
	again := r
	again.StedsnavnContext = placename.StedsnavnContext{ClientIdentification: "another", SystemVersion: "2",
		Locale: "en"}
	if got := a.post(endpoint, media, strings.ReplaceAll(enveloped(&again), "S:",
		"soapenv:")+"<!-- again -->"); got.StatusCode == http.StatusOK {
		t.Fatalf("%.300s", got.Body) // the prefix is not declared
	}
	shared := strings.ReplaceAll(strings.ReplaceAll(enveloped(&again), "S:", "soapenv:"), "xmlns:S=",
		"xmlns:soapenv=") + "\n<!-- again -->"
	if got := a.post(endpoint, media, shared).wants(http.StatusOK); !a.wasCached(got) ||
		string(got.Body) != string(want.Body) {
		t.Errorf("the same question of another program: kept %v, %.300s", a.wasCached(got), got.Body)
	}
	if !strings.Contains(a.logs.String(), `"client":"another"`) {
		t.Error("the log does not name the second program")
	}
	for what, change := range map[string]func(*placename.FindSteder){
		"name":    func(r *placename.FindSteder) { r.StedSoek.Stedsnavn = &other },
		"flag":    func(r *placename.FindSteder) { r.InkluderGeometri = true },
		"and":     func(r *placename.FindSteder) { r.StedSoek.KommunerIds = []string{"0301"} },
		"no data": func(r *placename.FindSteder) { r.StedSoek.LandId = new("SE") },
	} {
		changed := r
		change(&changed)
		if got := a.post(endpoint, media, enveloped(&changed)).wants(http.StatusOK); a.wasCached(got) ||
			string(got.Body) == string(want.Body) {
			t.Errorf("another %s has the answer of the first question", what)
		}
	}
	const header = `<S:Header xmlns:w="http://www.w3.org/2005/08/addressing">` +
		`<w:MessageID S:mustUnderstand="1">urn:id:%</w:MessageID></S:Header><S:Body>`
	for _, id := range []string{"1", "2", "3"} {
		got := a.post(endpoint, media, strings.Replace(enveloped(&r), "<S:Body>", strings.Replace(header, "%", id, 1),
			1)).wants(http.StatusOK)
		if !strings.Contains(string(got.Body), "urn:id:"+id) {
			t.Errorf("message %s: %.500s", id, got.Body)
		}
	}
}

// TestKeptSearchesNeedAKey: a result that was cached for a client with a key is refused to one without a key, and to
// one whose rate is used up.
func TestKeptSearchesNeedAKey(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.Auth = "required" })
	message := string(placename.ExampleRequest("findSteder", false, placename.DefaultBase))
	a.askedBefore("text/xml", message, "X-API-Key", a.key)
	a.post(endpoint, "text/xml", message).wants(http.StatusUnauthorized)
	a.post(endpoint, "text/xml", message, "X-API-Key", a.key+"x").wants(http.StatusUnauthorized)
	b, refused := serveRegister(t, func(c *config.Config) { c.Limits.Rate, c.SOAP.HTTPStatus = 1, 0 }), 0
	for range 60 {
		if r := b.post(endpoint, "text/xml", message); r.StatusCode != http.StatusOK {
			refused++
		}
	}
	if refused == 0 {
		t.Error("none of 60 searches was refused at one a second")
	}
}

// swappingBody is a message that swaps the data before its first byte is read.
type swappingBody struct {
	io.Reader
	swap func()
}

func (b *swappingBody) Read(p []byte) (int, error) {
	if b.swap != nil {
		b.swap()
		b.swap = nil
	}
	return b.Reader.Read(p)
}

// TestSearchesAreAnsweredWhileTheDataAreSwapped: if the data are replaced while the server reads a search message, it
// searches the new data.
func TestSearchesAreAnsweredWhileTheDataAreSwapped(t *testing.T) {
	t.Parallel()
	if onPostGIS() {
		t.Skip("a file is replaced")
	}
	path := copyOfRegister(t)
	a := serveStore(t, openGeoPackage(t, path), nil)
	name := "*berg*"
	message := enveloped(&placename.FindSteder{StedSoek: placename.StedSoek{Stedsnavn: &name}})
	for n := range 3 {
		status := "status" + strconv.Itoa(n)
		a.askedBefore("text/xml", message)
		code, got := a.postWhileSwapped(path, status, endpoint, "text/xml", message)
		if code != http.StatusOK || !strings.Contains(got, status) {
			t.Errorf("swap %d: status %d, %.500s", n, code, got)
		}
	}
	typed := url.Values{"operation": {"findSteder"}, "Stedsnavn": {name}}
	if code, got := a.postWhileSwapped(path, "status9", "/soap/stedsnavn/v1?f=html",
		"application/x-www-form-urlencoded", typed.Encode()); code != http.StatusOK ||
		!strings.Contains(got, "status9") {
		t.Errorf("by form: status %d, %.500s", code, got)
	}
}

// postWhileSwapped posts a message. Before the server reads its first byte, a register whose places have another
// status replaces the one at path.
func (a *api) postWhileSwapped(path, status, to, media, message string) (code int, got string) {
	t := a.t
	t.Helper()
	return a.postAfter(func() {
		next := copyOfRegister(t)
		if err := sqlitex.Execute(writable(t, next), "UPDATE sted SET stedstatus = ?",
			&sqlitex.ExecOptions{Args: []any{status}}); err != nil {
			t.Error(err)
		}
		if err := errors.Join(os.Rename(next, path), a.srv.Reload(t.Context())); err != nil {
			t.Error(err)
		}
	}, to, media, message)
}

// postAfter posts a message. It calls swap when the server handles the request, before the first byte of the message
// is read.
func (a *api) postAfter(swap func(), to, media, message string) (code int, got string) {
	t := a.t
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL+to,
		&swappingBody{Reader: strings.NewReader(message), swap: swap})
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	req.Header.Set("Origin", a.URL)
	req.Header.Set("Expect", "100-continue")
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute, DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// copyOfRegister returns the path of a file with the register, which the test may write into.
func copyOfRegister(t testing.TB) string {
	t.Helper()
	from, err := registerFile()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "register.gpkg")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestKeptSearchesFollowTheData: a search after a change finds the change.
func TestKeptSearchesFollowTheData(t *testing.T) {
	t.Parallel()
	if onPostGIS() {
		t.Skip("TestKeptAnswersFollowWriters has it for databases")
	}
	path := copyOfRegister(t)
	a := serveStore(t, openGeoPackage(t, path), nil)
	db := writable(t, path)
	name := "*berg*"
	message := enveloped(&placename.FindSteder{StedSoek: placename.StedSoek{Stedsnavn: &name}})
	for n := range 3 {
		status := "status" + strconv.Itoa(n)
		if err := sqlitex.Execute(db, "UPDATE sted SET stedstatus = ?",
			&sqlitex.ExecOptions{Args: []any{status}}); err != nil {
			t.Fatal(err)
		}
		if r := a.post(endpoint, "text/xml", message).wants(http.StatusOK); !strings.Contains(string(r.Body), status) ||
			a.wasCached(r) {
			t.Errorf("after change %d: kept %v, %.500s", n, a.wasCached(r), r.Body)
		}
		if r := a.askedBefore("text/xml", message); !strings.Contains(string(r.Body), status) {
			t.Errorf("kept after change %d: %.500s", n, r.Body)
		}
	}
}

// TestSearchesStateTheirLength: the response to a repeated search states its length, whether it is built, cached or
// compressed.
func TestSearchesStateTheirLength(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*config.Config){keepsNone, nil} {
		a := serveRegister(t, change)
		name, since := "nes*", time.Unix(0, 0)
		for _, search := range []placename.StedSoek{{OppdatertEtter: &since}, {Stedsnavn: &name}} {
			message := enveloped(&placename.FindSteder{StedSoek: search})
			want := a.post(endpoint, "text/xml", message, "Accept-Encoding", "identity").wants(http.StatusOK)
			for i := range 6 {
				coding := []string{"identity", "gzip"}[i%4/3]
				got := a.post(endpoint, "text/xml", message, "Accept-Encoding", coding).wants(http.StatusOK)
				if unzipped(got) != string(want.Body) || got.Header.Get("Content-Length") != strconv.Itoa(
					len(got.Body)) {
					t.Errorf("%v, time %d, %s: length %s of %d bytes, of which read first %d", search, i, coding,
						got.Header.Get("Content-Length"), len(got.Body), len(want.Body))
				}
				for _, field := range sameHeaders {
					if x, y := got.Header.Values(field), want.Header.Values(field); coding == "identity" &&
						!slices.Equal(x, y) {
						t.Errorf("%v, time %d: %s is %q, want %q", search, i, field, x, y)
					}
				}
			}
		}
	}
}
