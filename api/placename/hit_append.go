package placename

import (
	"strconv"
	"time"
)

// There is one function per type of hit. It writes the elements in the order, and with the prefixes, of the table in
// table.go. AppendResponseStart declares the prefixes.

func (l NavnesakTreffList) appendItem(b []byte, i int, _ NilTypes) []byte {
	h := &l[i]
	b = appendID(b, "t:navnesakId", h.NavnesakId)
	b = appendInt(b, "t:aar", h.Aar)
	b = appendInt(b, "t:saksnummer", h.Saksnummer)
	b = appendBool(b, "t:klagesak", h.Klagesak)
	b = appendBool(b, "t:avsluttet", h.Avsluttet)
	b = appendElement(b, "t:beskrivelse", h.Beskrivelse)
	b = appendID(b, "t:vedtaksmyndighetId", h.VedtaksmyndighetId)
	b = appendID(b, "t:omraadeId", h.OmraadeId)
	b = appendElement(b, "t:arkivreferanse", h.Arkivreferanse)
	b = appendTexts(b, "t:stedsnavn", h.Stedsnavn)
	b = appendTime(b, "t:registreringsdato", &h.Registreringsdato)
	return appendTime(b, "t:oppdateringsdato", &h.Oppdateringsdato)
}

func (l StedTreffList) appendItem(b []byte, i int, _ NilTypes) []byte {
	h := &l[i]
	b = appendID(b, "t:stedId", h.StedId)
	b = h.Ident.append(b)
	b = appendOptional(b, "t:stedsnavn", h.Stedsnavn)
	b = appendID(b, "t:navneobjekttypeId", h.NavneobjekttypeId)
	b = appendID(b, "t:stedstatusId", h.StedstatusId)
	b = appendIDs(b, "t:kommunerIds", "ko:item", h.KommunerIds)
	b = appendID(b, "t:landId", h.LandId)
	b = appendID(b, "t:spraakprioriteringId", h.SpraakprioriteringId)
	b = append(b, "<t:sortering>"...)
	b = appendID(b, "s:sortering1KodeId", h.Sortering.Sortering1KodeId)
	b = appendID(b, "s:sortering2KodeId", h.Sortering.Sortering2KodeId)
	b = append(b, "</t:sortering>"...)
	b = appendInt(b, "t:antallTilleggsopplysninger", h.AntallTilleggsopplysninger)
	b = appendInt(b, "t:antallInterneMerknader", h.AntallInterneMerknader)
	return appendOptional(b, "t:geometri", h.Geometri)
}

func (l StedMatrikkelenhetreferanseTreffList) appendItem(b []byte, i int, _ NilTypes) []byte {
	h := &l[i]
	b = appendID(b, "t:stedId", h.StedId)
	b = h.Ident.append(b)
	b = appendOptional(b, "t:stedsnavn", h.Stedsnavn)
	b = appendID(b, "t:navneobjekttypeId", h.NavneobjekttypeId)
	b = appendID(b, "t:kommuneId", h.KommuneId)
	b = appendOptional(b, "t:tilleggsopplysning", h.Tilleggsopplysning)
	b = h.Matrikkelnummer.append(b)
	b = appendOptionalBool(b, "t:avAllmennInteresse", h.AvAllmennInteresse)
	return appendOptional(b, "t:geometri", h.Geometri)
}

func (l StedsnavnTreffList) appendItem(b []byte, i int, _ NilTypes) []byte {
	h := &l[i]
	b = appendID(b, "t:stedId", h.StedId)
	b = appendID(b, "t:stedsnavnId", h.StedsnavnId)
	b = appendOptional(b, "t:visningsnavnForSted", h.VisningsnavnForSted)
	b = h.Ident.append(b)
	b = appendOptional(b, "t:stedsnavn", h.Stedsnavn)
	if h.StedsnavnSkrivemaatestatusIds != nil {
		b = appendIDs(b, "t:stedsnavnSkrivemaatestatusIds", "mk:item", h.StedsnavnSkrivemaatestatusIds)
	}
	b = appendInt(b, "t:antallSkrivemaater", h.AntallSkrivemaater)
	b = appendID(b, "t:spraakId", h.SpraakId)
	b = appendBool(b, "t:harPrimaerfunksjon", h.HarPrimaerfunksjon)
	b = appendID(b, "t:navnestatusId", h.NavnestatusId)
	b = appendID(b, "t:navneobjekttypeId", h.NavneobjekttypeId)
	b = appendID(b, "t:navnesakstatusId", h.NavnesakstatusId)
	b = appendID(b, "t:skrivemaatestatusId", h.SkrivemaatestatusId)
	b = appendDate(b, "t:skrivemaatestatusdato", &h.Skrivemaatestatusdato)
	b = appendIDs(b, "t:kommunerIds", "ko:item", h.KommunerIds)
	b = appendInt(b, "t:antallTilleggsopplysninger", h.AntallTilleggsopplysninger)
	b = appendInt(b, "t:antallInterneMerknader", h.AntallInterneMerknader)
	return appendOptional(b, "t:geometri", h.Geometri)
}

