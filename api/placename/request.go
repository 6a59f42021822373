package placename

import (
	"context"
	"errors"
	"time"
)

// Request is one of the eleven requests. The list is closed: *FindNavnesaker, *FindSteder,
// *FindStederForMatrikkelenhetreferanse, *FindStedsnavn, *FindStedsnavnForMatrikkelenhetreferanse, *FindSkrivemaater,
// *FindSkrivemaaterForMatrikkelenhetreferanse, *FindVedtak, *FindSamlevedtak, *FindBoeker, *FindKartprodukter. Fields
// have the contract's names with an upper-case first letter.
type Request interface {
	// Operation returns the name in the contract: "findSteder".
	Operation() string
	// Context returns the context object; never nil.
	Context() *StedsnavnContext
	request()
}

// StedsnavnContext names the caller. Children that the request lacks are empty.
type StedsnavnContext struct {
	SystemVersion        string
	ClientIdentification string
	Locale               string    // LangOf reads it
	SnapshotVersion      time.Time // zero when absent
}

// Context returns c itself, so that every request that embeds it has the method.
func (c *StedsnavnContext) Context() *StedsnavnContext { return c }

func (*StedsnavnContext) request() {}

// Flags are the two parameters that six operations require.
type Flags struct {
	BeregnVisningsnavn bool // compute the display name
	InkluderGeometri   bool // give the geometry as WKT
}

type (
	FindNavnesaker struct {
		StedsnavnContext
		NavnesakSoek NavnesakSoek
	}
	FindSteder struct {
		StedsnavnContext
		StedSoek StedSoek
		Flags
	}
	FindStederForMatrikkelenhetreferanse struct {
		StedsnavnContext
		Soek StedMatrikkelenhetreferanseSoek
		Flags
	}
	FindStedsnavn struct {
		StedsnavnContext
		StedsnavnSoek StedsnavnSoek
		Flags
	}
	FindStedsnavnForMatrikkelenhetreferanse struct {
		StedsnavnContext
		Soek StedsnavnMatrikkelenhetreferanseSoek
		Flags
	}
	FindSkrivemaater struct {
		StedsnavnContext
		SkrivemaateSoek SkrivemaateSoek
		Flags
	}
	FindSkrivemaaterForMatrikkelenhetreferanse struct {
		StedsnavnContext
		Soek SkrivemaateMatrikkelenhetreferanseSoek
		Flags
	}
	FindVedtak struct {
		StedsnavnContext
		VedtakSoek VedtakSoek
	}
	FindSamlevedtak struct {
		StedsnavnContext
		SamlevedtakSoek SamlevedtakSoek
	}
	FindBoeker struct {
		StedsnavnContext
		Soeketekst string // may be blank; the search refuses that
	}
	FindKartprodukter struct {
		StedsnavnContext
		ProduktkodeId *string
		Kartblad      *string
		Utgivelsesaar *int32
	}
)

func (*FindNavnesaker) Operation() string { return "findNavnesaker" }
func (*FindSteder) Operation() string     { return "findSteder" }
func (*FindStederForMatrikkelenhetreferanse) Operation() string {
	return "findStederForMatrikkelenhetreferanse"
}
func (*FindStedsnavn) Operation() string { return "findStedsnavn" }
func (*FindStedsnavnForMatrikkelenhetreferanse) Operation() string {
	return "findStedsnavnForMatrikkelenhetreferanse"
}
func (*FindSkrivemaater) Operation() string { return "findSkrivemaater" }
func (*FindSkrivemaaterForMatrikkelenhetreferanse) Operation() string {
	return "findSkrivemaaterForMatrikkelenhetreferanse"
}
func (*FindVedtak) Operation() string        { return "findVedtak" }
func (*FindSamlevedtak) Operation() string   { return "findSamlevedtak" }
func (*FindBoeker) Operation() string        { return "findBoeker" }
func (*FindKartprodukter) Operation() string { return "findKartprodukter" }

// Searcher answers requests. It is safe for concurrent use.
type Searcher interface {
	// Search runs the search of r. The answer's hits are of the list type that belongs to r's operation.
	// What the caller did wrong comes back as *Refusal, which the protocol writes in the caller's language; other
	// errors may have a class of their own. All that can be refused is refused here, so that Next fails for internal
	// reasons only.
	Search(ctx context.Context, r Request) (Answer, error)
}

// ErrChanged reports that the data changed while the hits of an answer were read. Searching again helps.
var ErrChanged = errors.New("placename: the data have changed meanwhile")

// Answer is what a search found. It holds no connection and needs no closing.
type Answer struct {
	// Count is the number of all hits.
	Count int
	// Next returns the next batch of hits, in the order of the answer; nil when there are no more. Batches hold 1 to
	// some thousand hits; the batch and all it points to are valid until the next call of Next. Not safe for
	// concurrent use. All batches are of one state of the data; where that is gone, Next and Search give an error
	// that is ErrChanged. Nil when Count is 0.
	Next func(ctx context.Context) (Hits, error)
	// Only leaves of the hits to come those after the first from, at most n. Nil when Count is 0.
	Only func(from, n int)
}

// Hits is a batch of hits. The list is closed: the eleven list types of the contract.
type Hits interface {
	Len() int
	appendItem(b []byte, i int, n NilTypes) []byte // appends the elements of hit i
}

type (
	NavnesakTreffList                           []NavnesakTreff
	StedTreffList                               []StedTreff
	StedMatrikkelenhetreferanseTreffList        []StedMatrikkelenhetreferanseTreff
	StedsnavnTreffList                          []StedsnavnTreff
	StedsnavnMatrikkelenhetreferanseTreffList   []StedsnavnMatrikkelenhetreferanseTreff
	SkrivemaateTreffList                        []SkrivemaateTreff
	SkrivemaateMatrikkelenhetreferanseTreffList []SkrivemaateMatrikkelenhetreferanseTreff
	VedtakTreffList                             []VedtakTreff
	SamlevedtakTreffList                        []SamlevedtakTreff
	BokTreffList                                []BokTreff
	KartproduktTreffList                        []KartproduktTreff
)

func (l NavnesakTreffList) Len() int                           { return len(l) }
func (l StedTreffList) Len() int                               { return len(l) }
func (l StedMatrikkelenhetreferanseTreffList) Len() int        { return len(l) }
func (l StedsnavnTreffList) Len() int                          { return len(l) }
func (l StedsnavnMatrikkelenhetreferanseTreffList) Len() int   { return len(l) }
func (l SkrivemaateTreffList) Len() int                        { return len(l) }
func (l SkrivemaateMatrikkelenhetreferanseTreffList) Len() int { return len(l) }
func (l VedtakTreffList) Len() int                             { return len(l) }
func (l SamlevedtakTreffList) Len() int                        { return len(l) }
func (l BokTreffList) Len() int                                { return len(l) }
func (l KartproduktTreffList) Len() int                        { return len(l) }
