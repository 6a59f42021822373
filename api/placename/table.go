package placename

import "sync"

// contract returns the contract. The first call builds it.
var contract = sync.OnceValue(func() *Contract { return link(schemas(), operations()) })

// TheContract returns the contract of this service. The caller must not modify it.
func TheContract() *Contract { return contract() }

// operation is a row of the table of operations.
type operation struct{ name, params, result string }

const flagParams = " beregnVisningsnavn:boolean inkluderGeometri:boolean"

func operations() []operation {
	return []operation{
		{"findNavnesaker", "navnesakSoek:NavnesakSoek", "NavnesakTreffList"},
		{"findSteder", "stedSoek:StedSoek" + flagParams, "StedTreffList"},
		{
			"findStederForMatrikkelenhetreferanse",
			"soek:StedMatrikkelenhetreferanseSoek" + flagParams,
			"StedMatrikkelenhetreferanseTreffList",
		},
		{"findStedsnavn", "stedsnavnSoek:StedsnavnSoek" + flagParams, "StedsnavnTreffList"},
		{
			"findStedsnavnForMatrikkelenhetreferanse",
			"soek:StedsnavnMatrikkelenhetreferanseSoek" + flagParams,
			"StedsnavnMatrikkelenhetreferanseTreffList",
		},
		{"findSkrivemaater", "skrivemaateSoek:SkrivemaateSoek" + flagParams, "SkrivemaateTreffList"},
		{
			"findSkrivemaaterForMatrikkelenhetreferanse",
			"soek:SkrivemaateMatrikkelenhetreferanseSoek" + flagParams,
			"SkrivemaateMatrikkelenhetreferanseTreffList",
		},
		{"findVedtak", "vedtakSoek:VedtakSoek", "VedtakTreffList"},
		{"findSamlevedtak", "samlevedtakSoek:SamlevedtakSoek", "SamlevedtakTreffList"},
		{"findBoeker", "soeketekst:string", "BokTreffList"},
		{"findKartprodukter", "produktkodeId?:KarttypeKodeId kartblad?:string utgivelsesaar?:int",
			"KartproduktTreffList"},
	}
}

const (
	anyID     = "StedsnavnBubbleObjectId"
	historyID = "StedsnavnBubbleObjectWithHistoryId"
)