func (l StedsnavnMatrikkelenhetreferanseTreffList) appendItem(b []byte, i int, _ NilTypes) []byte {
	h := &l[i]
	b = appendID(b, "t:stedId", h.StedId)
	b = appendID(b, "t:stedsnavnId", h.StedsnavnId)
	b = appendOptional(b, "t:visningsnavnForSted", h.VisningsnavnForSted)
	b = h.Ident.append(b)
	b = appendElement(b, "t:stedsnavn", h.Stedsnavn)
	b = appendID(b, "t:skrivemaatestatusId", h.SkrivemaatestatusId)
	b = appendDate(b, "t:skrivemaatestatusdato", &h.Skrivemaatestatusdato)
	b = appendID(b, "t:navnesakstatusId", h.NavnesakstatusId)
	b = appendID(b, "t:navnestatusId", h.NavnestatusId)
	b = appendID(b, "t:spraakId", h.SpraakId)
	b = appendID(b, "t:navneobjekttypeId", h.NavneobjekttypeId)
	b = appendID(b, "t:kommuneId", h.KommuneId)
	b = appendOptional(b, "t:tilleggsopplysning", h.Tilleggsopplysning)
	b = h.Matrikkelnummer.append(b)
	b = appendOptionalBool(b, "t:avAllmennInteresse", h.AvAllmennInteresse)
	return appendOptional(b, "t:geometri", h.Geometri)
}

func (l SkrivemaateTreffList) appendItem(b []byte, i int, _ NilTypes) []byte {
	h := &l[i]
	b = appendID(b, "t:stedId", h.StedId)
	b = appendID(b, "t:stedsnavnId", h.StedsnavnId)
	b = appendID(b, "t:skrivemaateId", h.SkrivemaateId)
	b = appendOptional(b, "t:visningsnavnForSted", h.VisningsnavnForSted)
	b = h.Ident.append(b)
	b = appendElement(b, "t:skrivemaate", h.Skrivemaate)
	b = appendID(b, "t:skrivemaatestatusId", h.SkrivemaatestatusId)
	b = appendDate(b, "t:skrivemaatestatusdato", &h.Skrivemaatestatusdato)
	b = appendBool(b, "t:prioritert", h.Prioritert)
	b = appendID(b, "t:spraakId", h.SpraakId)
	b = appendID(b, "t:kasustypeId", h.KasustypeId)
	b = appendID(b, "t:navneobjekttypeId", h.NavneobjekttypeId)
	b = appendID(b, "t:navnesakstatusId", h.NavnesakstatusId)
	b = appendID(b, "t:vedtaksmyndighetId", h.VedtaksmyndighetId)
	b = appendIDs(b, "t:kommunerIds", "ko:item", h.KommunerIds)
	b = appendTime(b, "t:registreringsdato", &h.Registreringsdato)
	b = appendTime(b, "t:oppdateringsdato", &h.Oppdateringsdato)
	b = appendInt(b, "t:antallInterneMerknader", h.AntallInterneMerknader)
	return appendOptional(b, "t:geometri", h.Geometri)
}

