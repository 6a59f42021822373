package placename

import (
	"strings"
	"unicode"
)

// doc is documentation of a part of the contract in Bokmål and English. "{crs}" stands for the CRS of geometries.
type doc [2]string

func (d doc) in(x Description) doc {
	crs := x.CRS
	if crs == "" {
		crs = "EPSG:4258"
	}
	for i := range d {
		d[i] = strings.ReplaceAll(d[i], "{crs}", crs)
	}
	return d
}

// docOfType returns the documentation of a type: an entry for its name (for wrappers, of their operation), or a text
// derived from the ending of its name.
func (c *Contract) docOfType(t *Type, x Description) doc {
	if d, ok := typeDocs[t.Name]; ok {
		return d.in(x)
	}
	if d, ok := operationDocs[t.Name]; ok {
		return d.in(x)
	}
	if op, ok := strings.CutSuffix(t.Name, "Response"); ok {
		return doc{"Svar på " + op + ": alle treff, eller ingen.", "Answer to " + op + ": all hits, or none."}
	}
	if item, ok := strings.CutSuffix(t.Name, "List"); ok {
		return doc{
			"Liste av " + item + ". I søk er verdiene i en liste alternativer; en tom liste begrenser ikke, " +
				"og en der alle verdiene er nil, avvises. I svar er den tom når det ikke er noe.",
			"List of " + item + ". In a search the values of a list are alternatives; " +
				"an empty list does not restrict, and one whose values are all nil is refused. " +
				"In answers it is empty when there is nothing.",
		}
	}
	if list, ok := codeLists[t.Name]; ok {
		return doc{
			"Kode. value er kodens verdi: " + list +
				". Store og små bokstaver er like. En ukjent kode avvises med de nærmeste.",
			"Code. value is the value of the code: " + list +
				". Case does not matter. An unknown code is refused, and the nearest ones named." + lettersEN(
				list,
			),
		}
	}
	if of, ok := strings.CutSuffix(t.Name, "Id"); ok {
		return doc{"Identifikator for " + of + ". value er et tall som tekst. Der tjenesten har samlingen, " +
			"står det på /collections/" + strings.ToLower(of) + "/items/ og tallet.",
			"Identifier of a " + of + ". value is a number as text. Where the service has the collection, " +
				"it is at /collections/" + strings.ToLower(of) + "/items/ and the number."}
	}
	return doc{}
}

// docOfField returns the documentation of a field: the entry for the type and field name, otherwise for the field name.
func (c *Contract) docOfField(t *Type, f Field, x Description) doc {
	if d, ok := fieldDocs[t.Name+"."+f.Name]; ok {
		return d.in(x)
	}
	if strings.HasSuffix(t.Name, "Treff") {
		if d, ok := hitDocs[f.Name]; ok {
			return d.in(x)
		}
	}
	if d, ok := fieldDocs[f.Name]; ok {
		return d.in(x)
	}
	if f.Name == "item" {
		return doc{"Én verdi, av typen " + f.Type + ".", "One value, of type " + f.Type + "."}
	}
	return hitDocs[f.Name].in(x)
}

// docWithFields returns the documentation of a type and its own fields. Many code generators keep the documentation of
// types and omit that of elements.
func (c *Contract) docWithFields(t *Type, x Description) doc {
	d := c.docOfType(t, x)
	if len(t.Fields) == 0 || t.Fields[0].List && t.Fields[0].Name == "item" {
		return d
	}
	for _, f := range t.Fields {
		field := c.docOfField(t, f, x)
		for i := range d {
			d[i] += "\n- " + f.Name + ": " + field[i]
		}
	}
	return d
}

// lettersEN returns a sentence that states where the codes of a list are documented with all their letters, because
// some tools remove letters such as æ from comments.
func lettersEN(list string) string {
	if strings.ContainsFunc(list, func(r rune) bool { return r > unicode.MaxASCII }) {
		return " Some tools leave letters beyond a to z out of comments: /codelists has the codes whole."
	}
	return ""
}

