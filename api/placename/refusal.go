package placename

import (
	"fmt"
	"strings"
	"unicode"
)

// Refusal is the error for an invalid request. It holds all faults, independent of language; the protocol code writes
// them in the language of the client.
type Refusal struct {
	Faults []Fault // at least one
}

// Fault is one error in a request.
type Fault struct {
	Path   string // path of the field, starting with the wrapper: "findSteder/stedSoek/kommunerIds/item[2]"
	Value  string // as sent; may be ""
	Reason Reason
	N      int64  // the number in the text of Reason: a limit, or a position counted from 1
	Right  string // the name or namespace in the text of Reason
}

// Error returns the text for a log, in English.
func (e *Refusal) Error() string { return "placename: " + e.Text(English) }

// Limit reports whether a search has too many hits, in which case the request itself is valid.
func (e *Refusal) Limit() bool { return e.Faults[0].Reason == TooManyHits }

// Text returns all faults in language l, one sentence per fault.
func (e *Refusal) Text(l Lang) string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(f.Text(l))
	}
	return b.String()
}

// Cure returns, in language l and without a full stop, what the client should send instead.
func (f Fault) Cure(l Lang) string {
	cure := reasons[f.Reason][l]
	if strings.Contains(cure, "%d") {
		return fmt.Sprintf(cure, f.N)
	} else if strings.Contains(cure, "%s") {
		return fmt.Sprintf(cure, f.Right)
	}
	return cure
}

// Text returns the fault in language l: path, value shortened to 64 characters, and cure.
func (f Fault) Text(l Lang) string {
	cure := f.Cure(l)
	if f.Value == "" {
		return f.Path + ": " + cure + "."
	}
	return f.Path + " = " + quote(f.Value) + ": " + cure + "."
}

// quote shortens a value sent by the client and makes control characters visible.
func quote(s string) string {
	if r := []rune(s); len(r) > 64 {
		s = string(r[:64]) + "…"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			fmt.Fprintf(&b, "U+%04X", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String() + `"`
}

// Lang is the language of fault texts.
type Lang uint8

const (
	Bokmaal Lang = iota
	Nynorsk
	English
)

// LangOf returns the language for a locale of the context, such as "nn_NO", "en-GB" or "no". Unknown locales give
// Bokmål.
func LangOf(locale string) Lang {
	l, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(locale)), "_")
	l, _, _ = strings.Cut(l, "-")
	switch l {
	case "nn":
		return Nynorsk
	case "en":
		return English
	}
	return Bokmaal
}

// Tag returns the language tag (BCP 47).
func (l Lang) Tag() string { return [...]string{"nb", "nn", "en"}[l] }

// Reason is the reason for a fault. Every Reason has a text in every language.
type Reason uint8

const (
	Missing          Reason = iota // a required element is absent or nil
	Repeated                       // an element that may occur once occurs twice
	NotBoolean                     //
	NotInt                         // not an xs:int
	NotLong                        // not an xs:long
	NotTimestamp                   // not an xs:dateTime of the years 1 to 9999
	NotDate                        // not an xs:date of the years 1 to 9999
	EmptyValue                     // an id or code is empty
	LongID                         // an id or code has more than 64 characters
	UnknownOp                      // no such operation
	HasChildren                    // an element that must contain text contains elements
	Blank                          // a required text is blank
	LongText                       // a text has more than N characters
	LongList                       // a list has more than N items
	FewLiterals                    // a pattern has fewer than N characters other than wildcards and spaces
	BadExpression                  // an expression has a syntax error at position N
	BadKommune                     // a municipality number does not have 4 digits
	BadNumberList                  // not a list of numbers and ranges separated by commas
	NotNumber                      // an id that must be a number is not one
	OldSnapshot                    // snapshotVersion is earlier than the data
	TooManyHits                    // the search has more than N hits
	Misspelt                       // no such element; Right has nearly the same name
	WrongNamespace                 // an element in another namespace than Right
	UnknownElement                 // no such element; Right lists those that are allowed
	HasText                        // an element that may only contain elements, listed in Right, contains text
	UnknownAttribute               // an attribute that no element of the contract has
	NilContent                     // an element with xsi:nil="true" is not empty
	UnknownCode                    // a code that is not in its list; Right lists similar codes
	// a code that is not in its list and similar to none; Right is the path of the list
	UnknownCodeOf
	ShortWords // no word of the text has N letters or digits
	AllNil     // all items of a list are nil; Right is their name
	Attachment // refers to a part of a multipart message
	BadValue   // any other invalid value
	reasonCount
)

