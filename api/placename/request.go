package placename

import (
	"context"
	"errors"
	"time"
)

// Request is one of the eleven types of requests: *FindNavnesaker, *FindSteder, *FindStederForMatrikkelenhetreferanse,
// *FindStedsnavn, *FindStedsnavnForMatrikkelenhetreferanse, *FindSkrivemaater,
// *FindSkrivemaaterForMatrikkelenhetreferanse, *FindVedtak, *FindSamlevedtak, *FindBoeker, *FindKartprodukter. Fields
// have the names in the contract with an upper-case first letter.
type Request interface {
	// Operation returns the name of the operation, for example "findSteder".
	Operation() string
	// Context returns the context of the request. It is never nil.
	Context() *StedsnavnContext
	request()
}

// StedsnavnContext describes the client. Elements that the request lacks have zero values.
type StedsnavnContext struct {
	SystemVersion        string
	ClientIdentification string
	Locale               string    // see LangOf
	SnapshotVersion      time.Time // zero if absent
}

// Context returns c, so that every request that embeds it has the method.
func (c *StedsnavnContext) Context() *StedsnavnContext { return c }

func (*StedsnavnContext) request() {}

// Flags are two parameters that six operations require.
type Flags struct {
	BeregnVisningsnavn bool // hits have the display name
	InkluderGeometri   bool // hits have the geometry as WKT
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
		Soeketekst string // may be blank, which the search refuses
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

// Searcher executes searches. It is safe for concurrent use.
type Searcher interface {
	// Search executes r. The hits have the list type of r's operation. If the request is invalid, the error is a
	// *Refusal, which the protocol code writes in the language of the client. Search reports everything that makes a
	// request invalid; Next fails for internal reasons only.
	Search(ctx context.Context, r Request) (Answer, error)
}

// ErrChanged is the error for data that changed while the hits of an answer were read. The client can repeat the
// search.
var ErrChanged = errors.New("placename: the data have changed meanwhile")

// Answer is the result of a search. It holds no connection and need not be closed.
type Answer struct {
	// Count is the number of all hits.
	Count int
	// Next returns the next batch of hits, in the order of the answer; nil after the last. A batch has one to some
	// thousands of hits and is valid, with everything that it points to, until the next call of Next. All batches are
	// of one version of the data; if that is no longer available, Next and Search return ErrChanged. Next is not safe
	// for concurrent use. It is nil if Count is 0.
	Next func(ctx context.Context) (Hits, error)
	// Only drops the first from hits that have not been read, and keeps at most n of the others. It is nil if Count is
	// 0.
	Only func(from, n int)
}

// Hits is a batch of hits. It has one of the eleven list types of the contract.
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