const (
	textNB = " Teksten finnes inne i feltet; med * (vilkårlige tegn) eller ? (ett tegn) må hele feltet passe, " +
		"og ett enkelt tegn må være hele feltet. Store og små bokstaver og diakritiske tegn er like; " +
		"bindestrek er lik mellomrom, og andre skilletegn teller."
	textEN = " The text is found inside the field; with * (any characters) or ? (one character) the whole field " +
		"must match, and a single character must be the whole field. Case and diacritics do not matter; " +
		"a hyphen equals a blank, and other punctuation counts."
	nameNB = "Stedsnavn. Hele navnet må passe: Ås finner Ås og Aas, ikke Åsgård. * er vilkårlige tegn og ? ett " +
		"tegn: Ås*, *vik, B?. Store og små bokstaver, diakritiske tegn og apostrof spiller ingen rolle (aa = å = a, " +
		"ø = o, æ = ae). Bindestrek er lik mellomrom, og flere mellomrom er som ett: nord fron finner Nord-Fron, " +
		"Nordfron gjør det ikke. Punktum til slutt ses bort fra (Nes. finner Nes). Skråstrek, eller tankestrek " +
		"mellom mellomrom, skiller flere navn, og ett av dem må passe: Guovdageaidnu/Kautokeino. " +
		"Andre skilletegn teller. Et mønster må ha minst to andre tegn enn * og ?, om ikke et annet kriterium " +
		"avgrenser. Ett tegn er et navn: Å."
	nameEN = "Place name. The whole name must match: Os finds Os, not Oslo. * is any characters and ? one " +
		"character: Os*, *vik, B?. A hyphen equals a blank, and several blanks equal one: nord fron finds Nord-Fron, " +
		"Nordfron does not. Full stops at the end are ignored (Nes. finds Nes). A slash, or a dash between blanks, " +
		"separates several names, of which one must match: Guovdageaidnu/Kautokeino. Other punctuation counts. " +
		"Case, apostrophes and marks on letters do not matter, and Norwegian letters equal plain ones: " +
		"a with a ring (å) is a, and so is aa; o with a stroke (ø) is o; the letter æ is ae. So As finds Ås and Aas, " +
		"and Bo finds Bø. A pattern needs at least two characters other than * and ?, unless another criterion " +
		"narrows the search. A single letter is a whole name (Å)."
	ordersNB = " Rekkefølge: viktigste sted først; uten * og ? kommer de som er skrevet likt først (Bø før Bo)."
	ordersEN = " Order: most important place first; without * and ? those spelt as asked come first (asked for Bo, " +
		"those spelt Bo before those spelt with another o)."
	limitNB = " Flere treff enn grensen (5000 når ikke annet er satt) gir feilen LIMIT_EXCEEDED, aldri et avkortet " +
		"svar: del søket etter kommune eller tid."
	limitEN = " More hits than the limit (5000 unless set otherwise) give the fault LIMIT_EXCEEDED, " +
		"never a shortened answer: divide the search by municipality or time."
	bothNB    = " Ulike felt gjelder samtidig."
	bothEN    = " Different fields all hold."
	matrikkNB = " Ett treff for hver matrikkelenhet. Steder som bare har vegreferanse, finnes ikke."
	matrikkEN = " One hit for each cadastral unit. Places that have only a road reference are not found."
)

// serviceDoc is the documentation of the service.
var serviceDoc = doc{
	"Søk i stedsnavn: steder, navn, skrivemåter, navnesaker, vedtak, samlevedtak, bøker og kartprodukter. " +
		"Alle operasjoner bare leser. Felt som mangler, begrenser ikke; ulike felt gjelder samtidig; " +
		"verdiene i en liste er alternativer." +
		" Etter og Foer er strengt etter og strengt før; tidspunkt uten sone er norsk tid. " +
		"Et element som ikke finnes i kontrakten, avvises med det riktige navnet. Søk krever nøkkel, om ikke den som " +
		"driver tjenesten, har åpnet den: Basic med nøkkelen som passord (og forhåndssendt), X-API-Key eller " +
		"Authorization: Bearer." +
		" Feil har ServiceException i detail; category er VALIDATION, AUTHENTICATION, LIMIT_EXCEEDED, TIMEOUT, " +
		"UNAVAILABLE eller INTERNAL. Uten gyldig nøkkel er HTTP-status 401; noen klienter (JAX-WS RI) skjuler da " +
		"detaljen. Den som driver tjenesten, kan sette soap.http_status: 500.",
	"Search for place names: places, names, spellings, cases, decisions, combined decisions, books and map products. " +
		"All operations only read. Absent fields do not restrict; different fields all hold; " +
		"the values of a list are alternatives." +
		" Etter and Foer are strictly after and strictly before; times without a zone are Norwegian time. " +
		"An element that the contract does not have is refused and the right name told. Searches need a key, " +
		"unless the operator has opened the service: Basic with the key as password (sent at once), X-API-Key or " +
		"Authorization: Bearer." +
		" Faults have ServiceException in detail; category is VALIDATION, AUTHENTICATION, LIMIT_EXCEEDED, TIMEOUT, " +
		"UNAVAILABLE or INTERNAL. Without a valid key the HTTP status is 401; some clients (JAX-WS RI) hide the " +
		"detail then. The operator can set soap.http_status: 500.",
}

var operationDocs = map[string]doc{
	"findNavnesaker": {
		"Finner navnesaker, nyeste først." + bothNB + limitNB,
		"Finds name cases, the latest first." + bothEN + limitEN,
	},
	"findSteder": {
		"Finner steder. Eksempel: alle bruer i Stad endret siden mai 2024 er kommunerIds 4649, navneobjekttyperIds " +
			"bru og oppdatertEtter 2024-05-01T00:00:00." + ordersNB + bothNB + limitNB,
		"Finds places. Example: all bridges in Stad updated since May 2024 are kommunerIds 4649, navneobjekttyperIds " +
			"bru and oppdatertEtter 2024-05-01T00:00:00." + ordersEN + bothEN + limitEN,
	},
	"findStederForMatrikkelenhetreferanse": {
		"Finner steder som viser til en matrikkelenhet." + matrikkNB + ordersNB + limitNB,
		"Finds places that refer to a cadastral unit." + matrikkEN + ordersEN + limitEN,
	},
	"findStedsnavn": {
		"Finner navn. Et sted kan ha flere navn, og et navn flere skrivemåter; søket treffer alle skrivemåtene." +
			ordersNB + bothNB + limitNB,
		"Finds names. A place may have several names, and a name several spellings; the search finds by any of its " +
			"spellings." + ordersEN + bothEN + limitEN,
	},
	"findStedsnavnForMatrikkelenhetreferanse": {
		"Finner navnene på steder som viser til en matrikkelenhet." + matrikkNB + ordersNB + limitNB,
		"Finds the names of places that refer to a cadastral unit." + matrikkEN + ordersEN + limitEN,
	},
	"findSkrivemaater": {
		"Finner skrivemåter, også etter dokumentasjonen deres: bøker, kart, vedtak, klager, dokumenter." + ordersNB +
			bothNB + limitNB,
		"Finds spellings, by their documentation too: books, maps, decisions, complaints, documents." + ordersEN +
			bothEN + limitEN,
	},
	"findSkrivemaaterForMatrikkelenhetreferanse": {
		"Finner skrivemåtene av navn på steder som viser til en matrikkelenhet." + matrikkNB + ordersNB + limitNB,
		"Finds the spellings of names of places that refer to a cadastral unit." + matrikkEN + ordersEN + limitEN,
	},
	"findVedtak": {
		"Finner vedtak, nyeste først. Eksempel: vedtaket bak skrivemåten Oslo er skrivemaate Oslo." + bothNB + limitNB,
		"Finds decisions, the latest first. Example: the decision behind the spelling Oslo is skrivemaate Oslo." +
			bothEN + limitEN,
	},
	"findSamlevedtak": {
		"Finner samlevedtak, nyeste først." + bothNB + limitNB,
		"Finds combined decisions, the latest first." + bothEN + limitEN,
	},
	"findBoeker": {
		"Finner bøker der hvert ord i soeketekst står i tittel, forfatter, utgiver eller ISBN, etter tittel. " +
			"Eksempel: Norske gardsnavn: i ny ordning." + limitNB,
		"Finds books in which every word of soeketekst stands in title, author, publisher or ISBN, by title. " +
			"Example: Norske gardsnavn: i ny ordning." + limitEN,
	},
	"findKartprodukter": {
		"Finner kartprodukter, etter produkt, kartblad og år." + bothNB + limitNB,
		"Finds map products, by product, sheet and year." + bothEN + limitEN,
	},
}