func (l SkrivemaateMatrikkelenhetreferanseTreffList) appendItem(b []byte, i int, _ NilTypes) []byte {
	h := &l[i]
	b = appendID(b, "t:stedId", h.StedId)
	b = appendID(b, "t:stedsnavnId", h.StedsnavnId)
	b = appendID(b, "t:skrivemaateId", h.SkrivemaateId)
	b = appendOptional(b, "t:visningsnavnForSted", h.VisningsnavnForSted)
	b = h.Ident.append(b)
	b = appendElement(b, "t:skrivemaate", h.Skrivemaate)
	b = appendID(b, "t:skrivemaatestatusId", h.SkrivemaatestatusId)
	b = appendDate(b, "t:skrivemaatestatusdato", &h.Skrivemaatestatusdato)
	b = appendID(b, "t:navnesakstatusId", h.NavnesakstatusId)
	b = appendID(b, "t:navnestatusId", h.NavnestatusId)
	b = appendID(b, "t:navneobjekttypeId", h.NavneobjekttypeId)
	b = appendID(b, "t:kommuneId", h.KommuneId)
	b = appendOptional(b, "t:tilleggsopplysning", h.Tilleggsopplysning)
	b = h.Matrikkelnummer.append(b)
	b = appendOptionalBool(b, "t:avAllmennInteresse", h.AvAllmennInteresse)
	return appendOptional(b, "t:geometri", h.Geometri)
}

func (l VedtakTreffList) appendItem(b []byte, i int, n NilTypes) []byte {
	h := &l[i]
	b = appendID(b, "t:vedtakId", h.VedtakId)
	b = appendInt(b, "t:aar", h.Aar)
	b = appendInt(b, "t:saksnummer", h.Saksnummer)
	b = appendInt(b, "t:arkivloepenummer", h.Arkivloepenummer)
	b = appendDate(b, "t:vedtaksdato", &h.Vedtaksdato)
	b = appendElement(b, "t:skrivemaater", h.Skrivemaater)
	b = appendID(b, "t:vedtaksmyndighetId", h.VedtaksmyndighetId)
	b = appendID(b, "t:omraadeId", h.OmraadeId)
	b = h.VedtattAv.append(b, n)
	b = appendTime(b, "t:registreringsdato", &h.Registreringsdato)
	return appendTime(b, "t:oppdateringsdato", &h.Oppdateringsdato)
}

func (l SamlevedtakTreffList) appendItem(b []byte, i int, _ NilTypes) []byte {
	h := &l[i]
	b = appendID(b, "t:samlevedtakId", h.SamlevedtakId)
	b = appendInt(b, "t:aar", h.Aar)
	b = appendInt(b, "t:saksnummer", h.Saksnummer)
	b = appendElement(b, "t:beskrivelse", h.Beskrivelse)
	b = appendElement(b, "t:arkivreferanse", h.Arkivreferanse)
	b = appendTexts(b, "t:stedsnavn", h.Stedsnavn)
	b = appendTime(b, "t:registreringsdato", &h.Registreringsdato)
	b = appendTime(b, "t:oppdateringsdato", &h.Oppdateringsdato)
	if h.Vedtaksdato != nil {
		b = appendDate(b, "t:vedtaksdato", h.Vedtaksdato)
	}
	return b
}

func (l BokTreffList) appendItem(b []byte, i int, _ NilTypes) []byte {
	h := &l[i]
	b = appendID(b, "t:id", h.Id)
	b = appendElement(b, "t:tittel", h.Tittel)
	b = appendElement(b, "t:isbn", h.Isbn)
	b = appendElement(b, "t:utgave", h.Utgave)
	b = appendElement(b, "t:forfatter", h.Forfatter)
	b = appendElement(b, "t:utgiver", h.Utgiver)
	return appendInt(b, "t:utgivelsesaar", h.Utgivelsesaar)
}

func (l KartproduktTreffList) appendItem(b []byte, i int, _ NilTypes) []byte {
	h := &l[i]
	b = appendID(b, "t:id", h.Id)
	b = appendElement(b, "t:kartblad", h.Kartblad)
	b = appendID(b, "t:produktkodeId", h.ProduktkodeId)
	return appendInt(b, "t:utgivelsesaar", h.Utgivelsesaar)
}

func (x StedIdent) append(b []byte) []byte {
	b = append(b, "<t:ident>"...)
	b = appendLong(b, "s:stedsnummer", x.Stedsnummer)
	return append(b, "</t:ident>"...)
}

func (x StedsnavnIdent) append(b []byte) []byte {
	b = append(b, "<t:ident>"...)
	b = appendLong(b, "n:stedsnummer", x.Stedsnummer)
	b = appendInt(b, "n:stedsnavnnummer", x.Stedsnavnnummer)
	return append(b, "</t:ident>"...)
}

func (x SkrivemaateIdent) append(b []byte) []byte {
	b = append(b, "<t:ident>"...)
	b = appendLong(b, "m:stedsnummer", x.Stedsnummer)
	b = appendInt(b, "m:stedsnavnnummer", x.Stedsnavnnummer)
	b = appendInt(b, "m:skrivemaatenummer", x.Skrivemaatenummer)
	return append(b, "</t:ident>"...)
}

