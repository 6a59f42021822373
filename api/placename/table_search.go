package placename

// searchAndHitTypes returns the types of the search objects, of the hits and of their lists.
func searchAndHitTypes() [][]*Type {
	return [][]*Type{
		object("Matrikkelnummer",
			"kommunenummer:string gaardsnummer:int bruksnummer:int festenummer:int seksjonsnummer:int"),
		object("StedSoek", `
			registrertEtter?:Timestamp registrertFoer?:Timestamp oppdatertEtter?:Timestamp oppdatertFoer?:Timestamp
			stedsnummer?:long stedsnavn?:string avansertSoek?:boolean navneobjekttyperIds?:NavneobjekttypeKodeIdList
			stedstatuserIds?:StedstatusKodeIdList landId?:LandKodeId kommunerIds?:KommuneIdList
			spraakprioriteringerIds?:SpraakprioriteringKodeIdList vedtaksmyndigheterIds?:VedtaksmyndighetKodeIdList
			tilleggsopplysningstyperIds?:StedTilleggsopplysningstypeKodeIdList tilleggsopplysningtekst?:string
			merknadstyperIds?:StedMerknadstypeKodeIdList merknadstekst?:string avAllmennInteresse?:boolean`),
		object("StedsnavnSoek", `
			registrertEtter?:Timestamp registrertFoer?:Timestamp oppdatertEtter?:Timestamp oppdatertFoer?:Timestamp
			stedsnummer?:long stedsnavnnummer?:int stedsnavn?:string avansertSoek?:boolean
			navneobjekttyperIds?:NavneobjekttypeKodeIdList vedtaksmyndigheterIds?:VedtaksmyndighetKodeIdList landId?:LandKodeId
			kommunerIds?:KommuneIdList spraakIds?:SpraakKodeIdList navnesakstatuserIds?:NavnesakstatusKodeIdList
			navnestatuserIds?:NavnestatusKodeIdList harPrimaerfunksjon?:boolean
			tilleggsopplysningstyperIds?:StedsnavnTilleggsopplysningstypeKodeIdList tilleggsopplysningtekst?:string
			merknadstyperIds?:StedsnavnMerknadstypeKodeIdList merknadstekst?:string avAllmennInteresse?:boolean`),
		object("BokSoek", "tittel?:string utgave?:string utgiver?:string"),
		object("KartforekomstSoek", "produktId?:KarttypeKodeId kartblad?:string"),
		object("OpplysningSoek", "informant?:string"),
		object("LokaleInnsamlingerSoek", "innsamler?:string"),
		object("DokumentertVedtakSoek",
			"aar?:int saksnummer?:int arkivloepenummer?:int arkivreferanse?:string beskrivelse?:string"),
		object("DokumentertSamlevedtakSoek",
			"aar?:int saksnummer?:int arkivloepenummer?:int arkivreferanse?:string beskrivelse?:string"),
		object("DokumentertKlageSoek", "aar?:int saksnummer?:int arkivreferanse?:string beskrivelse?:string"),
		object("DokumentSoekEntry", "key:DokumenttypeKodeId value:string"),
		object("DokumentSoek", "entry*!:DokumentSoekEntry"),
		object("SkrivemaateSoek", `
			registrertEtter?:Timestamp registrertFoer?:Timestamp oppdatertEtter?:Timestamp oppdatertFoer?:Timestamp
			stedsnummer?:long stedsnavnnummer?:int skrivemaatenummer?:int stedsnavn?:string avansertSoek?:boolean
			skrivemaatestatuserIds?:SkrivemaatestatusKodeIdList prioritert?:boolean skrivemaatestatusdatoEtter?:LocalDate
			skrivemaatestatusdatoFoer?:LocalDate navneobjekttyperIds?:NavneobjekttypeKodeIdList
			vedtaksmyndigheterIds?:VedtaksmyndighetKodeIdList landId?:LandKodeId kommunerIds?:KommuneIdList
			spraakIds?:SpraakKodeIdList navnesakstatuserIds?:NavnesakstatusKodeIdList dokumentasjonsdatoEtter?:LocalDate
			dokumentasjonsdatoFoer?:LocalDate bokSoek?:BokSoek offentligKartforekomstSoek?:KartforekomstSoek
			opplysningSoek?:OpplysningSoek lokaleInnsamlingerSoek?:LokaleInnsamlingerSoek annenKartforekomstSoek?:KartforekomstSoek
			vedtakSoek?:DokumentertVedtakSoek samlevedtakSoek?:DokumentertSamlevedtakSoek klageSoek?:DokumentertKlageSoek
			dokumentSoek?:DokumentSoek merknadstyperIds?:SkrivemaateMerknadstypeKodeIdList merknadstekst?:string
			avAllmennInteresse?:boolean`),
		object("NavnesakSoek", `
			registrertEtter?:Timestamp registrertFoer?:Timestamp oppdatertEtter?:Timestamp oppdatertFoer?:Timestamp aar?:int
			saksnummer?:int klagesak?:boolean avsluttet?:boolean beskrivelse?:string vedtaksmyndighetId?:VedtaksmyndighetKodeId
			omraadeId?:OmraadeKodeId arkivreferanse?:string stedsnavn?:string kommunerIds?:KommuneIdList`),
		object("VedtakSoek", `
			aar?:int saksnummer?:int arkivloepenummer?:int vedtattEtter?:LocalDate vedtattFoer?:LocalDate skrivemaate?:string
			vedtaksmyndighetId?:VedtaksmyndighetKodeId omraadeId?:OmraadeKodeId kommunerIds?:KommuneIdList`),
		object("SamlevedtakSoek", `
			registrertEtter?:Timestamp registrertFoer?:Timestamp oppdatertEtter?:Timestamp oppdatertFoer?:Timestamp aar?:int
			saksnummer?:int beskrivelse?:string arkivreferanse?:string stedsnavn?:string stedsnummer?:long stedsnavnnummer?:int`),
		object("StedMatrikkelenhetreferanseSoek", `
			kommunenummer:string gaardsnummer:string bruksnummer?:string festenummer?:int seksjonsnummer?:int
			tilleggsopplysningtekst?:string stedsnavn?:string navneobjekttypeIds?:NavneobjekttypeKodeIdList`),
		object("StedsnavnMatrikkelenhetreferanseSoek", `
			kommunenummer:string gaardsnummer:string bruksnummer?:string festenummer?:int seksjonsnummer?:int
			tilleggsopplysningtekst?:string stedsnavn?:string navneobjekttypeIds?:NavneobjekttypeKodeIdList`),
		object("SkrivemaateMatrikkelenhetreferanseSoek", `
			kommunenummer:string gaardsnummer:string bruksnummer?:string festenummer?:int seksjonsnummer?:int
			tilleggsopplysningtekst?:string stedsnavn?:string navneobjekttypeIds?:NavneobjekttypeKodeIdList`),
		object("StedMatrikkelenhetreferanseTreff", `
			stedId:StedId ident:StedIdent stedsnavn?:string navneobjekttypeId:NavneobjekttypeKodeId kommuneId:KommuneId
			tilleggsopplysning?:string matrikkelnummer?:Matrikkelnummer avAllmennInteresse?:boolean geometri?:string`),
		object("StedsnavnMatrikkelenhetreferanseTreff", `
			stedId:StedId stedsnavnId:StedsnavnId visningsnavnForSted?:string ident:StedsnavnIdent stedsnavn:string
			skrivemaatestatusId:SkrivemaatestatusKodeId skrivemaatestatusdato:LocalDate navnesakstatusId:NavnesakstatusKodeId
			navnestatusId:NavnestatusKodeId spraakId:SpraakKodeId navneobjekttypeId:NavneobjekttypeKodeId kommuneId:KommuneId
			tilleggsopplysning?:string matrikkelnummer?:Matrikkelnummer avAllmennInteresse?:boolean geometri?:string`),
		object("SkrivemaateMatrikkelenhetreferanseTreff", `
			stedId:StedId stedsnavnId:StedsnavnId skrivemaateId:SkrivemaateId visningsnavnForSted?:string ident:SkrivemaateIdent
			skrivemaate:string skrivemaatestatusId:SkrivemaatestatusKodeId skrivemaatestatusdato:LocalDate
			navnesakstatusId:NavnesakstatusKodeId navnestatusId:NavnestatusKodeId navneobjekttypeId:NavneobjekttypeKodeId
			kommuneId:KommuneId tilleggsopplysning?:string matrikkelnummer?:Matrikkelnummer avAllmennInteresse?:boolean
			geometri?:string`),
		object("StedTreff", `
			stedId:StedId ident:StedIdent stedsnavn?:string navneobjekttypeId:NavneobjekttypeKodeId stedstatusId:StedstatusKodeId
			kommunerIds:KommuneIdList landId:LandKodeId spraakprioriteringId:SpraakprioriteringKodeId sortering:Sortering
			antallTilleggsopplysninger:int antallInterneMerknader:int geometri?:string`),
		object("StedsnavnTreff", `
			stedId:StedId stedsnavnId:StedsnavnId visningsnavnForSted?:string ident:StedsnavnIdent stedsnavn?:string
			stedsnavnSkrivemaatestatusIds?:SkrivemaatestatusKodeIdList antallSkrivemaater:int spraakId:SpraakKodeId
			harPrimaerfunksjon:boolean navnestatusId:NavnestatusKodeId navneobjekttypeId:NavneobjekttypeKodeId
			navnesakstatusId:NavnesakstatusKodeId skrivemaatestatusId:SkrivemaatestatusKodeId skrivemaatestatusdato:LocalDate
			kommunerIds:KommuneIdList antallTilleggsopplysninger:int antallInterneMerknader:int geometri?:string`),
		object("SkrivemaateTreff", `
			stedId:StedId stedsnavnId:StedsnavnId skrivemaateId:SkrivemaateId visningsnavnForSted?:string ident:SkrivemaateIdent
			skrivemaate:string skrivemaatestatusId:SkrivemaatestatusKodeId skrivemaatestatusdato:LocalDate prioritert:boolean
			spraakId:SpraakKodeId kasustypeId:KasustypeKodeId navneobjekttypeId:NavneobjekttypeKodeId
			navnesakstatusId:NavnesakstatusKodeId vedtaksmyndighetId:VedtaksmyndighetKodeId kommunerIds:KommuneIdList
			registreringsdato:Timestamp oppdateringsdato:Timestamp antallInterneMerknader:int geometri?:string`),
		object("NavnesakTreff", `
			navnesakId:NavnesakId aar:int saksnummer:int klagesak:boolean avsluttet:boolean beskrivelse:string
			vedtaksmyndighetId:VedtaksmyndighetKodeId omraadeId:OmraadeKodeId arkivreferanse:string stedsnavn:StringList
			registreringsdato:Timestamp oppdateringsdato:Timestamp`),
		object("VedtakTreff", `
			vedtakId:VedtakId aar:int saksnummer:int arkivloepenummer:int vedtaksdato:LocalDate skrivemaater:string
			vedtaksmyndighetId:VedtaksmyndighetKodeId omraadeId:OmraadeKodeId vedtattAv!:UtoevendeMyndighet
			registreringsdato:Timestamp oppdateringsdato:Timestamp`),
		object("SamlevedtakTreff", `
			samlevedtakId:SamlevedtakId aar:int saksnummer:int beskrivelse:string arkivreferanse:string stedsnavn:StringList
			registreringsdato:Timestamp oppdateringsdato:Timestamp vedtaksdato?:LocalDate`),
		object("BokTreff",
			"id:BokId tittel:string isbn:string utgave:string forfatter:string utgiver:string utgivelsesaar:int"),
		object("KartproduktTreff", "id:KartproduktId kartblad:string produktkodeId:KarttypeKodeId utgivelsesaar:int"),
		lists(
			`NavnesakTreffList StedTreffList StedMatrikkelenhetreferanseTreffList StedsnavnTreffList ` +
				`StedsnavnMatrikkelenhetreferanseTreffList SkrivemaateTreffList ` +
				`SkrivemaateMatrikkelenhetreferanseTreffList VedtakTreffList SamlevedtakTreffList BokTreffList ` +
				`KartproduktTreffList`,
		),
	}
}
