package soap

import "grense/api/placename"

// text is a message for the client, by placename.Lang.
type text [3]string

func (t text) in(l placename.Lang) string { return t[l] }

var (
	textMediaType = text{
		"Innholdstypen må være text/xml (SOAP 1.1) eller application/soap+xml (SOAP 1.2).",
		"Innhaldstypen må vere text/xml (SOAP 1.1) eller application/soap+xml (SOAP 1.2).",
		"The content type must be text/xml (SOAP 1.1) or application/soap+xml (SOAP 1.2).",
	}
	textMultipart = text{
		"En melding med vedlegg (multipart/related) må ha en del med konvolutten, som start oppgir, " +
			"av typen application/xop+xml, text/xml eller application/soap+xml.",
		"Ei melding med vedlegg (multipart/related) må ha ein del med konvolutten, som start oppgjev, " +
			"av typen application/xop+xml, text/xml eller application/soap+xml.",
		"A message with attachments (multipart/related) must have a part with the envelope, which start names, " +
			"of type application/xop+xml, text/xml or application/soap+xml.",
	}
	textEncoded = text{
		"Meldinger kan ikke være komprimert; utelat Content-Encoding.",
		"Meldingar kan ikkje vere komprimerte; utelat Content-Encoding.",
		"Messages must not be compressed; leave Content-Encoding out.",
	}
	textCharset = text{
		"Tegnsettet må være UTF-8, UTF-16 med byterekkefølgemerke (BOM), US-ASCII, ISO-8859-1, ISO-8859-15 eller " +
			"windows-1252.",
		"Teiknsettet må vere UTF-8, UTF-16 med byterekkjefølgjemerke (BOM), US-ASCII, ISO-8859-1, ISO-8859-15 eller " +
			"windows-1252.",
		"The character encoding must be UTF-8, UTF-16 with a byte order mark, US-ASCII, ISO-8859-1, ISO-8859-15 or " +
			"windows-1252.",
	}
	textBytes = text{
		"Meldingen er ikke skrevet i tegnsettet som den oppgir.",
		"Meldinga er ikkje skriven i teiknsettet som ho oppgjev.",
		"The message is not written in the character encoding that it declares.",
	}
	textBroken = text{
		"Meldingen kom ikke fram hel.",
		"Meldinga kom ikkje heil fram.",
		"The message did not arrive whole.",
	}
	textSyntax = text{
		"Meldingen er ikke velformet XML.",
		"Meldinga er ikkje velforma XML.",
		"The message is not well-formed XML.",
	}
	textDeclaration = text{
		"XML-deklarasjonen må stå helt først i meldingen, uten blanke linjer foran.",
		"XML-deklarasjonen må stå heilt først i meldinga, utan blanke linjer framfor.",
		"The XML declaration must be the very first thing in the message, without blank lines before it.",
	}
	textVersion10   = text{"Meldingen må være XML 1.0.", "Meldinga må vere XML 1.0.", "The message must be XML 1.0."}
	textInstruction = text{
		"SOAP tillater ikke prosesseringsinstruksjoner.",
		"SOAP tillèt ikkje prosesseringsinstruksjonar.",
		"SOAP allows no processing instructions.",
	}
	textDoctype = text{
		"SOAP tillater ikke dokumenttyper (DOCTYPE).",
		"SOAP tillèt ikkje dokumenttypar (DOCTYPE).",
		"SOAP allows no document type (DOCTYPE).",
	}
	textSecondRoot = text{
		"Det står mer enn ett rotelement i meldingen.",
		"Det står meir enn eitt rotelement i meldinga.",
		"The message has more than one root element.",
	}
	textPrefix = text{
		"Et navn er ugyldig, eller prefikset er ikke bundet til et navnerom.",
		"Eit namn er ugyldig, eller prefikset er ikkje bunde til eit namnerom.",
		"A name is invalid, or its prefix is not bound to a namespace.",
	}
	textNamespace = text{
		"En navneromserklæring er ikke tillatt.",
		"Ei namneromserklæring er ikkje tillaten.",
		"A namespace declaration is not allowed.",
	}
	textDuplicate = text{
		"Et attributt står to ganger på samme element.",
		"Eit attributt står to gonger på same elementet.",
		"An attribute stands twice on one element.",
	}
	textStray = text{
		"Konvolutten har innhold som SOAP ikke tillater: bare Header og så Body, uten tekst.",
		"Konvolutten har innhald som SOAP ikkje tillèt: berre Header og så Body, utan tekst.",
		"The envelope has content that SOAP does not allow: only Header, then Body, without text.",
	}
	textNoEnvelope = text{
		"Rotelementet er ikke en SOAP-konvolutt (Envelope).",
		"Rotelementet er ikkje ein SOAP-konvolutt (Envelope).",
		"The root element is not a SOAP envelope.",
	}
	textNoBody = text{
		"Body må ha ett element, oppkalt etter operasjonen.",
		"Body må ha eitt element, kalla opp etter operasjonen.",
		"The body must have one element, named after the operation.",
	}
	textTwoChildren = text{
		"Body kan bare ha ett element.",
		"Body kan berre ha eitt element.",
		"The body must have only one element.",
	}
	textVersion = text{
		"Konvoluttens navnerom må høre til SOAP 1.1 (med text/xml) eller SOAP 1.2 (med application/soap+xml).",
		"Namnerommet til konvolutten må høyre til SOAP 1.1 (med text/xml) eller SOAP 1.2 (med application/soap+xml).",
		"The envelope's namespace must be that of SOAP 1.1 (with text/xml) or of SOAP 1.2 (with application/soap+xml).",
	}
	textUnderstand = text{
		"Tjenesten forstår ikke disse hodeblokkene: %s",
		"Tenesta forstår ikkje desse hovudblokkene: %s",
		"The service does not understand these header blocks: %s",
	}

	textBody = text{
		"Meldingen er større enn %d byte.",
		"Meldinga er større enn %d byte.",
		"The message is larger than %d bytes.",
	}
	textNodes = text{
		"Meldingen har mer enn %d elementer.",
		"Meldinga har meir enn %d element.",
		"The message has more than %d elements.",
	}
	textDepth = text{
		"Elementene står mer enn %d nivåer inne i hverandre.",
		"Elementa står meir enn %d nivå inne i kvarandre.",
		"Elements stand more than %d levels inside each other.",
	}
	textAttributes = text{
		"Et element har mer enn %d attributter.",
		"Eit element har meir enn %d attributt.",
		"An element has more than %d attributes.",
	}
	textLength = text{
		"En tekst eller et attributt er lengre enn %d byte.",
		"Ein tekst eller eit attributt er lengre enn %d byte.",
		"A text or attribute is longer than %d bytes.",
	}

	textInvalid = text{"Forespørselen er ikke gyldig.", "Førespurnaden er ikkje gyldig.",
		"The request is not valid."}
	textUnauthorized = text{
		"Tjenesten krever en gyldig nøkkel: X-API-Key, Authorization: Bearer, eller Basic med nøkkelen som passord.",
		"Tenesta krev ein gyldig nøkkel: X-API-Key, Authorization: Bearer, eller Basic med nøkkelen som passord.",
		"The service requires a valid key: X-API-Key, Authorization: Bearer, or Basic with the key as password.",
	}
	textForbidden = text{"Nøkkelen er gyldig, men ikke for SOAP-tjenesten. Bruk en annen nøkkel.",
		"Nøkkelen er gyldig, men ikkje for SOAP-tenesta. Bruk ein annan nøkkel.",
		"The key is valid, but not for the SOAP service. Use another key."}
	textTooLarge = text{"En grense er overskredet.", "Ei grense er overskriden.", "A limit is exceeded."}
	textTimeout  = text{
		"Søket tok for lang tid; avgrens det.",
		"Søket tok for lang tid; avgrens det.",
		"The search took too long; narrow it.",
	}
	textBusy = text{
		"Tjenesten er opptatt; prøv igjen om litt.",
		"Tenesta er oppteken; prøv igjen om litt.",
		"The service is busy; try again shortly.",
	}
	textTooMany = text{
		"For mange forespørsler; vent og prøv igjen.",
		"For mange førespurnader; vent og prøv igjen.",
		"Too many requests; wait and try again.",
	}
	textUnavailable = text{
		"Tjenesten er ikke tilgjengelig nå; prøv igjen.",
		"Tenesta er ikkje tilgjengeleg no; prøv igjen.",
		"The service is not available now; try again.",
	}
	textInternal = text{"Det oppsto en intern feil.", "Det oppstod ein intern feil.", "An internal error occurred."}
)
