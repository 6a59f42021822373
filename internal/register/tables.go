package register

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"grense/internal/store"
)

// tables lists the tables of the register, and the columns in the order in which rows are written.
var tables = []struct{ name, columns string }{
	{"kode", "id liste verdi kort forelder rekkefoelge navn_nb navn_nn navn_en navn_se"},
	{
		"sted",
		"id geom stedsnummer visningsnavn stedsnavn navneobjekttype navneobjektgruppe navneobjekthovedgruppe " +
			"stedstatus land kommunenummer " +
			"kommuner fylkesnummer spraakprioritering vedtaksmyndighet sortering1 sortering2 av_allmenn_interesse " +
			"lokal_id registrert oppdatert " +
			"sluttdato antall_tilleggsopplysninger antall_merknader visningsnavn_norm rang",
	},
	{"sted_kommune", "kommunenummer rang sted_id navneobjekttype"},
	{
		"stedsnavn",
		"id geom sted_id stedsnummer stedsnavnnummer stedsnavn navnestatus navnesakstatus spraak " +
			"opphavsspraak eksonym " +
			"har_primaerfunksjon primaerfunksjon_id skrivemaater antall_skrivemaater antall_beste_skrivemaater " +
			"skrivemaatestatus " +
			"skrivemaatestatusdato beste_skrivemaate_id visningsnavn navneobjekttype vedtaksmyndighet land " +
			"kommunenummer kommuner fylkesnummer " +
			"av_allmenn_interesse registrert oppdatert antall_tilleggsopplysninger antall_merknader " +
			"stedsnavn_norm rang",
	},
	{
		"skrivemaate",
		"id sted_id stedsnavn_id stedsnummer stedsnavnnummer skrivemaatenummer langnavn kortnavn rekkefoelge " +
			"kasustype " +
			"skrivemaatestatus skrivemaatestatusdato prioritert normert_fra_id spraak navnestatus navnesakstatus " +
			"visningsnavn navneobjekttype " +
			"vedtaksmyndighet land kommuner av_allmenn_interesse registrert oppdatert antall_merknader eksakt " +
			"norm rev rang",
	},
	{"kasus", "skrivemaate_id kasustype variasjonstillegg kjernenavn funksjonstillegg"},
	{"sted_historikk", "sted_id art fra_dato kode"},
	{"stedsnavn_historikk", "stedsnavn_id art fra_dato kode"},
	{"skrivemaate_historikk", "skrivemaate_id art fra_dato kode"},
	{"sted_tilleggsopplysning", "id sted_id tilleggsopplysningstype tekst tekst_norm lenke registrert oppdatert"},
	{
		"stedsnavn_tilleggsopplysning",
		"id stedsnavn_id tilleggsopplysningstype tekst tekst_norm lenke registrert oppdatert",
	},
	{"sted_merknad", "id sted_id merknadstype tekst tekst_norm fellesarkiv"},
	{"stedsnavn_merknad", "id stedsnavn_id merknadstype tekst tekst_norm fellesarkiv"},
	{"skrivemaate_merknad", "id skrivemaate_id merknadstype tekst tekst_norm fellesarkiv"},
	{"vegreferanse", "id sted_id kommunenummer adressekode"},
	{
		"matrikkel_sted",
		unitColumns + "sted_id stedsnummer stedsnavn visningsnavn navneobjekttype av_allmenn_interesse rang",
	},
	{
		"matrikkel_stedsnavn",
		unitColumns + "sted_id stedsnavn_id stedsnummer stedsnavnnummer stedsnavn visningsnavn skrivemaatestatus " +
			"skrivemaatestatusdato navnesakstatus navnestatus spraak navneobjekttype av_allmenn_interesse rang",
	},
	{
		"matrikkel_skrivemaate",
		unitColumns + "sted_id stedsnavn_id skrivemaate_id stedsnummer stedsnavnnummer skrivemaatenummer langnavn " +
			"visningsnavn skrivemaatestatus skrivemaatestatusdato navnesakstatus navnestatus navneobjekttype " +
			"av_allmenn_interesse rang",
	},
	{
		"navnesak",
		"id aar saksnummer klagesak klage_id avsluttet reist sluttdato beskrivelse beskrivelse_norm arkivreferanse " +
			"arkivreferanse_norm vedtaksmyndighet omraade stedsnavn registrert oppdatert",
	},
	{"navnesak_stedsnavn", "navnesak_id stedsnavn_id"},
	{"navnesak_kommune", "kommunenummer navnesak_id"},
	{"vedtak",
		"id navnesak_id aar saksnummer arkivloepenummer vedtaksdato gyldig skrivemaater vedtaksmyndighet omraade " +
			"utoever_kommunenummer utoever_fylkesnummer registrert oppdatert"},
	{"vedtak_skrivemaate", "vedtak_id skrivemaate_id"},
	{"klage", "id vedtak_id aar saksnummer klagedato arkivreferanse arkivreferanse_norm beskrivelse beskrivelse_norm"},
	{"vedtaksomraade", "id navn fylkesnummer"},
	{
		"samlevedtak",
		"id aar saksnummer vedtaksdato beskrivelse beskrivelse_norm arkivreferanse arkivreferanse_norm utgaatt " +
			"grunnlag_vedtak_id vedtaksomraade_id stedsnavn registrert oppdatert",
	},
	{"del_av_samlevedtak", "id samlevedtak_id arkivloepenummer stedsnavn_id stedsnummer stedsnavnnummer"},
	{"samlevedtak_unntak", "samlevedtak_id skrivemaate_id"},
	{
		"bok",
		"id tittel tittel_norm isbn utgave utgave_norm forfatter utgiver utgiver_norm utgivelsesaar offentlig_bruk " +
			"soeketekst " +
			"soeketekst_norm rang",
	},
	{"kartprodukt", "id karttype kartblad kartblad_norm utgivelsesaar utgiver skann"},
	{
		"dokumentasjon",
		"id skrivemaate_id art offentlig dato bok_id kartprodukt_id vedtak_id del_av_samlevedtak_id klage_id " +
			"dokumenttype " +
			"person person_norm tekst tekst_norm side",
	},
}

