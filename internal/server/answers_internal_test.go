package server

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"grense/internal/config"
)

// TestOneRequestMakesAnAnswer: who asks meanwhile waits for it, and not for long when it takes its time or comes to nothing.
func TestOneRequestMakesAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswers(1<<20, nil)
		c := &call{s: &Server{answers: a}, r: httptest.NewRequest("GET", "/", nil)}
		k := answerKey{path: "/x"}
		if a.again(k) || !a.again(k) {
			t.Error("the second request is not told from the first")
		}
		if a.begin(k) != nil {
			t.Fatal("nobody makes it yet")
		}
		busy := a.begin(k)
		if busy == nil {
			t.Fatal("two make one answer")
		}
		start := time.Now()
		if c.awaitAnswer(busy, k) != nil || time.Since(start) != answerWait {
			t.Errorf("waited %v for what takes its time", time.Since(start))
		}
		go func() {
			time.Sleep(answerWait / 5)
			a.Put(k, &keptAnswer{state: "s", day: "d"}, 1)
			a.end(k)
		}()
		start = time.Now()
		if made := c.awaitAnswer(busy, k); !made.of("s", "d") || made.of("s", "e") || made.of("r", "d") || time.Since(start) != answerWait/5 {
			t.Errorf("got %v after %v", made, time.Since(start))
		}
		if a.begin(k) != nil {
			t.Error("an answer that was made is made for ever")
		}
	})
}

// TestWholeAnswersOfSOAPMayBeKept: by default there is room for the largest answer that SOAP makes whole.
func TestWholeAnswersOfSOAPMayBeKept(t *testing.T) {
	a := newAnswers(int64(config.Default().Limits.Answers), nil)
	if a.most < wholeSOAP || !a.Put(answerKey{}, &keptAnswer{}, wholeSOAP+4<<10) {
		t.Errorf("%d bytes of one answer are kept, want %d", a.most, wholeSOAP)
	}
}
