package soap_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/problem"
	"grense/internal/soap"
)

func TestEveryOperationAnswersInBothVersionsAndBases(t *testing.T) {
	t.Parallel()
	documents := map[string][]byte{}
	s := soap.New(
		soap.Config{
			Searcher:      search(sample),
			NamespaceBase: "urn:example:ssr",
			Address:       func(*http.Request) string { return "" },
			Logger:        textLogger(io.Discard),
		},
	)
	for _, o := range placename.TheContract().Operations {
		for _, v := range []struct {
			soap12      bool
			contentType string
		}{{false, ct11}, {true, ct12}} {
			for _, b := range []string{base, "urn:example:ssr"} {
				w := post(s, v.contentType, string(placename.ExampleRequest(o.Name, v.soap12, b)))
				if a := read(t, w); a.fault || a.status != http.StatusOK ||
					w.Header().Get("Content-Type") != v.contentType {
					t.Errorf("%s: %s", o.Name, w.Body)
				}
				if !strings.Contains(w.Body.String(), `xmlns:q="`+b+`/service/soek"`) {
					t.Errorf("%s: the answer to %s is in another base", o.Name, b)
				}
				if b == base {
					documents[o.Name+"-"+v.contentType[:4]] = w.Body.Bytes()
				}
			}
		}
	}
	validate(t, documents)
}

func TestEmptyAnswerIsAnEmptyList(t *testing.T) {
	t.Parallel()
	w := post(service(nil), ct11, steder(`<t:stedsnavn>Zz</t:stedsnavn>`))
	if !strings.Contains(w.Body.String(), `<q:return></q:return>`) {
		t.Errorf("%s", w.Body)
	}
}

func TestSearcherGetsTheRequest(t *testing.T) {
	t.Parallel()
	var got placename.Request
	s := service(func(_ context.Context, r placename.Request) (placename.Answer, error) {
		got = r
		return placename.Answer{}, nil
	})
	post(
		s,
		ct11,
		steder(
			`<t:stedsnavn>Kárášjohka</t:stedsnavn><t:kommunerIds><ko:item><d:value>5610</d:value></ko:item>`+
				`</t:kommunerIds>`,
		),
	)
	r, ok := got.(*placename.FindSteder)
	if !ok || *r.StedSoek.Stedsnavn != "Kárášjohka" || r.StedSoek.KommunerIds[0] != "5610" || !r.BeregnVisningsnavn ||
		r.InkluderGeometri ||
		r.Locale != "en" {
		t.Errorf("%+v", got)
	}
}

