package soap_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/problem"
	"grense/internal/soap"
)

// atHand answers with n hits that are all packed; lacking leaves one out, so that Next gives them.
func atHand(n int, lacking bool, failure error) search {
	list := make(placename.StedTreffList, n)
	p := placename.NewHitPacker("findSteder")
	packed := make([]string, n)
	for i := range list {
		list[i] = stedTreff
		packed[i] = p.Pack(placename.PlainNil.AppendHits(nil, "findSteder", list[i:i+1]))
	}
	return func(context.Context, placename.Request) (placename.Answer, error) {
		given := false
		return placename.Answer{
			Count: n,
			Next: func(context.Context) (placename.Hits, error) {
				if given {
					return nil, nil
				}
				given = true
				return list, nil
			},
			Ready: func(context.Context) (*placename.MixedHits, error) {
				if err := failure; err != nil {
					failure = nil
					return nil, err
				}
				if lacking {
					return nil, nil
				}
				return &placename.MixedHits{Packer: p, Packed: packed, Others: placename.StedTreffList{}}, nil
			},
		}, nil
	}
}

// taking is a writer that notes the sizes of what comes, and fails after some.
type taking struct {
	io.Writer
	sizes []int
	most  int
}

func (w *taking) Write(b []byte) (int, error) {
	if w.sizes = append(w.sizes, len(b)); len(w.sizes) > w.most {
		return 0, errors.New("the reader left")
	}
	return w.Writer.Write(b)
}

// inPieces is a service that takes answers in pieces, where pieces is not nil.
func inPieces(s search, pieces *taking, told *int) *soap.Service {
	return soap.New(soap.Config{Searcher: s, Address: func(*http.Request) string { return "https://example.org" + path }, Logger: slog.New(slog.DiscardHandler),
		Begin: func(w http.ResponseWriter, _ *http.Request, size int) io.Writer {
			if *told = size; pieces == nil {
				return nil
			}
			pieces.Writer = w
			return pieces
		}})
}

func TestAnswersWhoseHitsAreAtHandGoInPieces(t *testing.T) {
	t.Parallel()
	const n = 2000
	want := post(service(atHand(n, true, nil)), ct11, steder("")).Body.String()
	if got := strings.Count(want, "<t:item>"); got != n {
		t.Fatalf("%d hits", got)
	}
	changed := problem.New(problem.Unavailable, placename.ErrChanged, "")
	for name, c := range map[string]struct {
		search search
		whole  bool // is wanted
		told   bool
		pieces bool
	}{
		"at hand":               {atHand(n, false, nil), false, true, true},
		"wanted whole":          {atHand(n, false, nil), true, true, false},
		"some are to be read":   {atHand(n, true, nil), false, false, false},
		"the data have changed": {atHand(n, false, changed), false, true, true},
	} {
		pieces, told := &taking{most: 1000}, 0
		if c.whole {
			pieces = nil
		}
		w := post(inPieces(c.search, pieces, &told), ct11, steder(""))
		if w.Body.String() != want || w.Header().Get("Content-Type") != ct11 || c.told != (told == len(want)) || !c.whole && c.pieces != (len(pieces.sizes) > len(want)>>17) {
			t.Errorf("%s: %d bytes as %v, want %d; %d were told", name, w.Body.Len(), pieces, len(want), told)
		}
		for i := 0; !c.whole && i < len(pieces.sizes); i++ {
			if pieces.sizes[i] > 80<<10 {
				t.Errorf("%s: a piece of %d bytes", name, pieces.sizes[i])
			}
		}
	}
}

func TestAReaderThatLeavesBreaksAnAnswerInPiecesOff(t *testing.T) {
	t.Parallel()
	told := 0
	s := inPieces(atHand(2000, false, nil), &taking{most: 2}, &told)
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(steder("")))
	r.Header.Set("Content-Type", ct11)
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != http.ErrAbortHandler || w.Body.Len() == 0 || w.Body.Len() >= told {
			t.Errorf("%v, %d of %d bytes", p, w.Body.Len(), told)
		}
	}()
	s.ServeHTTP(w, r)
}
