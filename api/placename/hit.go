package placename

import "time"

// The hits. A field has the contract's name with an upper-case first letter. Required fields are written always, a
// required list also when it is empty. Optional fields are left out when they are the empty string, a nil slice or a
// nil pointer. Dates (LocalDate) are written as the day of the time in its own location, timestamps with the zone of
// the time. No field may hold a year outside 1 to 9999.

// StedIdent names a place.
type StedIdent struct {
	Stedsnummer int64
}

// StedsnavnIdent names a name of a place.
type StedsnavnIdent struct {
	Stedsnummer     int64
	Stedsnavnnummer int32
}

// SkrivemaateIdent names a spelling of a name.
type SkrivemaateIdent struct {
	Stedsnummer       int64
	Stedsnavnnummer   int32
	Skrivemaatenummer int32
}

// Sortering is the importance of a place, in two codes.
type Sortering struct {
	Sortering1KodeId string
	Sortering2KodeId string
}

// Matrikkelnummer names a cadastral unit. A part that the unit does not have is 0.
type Matrikkelnummer struct {
	Kommunenummer  string
	Gaardsnummer   int32
	Bruksnummer    int32
	Festenummer    int32
	Seksjonsnummer int32
}

// UtoevendeMyndighet is who made a decision: a municipality or a county by its number, at most one of the two. The
// zero value is nobody and is written as nil: without xsi:type, which strict validators ask for where the type is
// abstract, but which makes clients see an authority.
type UtoevendeMyndighet struct {
	KommuneId string
	FylkeId   string
}

// StedTreff is a hit of findSteder.
type StedTreff struct {
	StedId                     string
	Ident                      StedIdent
	Stedsnavn                  string // optional; the display name when requested
	NavneobjekttypeId          string
	StedstatusId               string
	KommunerIds                []string
	LandId                     string
	SpraakprioriteringId       string
	Sortering                  Sortering
	AntallTilleggsopplysninger int32
	AntallInterneMerknader     int32
	Geometri                   string // optional; WKT
}

// StedsnavnTreff is a hit of findStedsnavn.
type StedsnavnTreff struct {
	StedId                        string
	StedsnavnId                   string
	VisningsnavnForSted           string // optional
	Ident                         StedsnavnIdent
	Stedsnavn                     string   // optional
	StedsnavnSkrivemaatestatusIds []string // optional
	AntallSkrivemaater            int32
	SpraakId                      string
	HarPrimaerfunksjon            bool
	NavnestatusId                 string
	NavneobjekttypeId             string
	NavnesakstatusId              string
	SkrivemaatestatusId           string
	Skrivemaatestatusdato         time.Time // day
	KommunerIds                   []string
	AntallTilleggsopplysninger    int32
	AntallInterneMerknader        int32
	Geometri                      string // optional; WKT
}

// SkrivemaateTreff is a hit of findSkrivemaater.
type SkrivemaateTreff struct {
	StedId                 string
	StedsnavnId            string
	SkrivemaateId          string
	VisningsnavnForSted    string // optional
	Ident                  SkrivemaateIdent
	Skrivemaate            string
	SkrivemaatestatusId    string
	Skrivemaatestatusdato  time.Time // day
	Prioritert             bool
	SpraakId               string
	KasustypeId            string
	NavneobjekttypeId      string
	NavnesakstatusId       string
	VedtaksmyndighetId     string
	KommunerIds            []string
	Registreringsdato      time.Time
	Oppdateringsdato       time.Time
	AntallInterneMerknader int32
	Geometri               string // optional; WKT
}

// StedMatrikkelenhetreferanseTreff is a hit of findStederForMatrikkelenhetreferanse.
type StedMatrikkelenhetreferanseTreff struct {
	StedId             string
	Ident              StedIdent
	Stedsnavn          string // optional; the display name when requested
	NavneobjekttypeId  string
	KommuneId          string
	Tilleggsopplysning string           // optional
	Matrikkelnummer    *Matrikkelnummer // optional
	AvAllmennInteresse *bool            // optional
	Geometri           string           // optional; WKT
}

// StedsnavnMatrikkelenhetreferanseTreff is a hit of findStedsnavnForMatrikkelenhetreferanse.
type StedsnavnMatrikkelenhetreferanseTreff struct {
	StedId                string
	StedsnavnId           string
	VisningsnavnForSted   string // optional
	Ident                 StedsnavnIdent
	Stedsnavn             string
	SkrivemaatestatusId   string
	Skrivemaatestatusdato time.Time // day
	NavnesakstatusId      string
	NavnestatusId         string
	SpraakId              string
	NavneobjekttypeId     string
	KommuneId             string
	Tilleggsopplysning    string           // optional
	Matrikkelnummer       *Matrikkelnummer // optional
	AvAllmennInteresse    *bool            // optional
	Geometri              string           // optional; WKT
}

// SkrivemaateMatrikkelenhetreferanseTreff is a hit of findSkrivemaaterForMatrikkelenhetreferanse.
type SkrivemaateMatrikkelenhetreferanseTreff struct {
	StedId                string
	StedsnavnId           string
	SkrivemaateId         string
	VisningsnavnForSted   string // optional
	Ident                 SkrivemaateIdent
	Skrivemaate           string
	SkrivemaatestatusId   string
	Skrivemaatestatusdato time.Time // day
	NavnesakstatusId      string
	NavnestatusId         string
	NavneobjekttypeId     string
	KommuneId             string
	Tilleggsopplysning    string           // optional
	Matrikkelnummer       *Matrikkelnummer // optional
	AvAllmennInteresse    *bool            // optional
	Geometri              string           // optional; WKT
}

// NavnesakTreff is a hit of findNavnesaker.
type NavnesakTreff struct {
	NavnesakId         string
	Aar                int32
	Saksnummer         int32
	Klagesak           bool
	Avsluttet          bool
	Beskrivelse        string
	VedtaksmyndighetId string
	OmraadeId          string
	Arkivreferanse     string
	Stedsnavn          []string
	Registreringsdato  time.Time
	Oppdateringsdato   time.Time
}

// VedtakTreff is a hit of findVedtak.
type VedtakTreff struct {
	VedtakId           string
	Aar                int32
	Saksnummer         int32
	Arkivloepenummer   int32
	Vedtaksdato        time.Time // day
	Skrivemaater       string
	VedtaksmyndighetId string
	OmraadeId          string
	VedtattAv          UtoevendeMyndighet
	Registreringsdato  time.Time
	Oppdateringsdato   time.Time
}

// SamlevedtakTreff is a hit of findSamlevedtak.
type SamlevedtakTreff struct {
	SamlevedtakId     string
	Aar               int32
	Saksnummer        int32
	Beskrivelse       string
	Arkivreferanse    string
	Stedsnavn         []string
	Registreringsdato time.Time
	Oppdateringsdato  time.Time
	Vedtaksdato       *time.Time // day; optional
}

// BokTreff is a hit of findBoeker.
type BokTreff struct {
	Id            string
	Tittel        string
	Isbn          string
	Utgave        string
	Forfatter     string
	Utgiver       string
	Utgivelsesaar int32
}

// KartproduktTreff is a hit of findKartprodukter.
type KartproduktTreff struct {
	Id            string
	Kartblad      string
	ProduktkodeId string
	Utgivelsesaar int32
}