func TestErrorsOfSearchesBecomeFaults(t *testing.T) {
	t.Parallel()
	secret := errors.New("secret")
	documents := map[string][]byte{}
	for name, c := range map[string]struct {
		err              error
		want11, want12   string
		message, inclass string
	}{
		"refusal": {refusal(&placename.FindSteder{}, "stedSoek/stedsnavn", "x*", placename.FewLiterals, 2),
			"500 Client VALIDATION", "400 Sender VALIDATION",
			`findSteder/stedSoek/stedsnavn = "x*": a pattern needs at least 2 characters other than * and ?.`,
			"ValidationException"},
		"hits": {refusal(&placename.FindSteder{}, "stedSoek", "", placename.TooManyHits, 5000),
			"500 Client LIMIT_EXCEEDED", "400 Sender LIMIT_EXCEEDED", "5000", "LimitExceededException"},
		"invalid": {&problem.Error{Kind: problem.Invalid,
			Faults: []problem.Fault{{Param: "aar", Value: "x", Cure: "give a year"}}, Err: secret},
			"500 Client VALIDATION", "400 Sender VALIDATION", `aar = "x": give a year.`, "ValidationException"},
		"timeout": {problem.New(problem.Timeout, secret, ""), "500 Server TIMEOUT", "500 Receiver TIMEOUT",
			"too long", "TimeoutException"},
		"deadline": {context.DeadlineExceeded, "500 Server TIMEOUT", "500 Receiver TIMEOUT", "too long",
			"TimeoutException"},
		"unavailable": {problem.New(problem.Unavailable, secret, ""), "503 Server UNAVAILABLE",
			"503 Receiver UNAVAILABLE", "not available", "UnavailableException"},
		"busy": {problem.New(problem.Busy, secret, ""), "503 Server UNAVAILABLE", "503 Receiver UNAVAILABLE",
			"busy", "UnavailableException"},
		"too many": {problem.New(problem.TooMany, secret, ""), "429 Client LIMIT_EXCEEDED",
			"429 Sender LIMIT_EXCEEDED", "Too many requests", "LimitExceededException"},
		"gone": {problem.New(problem.Gone, secret, "it was split"), "500 Client VALIDATION",
			"400 Sender VALIDATION", "it was split", "ValidationException"},
		"internal": {secret, "500 Server INTERNAL", "500 Receiver INTERNAL", "internal error", "InternalException"},
		// not by the client
		"canceled": {context.Canceled, "500 Server INTERNAL", "500 Receiver INTERNAL", "internal error",
			"InternalException"},
	} {
		for _, next := range []bool{false, true} { // the search fails, or its first batch
			s := service(func(context.Context, placename.Request) (placename.Answer, error) {
				if next {
					return placename.Answer{Count: 1, Next: func(context.Context) (placename.Hits, error) {
						return nil, c.err
					}}, nil
				}
				return placename.Answer{}, c.err
			})
			w11 := post(s, ct11, steder(""))
			w12 := post(s, ct12, strings.Replace(steder(""), placename.Envelope11, placename.Envelope12, 1))
			for want, w := range map[string]*httptest.ResponseRecorder{c.want11: w11, c.want12: w12} {
				a := read(t, w)
				if a.String() != want || !strings.Contains(a.message, c.message) || a.message != a.reason ||
					a.class != c.inclass ||
					a.trace != "id-1" ||
					a.lang != "en" {
					t.Errorf("%s: %s %+v, want %s", name, a, a, want)
				}
				if strings.Contains(w.Body.String(), "secret") {
					t.Errorf("%s: the cause is told", name)
				}
				if (w.Header().Get("Retry-After") != "") != (w.Code == http.StatusServiceUnavailable ||
					w.Code == http.StatusTooManyRequests) {
					t.Errorf("%s: Retry-After %q with %d", name, w.Header().Get("Retry-After"), w.Code)
				}
			}
			documents[name+"11"], documents[name+"12"] = w11.Body.Bytes(), w12.Body.Bytes()
		}
	}
	validate(t, documents)
}

func TestDetailInEnglishIsToldWhereItHelps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   problem.Kind
		locale string
		told   bool
	}{
		{problem.Invalid, "nb", true}, {problem.Invalid, "en", true}, {problem.TooLarge, "nn", true},
		{problem.Unavailable, "en", true}, {problem.Unavailable, "nb", false}, {problem.Timeout, "nn", false},
		{problem.Internal, "en", false},
	} {
		s := service(func(context.Context, placename.Request) (placename.Answer, error) {
			return placename.Answer{}, problem.New(c.kind, nil, "the detail")
		})
		a := read(t, post(s, ct11, strings.Replace(steder(""), "<d:locale>en", "<d:locale>"+c.locale, 1)))
		if strings.Contains(a.message, "the detail") != c.told {
			t.Errorf("%s in %s: %s", c.kind, c.locale, a.message)
		}
	}
}

