package placename

import "time"

// Search objects. A field has the name in the contract with an upper-case first letter. Nil means no restriction. A hit
// must match all fields that are set, and one of the values of each list. Lists are never empty and have no nil items:
// an empty list in a request becomes nil. A blank optional string becomes nil; other strings are as sent, not trimmed.
// Ids and codes are trimmed and have 1 to 64 characters. Dates (LocalDate) are midnight UTC of the day; timestamps are
// instants.

// StedSoek is the search object of findSteder.
type StedSoek struct {
	RegistrertEtter             *time.Time
	RegistrertFoer              *time.Time
	OppdatertEtter              *time.Time
	OppdatertFoer               *time.Time
	Stedsnummer                 *int64
	Stedsnavn                   *string
	AvansertSoek                *bool // nil means false
	NavneobjekttyperIds         []string
	StedstatuserIds             []string
	LandId                      *string
	KommunerIds                 []string
	SpraakprioriteringerIds     []string
	VedtaksmyndigheterIds       []string
	TilleggsopplysningstyperIds []string
	Tilleggsopplysningtekst     *string
	MerknadstyperIds            []string
	Merknadstekst               *string
	AvAllmennInteresse          *bool
}

// StedsnavnSoek is the search object of findStedsnavn.
type StedsnavnSoek struct {
	RegistrertEtter             *time.Time
	RegistrertFoer              *time.Time
	OppdatertEtter              *time.Time
	OppdatertFoer               *time.Time
	Stedsnummer                 *int64
	Stedsnavnnummer             *int32
	Stedsnavn                   *string
	AvansertSoek                *bool // nil means false
	NavneobjekttyperIds         []string
	VedtaksmyndigheterIds       []string
	LandId                      *string
	KommunerIds                 []string
	SpraakIds                   []string
	NavnesakstatuserIds         []string
	NavnestatuserIds            []string
	HarPrimaerfunksjon          *bool
	TilleggsopplysningstyperIds []string
	Tilleggsopplysningtekst     *string
	MerknadstyperIds            []string
	Merknadstekst               *string
	AvAllmennInteresse          *bool
}

// BokSoek selects spellings documented by a book.
type BokSoek struct {
	Tittel  *string
	Utgave  *string
	Utgiver *string
}

// KartforekomstSoek selects spellings documented by a map.
type KartforekomstSoek struct {
	ProduktId *string
	Kartblad  *string
}

// OpplysningSoek selects spellings documented by an informant.
type OpplysningSoek struct {
	Informant *string
}

// LokaleInnsamlingerSoek selects spellings documented by a local collection of names.
type LokaleInnsamlingerSoek struct {
	Innsamler *string
}

// DokumentertVedtakSoek selects spellings documented by a decision.
type DokumentertVedtakSoek struct {
	Aar              *int32
	Saksnummer       *int32
	Arkivloepenummer *int32
	Arkivreferanse   *string
	Beskrivelse      *string
}

// DokumentertSamlevedtakSoek selects spellings documented by a combined decision.
type DokumentertSamlevedtakSoek struct {
	Aar              *int32
	Saksnummer       *int32
	Arkivloepenummer *int32
	Arkivreferanse   *string
	Beskrivelse      *string
}

// DokumentertKlageSoek selects spellings documented by a complaint.
type DokumentertKlageSoek struct {
	Aar            *int32
	Saksnummer     *int32
	Arkivreferanse *string
	Beskrivelse    *string
}

// DokumentSoekEntry selects spellings with a document of type Key whose description matches Value.
type DokumentSoekEntry struct {
	Key   string
	Value string
}

// DokumentSoek selects spellings for which all entries match.
type DokumentSoek struct {
	Entry []DokumentSoekEntry
}

