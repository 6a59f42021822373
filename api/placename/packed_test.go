package placename_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strconv"
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
			hit := placename.PlainNil.AppendHits(nil, op, list.Slice(i, i+1).Interface().(placename.Hits))
			if x := p.Pack(hit); x != "" {
				packed, want = append(packed, x), append(want, hit...)
			}
		}
		if len(packed) == 0 {
			t.Errorf("%s: none of %d is packed", op, hits.Len())
		}
		m := &placename.MixedHits{Packer: p, Packed: packed, Others: list.Slice(0, 0).Interface().(placename.Hits)}
		if got := placename.PlainNil.AppendHits(nil, op, m); !bytes.Equal(got, want) || m.Size() != len(want) {
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

// TestHitsThatShareTextsTakeFewerBytes: once some were packed; those of before are written as they were, also when nothing more is learnt.
func TestHitsThatShareTextsTakeFewerBytes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	p := placename.NewHitPacker("findSteder")
	var packed []string
	var want []byte
	sizes := [2]int{}
	for i := range 4000 {
		h := placename.StedTreff{StedId: strconv.Itoa(i), Stedsnavn: "Nes " + strconv.Itoa(r.IntN(1000)), NavneobjekttypeId: "bekk", StedstatusId: "aktiv", LandId: "NO", KommunerIds: []string{strconv.Itoa(1000 + r.IntN(300))}}
		if i >= 2000 { // as many texts as can be
			h.NavneobjekttypeId, h.StedstatusId = strconv.Itoa(r.IntN(30)), strconv.Itoa(r.IntN(30))
		}
		hit := placename.PlainNil.AppendHits(nil, "findSteder", placename.StedTreffList{h})
		x := p.Pack(hit)
		if x == "" {
			t.Fatalf("not packed: %s", hit)
		}
		packed, want = append(packed, x), append(want, hit...)
		switch i {
		case 0:
			sizes[0] = len(x)
		case 1999:
			sizes[1] = len(x)
		}
	}
	if sizes[1] > sizes[0]*3/4 {
		t.Errorf("the first takes %d bytes, a later one %d", sizes[0], sizes[1])
	}
	if got := placename.PlainNil.AppendHits(nil, "findSteder", &placename.MixedHits{Packer: p, Packed: packed, Others: placename.StedTreffList{}}); !bytes.Equal(got, want) {
		t.Error("written as other hits")
	}
	long := placename.StedTreff{KommunerIds: make([]string, 5000)}
	if p.Pack(placename.PlainNil.AppendHits(nil, "findSteder", placename.StedTreffList{long})) != "" {
		t.Error("a hit of more bytes than its size has room for is packed")
	}
}