var typeDocs = map[string]doc{
	"Timestamp": {
		"Tidspunkt. Uten sone er det norsk tid (Europe/Oslo).",
		"Moment. Without a zone it is Norwegian time (Europe/Oslo).",
	},
	"LocalDate":  {"Dato. En sone ses bort fra.", "Date. A zone is ignored."},
	"StringList": {"Liste av tekster.", "List of texts."},
	anyID:        {"Identifikator eller kode, i value.", "Identifier or code, in value."},
	historyID: {
		"Identifikator for noe som har historikk.",
		"Identifier of something that has a history.",
	},
	"StedsnavnContext": {
		"Hvem som spør, og på hvilket språk feil skal fortelles. Påkrevd i alle operasjoner.",
		"Who asks, and the language that faults are told in. Required by every operation.",
	},
	"KodeId": {
		"Kode i en kodeliste. Verdiene står ved hver kodetype og på /codelists.",
		"Code of a code list. The values stand with each type of code and at /codelists.",
	},
	"KommuneId": {
		"Kommune. value er kommunenummeret, fire sifre: 0301 er Oslo, 4649 er Stad. " +
			"Alle numrene står på /codelists/kommune.",
		"Municipality. value is its number, four digits: 0301 is Oslo, 4649 is Stad. " +
			"All numbers are at /codelists/kommune.",
	},
	"FylkeId": {
		"Fylke. value er fylkesnummeret, to sifre: 03 er Oslo. Alle numrene står på /codelists/fylke.",
		"County. value is its number, two digits: 03 is Oslo. All numbers are at /codelists/fylke.",
	},
	"LandKodeId": {
		"Land. value er ISO-koden (NO, SE, FI, SJ ...; XZ er internasjonalt farvann, ZZ uspesifisert). " +
			"Lange navn (Norge) godtas i søk.",
		"Country. value is the ISO code (NO, SE, FI, SJ ...; XZ is international waters, ZZ not specified). " +
			"Long names (Norge) are accepted in searches.",
	},
	"SpraakKodeId": {
		"Språk. value er ISO 639-3-koden: nor norsk, sme nordsamisk, smj lulesamisk, sma sørsamisk, " +
			"sms skoltesamisk, fkv kvensk, swe, dan, fin ... Lange navn (nordsamisk) godtas i søk.",
		"Language. value is the ISO 639-3 code: nor Norwegian, sme Northern Sami, smj Lule Sami, sma Southern Sami, " +
			"sms Skolt Sami, fkv Kven, swe, dan, fin ... Long names (nordsamisk) are accepted in searches.",
	},
	"Sortering": {
		"Hvor viktig stedet er: bokstav A til N (N er viktigst), så tall 01 til 99 (99 er viktigst).",
		"How important the place is: letter A to N (N is the most important), then number 01 to 99 (99 is the most " +
			"important).",
	},
	"StedIdent": {"Stedets nummer.", "Number of a place."},
	"StedsnavnIdent": {
		"Navnets nummer: stedets nummer og navnets nummer på stedet.",
		"Number of a name: that of the place, and of the name at the place.",
	},
	"SkrivemaateIdent": {
		"Skrivemåtens nummer: stedets, navnets og skrivemåtens.",
		"Number of a spelling: those of the place, the name and the spelling.",
	},
	"UtoevendeMyndighet": {
		"Den som gjorde et vedtak; xsi:type sier om det er en kommune eller et fylke.",
		"Who made a decision; xsi:type says whether it is a municipality or a county.",
	},
	"UtoevendeMyndighetKommune": {"En kommune gjorde vedtaket.", "A municipality made the decision."},
	"UtoevendeMyndighetFylke":   {"Et fylke gjorde vedtaket.", "A county made the decision."},
	"ServiceFaultInfo": {
		"Hva som gikk galt. Står i detail i alle feil når meldingen er lest.",
		"What went wrong. Stands in the detail of every fault once the message was read.",
	},
	"ExceptionDetail":          {"Feilens klasse og melding.", "Class and message of the fault."},
	"StackTraceElement":        {"Sendes aldri.", "Never sent."},
	"AttemptDeleteFaultInfo":   {"Brukes ikke av søk.", "Not used by searches."},
	"LockKey":                  {"Brukes ikke av søk.", "Not used by searches."},
	"LockNotAquired":           {"Brukes ikke av søk.", "Not used by searches."},
	"LockedFaultInfo":          {"Brukes ikke av søk.", "Not used by searches."},
	"ObjectsNotFoundFaultInfo": {"Brukes ikke av søk.", "Not used by searches."},
	"Matrikkelnummer": {
		"Matrikkelenhet. En del som enheten ikke har, er 0.",
		"Cadastral unit. A part that the unit does not have is 0.",
	},
	"StedSoek": {
		"Kriterier for steder. Alle er valgfrie.",
		"Criteria for places. All are optional.",
	},
	"StedsnavnSoek": {
		"Kriterier for navn. Alle er valgfrie.",
		"Criteria for names. All are optional.",
	},
	"SkrivemaateSoek": {
		"Kriterier for skrivemåter. Alle er valgfrie.",
		"Criteria for spellings. All are optional.",
	},
	"BokSoek": {
		"Skrivemåten er dokumentert i en bok der alt dette gjelder.",
		"The spelling is documented in a book for which all this holds.",
	},
	"KartforekomstSoek": {
		"Skrivemåten er dokumentert på et kart der alt dette gjelder.",
		"The spelling is documented on a map for which all this holds.",
	},
	"OpplysningSoek": {
		"Skrivemåten er dokumentert ved en opplysning.",
		"The spelling is documented by information given.",
	},
	"LokaleInnsamlingerSoek": {
		"Skrivemåten er dokumentert i en lokal innsamling.",
		"The spelling is documented by a local collector.",
	},
	"DokumentertVedtakSoek": {
		"Skrivemåten er dokumentert ved et vedtak der alt dette gjelder.",
		"The spelling is documented by a decision for which all this holds.",
	},
	"DokumentertSamlevedtakSoek": {
		"Skrivemåten er dokumentert ved et samlevedtak der alt dette gjelder.",
		"The spelling is documented by a combined decision for which all this holds.",
	},
	"DokumentertKlageSoek": {
		"Skrivemåten er dokumentert ved en klage der alt dette gjelder.",
		"The spelling is documented by a complaint for which all this holds.",
	},
	"DokumentSoek": {
		"Dokumenter. Hver entry må ha et dokument.",
		"Documents. Each entry needs a document.",
	},
	"DokumentSoekEntry": {
		"Et dokument av en type, med en beskrivelse.",
		"A document of a type, with a description.",
	},
	"NavnesakSoek": {
		"Kriterier for navnesaker. Alle er valgfrie.",
		"Criteria for name cases. All are optional.",
	},
	"VedtakSoek": {
		"Kriterier for vedtak. Alle er valgfrie.",
		"Criteria for decisions. All are optional.",
	},
	"SamlevedtakSoek": {
		"Kriterier for samlevedtak. Alle er valgfrie.",
		"Criteria for combined decisions. All are optional.",
	},
	"StedTreff":                       {"Et sted.", "A place."},
	"StedsnavnTreff":                  {"Et navn.", "A name."},
	"SkrivemaateTreff":                {"En skrivemåte.", "A spelling."},
	"NavnesakTreff":                   {"En navnesak.", "A name case."},
	"VedtakTreff":                     {"Et vedtak.", "A decision."},
	"SamlevedtakTreff":                {"Et samlevedtak.", "A combined decision."},
	"BokTreff":                        {"En bok.", "A book."},
	"KartproduktTreff":                {"Et kartprodukt.", "A map product."},
	"StedMatrikkelenhetreferanseSoek": unitSearchDoc,
	"StedMatrikkelenhetreferanseTreff": {
		"Et sted og en matrikkelenhet som det viser til.",
		"A place and a cadastral unit that it refers to.",
	},
	"StedsnavnMatrikkelenhetreferanseSoek": unitSearchDoc,
	"StedsnavnMatrikkelenhetreferanseTreff": {
		"Et navn og en matrikkelenhet som stedet viser til.",
		"A name and a cadastral unit that its place refers to.",
	},
	"SkrivemaateMatrikkelenhetreferanseSoek": unitSearchDoc,
	"SkrivemaateMatrikkelenhetreferanseTreff": {
		"En skrivemåte og en matrikkelenhet som stedet viser til.",
		"A spelling and a cadastral unit that its place refers to.",
	},
}