// SkrivemaateSoek is the search object of findSkrivemaater. A nested search object without fields is nil.
type SkrivemaateSoek struct {
	RegistrertEtter            *time.Time
	RegistrertFoer             *time.Time
	OppdatertEtter             *time.Time
	OppdatertFoer              *time.Time
	Stedsnummer                *int64
	Stedsnavnnummer            *int32
	Skrivemaatenummer          *int32
	Stedsnavn                  *string
	AvansertSoek               *bool // nil means false
	SkrivemaatestatuserIds     []string
	Prioritert                 *bool
	SkrivemaatestatusdatoEtter *time.Time // date
	SkrivemaatestatusdatoFoer  *time.Time // date
	NavneobjekttyperIds        []string
	VedtaksmyndigheterIds      []string
	LandId                     *string
	KommunerIds                []string
	SpraakIds                  []string
	NavnesakstatuserIds        []string
	DokumentasjonsdatoEtter    *time.Time // date
	DokumentasjonsdatoFoer     *time.Time // date
	BokSoek                    *BokSoek
	OffentligKartforekomstSoek *KartforekomstSoek
	OpplysningSoek             *OpplysningSoek
	LokaleInnsamlingerSoek     *LokaleInnsamlingerSoek
	AnnenKartforekomstSoek     *KartforekomstSoek
	VedtakSoek                 *DokumentertVedtakSoek
	SamlevedtakSoek            *DokumentertSamlevedtakSoek
	KlageSoek                  *DokumentertKlageSoek
	DokumentSoek               *DokumentSoek
	MerknadstyperIds           []string
	Merknadstekst              *string
	AvAllmennInteresse         *bool
}

// NavnesakSoek is the search object of findNavnesaker.
type NavnesakSoek struct {
	RegistrertEtter    *time.Time
	RegistrertFoer     *time.Time
	OppdatertEtter     *time.Time
	OppdatertFoer      *time.Time
	Aar                *int32
	Saksnummer         *int32
	Klagesak           *bool
	Avsluttet          *bool
	Beskrivelse        *string
	VedtaksmyndighetId *string
	OmraadeId          *string
	Arkivreferanse     *string
	Stedsnavn          *string
	KommunerIds        []string
}

// VedtakSoek is the search object of findVedtak.
type VedtakSoek struct {
	Aar                *int32
	Saksnummer         *int32
	Arkivloepenummer   *int32
	VedtattEtter       *time.Time // date
	VedtattFoer        *time.Time // date
	Skrivemaate        *string
	VedtaksmyndighetId *string
	OmraadeId          *string
	KommunerIds        []string
}

// SamlevedtakSoek is the search object of findSamlevedtak.
type SamlevedtakSoek struct {
	RegistrertEtter *time.Time
	RegistrertFoer  *time.Time
	OppdatertEtter  *time.Time
	OppdatertFoer   *time.Time
	Aar             *int32
	Saksnummer      *int32
	Beskrivelse     *string
	Arkivreferanse  *string
	Stedsnavn       *string
	Stedsnummer     *int64
	Stedsnavnnummer *int32
}

// StedMatrikkelenhetreferanseSoek is the search object of findStederForMatrikkelenhetreferanse.
type StedMatrikkelenhetreferanseSoek struct {
	Kommunenummer           string // as sent; the search validates it
	Gaardsnummer            string // as sent
	Bruksnummer             *string
	Festenummer             *int32
	Seksjonsnummer          *int32
	Tilleggsopplysningtekst *string
	Stedsnavn               *string
	NavneobjekttypeIds      []string
}

// StedsnavnMatrikkelenhetreferanseSoek is the search object of findStedsnavnForMatrikkelenhetreferanse.
// It has the fields of StedMatrikkelenhetreferanseSoek and converts to it.
type StedsnavnMatrikkelenhetreferanseSoek struct {
	Kommunenummer           string
	Gaardsnummer            string
	Bruksnummer             *string
	Festenummer             *int32
	Seksjonsnummer          *int32
	Tilleggsopplysningtekst *string
	Stedsnavn               *string
	NavneobjekttypeIds      []string
}

// SkrivemaateMatrikkelenhetreferanseSoek is the search object of findSkrivemaaterForMatrikkelenhetreferanse.
// It has the fields of StedMatrikkelenhetreferanseSoek and converts to it.
type SkrivemaateMatrikkelenhetreferanseSoek struct {
	Kommunenummer           string
	Gaardsnummer            string
	Bruksnummer             *string
	Festenummer             *int32
	Seksjonsnummer          *int32
	Tilleggsopplysningtekst *string
	Stedsnavn               *string
	NavneobjekttypeIds      []string
}