const unitColumns = "id kommunenummer gaardsnummer bruksnummer festenummer seksjonsnummer tilleggsopplysning " +
	"tilleggsopplysning_norm "

// Output writes the rows of a register. After an error, which Err holds, it writes nothing more. Create it with
// NewOutput.
type Output struct {
	Err    error
	tables map[string]func(...any) error
	count  map[string]int64 // number of rows written
}

// NewOutput opens every table of the register in w for writing. The collections must exist, see Define.
func NewOutput(ctx context.Context, w store.Writer) (*Output, error) {
	o := &Output{tables: map[string]func(...any) error{}, count: map[string]int64{}}
	for _, t := range tables {
		insert, err := w.Insert(ctx, t.name, strings.Fields(t.columns))
		if err != nil {
			return nil, fmt.Errorf("register: table %s: %w", t.name, err)
		}
		o.tables[t.name] = insert
	}
	return o, nil
}

// Put appends a row. The values are in the order of the table's columns.
func (o *Output) Put(table string, values ...any) {
	if o.Err != nil {
		return
	}
	o.count[table]++
	if err := o.tables[table](values...); err != nil {
		o.Err = fmt.Errorf("register: table %s: %w", table, err)
	}
}

// Next returns the id of the next row of a table whose ids are consecutive numbers.
func (o *Output) Next(table string) int64 { return o.count[table] + 1 }

// listOfLists is the list in collection kode that has the names of the lists as codes.
const listOfLists = "kodeliste"

// PutList writes a code list with its codes. at is the position of the list, from 0.
func (o *Output) PutList(at int, l *CodeList) {
	o.Put("kode", o.Next("kode"), listOfLists, l.ID, nil, nil, int64(at+1), l.Title["nb"], l.Title["nn"], l.Title["en"],
		nil)
	for _, c := range l.Codes {
		o.Put("kode", o.Next("kode"), l.ID, c.Value, OrNull(c.Short), OrNull(c.Parent), int64(c.Order),
			c.Name["nb"], OrNull(c.Name["nn"]), OrNull(c.Name["en"]), OrNull(c.Name["se"]))
	}
}

// OrNull returns s, or nil (NULL) if it is "".
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// JSONList returns a list of texts as a JSON array.
func JSONList(list []string) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic("register: " + err.Error()) // cannot happen with strings
	}
	return string(b)
}

// Reverse returns the characters of s in reverse order.
func Reverse(s string) string {
	rs := []rune(s)
	slices.Reverse(rs)
	return string(rs)
}