var unitSearchDoc = doc{
	"Matrikkelenheter og andre kriterier. kommunenummer og gaardsnummer er påkrevd.",
	"Cadastral units and other criteria. kommunenummer and gaardsnummer are required.",
}

// fieldDocs documents fields, by field name or by type and field name.
var fieldDocs = map[string]doc{
	"return":           {"Treffene.", "The hits."},
	"stedsnavnContext": {"Hvem som spør. Påkrevd.", "Who asks. Required."},
	"systemVersion": {
		"Versjonen av systemet som spør. Bare til loggen.",
		"Version of the system that asks. For the log only.",
	},
	"clientIdentification": {
		"Navnet på systemet som spør. Bare til loggen.",
		"Name of the system that asks. For the log only.",
	},
	"locale": {
		"Språket feil fortelles på: nb_NO, nn_NO eller en.",
		"Language that faults are told in: nb_NO, nn_NO or en.",
	},
	"snapshotVersion": {
		"Tidspunktet dataene skal gjelde for. Det er ingen historikk: oppgi 9999-01-01T00:00:00+01:00.",
		"The moment that data shall be of. There is no history: give 9999-01-01T00:00:00+01:00.",
	},
	"beregnVisningsnavn": {
		"Om visningsnavnet skal være med: navnene på alle språk, som Karasjok – Kárášjohka. Påkrevd.",
		"Whether the display name is wanted: names in all languages, such as Karasjok – Kárášjohka. Required.",
	},
	"inkluderGeometri": {
		"Om geometrien skal være med. Ingen operasjon søker med en boks: søk etter kommune og velg ved " +
			"geometrien. Påkrevd.",
		"Whether the geometry is wanted. No operation searches by a box: search by municipality and choose by the " +
			"geometry. Required.",
	},
	"stedSoek": {
		"Kriteriene. Påkrevd, men kan være tom.",
		"The criteria. Required, but may be empty.",
	},
	"stedsnavnSoek": {
		"Kriteriene. Påkrevd, men kan være tom.",
		"The criteria. Required, but may be empty.",
	},
	"skrivemaateSoek": {
		"Kriteriene. Påkrevd, men kan være tom.",
		"The criteria. Required, but may be empty.",
	},
	"navnesakSoek": {
		"Kriteriene. Påkrevd, men kan være tom.",
		"The criteria. Required, but may be empty.",
	},
	"findVedtak.vedtakSoek": {
		"Kriteriene. Påkrevd, men kan være tom.",
		"The criteria. Required, but may be empty.",
	},
	"findSamlevedtak.samlevedtakSoek": {
		"Kriteriene. Påkrevd, men kan være tom.",
		"The criteria. Required, but may be empty.",
	},
	"soek": {"Kriteriene. Påkrevd.", "The criteria. Required."},
	"soeketekst": {
		"Ord som alle må finnes. Skilletegn ses bort fra: «Granmo, Vigdis». Et ord finnes også inne i et lengre ord. " +
			"* og ? er tillatt. ISBN kan ha bindestreker. Ett ord må ha minst to tegn. Påkrevd.",
		"Words that must all occur. Punctuation is ignored: \"Granmo, Vigdis\". A word is found inside a longer one " +
			"too. * and ? are allowed. An ISBN may have hyphens. One word needs two characters or more. Required.",
	},
	"produktkodeId": {"Kartproduktet.", "The map product."},
	"findKartprodukter.kartblad": {
		"Kartbladets navn eller nummer." + textNB,
		"Name or number of the sheet." + textEN,
	},
	"findKartprodukter.utgivelsesaar": {"Utgivelsesåret.", "Year of publication."},
	"timestamp": {
		"Tidspunktet: 2024-05-01T00:00:00+02:00.",
		"The moment: 2024-05-01T00:00:00+02:00.",
	},
	"date": {"Datoen: 2024-05-01.", "The date: 2024-05-01."},
	"value": {
		"Verdien. Ikke tom, høyst 64 tegn.",
		"The value. Not empty, at most 64 characters.",
	},
	"DokumentSoekEntry.key": {"Typen dokument.", "Type of document."},
	"DokumentSoekEntry.value": {
		"Beskrivelsen av dokumentet; tom for alle." + textNB,
		"Description of the document; empty for any." + textEN,
	},
	"entry": {"Et dokument som må finnes.", "A document that there must be."},
	"registrertEtter": {
		"Registrert etter dette tidspunktet, ikke på det. Det gjelder det som søket finner: stedet, navnet, " +
			"skrivemåten eller saken selv.",
		"Registered after this moment, not at it. It is that of what the search finds: of the place, the name, " +
			"the spelling or the case itself.",
	},
	"registrertFoer": {
		"Registrert før dette tidspunktet, ikke på det; ellers som registrertEtter.",
		"Registered before this moment, not at it; else as registrertEtter.",
	},
	"oppdatertEtter": {
		"Oppdatert etter dette tidspunktet, ikke på det; for det som aldri er oppdatert, gjelder registreringen. " +
			"Det gjelder det som søket finner, som i registrertEtter. En hel dag, 1. " +
			"juni, er oppdatertEtter 2024-05-31T23:59:59.999 og oppdatertFoer 2024-06-02T00:00:00.",
		"Updated after this moment, not at it; what was never updated counts as of its registration. " +
			"It is that of what the search finds, as of registrertEtter. A whole day, 1 June, is oppdatertEtter " +
			"2024-05-31T23:59:59.999 and oppdatertFoer 2024-06-02T00:00:00.",
	},
	"oppdatertFoer": {
		"Oppdatert før dette tidspunktet, ikke på det; ellers som oppdatertEtter.",
		"Updated before this moment, not at it; else as oppdatertEtter.",
	},
	"vedtattEtter": {
		"Vedtatt etter denne dagen, ikke på den.",
		"Decided after this day, not on it.",
	},
	"vedtattFoer": {
		"Vedtatt før denne dagen, ikke på den.",
		"Decided before this day, not on it.",
	},
	"skrivemaatestatusdatoEtter": {
		"Fikk sin status etter denne dagen, ikke på den.",
		"Got its status after this day, not on it.",
	},
	"skrivemaatestatusdatoFoer": {
		"Fikk sin status før denne dagen, ikke på den.",
		"Got its status before this day, not on it.",
	},
	"dokumentasjonsdatoEtter": {
		"Har dokumentasjon fra etter denne dagen. Av bøker og kart gjelder 1. januar i utgivelsesåret.",
		"Has documentation of after this day. Of books and maps 1 January of the year of publication counts.",
	},
	"dokumentasjonsdatoFoer": {
		"Har dokumentasjon fra før denne dagen; samme dokumentasjon som dokumentasjonsdatoEtter.",
		"Has documentation of before this day; the same documentation as dokumentasjonsdatoEtter.",
	},
	"stedsnummer": {
		"Stedets nummer; et annet enn stedId, som er id-en i denne tjenesten.",
		"Number of the place; another than stedId, which is its id in this service.",
	},
	"stedsnavnnummer":   {"Navnets nummer på stedet.", "Number of the name at the place."},
	"skrivemaatenummer": {"Skrivemåtens nummer på navnet.", "Number of the spelling of the name."},
	"StedSoek.stedsnavn": {
		nameNB + " Stedet finnes ved enhver skrivemåte av ethvert navn.",
		nameEN + " A place is found by any spelling of any of its names.",
	},
	"StedsnavnSoek.stedsnavn": {
		nameNB + " Navnet finnes ved enhver skrivemåte.",
		nameEN + " A name is found by any of its spellings.",
	},
	"stedsnavn": {nameNB, nameEN},
	"VedtakSoek.skrivemaate": {
		"Skrivemåte som er vedtatt. " + nameNB,
		"Spelling that was decided. " + nameEN,
	},
	"avansertSoek": {advancedNB, advancedEN},
	"navneobjekttyperIds": {
		"Stedets type: bru, fjell, gard, bruk ...",
		"Type of the place: bru (bridge), fjell (mountain), gard (farm), bruk (holding of a farm) ...",
	},
	"navneobjekttypeIds": {
		"Stedets type: bru, fjell, gard, bruk ...",
		"Type of the place: bru (bridge), fjell (mountain), gard (farm), bruk (holding of a farm) ...",
	},
	"stedstatuserIds": {"Stedets status.", "Status of the place."},
	"StedSoek.landId": {"Landet stedet ligger i.", "Country that the place lies in."},
	"landId":          {"Landet stedet ligger i.", "Country that the place lies in."},
	"kommunerIds": {
		"Kommuner, ved kommunenummer: 4649 er Stad. Det som ligger i flere, som en innsjø eller et fylke, " +
			"finnes ved hver av dem.",
		"Municipalities, by number: 4649 is Stad. What lies in several, such as a lake or a county, is found by each.",
	},
	"spraakprioriteringerIds": {"Rekkefølgen av språk på stedet.", "Order of languages at the place."},
	"vedtaksmyndigheterIds": {
		"Den som har myndighet til å vedta skrivemåten.",
		"Who has the authority to decide the spelling.",
	},
	"tilleggsopplysningstyperIds": {
		"Typen av en tilleggsopplysning.",
		"Type of an additional piece of information.",
	},
	"tilleggsopplysningtekst": {
		"Teksten i tilleggsopplysningen, den samme som er av typen." + textNB,
		"Text of the additional piece of information, the same that has the type." + textEN,
	},
	"merknadstyperIds": {"Typen av en merknad.", "Type of a remark."},
	"merknadstekst": {
		"Teksten i merknaden, den samme som er av typen." + textNB,
		"Text of the remark, the same that has the type." + textEN,
	},
	"avAllmennInteresse": {
		"Om stedet er av allmenn interesse.",
		"Whether the place is of general interest.",
	},
	"spraakIds":           {"Navnets språk.", "Language of the name."},
	"navnesakstatuserIds": {"Status for saken om navnet.", "Status of the case about the name."},
	"navnestatuserIds": {
		"Navnets status: hovednavn, sidenavn ...",
		"Status of the name: hovednavn (main), sidenavn (secondary) ...",
	},
	"harPrimaerfunksjon": {
		"Om navnet er avledet av et primærnavn.",
		"Whether the name is derived from a primary name.",
	},
	"tittel":    {"Bokas tittel." + textNB, "Title of the book." + textEN},
	"utgave":    {"Bokas utgave." + textNB, "Edition of the book." + textEN},
	"utgiver":   {"Bokas utgiver." + textNB, "Publisher of the book." + textEN},
	"produktId": {"Kartproduktet.", "The map product."},
	"kartblad": {
		"Kartbladets navn eller nummer." + textNB,
		"Name or number of the sheet." + textEN,
	},
	"informant":        {"Den som gav opplysningen." + textNB, "Who gave the information." + textEN},
	"innsamler":        {"Den som samlet inn." + textNB, "Who collected it." + textEN},
	"aar":              {"Året saken ble reist.", "Year in which the case was raised."},
	"saksnummer":       {"Sakens nummer i året.", "Number of the case in its year."},
	"arkivloepenummer": {"Løpenummeret i saken.", "Running number in the case."},
	"arkivreferanse":   {"Referansen i arkivet." + textNB, "Reference in the archive." + textEN},
	"beskrivelse":      {"Beskrivelsen." + textNB, "Description." + textEN},
	"skrivemaatestatuserIds": {
		"Skrivemåtens status: vedtatt, godkjent ...",
		"Status of the spelling: vedtatt (decided), godkjent (approved) ...",
	},
	"prioritert": {
		"Om skrivemåten er den prioriterte av navnet.",
		"Whether the spelling is the preferred one of the name.",
	},
	"bokSoek": {"Dokumentasjon i en bok.", "Documentation in a book."},
	"offentligKartforekomstSoek": {
		"Dokumentasjon på et kart i offentlig bruk.",
		"Documentation on a map in public use.",
	},
	"opplysningSoek":                  {"Dokumentasjon ved en opplysning.", "Documentation by information given."},
	"lokaleInnsamlingerSoek":          {"Dokumentasjon i en lokal innsamling.", "Documentation by a local collector."},
	"annenKartforekomstSoek":          {"Dokumentasjon på et annet kart.", "Documentation on another map."},
	"SkrivemaateSoek.vedtakSoek":      {"Dokumentasjon ved et vedtak.", "Documentation by a decision."},
	"SkrivemaateSoek.samlevedtakSoek": {"Dokumentasjon ved et samlevedtak.", "Documentation by a combined decision."},
	"klageSoek":                       {"Dokumentasjon ved en klage.", "Documentation by a complaint."},
	"dokumentSoek":                    {"Dokumentasjon ved dokumenter.", "Documentation by documents."},
	"klagesak": {
		"Om saken er reist etter en klage.",
		"Whether the case was raised by a complaint.",
	},
	"avsluttet":          {"Om saken er avsluttet.", "Whether the case is closed."},
	"vedtaksmyndighetId": {"Den som har myndighet til å vedta.", "Who has the authority to decide."},
	"omraadeId": {
		"Området, som navnekonsulentene er delt etter.",
		"Region, by which the consultants for names are divided.",
	},
	"kommunenummer": {
		"Kommunenummeret, fire sifre: 4649 er Stad.",
		"Number of the municipality, four digits: 4649 is Stad.",
	},
	"gaardsnummer": {"Gårdsnummer: 1, 1-5 eller 1-5,7.", "Farm number: 1, 1-5 or 1-5,7."},
	"bruksnummer": {
		"Bruksnummer: 1, 1-5 eller 1-5,7. Uten det gjelder alle.",
		"Holding number: 1, 1-5 or 1-5,7. Without it all count.",
	},
	"festenummer": {
		"Festenummer. Uten det gjelder alle; 0 er ingen.",
		"Leasehold number. Without it all count; 0 is none.",
	},
	"seksjonsnummer": {
		"Seksjonsnummer. Uten det gjelder alle; 0 er ingen.",
		"Section number. Without it all count; 0 is none.",
	},
	"Matrikkelnummer.gaardsnummer":        {"Gårdsnummer.", "Farm number."},
	"Matrikkelnummer.bruksnummer":         {"Bruksnummer; 0 er ingen.", "Holding number; 0 is none."},
	"Matrikkelnummer.festenummer":         {"Festenummer; 0 er ingen.", "Leasehold number; 0 is none."},
	"Matrikkelnummer.seksjonsnummer":      {"Seksjonsnummer; 0 er ingen.", "Section number; 0 is none."},
	"UtoevendeMyndighetKommune.kommuneId": {"Kommunen.", "The municipality."},
	"UtoevendeMyndighetFylke.fylkeId":     {"Fylket.", "The county."},
	"sortering1KodeId": {
		"Bokstaven: viktighetA til viktighetN; N er viktigst.",
		"The letter: viktighetA to viktighetN; N is the most important.",
	},
	"sortering2KodeId": {
		"Tallet: viktighet01 til viktighet99; 99 er viktigst.",
		"The number: viktighet01 to viktighet99; 99 is the most important.",
	},
	"category": {
		"VALIDATION (rett søket), AUTHENTICATION (nøkkelen), LIMIT_EXCEEDED (avgrens søket), TIMEOUT (avgrens eller " +
			"prøv igjen), UNAVAILABLE (prøv igjen) eller INTERNAL.",
		"VALIDATION (mend the search), AUTHENTICATION (the key), LIMIT_EXCEEDED (narrow the search), TIMEOUT (narrow " +
			"it or try again), UNAVAILABLE (try again) or INTERNAL.",
	},
	"stackTraceText": {
		"Nummeret på forespørselen, som også står i loggen.",
		"Number of the request, which the log has too.",
	},
	"exceptionDetail": {"Hva som gikk galt.", "What went wrong."},
	"className": {
		"Klassen: ValidationException, AuthenticationException, LimitExceededException ...",
		"The class: ValidationException, AuthenticationException, LimitExceededException ...",
	},
	"message": {
		"Meldingen, på språket i locale, med feltet, verdien og hva som er rett.",
		"The message, in the language of locale, with the field, the value and what is right.",
	},
	"cause":              {"Alltid nil.", "Always nil."},
	"stackTraceElements": {"Alltid tom.", "Always empty."},
	"declaringClass":     unusedDoc, "methodName": unusedDoc, "fileName": unusedDoc, "lineNumber": unusedDoc,
	"bubbleId": unusedDoc, "discriminator": unusedDoc, "keyValue": unusedDoc,
	"lockKey": unusedDoc, "owner": unusedDoc, "expires": unusedDoc, "locksNotAquired": unusedDoc,
	"exceptionTime": unusedDoc, "idsNotFound": unusedDoc,
}

