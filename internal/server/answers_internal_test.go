package server

import (
	"testing"

	"grense/internal/config"
)

// TestWholeAnswersOfSOAPMayBeKept: by default the cache has room for the largest SOAP response that is built in
// memory.
func TestWholeAnswersOfSOAPMayBeKept(t *testing.T) {
	const wholeSOAP = 8 << 20
	a := newAnswers(int64(config.Default().Limits.Answers), nil)
	if a.most < wholeSOAP || !a.Put(answerKey{}, &cachedResponse{}, wholeSOAP+4<<10) {
		t.Errorf("%d bytes of one answer are kept, want %d", a.most, wholeSOAP)
	}
}