var reasons = [reasonCount][3]string{
	Missing: {"elementet er påkrevd", "elementet er påkravd", "the element is required"},
	Repeated: {
		"elementet kan bare stå én gang",
		"elementet kan berre stå éin gong",
		"the element may stand only once",
	},
	NotBoolean: {"må være true, false, 1 eller 0", "må vere true, false, 1 eller 0", "must be true, false, 1 or 0"},
	NotInt: {
		"må være et heltall fra -2147483648 til 2147483647",
		"må vere eit heiltal frå -2147483648 til 2147483647",
		"must be a whole number from -2147483648 to 2147483647",
	},
	NotLong: {
		"må være et heltall på høyst 64 bit",
		"må vere eit heiltal på høgst 64 bit",
		"must be a whole number of at most 64 bits",
	},
	NotTimestamp: {
		"må være et tidspunkt som 2024-01-31T12:00:00+01:00, i årene 0001 til 9999",
		"må vere eit tidspunkt som 2024-01-31T12:00:00+01:00, i åra 0001 til 9999",
		"must be a time such as 2024-01-31T12:00:00+01:00, in the years 0001 to 9999",
	},
	NotDate: {
		"må være en dato som 2024-01-31, i årene 0001 til 9999",
		"må vere ein dato som 2024-01-31, i åra 0001 til 9999",
		"must be a date such as 2024-01-31, in the years 0001 to 9999",
	},
	EmptyValue: {"value kan ikke være tom", "value kan ikkje vere tom", "value must not be empty"},
	LongID:     {"må ha høyst 64 tegn", "må ha høgst 64 teikn", "must have at most 64 characters"},
	UnknownOp: {
		"tjenesten har ingen slik operasjon",
		"tenesta har ingen slik operasjon",
		"the service has no such operation",
	},
	Attachment: {
		"vedlegg blir ikke lest; skriv verdien i elementet",
		"vedlegg blir ikkje lesne; skriv verdien i elementet",
		"attachments are not read; write the value in the element",
	},
	HasChildren: {"må være tekst, ikke elementer", "må vere tekst, ikkje element", "must be text, not elements"},
	Blank:       {"kan ikke være tom", "kan ikkje vere tom", "must not be blank"},
	LongText:    {"må ha høyst %d tegn", "må ha høgst %d teikn", "must have at most %d characters"},
	LongList:    {"må ha høyst %d verdier", "må ha høgst %d verdiar", "must have at most %d items"},
	FewLiterals: {
		"et mønster må ha minst %d tegn som ikke er * eller ?",
		"eit mønster må ha minst %d teikn som ikkje er * eller ?",
		"a pattern needs at least %d characters other than * and ?",
	},
	BadExpression: {
		"uttrykket har en feil ved tegn %d",
		"uttrykket har ein feil ved teikn %d",
		"the expression has a fault at character %d",
	},
	BadKommune: {
		"må være et kommunenummer på 4 sifre",
		"må vere eit kommunenummer på 4 siffer",
		"must be a municipality number of 4 digits",
	},
	BadNumberList: {
		"må være tall, med komma og bindestrek mellom dem, som 1-5,7",
		"må vere tal, med komma og bindestrek mellom dei, som 1-5,7",
		"must be numbers, with commas and hyphens between them, such as 1-5,7",
	},
	NotNumber: {"må være et tall", "må vere eit tal", "must be a number"},
	OldSnapshot: {
		"tjenesten har ingen historikk; oppgi et tidspunkt etter datauttrekket, for eksempel 9999-01-01T00:00:00+01:00",
		"tenesta har ingen historikk; oppgje eit tidspunkt etter datauttrekket, til dømes 9999-01-01T00:00:00+01:00",
		"the service holds no history; give a time after the data extract, such as 9999-01-01T00:00:00+01:00",
	},
	TooManyHits: {
		"søket gir flere enn %d treff; avgrens det, for eksempel med kommune eller oppdatertEtter og oppdatertFoer",
		"søket gjev fleire enn %d treff; avgrens det, til dømes med kommune eller oppdatertEtter og oppdatertFoer",
		"the search gives more than %d hits; narrow it, for instance by municipality or by oppdatertEtter and " +
			"oppdatertFoer",
	},
	Misspelt: {
		"det er ikke noe slikt element; riktig er %s",
		"det finst ikkje noko slikt element; rett er %s",
		"there is no such element; the right one is %s",
	},
	WrongNamespace: {
		"elementet må stå i navnerommet %s",
		"elementet må stå i namnerommet %s",
		"the element must be in the namespace %s",
	},
	UnknownElement: {
		"det er ikke noe slikt element; her kan stå %s",
		"det finst ikkje noko slikt element; her kan stå %s",
		"there is no such element; there may be %s",
	},
	HasText: {
		"må ha elementer (%s), ikke tekst",
		"må ha element (%s), ikkje tekst",
		"must hold elements (%s), not text",
	},
	UnknownAttribute: {
		"det er ikke noe slikt attributt; verdier står inne i elementene",
		"det finst ikkje noko slikt attributt; verdiar står inne i elementa",
		"there is no such attribute; values stand inside the elements",
	},
	NilContent: {
		"et element med xsi:nil=\"true\" må være tomt; fjern xsi:nil eller innholdet",
		"eit element med xsi:nil=\"true\" må vere tomt; fjern xsi:nil eller innhaldet",
		"an element with xsi:nil=\"true\" must be empty; remove xsi:nil or the content",
	},
	UnknownCode: {
		"det er ingen slik kode; nærmest: %s",
		"det finst ingen slik kode; nærast: %s",
		"there is no such code; nearest: %s",
	},
	UnknownCodeOf: {
		"det er ingen slik kode; kodene står på %s",
		"det finst ingen slik kode; kodane står på %s",
		"there is no such code; the codes are at %s",
	},
	ShortWords: {
		"minst ett ord må ha %d bokstaver eller sifre; skilletegn ses bort fra",
		"minst eitt ord må ha %d bokstavar eller siffer; skiljeteikn ser ein bort frå",
		"at least one word needs %d letters or digits; punctuation is ignored",
	},
	AllNil: {
		"minst én %s må ha en verdi; utelat lista for ikke å begrense søket",
		"minst éin %s må ha ein verdi; utelat lista for ikkje å avgrense søket",
		"at least one %s must have a value; leave the list out not to restrict the search",
	},
	BadValue: {"verdien er ikke gyldig", "verdien er ikkje gyldig", "the value is not valid"},
}