func TestMessagesAreInTheLanguageOfTheContext(t *testing.T) {
	t.Parallel()
	for locale, want := range map[string]string{"no_NO": "nb må være", "nn": "nn må vere", "en_US": "en must be",
		"xx": "nb må være", "": "nb må være"} {
		w := post(service(nil), ct11,
			strings.Replace(steder(`<t:avansertSoek>ja</t:avansertSoek>`), "<d:locale>en", "<d:locale>"+locale, 1))
		lang, text, _ := strings.Cut(want, " ")
		if a := read(t, w); a.lang != lang || !strings.Contains(a.message, "findSteder/stedSoek/avansertSoek = ") ||
			!strings.Contains(a.message, text) {
			t.Errorf("%s: %+v", locale, a)
		}
	}
}

// big answers with n batches of the number of hits given, then with err.
func big(batches, n int, err error) search {
	return func(context.Context, placename.Request) (placename.Answer, error) {
		list := make(placename.StedTreffList, n)
		for i := range list {
			list[i] = stedTreff
		}
		return placename.Answer{Count: batches * n, Next: func(context.Context) (placename.Hits, error) {
			if batches == 0 {
				return nil, err
			}
			batches--
			return list, nil
		}}, nil
	}
}

func TestSmallAnswersHaveALengthAndLargeOnesGoInParts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		batches int
		whole   bool
	}{"below 4 MB": {2, true}, "above": {20, false}} {
		w, length, err := overHTTP(t, service(big(c.batches, 1000, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if a := read(t, w); a.fault || strings.Count(w.Body.String(), "<t:item>") != c.batches*1000 ||
			(length > 0) != c.whole {
			t.Errorf("%s: length %d of %d, %+v", name, length, w.Body.Len(), a)
		}
	}
}

// TestNoBufferWaitsWithASearch: an answer whose first hits wait for their turn holds no buffer, which may be that of
// a large answer before.
func TestNoBufferWaitsWithASearch(t *testing.T) {
	t.Parallel()
	held := false
	s := soap.New(soap.Config{
		Searcher: search(func(ctx context.Context, r placename.Request) (placename.Answer, error) {
			a, err := sample(ctx, r)
			next := a.Next
			a.Next = func(ctx context.Context) (placename.Hits, error) {
				hits, err := next(ctx)
				if hits != nil && held {
					t.Error("a buffer is held before there are hits")
				}
				return hits, err
			}
			return a, err
		}),
		Address: func(*http.Request) string { return "https://example.org" + path },
		Hold: func(int, int) (int, error) {
			held = true
			return 1 << 20, nil
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	if w := post(s, ct11, steder(`<t:stedsnavn>Oslo</t:stedsnavn>`)); w.Code != http.StatusOK ||
		strings.Count(w.Body.String(), "<q:return>") != 1 ||
		!held {
		t.Errorf("%d, %t, %s", w.Code, held, w.Body)
	}
}

// TestMemoryOfAnAnswerIsUsedAgain: the next large answer takes the memory of the one before, up to the size that is
// sent at once.
func TestMemoryOfAnAnswerIsUsedAgain(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which empties what is used again
	batches := 1
	s := service(func(ctx context.Context, r placename.Request) (placename.Answer, error) {
		return big(batches, 500, nil)(ctx, r)
	})
	size := post(s, ct11, steder("")).Body.Len()
	for _, share := range []int{2, 8, 15} {
		batches = share * (8 << 20) / 16 / size
		least := uint64(math.MaxUint64)
		for range 8 { // some memory may be dropped
			var before, after runtime.MemStats
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(steder("")))
			r.Header.Set("Content-Type", ct11)
			runtime.ReadMemStats(&before)
			s.ServeHTTP(nowhere{}, r)
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		if least > 1<<20 {
			t.Errorf("an answer of %d bytes takes %d more each time", batches*size, least)
		}
	}
}

// nowhere takes an answer and keeps nothing of it.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// overHTTP requests all places over a connection: what came, its Content-Length, and how the reading of it
// failed.
func overHTTP(t *testing.T, s http.Handler) (*httptest.ResponseRecorder, int64, error) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	r, err := http.Post(server.URL+path, ct11, strings.NewReader(steder("")))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	w := httptest.NewRecorder()
	_, err = w.Body.ReadFrom(r.Body)
	return w, r.ContentLength, err
}

func TestLateFailureAbortsTheConnection(t *testing.T) {
	t.Parallel()
	w, _, err := overHTTP(t, service(big(20, 1000, errors.New("late"))))
	if err == nil {
		t.Errorf("%d bytes came without an error", w.Body.Len())
	}
	if strings.Contains(w.Body.String(), "Fault") {
		t.Error("a fault stands in a half-sent answer")
	}
}

// TestSearchIsBegunAnewWhenTheDataChange: nothing of the state that is gone is in the answer; data that never rest
// are a fault.
func TestSearchIsBegunAnewWhenTheDataChange(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ searches, status int }{"once": {2, http.StatusOK},
		"always": {1000, http.StatusServiceUnavailable}} {
		n := 0
		s := service(func(ctx context.Context, r placename.Request) (placename.Answer, error) {
			n++
			a, err := sample(ctx, r)
			if n >= tt.searches || err != nil {
				return a, err
			}
			next := a.Next
			first := true
			a.Next = func(ctx context.Context) (placename.Hits, error) {
				if first {
					first = false
					return next(ctx)
				}
				return nil, problem.New(problem.Unavailable, placename.ErrChanged, "")
			}
			return a, nil
		})
		w := post(s, ct11, steder(`<t:stedsnavn>Oslo</t:stedsnavn>`))
		if w.Code != tt.status || tt.status == http.StatusOK && strings.Count(w.Body.String(), "<q:return>") != 1 {
			t.Errorf("%s: %d after %d searches: %s", name, w.Code, n, w.Body)
		}
	}
}

func TestClientThatLeftGetsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := service(func(ctx context.Context, _ placename.Request) (placename.Answer, error) {
		cancel()
		return placename.Answer{}, ctx.Err()
	})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(steder("")))
	r.Header.Set("Content-Type", ct11)
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != http.ErrAbortHandler || w.Body.Len() > 0 {
			t.Errorf("%v, %s", p, w.Body)
		}
	}()
	s.ServeHTTP(w, r)
}

