package placename

// codeLists holds the values of the code lists for the documentation, by type of code. The register has the lists
// themselves; a test of internal/register compares them.
var codeLists = map[string]string{
	"NavneobjekttypeKodeId": "landskapsområde, fjellområde, vidde, skogområde, fjell, berg, høyde, " +
		"ås, rygg, haug, hei, topp, fjellkant, egg, hammar, dalføre, dal, botn, skar, juv, søkk, senkning, krater, " +
		"mo, slette, li, bakke, fjellside, fjellvegg, hylle, stup, heller, grotte, geologiskStruktur, " +
		"annenTerrengdetalj, fjellIDagen, sva, ur, stein, sand, elvemel, øyr, skredområde, skog, skogholt, myr, " +
		"våtmarksområde, eng, jorde, havnehage, setervoll, melkeplass, utmark, isbre, fonn, iskuppel, torvtak, " +
		"grustakSteinbrudd, bergverk, fyllplass, innsjø, delAvInnsjø, vann, gruppeAvVann, tjern, gruppeAvTjern, " +
		"pytt, dam, delAvVann, øy, øygruppe, holme, nes, halvøy, vik, strand, sund, eid, grunne, skjær, båe, banke, " +
		"elv, bekk, grøft, foss, stryk, os, høl, lon, fløtningsanlegg, kilde, elvesving, nesVedElver, " +
		"annenVanndetalj, havområde, havstrøm, sjøstykke, fjordmunning, fjord, fiskeplassISjø, øyISjø, øygruppeISjø, " +
		"holmeISjø, holmegruppeISjø, nesISjø, halvøyISjø, vikISjø, strandISjø, sundISjø, eidISjø, vågISjø, " +
		"grunneISjø, skjærISjø, båeISjø, klakkISjø, bankeISjø, bakkeISjø, bakketoppISjø, søkkISjø, renneKløftISjø, " +
		"ryggISjø, moreneryggISjø, eggISjø, korallrev, revISjø, hylleISjø, undersjøiskVegg, rasISjø, fjelltoppISjø, " +
		"fjellkjedeISjø, sadelISjø, sokkelISjø, vulkanISjø, platåISjø, kontinentalsokkel, gass-OljefeltISjø, " +
		"bassengISjø, havdyp, sjødetalj, by, bydel, tettsted, tettsteddel, tettbebyggelse, bygdelagBygd, grend, " +
		"boligfelt, hyttefelt, industriområde, historiskBosetting, torg, tuft, navnegard, gard, bruk, seterStøl, " +
		"byggForJordbrukFiskeOgFangst, eiendom, gjerde, eiendomsteig, stølsSetereiendom, eneboligMindreBoligbygg, " +
		"fritidsbolig, boligblokk, borettslag, gammelBosettingsplass, forretningsbygg, serveringssted, hotell, " +
		"pensjonat, turisthytte, campingplass, annenIndustri-OgLagerbygning, fabrikk, oppdrettsanlegg, vannverk, " +
		"boinstitusjon, rådhus, vaktstasjonBeredsskapsbygning, sykehus, helseinstitusjon, barnehage, skole, " +
		"universitetHøgskole, forskningsstasjon, fengsel, militærtByggAnlegg, park, idrettsanlegg, idrettshall, " +
		"fornøyelsespark, skiheis, alpinanlegg, badeplass, matrikkeladressenavn, adressetilleggsnavn, adressenavn, " +
		"traktorveg, sti, vegkryss, vegsving, bakkeVeg, vegstrekning, vad, grind, tømmervelte, busstopp, " +
		"parkeringsplass, busstasjon, fjellovergang, stasjon, holdeplass, banestrekning, jernbanebru, " +
		"jernbanetunnel, flyplass, landingsplass, helikopterlandingsplass, farledSkipslei, ferjestrekning, havn, " +
		"kai, brygge, ferjekai, ankringsplass, småbåthavn, stø, utstikker, molo, sluse, kanal, fyrstasjon, fyrlykt, " +
		"lanterne, jernstang, stake, lysbøye, båke, overett, sjøvarde, varde, sjømerkeMedIndirekteBelysning, tunnel, " +
		"bru, klopp, bomstasjon, vegbom, rasteplass, garasjeHangarbygg, fjellheis, taubane, overbygg, " +
		"mindreBrukonstruksjon, kraftstasjon, kraftledning, kraftgateRørgate, rørledning, kabel, oljeinstallasjon, " +
		"vannstandsmåler, tV-Radio-EllerMobiltelefontårn, nasjon, fylke, kommune, administrativBydel, grunnkrets, " +
		"skolekrets, valgkrets, sokn, poststed, grensemerke, statistiskTettsted, annenAdministrativInndeling, " +
		"reinbeitedistrikt, verneområde, allmenning, skytefelt, skytebane, soneinndelingTilHavs, friluftsområde, " +
		"severdighet, utsiktspunkt, offersted, annenKulturdetalj, museumGalleriBibliotek, forsamlingshusKulturhus, " +
		"kirke, annenBygningForReligionsutøvelse, gravplass, kulturMessehall",
	"NavneobjektgruppeKodeId": "terrengområder, høyder, senkninger, flater, skråninger, " +
		"terrengdetaljer, bartFjell, løsmasseavsetninger, vegetasjon, våtmark, dyrkamark, isOgPermafrost, " +
		"uttakOgDeponi, stilleståendeVann, ferskvannskontur, grunnerIFerskvann, rennendeVann, detaljerIFerskvann, " +
		"farvann, kystkontur, grunnerISjø, sjøbunn, detaljISjø, bebyggelsesområder, gardsbebyggelse, bolighus, " +
		"næring, institusjoner, fritidsanlegg, veg, bane, luftfart, sjøfart, navigasjon, samferdselsanlegg, energi, " +
		"kommunikasjon, administrativeIndelinger, verne-OgBruksområder, kulturminner, kulturinstitusjoner",
	"NavneobjekthovedgruppeKodeId": "terreng, markslag, ferskvann, sjø, bebyggelse, infrastruktur, " +
		"offentligAdministrasjon, kultur",
	"StedstatusKodeId": "aktiv, relikt, planlagt, feilført",
	"SpraakprioriteringKodeId": "lulesamisk-nordsamisk-skoltesamisk-sørsamisk-norsk-kvensk, " +
		"lulesamisk-sørsamisk-nordsamisk-skoltesamisk-norsk-kvensk, " +
		"nordsamisk-skoltesamisk-lulesamisk-sørsamisk-norsk-kvensk, " +
		"norsk-lulesamisk-nordsamisk-skoltesamisk-sørsamisk-kvensk, " +
		"norsk-lulesamisk-sørsamisk-nordsamisk-skoltesamisk-kvensk, " +
		"norsk-nordsamisk-skoltesamisk-lulesamisk-sørsamisk-kvensk, " +
		"norsk-sørsamisk-lulesamisk-nordsamisk-skoltesamisk-kvensk, " +
		"sørsamisk-lulesamisk-nordsamisk-skoltesamisk-norsk-kvensk, " +
		"kvensk-nordsamisk-skoltesamisk-lulesamisk-sørsamisk-norsk, " +
		"kvensk-norsk-nordsamisk-skoltesamisk-lulesamisk-sørsamisk, " +
		"norsk-skoltesamisk-nordsamisk-lulesamisk-sørsamisk-kvensk, " +
		"skoltesamisk-nordsamisk-lulesamisk-sørsamisk-norsk-kvensk, " +
		"kvensk-skoltesamisk-nordsamisk-lulesamisk-sørsamisk-norsk, " +
		"kvensk-norsk-skoltesamisk-nordsamisk-lulesamisk-sørsamisk, norsk-nordsamisk-lulesamisk-sørsamisk-kvensk, " +
		"norsk-lulesamisk-nordsamisk-sørsamisk-kvensk, norsk-lulesamisk-sørsamisk-nordsamisk-kvensk, " +
		"norsk-sørsamisk-lulesamisk-nordsamisk-kvensk, nordsamisk-lulesamisk-sørsamisk-norsk-kvensk, " +
		"lulesamisk-nordsamisk-sørsamisk-norsk-kvensk, lulesamisk-sørsamisk-nordsamisk-norsk-kvensk, " +
		"sørsamisk-lulesamisk-nordsamisk-norsk-kvensk, kvensk-nordsamisk-lulesamisk-sørsamisk-norsk, " +
		"kvensk-norsk-nordsamisk-lulesamisk-sørsamisk",
	"ForvaltningsomraadeKodeId": "norsk, samisk",
	"StedMerknadstypeKodeId":    "posisjon, navneobjekttype, tilhørighet, annet",
	"StedTilleggsopplysningstypeKodeId": "språkfaglig, historisk, lokalitet, matrikkelnummerFraSSR, " +
		"adresseinformasjonFraSSR, navnesak, merknadFraSSR, adressekode",
	"NavnestatusKodeId": "hovednavn, sidenavn, undernavn, historisk, feilført, avslåttNavnevalg",
	"NavnesakstatusKodeId": "ubehandlet, navnesakReist, vedtakIverksettingUtsatt, iverksattVedtak, " +
		"forenkletVedtak, klageIverksattVedtakIkkeTrukketTilbake, klageVedtakTrukketTilbake, klagenemda, " +
		"samlevedtak, samlevedtakTrukketTilbake, navnBestemtAvNavnemyndighet, skalIkkeBehandlesEtterLoven",
	"StedsnavnMerknadstypeKodeId": "språk, uttale, navnebruk, annet",
	"StedsnavnTilleggsopplysningstypeKodeId": "språkfaglig, historisk, lokalitet, matrikkelnummerFraSSR, " +
		"adresseinformasjonFraSSR, navnesak, merknadFraSSR, adressekode",
	"KasustypeKodeId": "nevneform, nominativ, genitiv, genitiv-akkusativ, illativ, elativ, " +
		"lokativ, allativ, adessiv, ablativ",
	"RekkefoelgeKodeId": "kjerne, variasjon-Kjerne, kjerne-Variasjon, funksjon-Kjerne, " +
		"kjerne-Funksjon, variasjon-Kjerne-Funksjon, variasjon-Funksjon-Kjerne, kjerne-Variasjon-Funksjon, " +
		"kjerne-Funksjon-Variasjon, funksjon-Kjerne-Variasjon, funksjon-Variasjon-Kjerne",
	"SkrivemaatestatusKodeId": "vedtatt, vedtattNavneledd, godkjent, privat, internasjonal, " +
		"foreslått, uvurdert, historisk, avslått, avslåttNavneledd, feilført",
	"SkrivemaateMerknadstypeKodeId": "normering, kilde, bøyning, annet",
	"KarttypeKodeId": "adressekart, amtskart, bosettingskart1980, by-ogAdressekart, " +
		"båtsportkart, fiskerikartserien, fylkeskart, gradteigskart1til100000, havnekartserien, historiskeKart, " +
		"hovedkartserien-Sjø, kommunekart, kystkartserien, norge1til1000000, norge1til2000000, norge1til5000000, " +
		"norge1til50000, norge1til500000, opplevelseskart, overseilingskartserien, rektangelkart1til100000, " +
		"statensVegvesensKart, tekniskKartKommunalt, turkart, uspesifisert, vegkartNorge1til250000, " +
		"økonomiskKartverk1til10000, økonomiskKartverk1til20000, økonomiskKartverk1til5000",
	"DokumenttypeKodeId": "brev, database, GAB, historiskMatrikler, kartdatasett, matrikkelen, " +
		"norskStadnamnarkiv, offentligVegskilt, riksgrenseliste, SSR",
	"VedtaksmyndighetKodeId": "kommune, fylkeskommune, Statens_kartverk, departement, " +
		"Klagenemnda_for_stedsnavnsaker, Kongen_i_statsråd, Polarinstituttet, privat_eier, utenforLovensVirkeområde, " +
		"Avinor, Bispedømmerådet, Direktoratet_for_naturforvaltning, Jernbaneverket, Kystverket, " +
		"Norges_geologiske_undersøkelse, Posten_Norge_AS, Reindriftsforvaltningen, Statens_vegvesen, Statskog",
	"OmraadeKodeId": "østlandetOgAgder, vestlandet, midtNorge, nordNorge, samiskOmråde, " +
		"kvenskOmråde, polarområdene",
	"Sortering1KodeId": "viktighetA, viktighetB ... viktighetN",
	"Sortering2KodeId": "viktighet01, viktighet02 ... viktighet99",
}

// CodeValues returns the values of a code list as listed in the documentation of the type of its codes; "" if they are
// not listed.
func CodeValues(typeName string) string { return codeLists[typeName] }