// schemas returns all schemas with their types, except the wrapper types of operations.
func schemas() []*Schema {
	return []*Schema{
		schema(
			domainPath,
			"basistyper.xsd",
			"d",
			object("Timestamp", "timestamp:dateTime"),
			object("LocalDate", "date:date"),
			abstract(object(anyID, "value:string")),
			abstract(extends(anyID, historyID, "")),
			object("StedsnavnContext",
				"systemVersion:string clientIdentification:string locale:string snapshotVersion:Timestamp"),
			lists("StringList StedsnavnBubbleObjectIdList"),
		),
		schema("/domain/kodeliste", "kodeliste.xsd", "kl",
			empty(anyID, "KodeId StedsnavnKodelisteId"),
		),
		schema("/domain/koder", "koder.xsd", "k",
			empty("KodeId", "LandKodeId SpraakKodeId VedtaksmyndighetKodeId OmraadeKodeId"),
			lists("SpraakKodeIdList VedtaksmyndighetKodeIdList"),
		),
		schema("/domain/kommune", "kommune.xsd", "ko",
			empty(historyID, "KommuneId FylkeId"),
			lists("KommuneIdList"),
		),
		schema("/domain/sted", "sted.xsd", "s",
			object("StedIdent", "stedsnummer:long"),
			object("Sortering", "sortering1KodeId:Sortering1KodeId sortering2KodeId:Sortering2KodeId"),
			empty(historyID, "StedId"),
		),
		schema(
			"/domain/sted/koder",
			"sted_koder.xsd",
			"sk",
			empty(
				"KodeId",
				`NavneobjekttypeKodeId NavneobjektgruppeKodeId NavneobjekthovedgruppeKodeId StedstatusKodeId SpraakprioriteringKodeId
				ForvaltningsomraadeKodeId Sortering1KodeId Sortering2KodeId StedMerknadstypeKodeId StedTilleggsopplysningstypeKodeId`,
			),
			lists(
				`NavneobjekttypeKodeIdList StedstatusKodeIdList SpraakprioriteringKodeIdList StedTilleggsopplysningstypeKodeIdList
				StedMerknadstypeKodeIdList`,
			),
		),
		schema("/domain/stedsnavn", "stedsnavn.xsd", "n",
			object("StedsnavnIdent", "stedsnummer:long stedsnavnnummer:int"),
			empty(historyID, "StedsnavnId"),
		),
		schema(
			"/domain/stedsnavn/koder",
			"stedsnavn_koder.xsd",
			"nk",
			empty("KodeId",
				"NavnestatusKodeId NavnesakstatusKodeId StedsnavnMerknadstypeKodeId "+
					"StedsnavnTilleggsopplysningstypeKodeId"),
			lists(
				"NavnesakstatusKodeIdList NavnestatusKodeIdList StedsnavnTilleggsopplysningstypeKodeIdList "+
					"StedsnavnMerknadstypeKodeIdList",
			),
		),
		schema("/domain/skrivemaate", "skrivemaate.xsd", "m",
			object("SkrivemaateIdent", "stedsnummer:long stedsnavnnummer:int skrivemaatenummer:int"),
			empty(historyID, "SkrivemaateId"),
		),
		schema("/domain/skrivemaate/koder", "skrivemaate_koder.xsd", "mk",
			empty("KodeId", "KasustypeKodeId RekkefoelgeKodeId SkrivemaatestatusKodeId SkrivemaateMerknadstypeKodeId"),
			lists("SkrivemaatestatusKodeIdList SkrivemaateMerknadstypeKodeIdList"),
		),
		schema("/domain/posisjon", "posisjon.xsd", "p",
			empty(historyID, "PosisjonId"),
		),
		schema("/domain/dokumentasjon", "dokumentasjon.xsd", "do",
			empty(historyID, "KartproduktId BokId"),
		),
		schema("/domain/dokumentasjon/koder", "dokumentasjon_koder.xsd", "dk",
			empty("KodeId", "KarttypeKodeId DokumenttypeKodeId"),
		),
		schema("/domain/dokumentasjon/offentligbruk", "offentligbruk.xsd", "ob",
			abstract(object("UtoevendeMyndighet", "")),
			extends("UtoevendeMyndighet", "UtoevendeMyndighetKommune", "kommuneId:KommuneId"),
			extends("UtoevendeMyndighet", "UtoevendeMyndighetFylke", "fylkeId:FylkeId"),
			empty(historyID, "KlageId DelAvSamlevedtakId SamlevedtakId VedtaksomraadeId VedtakId NavnesakId"),
		),
		schema("/domain/endringslogg", "endringslogg.xsd", "e",
			empty(anyID, "EndringId"),
		),
		schema(
			exceptionPath,
			"exception.xsd",
			"ex",
			object("ServiceFaultInfo", "category:string stackTraceText:string exceptionDetail:ExceptionDetail"),
			object("ExceptionDetail",
				"className:string message:string cause!:ExceptionDetail stackTraceElements:StackTraceElementList"),
			object("StackTraceElement", "declaringClass:string methodName:string fileName!:string lineNumber:int"),
			extends("ServiceFaultInfo", "AttemptDeleteFaultInfo", "bubbleId:StedsnavnBubbleObjectId"),
			object("LockKey", "discriminator:string keyValue:string"),
			object("LockNotAquired", "lockKey:LockKey owner:string expires:Timestamp"),
			extends("ServiceFaultInfo", "LockedFaultInfo",
				"locksNotAquired:LockNotAquiredList owner:string exceptionTime:Timestamp"),
			extends("ServiceFaultInfo", "ObjectsNotFoundFaultInfo", "idsNotFound:StedsnavnBubbleObjectIdList"),
			lists("StackTraceElementList LockNotAquiredList"),
		),
		schema("/service/servicetyper", "servicetyper.xsd", "t", searchAndHitTypes()...),
		schema(servicePath, "SoekServiceWS_schema1.xsd", "q"),
	}
}
