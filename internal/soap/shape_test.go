package soap_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/soap"
)

// asked is what a service asks its searcher for, and how it answers.
type asked struct {
	service *soap.Service
	request string
}

func newAsked() *asked {
	a := &asked{}
	a.service = service(func(ctx context.Context, r placename.Request) (placename.Answer, error) {
		a.request = string(placename.AppendRequest(nil, r, base)) + fmt.Sprint(*r.Context())
		return sample(ctx, r)
	})
	return a
}

// post posts a message and tells the request and the answer.
func (a *asked) post(contentType, body string) string {
	a.request = ""
	w := post(a.service, contentType, body)
	return fmt.Sprint(w.Code, w.Header(), w.Body, a.request)
}

// TestMessagesThatDifferInTextsAreReadAsAnyOther: whatever messages came before, one is read as by a service that has seen none.
func TestMessagesThatDifferInTextsAreReadAsAnyOther(t *testing.T) {
	t.Parallel()
	texts := append([]string{"Oslo", "Ål", "a\nb", "a\r\nb", "a]]>b", "a>b", "\uFEFFx", "\uFFFD", "a&lt;b", "\u0085", "\u007f", "true", "false", "en", "nb", "<d:value>0301</d:value>", "</t:aar>", strings.Repeat("å", 1000)}, nastyTexts...)
	requests := valid()
	seen := newAsked()
	r := rand.New(rand.NewPCG(3, 7))
	accepted := 0
	for i := range 1000 {
		k := r.IntN(4) // few shapes, of which one is found again
		if i%10 == 0 {
			k = r.IntN(len(requests))
		}
		tokens := append([]string{}, requests[k]...)
		for n := range tokens {
			opens := strings.HasPrefix(tokens[n], "<") && !strings.HasPrefix(tokens[n], "</") && !strings.HasSuffix(tokens[n], "/>")
			if (opens && n+1 < len(tokens) && strings.HasPrefix(tokens[n+1], "</") || !strings.HasPrefix(tokens[n], "<")) && r.IntN(6) == 0 {
				text := texts[r.IntN(len(texts))]
				if opens {
					tokens[n] += text
				} else if strings.TrimSpace(tokens[n]) != "" {
					tokens[n] = text
				}
			}
		}
		body := strings.Join(tokens, "")
		if r.IntN(10) == 0 {
			body = mutate(r, requests[k])
		}
		contentType := []string{ct11, ct12}[k%2]
		got, want := seen.post(contentType, body), newAsked().post(contentType, body)
		if got != want {
			t.Fatalf("message %d:\n%s\ngot\n%s\nwant\n%s", i, body, got, want)
		}
		if strings.HasPrefix(got, fmt.Sprint(http.StatusOK)) {
			accepted++
		}
	}
	if accepted < 100 {
		t.Errorf("only %d of the messages are accepted", accepted)
	}
}

// BenchmarkFreshMessage reads a message that was not seen before, of a shape that was.
func BenchmarkFreshMessage(b *testing.B) {
	s := service(func(context.Context, placename.Request) (placename.Answer, error) { return placename.Answer{}, nil })
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		post(s, ct11, steder(fmt.Sprintf("<t:stedsnavn>Ternelva %d</t:stedsnavn>", i)))
	}
}
