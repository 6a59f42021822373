package placename

import "time"

// Hits. A field has the name in the contract with an upper-case first letter. Required fields are always written, a
// required list also if it is empty. Optional fields are omitted if they are "", a nil slice or a nil pointer. Dates
// (LocalDate) are written as the day in the location of the time, timestamps with the offset of that location. Years
// must be 1 to 9999.

// StedIdent identifies a place.
type StedIdent struct {
	Stedsnummer int64
}

// StedsnavnIdent identifies a name of a place.
type StedsnavnIdent struct {
	Stedsnummer     int64
	Stedsnavnnummer int32
}

// SkrivemaateIdent identifies a spelling of a name.
type SkrivemaateIdent struct {
	Stedsnummer       int64
	Stedsnavnnummer   int32
	Skrivemaatenummer int32
}

// Sortering is the importance of a place, as two codes.
type Sortering struct {
	Sortering1KodeId string
	Sortering2KodeId string
}

// Matrikkelnummer identifies a cadastral unit. Numbers that the unit does not have are 0.
type Matrikkelnummer struct {
	Kommunenummer  string
	Gaardsnummer   int32
	Bruksnummer    int32
	Festenummer    int32
	Seksjonsnummer int32
}

// UtoevendeMyndighet is the authority that made a decision: the number of a municipality or of a county, at most one of
// them. The zero value means no authority. It is written as nil without xsi:type: strict validators require the
// xsi:type of an abstract type, but with it clients would see an authority.
type UtoevendeMyndighet struct {
	KommuneId string
	FylkeId   string
}

// StedTreff is a hit of findSteder.
type StedTreff struct {
	StedId                     string
	Ident                      StedIdent
	Stedsnavn                  string // optional; the display name if requested
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
	Skrivemaatestatusdato         time.Time // date
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
	Skrivemaatestatusdato  time.Time // date
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
	Stedsnavn          string // optional; the display name if requested
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
	Skrivemaatestatusdato time.Time // date
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
	Skrivemaatestatusdato time.Time // date
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
	Vedtaksdato        time.Time // date
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
	Vedtaksdato       *time.Time // date; optional
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