func TestServerWritesFaultsBeforeTheMessageIsRead(t *testing.T) {
	t.Parallel()
	for kind, want := range map[problem.Kind]string{
		problem.Unauthorized: "401 Client AUTHENTICATION",
		problem.Forbidden:    "403 Client AUTHENTICATION",
		problem.Unavailable:  "503 Server UNAVAILABLE",
		problem.Busy:         "503 Server UNAVAILABLE",
		problem.TooMany:      "429 Client LIMIT_EXCEEDED",
		problem.Gone:         "410 Client VALIDATION",
		problem.Precondition: "412 Client ",
		problem.Range:        "416 Client ",
		problem.TooLarge:     "413 Client LIMIT_EXCEEDED",
		problem.Method:       "405 Client ",
		problem.MediaType:    "415 Client ",
		problem.NotFound:     "404 Client VALIDATION",
		problem.Invalid:      "500 Client VALIDATION",
		problem.Timeout:      "500 Server TIMEOUT",
		problem.Internal:     "500 Server INTERNAL",
	} {
		w := httptest.NewRecorder()
		service(nil).WriteFault(w, httptest.NewRequest(http.MethodPost, path, nil), &problem.Error{Kind: kind})
		if a := read(t, w); a.String() != want || a.lang != "nb" {
			t.Errorf("%s: %s, want %s", kind, a, want)
		}
	}
	for _, kind := range problem.Kinds { // none may be forgotten
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Header.Set("Content-Type", ct12)
		w := httptest.NewRecorder()
		service(nil).WriteFault(w, r, &problem.Error{Kind: kind})
		if read(t, w); w.Header().Get("Content-Type") != ct12 {
			t.Errorf("%s: %s", kind, w.Header().Get("Content-Type"))
		}
	}
}
