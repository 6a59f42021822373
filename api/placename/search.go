package placename

import "time"

// The search objects. A field has the contract's name with an upper-case first letter. Nil means no restriction; a
// list restricts to the union of its values, different fields all restrict. Lists are never empty and never hold nil
// items: an empty list of a request is nil here. A blank optional string is nil, others are as sent, not trimmed. Ids
// and codes are trimmed, 1 to 64 characters. Dates (LocalDate) are midnight UTC of the day, timestamps are instants.

// StedSoek is the search object of findSteder.
type StedSoek struct {
	RegistrertEtter             *time.Time
	RegistrertFoer              *time.Time
	OppdatertEtter              *time.Time
	OppdatertFoer               *time.Time
	Stedsnummer                 *int64
	Stedsnavn                   *string
	AvansertSoek                *bool // nil is false
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
	AvansertSoek                *bool // nil is false
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

// BokSoek selects documentation in a book.
type BokSoek struct {
	Tittel  *string
	Utgave  *string
	Utgiver *string
}

// KartforekomstSoek selects documentation on a map.
type KartforekomstSoek struct {
	ProduktId *string
	Kartblad  *string
}

// OpplysningSoek selects documentation by an informant.
type OpplysningSoek struct {
	Informant *string
}

// LokaleInnsamlingerSoek selects documentation by a local collection.
type LokaleInnsamlingerSoek struct {
	Innsamler *string
}

// DokumentertVedtakSoek selects documentation by a decision.
type DokumentertVedtakSoek struct {
	Aar              *int32
	Saksnummer       *int32
	Arkivloepenummer *int32
	Arkivreferanse   *string
	Beskrivelse      *string
}

// DokumentertSamlevedtakSoek selects documentation by a combined decision.
type DokumentertSamlevedtakSoek struct {
	Aar              *int32
	Saksnummer       *int32
	Arkivloepenummer *int32
	Arkivreferanse   *string
	Beskrivelse      *string
}

// DokumentertKlageSoek selects documentation by a complaint.
type DokumentertKlageSoek struct {
	Aar            *int32
	Saksnummer     *int32
	Arkivreferanse *string
	Beskrivelse    *string
}

// DokumentSoekEntry selects a document of type Key whose description matches Value.
type DokumentSoekEntry struct {
	Key   string
	Value string
}

// DokumentSoek selects documents; all entries must hold.
type DokumentSoek struct {
	Entry []DokumentSoekEntry
}

// SkrivemaateSoek is the search object of findSkrivemaater. A nested search that is present but empty is nil here.
type SkrivemaateSoek struct {
	RegistrertEtter            *time.Time
	RegistrertFoer             *time.Time
	OppdatertEtter             *time.Time
	OppdatertFoer              *time.Time
	Stedsnummer                *int64
	Stedsnavnnummer            *int32
	Skrivemaatenummer          *int32
	Stedsnavn                  *string
	AvansertSoek               *bool // nil is false
	SkrivemaatestatuserIds     []string
	Prioritert                 *bool
	SkrivemaatestatusdatoEtter *time.Time // day
	SkrivemaatestatusdatoFoer  *time.Time // day
	NavneobjekttyperIds        []string
	VedtaksmyndigheterIds      []string
	LandId                     *string
	KommunerIds                []string
	SpraakIds                  []string
	NavnesakstatuserIds        []string
	DokumentasjonsdatoEtter    *time.Time // day
	DokumentasjonsdatoFoer     *time.Time // day
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
	VedtattEtter       *time.Time // day
	VedtattFoer        *time.Time // day
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
	Kommunenummer           string // as sent; the search checks it
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