var unusedDoc = doc{"Sendes aldri av søk.", "Never sent by searches."}

const (
	advancedNB = "Om stedsnavn er et uttrykk; uten avansertSoek er det ikke det. I et uttrykk er blank OG, | ELLER, " +
		"- foran et ledd IKKE. Et ord finnes inne i navnet, men med * eller ? må hele navnet passe. " +
		"\"to ord\" står ved siden av hverandre, =Ås er nøyaktig slik det er skrevet, =Ås* begynner nøyaktig slik " +
		"(Ås* finner også Asker), ~Kristiansand ligner (har minst 40 % av bokstavtripletene til felles). Eksempler: " +
		"nes -sand, vik|våg, \"nord fron\", =Ås*, ~Kristiansand. Én skrivemåte må oppfylle alt."
	advancedEN = "Whether stedsnavn is an expression; without avansertSoek it is not. In an expression a blank is " +
		"AND, | is OR, - before a term is NOT. A word is found inside the name, but with * or ? the whole name must " +
		"match. \"two words\" stand beside each other, =Bo is exactly as written, with its case and marks, " +
		"and =Bo* begins exactly so (Bo* finds names that begin with another o, too, as Ås* finds Asker), " +
		"~Kristiansand is similar (at least 40 % of its runs of three letters in common). Examples: " +
		"nes -sand, vik|sund, \"nord fron\", =Os*, ~Kristiansand. One and the same spelling must fulfil it all."
)

