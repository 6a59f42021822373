// Package register holds the data model of the place-name register as collections of a store, its code lists, and a
// generator that fills a register of any size with invented places. The import of the official products is package
// official.
//
// The public SSR 5.0 product specification gives the entities: a place (sted) has names (stedsnavn), a name has
// spellings (skrivemaate); name cases (navnesak), decisions (vedtak), combined decisions (samlevedtak), books (bok)
// and map products (kartprodukt) document spellings. Names of tables, collections, properties and relations are the
// domain's, with ae, oe and aa for æ, ø and å. Codes are stored as their public values, languages and countries as
// ISO codes; CodeLists says what they mean.
//
// # Searching
//
// Every field of every search is an expression over one collection. EXISTS r(x) below is cql2.Related{r, x}; TEXT is
// the matching of a name on langnavn, whose search columns are exact, norm, reversed norm and trigrams; LIKE is
// matching on norm.
//
//	fields of                expression
//	StedSoek                 on sted
//	  registrert*, oppdatert*      registrert, oppdatert (oppdatert is never null: it falls back to registrert)
//	  stedsnummer                  stedsnummer
//	  stedsnavn                    EXISTS skrivemaater(TEXT langnavn)
//	  navneobjekttyper             navneobjekttype; with municipalities
//	                               EXISTS kommuner(kommunenummer AND navneobjekttype)
//	  stedstatuser, land           stedstatus, land
//	  kommuner                     EXISTS kommuner(kommunenummer)
//	  spraakprioriteringer         spraakprioritering
//	  vedtaksmyndigheter           vedtaksmyndighet
//	  tilleggsopplysning*          EXISTS tilleggsopplysninger(tilleggsopplysningstype AND tekst LIKE)
//	  merknad*                     EXISTS merknader(merknadstype AND tekst LIKE)
//	  avAllmennInteresse           av_allmenn_interesse
//	StedsnavnSoek            on stedsnavn; as above, but
//	  stedsnavnnummer              stedsnavnnummer
//	  stedsnavn                    EXISTS skrivemaater(TEXT langnavn)
//	  spraak, navnesakstatuser     spraak, navnesakstatus
//	  navnestatuser                navnestatus
//	  harPrimaerfunksjon           har_primaerfunksjon
//	SkrivemaateSoek          on skrivemaate; as above, but
//	  skrivemaatenummer            skrivemaatenummer
//	  stedsnavn                    TEXT langnavn
//	  skrivemaatestatuser          skrivemaatestatus
//	  skrivemaatestatusdato*       skrivemaatestatusdato
//	  prioritert                   prioritert
//	  dokumentasjonsdato*          EXISTS dokumentasjon(dato)
//	  bokSoek                      EXISTS dokumentasjon(EXISTS bok(tittel, utgave, utgiver LIKE))
//	  offentligKartforekomstSoek   EXISTS dokumentasjon(offentlig AND EXISTS kartprodukt(karttype AND kartblad LIKE))
//	  annenKartforekomstSoek       EXISTS dokumentasjon(NOT offentlig
//	                               AND EXISTS kartprodukt(karttype AND kartblad LIKE))
//	  opplysningSoek               EXISTS dokumentasjon(art = "opplysning" AND person LIKE)
//	  lokaleInnsamlingerSoek       EXISTS dokumentasjon(art = "lokalInnsamling" AND person LIKE)
//	  vedtakSoek                   EXISTS dokumentasjon(EXISTS vedtak(aar, saksnummer, arkivloepenummer,
//	                               EXISTS navnesak(arkivreferanse,
//	                               beskrivelse LIKE)))
//	  samlevedtakSoek              EXISTS dokumentasjon(EXISTS del_av_samlevedtak(arkivloepenummer,
//	                               EXISTS samlevedtak(aar, saksnummer,
//	                               arkivreferanse, beskrivelse LIKE)))
//	  klageSoek                    EXISTS dokumentasjon(
//	                               EXISTS klage(aar, saksnummer, arkivreferanse, beskrivelse LIKE))
//	  dokumentSoek, each entry     EXISTS dokumentasjon(art = "dokument" AND dokumenttype AND tekst LIKE)
//	NavnesakSoek             on navnesak
//	  aar, saksnummer              aar, saksnummer
//	  klagesak, avsluttet          klagesak, avsluttet
//	  beskrivelse, arkivreferanse  LIKE
//	  vedtaksmyndighet, omraade    vedtaksmyndighet, omraade
//	  stedsnavn                    EXISTS stedsnavn(EXISTS skrivemaater(TEXT langnavn))
//	  kommuner                     EXISTS kommuner(kommunenummer)
//	VedtakSoek               on vedtak
//	  aar, saksnummer, arkivloepenummer, vedtatt*   aar, saksnummer, arkivloepenummer, vedtaksdato
//	  skrivemaate                  EXISTS skrivemaater(EXISTS skrivemaate(TEXT langnavn))
//	  vedtaksmyndighet, omraade    vedtaksmyndighet, omraade
//	  kommuner                     EXISTS kommuner(kommunenummer)
//	SamlevedtakSoek          on samlevedtak
//	  aar, saksnummer, beskrivelse, arkivreferanse  as for navnesak
//	  stedsnavn                    EXISTS deler(EXISTS skrivemaater(TEXT langnavn))
//	  stedsnummer, stedsnavnnummer EXISTS deler(stedsnummer AND stedsnavnnummer)
//	the three cadastral searches   on matrikkel_sted, matrikkel_stedsnavn, matrikkel_skrivemaate
//	  kommunenummer, *nummer       kommunenummer, gaardsnummer, bruksnummer, festenummer, seksjonsnummer
//	                               (integers, 0 for none)
//	  tilleggsopplysningtekst      tilleggsopplysning LIKE
//	  stedsnavn                    EXISTS skrivemaater(TEXT langnavn): of the place, of the name, of the spelling
//	  navneobjekttyper             navneobjekttype
//	findBoeker               on bok: each word, soeketekst LIKE
//	findKartprodukter        on kartprodukt: karttype, kartblad LIKE, utgivelsesaar
//
// Orders: rang is the order of places, names, spellings and books; the cadastral collections hold the rang of their
// place, name or spelling, and one rang may have several units. Cases and decisions sort by aar and saksnummer,
// descending, then arkivloepenummer; map products by karttype, kartblad, utgivelsesaar.
//
// A hit is read from the values of its row. Lists of municipalities (kommuner) and of names (navnesak.stedsnavn,
// samlevedtak.stedsnavn) are JSON arrays of strings; stedsnavn.skrivemaater are the spellings of the best status
// joined by ", ", and antall_beste_skrivemaater says how many. Geometry is on sted and stedsnavn; the others name
// their place in sted_id. The collection kode has the codes of all lists, and in the list "kodeliste" the lists.
//
// # Generating
//
// Generate makes each record from the seed and the record's number alone, with integers only, so the same seed gives
// the same rows on every machine, and a small register is the beginning of a large one but for rang. All names,
// texts, people and books in it are invented, except the official names of counties and municipalities and a few
// well-known former names. The shares of statuses are a guess.
package register