// append appends the elements of m; nothing if m is nil.
func (m *Matrikkelnummer) append(b []byte) []byte {
	if m == nil {
		return b
	}
	b = append(b, "<t:matrikkelnummer>"...)
	b = appendElement(b, "t:kommunenummer", m.Kommunenummer)
	b = appendInt(b, "t:gaardsnummer", m.Gaardsnummer)
	b = appendInt(b, "t:bruksnummer", m.Bruksnummer)
	b = appendInt(b, "t:festenummer", m.Festenummer)
	b = appendInt(b, "t:seksjonsnummer", m.Seksjonsnummer)
	return append(b, "</t:matrikkelnummer>"...)
}

// append appends an element of the concrete type for the number that is set, or a nil element if none is.
func (u *UtoevendeMyndighet) append(b []byte, n NilTypes) []byte {
	switch {
	case u.KommuneId != "":
		b = append(b, `<t:vedtattAv xsi:type="ob:UtoevendeMyndighetKommune">`...)
		b = appendID(b, "ob:kommuneId", u.KommuneId)
	case u.FylkeId != "":
		b = append(b, `<t:vedtattAv xsi:type="ob:UtoevendeMyndighetFylke">`...)
		b = appendID(b, "ob:fylkeId", u.FylkeId)
	case n == TypedNil:
		return append(b, `<t:vedtattAv xsi:type="ob:UtoevendeMyndighetKommune" xsi:nil="true"/>`...)
	default:
		return append(b, `<t:vedtattAv xsi:nil="true"/>`...)
	}
	return append(b, "</t:vedtattAv>"...)
}

func appendOpen(b []byte, name string) []byte {
	b = append(b, '<')
	b = append(b, name...)
	return append(b, '>')
}

func appendClose(b []byte, name string) []byte {
	b = append(b, "</"...)
	b = append(b, name...)
	return append(b, '>')
}

func appendElement(b []byte, name, text string) []byte {
	b = appendOpen(b, name)
	b = AppendText(b, text)
	return appendClose(b, name)
}

// appendOptional appends an element with text; nothing if text is "".
func appendOptional(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return appendElement(b, name, text)
}

// appendID appends an element with an id or a code.
func appendID(b []byte, name, id string) []byte {
	b = append(b, '<')
	b = append(b, name...)
	b = append(b, "><d:value>"...)
	b = AppendText(b, id)
	b = append(b, "</d:value></"...)
	b = append(b, name...)
	return append(b, '>')
}

func appendIDs(b []byte, name, item string, ids []string) []byte {
	b = appendOpen(b, name)
	for _, id := range ids {
		b = appendID(b, item, id)
	}
	return appendClose(b, name)
}

func appendTexts(b []byte, name string, texts []string) []byte {
	b = appendOpen(b, name)
	for _, text := range texts {
		b = appendElement(b, "d:item", text)
	}
	return appendClose(b, name)
}

func appendInt(b []byte, name string, n int32) []byte { return appendLong(b, name, int64(n)) }

func appendLong(b []byte, name string, n int64) []byte {
	b = appendOpen(b, name)
	b = strconv.AppendInt(b, n, 10)
	return appendClose(b, name)
}

func appendBool(b []byte, name string, v bool) []byte {
	b = appendOpen(b, name)
	b = strconv.AppendBool(b, v)
	return appendClose(b, name)
}

// appendOptionalBool appends an element with *v; nothing if v is nil.
func appendOptionalBool(b []byte, name string, v *bool) []byte {
	if v == nil {
		return b
	}
	return appendBool(b, name, *v)
}

// appendTime appends an element with a timestamp and its offset from UTC.
func appendTime(b []byte, name string, t *time.Time) []byte {
	b = appendOpen(b, name)
	b = append(b, "<d:timestamp>"...)
	b = t.AppendFormat(b, time.RFC3339Nano)
	b = append(b, "</d:timestamp>"...)
	return appendClose(b, name)
}

// appendDate appends an element with the day of the time in its location.
func appendDate(b []byte, name string, t *time.Time) []byte {
	b = appendOpen(b, name)
	b = append(b, "<d:date>"...)
	b = t.AppendFormat(b, time.DateOnly)
	b = append(b, "</d:date>"...)
	return appendClose(b, name)
}