// hitDocs documents the fields of hits that search objects do not have, or that have another meaning there.
var hitDocs = map[string]doc{
	"stedId":        {"Identifikator for stedet.", "Identifier of the place."},
	"stedsnavnId":   {"Identifikator for navnet.", "Identifier of the name."},
	"skrivemaateId": {"Identifikator for skrivemåten.", "Identifier of the spelling."},
	"navnesakId":    {"Identifikator for saken.", "Identifier of the case."},
	"vedtakId":      {"Identifikator for vedtaket.", "Identifier of the decision."},
	"samlevedtakId": {"Identifikator for samlevedtaket.", "Identifier of the combined decision."},
	"id":            {"Identifikator.", "Identifier."},
	"ident":         {"Nummeret.", "The number."},
	"stedsnavn": {
		"Navnet; visningsnavnet når det er bedt om. I saker alle navnene.",
		"The name; the display name where it was asked for. In cases all names.",
	},
	"visningsnavnForSted": {
		"Stedets visningsnavn, når det er bedt om.",
		"Display name of the place, where it was asked for.",
	},
	"skrivemaate": {"Skrivemåten.", "The spelling."},
	"skrivemaater": {
		"De vedtatte skrivemåtene, med komma mellom.",
		"The spellings decided, with commas between.",
	},
	"navneobjekttypeId":    {"Stedets type.", "Type of the place."},
	"stedstatusId":         {"Stedets status.", "Status of the place."},
	"kommunerIds":          {"Kommunene stedet ligger i.", "Municipalities that the place lies in."},
	"kommuneId":            {"Kommunen i matrikkelreferansen.", "Municipality of the cadastral reference."},
	"landId":               {"Landet stedet ligger i.", "Country that the place lies in."},
	"spraakprioriteringId": {"Rekkefølgen av språk på stedet.", "Order of languages at the place."},
	"sortering": {
		"Hvor viktig stedet er; treff kommer i den rekkefølgen.",
		"How important the place is; hits come in that order.",
	},
	"antallTilleggsopplysninger": {"Antall tilleggsopplysninger.", "Number of additional pieces of information."},
	"antallInterneMerknader":     {"Antall merknader.", "Number of remarks."},
	"antallSkrivemaater":         {"Antall skrivemåter av navnet.", "Number of spellings of the name."},
	"geometri": {
		"Geometrien når det er bedt om den: WKT i {crs} (EUREF89), x før y (for grader lengde før bredde): " +
			"POINT, MULTIPOINT, LINESTRING eller POLYGON.",
		"The geometry where it was asked for: WKT in {crs} (EUREF89), x before y (of degrees longitude before " +
			"latitude): POINT, MULTIPOINT, LINESTRING or POLYGON.",
	},
	"stedsnavnSkrivemaatestatusIds": {
		"Statusen for hver skrivemåte i stedsnavn, i samme rekkefølge.",
		"Status of each spelling in stedsnavn, in the same order.",
	},
	"spraakId": {"Navnets språk.", "Language of the name."},
	"harPrimaerfunksjon": {
		"Om navnet er avledet av et primærnavn.",
		"Whether the name is derived from a primary name.",
	},
	"navnestatusId":         {"Navnets status.", "Status of the name."},
	"navnesakstatusId":      {"Status for saken om navnet.", "Status of the case about the name."},
	"skrivemaatestatusId":   {"Skrivemåtens status.", "Status of the spelling."},
	"skrivemaatestatusdato": {"Dagen skrivemåten fikk sin status.", "Day on which the spelling got its status."},
	"kasustypeId":           {"Skrivemåtens kasus.", "Grammatical case of the spelling."},
	"registreringsdato":     {"Når det ble registrert.", "When it was registered."},
	"oppdateringsdato":      {"Når det sist ble oppdatert.", "When it was last updated."},
	"tilleggsopplysning": {
		"Tilleggsopplysning til matrikkelreferansen.",
		"Additional information on the cadastral reference.",
	},
	"matrikkelnummer": {"Matrikkelenheten.", "The cadastral unit."},
	"vedtaksdato":     {"Dagen det ble vedtatt.", "Day of the decision."},
	"vedtattAv": {
		"Den som vedtok: en kommune eller et fylke, ved xsi:type; nil når det ikke er kjent.",
		"Who decided: a municipality or a county, by xsi:type; nil where it is not known.",
	},
	"beskrivelse":    {"Beskrivelsen.", "Description."},
	"arkivreferanse": {"Referansen i arkivet.", "Reference in the archive."},
	"tittel":         {"Tittelen.", "Title."},
	"isbn":           {"ISBN; tom når det ikke er noe.", "ISBN; empty where there is none."},
	"utgave":         {"Utgaven.", "Edition."},
	"forfatter":      {"Forfatteren.", "Author."},
	"utgiver":        {"Utgiveren.", "Publisher."},
	"utgivelsesaar": {
		"Utgivelsesåret; 0 når det ikke er kjent.",
		"Year of publication; 0 where it is not known.",
	},
	"kartblad": {"Kartbladets navn eller nummer.", "Name or number of the sheet."},
}
