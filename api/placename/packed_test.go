package placename_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"grense/api/placename"
)

// TestPackedHitsAreWrittenAsHits: at once and in pieces, whose sizes add up to what is told before.
func TestPackedHitsAreWrittenAsHits(t *testing.T) {
	t.Parallel()
	for op, hits := range lists(rand.New(rand.NewPCG(3, 4)), 40) {
		p, list := placename.NewHitPacker(op), reflect.ValueOf(hits)
		var packed []string
		var want []byte
		for i := range hits.Len() {
			hit := placename.AppendHits(nil, op, list.Slice(i, i+1).Interface().(placename.Hits))
			if x := p.Pack(hit); x != "" {
				packed, want = append(packed, x), append(want, hit...)
			}
		}
		if len(packed) == 0 {
			t.Errorf("%s: none of %d is packed", op, hits.Len())
		}
		m := &placename.MixedHits{Packer: p, Packed: packed, Others: list.Slice(0, 0).Interface().(placename.Hits)}
		if got := placename.AppendHits(nil, op, m); !bytes.Equal(got, want) || m.Size() != len(want) {
			t.Errorf("%s: size %d of\n%s\nwant\n%s", op, m.Size(), got, want)
		}
		for _, most := range []int{1, 500, 5000, 1 << 20} {
			var got []byte
			for from, next := 0, 0; from < len(packed); from = next {
				var piece []byte
				if piece, next = m.AppendSome(nil, from, most); next == from || len(piece) < most && next < len(packed) {
					t.Fatalf("%s: from %d to %d in %d bytes, want %d", op, from, next, len(piece), most)
				}
				got = append(got, piece...)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: in pieces of %d bytes\n%s\nwant\n%s", op, most, got, want)
			}
		}
	}
}
