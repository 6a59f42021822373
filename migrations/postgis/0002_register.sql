-- The place-name register: places (sted), their names (stedsnavn) and spellings (skrivemaate), the cases, decisions and documentation
-- behind them. Codes are stored as their public values; table kode says what they mean. What a search filters, sorts or prints is
-- repeated on the row that it concerns, so that a hit is read from one row. rang is dense and unique in its table: places by
-- importance, display name and number, names and spellings in the order of their places.

CREATE TABLE kode (
  id BIGINT PRIMARY KEY NOT NULL,
  liste TEXT COLLATE "C" NOT NULL,
  verdi TEXT COLLATE "C" NOT NULL,
  kort TEXT COLLATE "C",
  forelder TEXT COLLATE "C",
  rekkefoelge BIGINT NOT NULL,
  navn_nb TEXT COLLATE "C" NOT NULL,
  navn_nn TEXT COLLATE "C",
  navn_en TEXT COLLATE "C",
  navn_se TEXT COLLATE "C",
  UNIQUE (liste, verdi)
);

CREATE TABLE sted (
  id BIGINT PRIMARY KEY NOT NULL,
  geom GEOMETRY(GEOMETRY, 25833),
  stedsnummer BIGINT NOT NULL,
  visningsnavn TEXT COLLATE "C" NOT NULL,
  stedsnavn TEXT COLLATE "C" NOT NULL,
  navneobjekttype TEXT COLLATE "C" NOT NULL,
  navneobjektgruppe TEXT COLLATE "C" NOT NULL,
  navneobjekthovedgruppe TEXT COLLATE "C" NOT NULL,
  stedstatus TEXT COLLATE "C" NOT NULL,
  land TEXT COLLATE "C" NOT NULL,
  kommunenummer TEXT COLLATE "C" NOT NULL,
  kommuner TEXT COLLATE "C" NOT NULL,
  fylkesnummer TEXT COLLATE "C" NOT NULL,
  spraakprioritering TEXT COLLATE "C" NOT NULL,
  vedtaksmyndighet TEXT COLLATE "C" NOT NULL,
  sortering1 TEXT COLLATE "C" NOT NULL,
  sortering2 TEXT COLLATE "C" NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  lokal_id TEXT COLLATE "C" NOT NULL,
  registrert TIMESTAMPTZ NOT NULL,
  oppdatert TIMESTAMPTZ NOT NULL,
  sluttdato DATE,
  antall_tilleggsopplysninger BIGINT NOT NULL,
  antall_merknader BIGINT NOT NULL,
  visningsnavn_norm TEXT COLLATE "C" NOT NULL,
  rang BIGINT NOT NULL
);
CREATE UNIQUE INDEX sted_rang ON sted (rang);
CREATE UNIQUE INDEX sted_stedsnummer ON sted (stedsnummer);
CREATE INDEX sted_navneobjekttype ON sted (navneobjekttype, rang);
CREATE INDEX sted_vedtaksmyndighet ON sted (vedtaksmyndighet, rang);
CREATE INDEX sted_kommunenummer ON sted (kommunenummer, rang);
CREATE INDEX sted_land ON sted (land, rang);
CREATE INDEX sted_registrert ON sted (registrert);
CREATE INDEX sted_oppdatert ON sted (oppdatert);
CREATE INDEX sted_visningsnavn ON sted (visningsnavn_norm, rang);

CREATE TABLE sted_kommune (
  kommunenummer TEXT COLLATE "C" NOT NULL,
  rang BIGINT NOT NULL,
  sted_id BIGINT NOT NULL,
  navneobjekttype TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (kommunenummer, rang, sted_id)
);
CREATE INDEX sted_kommune_type ON sted_kommune (kommunenummer, navneobjekttype, rang, sted_id);
CREATE INDEX sted_kommune_sted ON sted_kommune (sted_id, kommunenummer);

CREATE TABLE stedsnavn (
  id BIGINT PRIMARY KEY NOT NULL,
  geom GEOMETRY(GEOMETRY, 25833),
  sted_id BIGINT NOT NULL,
  stedsnummer BIGINT NOT NULL,
  stedsnavnnummer BIGINT NOT NULL,
  stedsnavn TEXT COLLATE "C" NOT NULL,
  navnestatus TEXT COLLATE "C" NOT NULL,
  navnesakstatus TEXT COLLATE "C" NOT NULL,
  spraak TEXT COLLATE "C" NOT NULL,
  opphavsspraak TEXT COLLATE "C",
  eksonym BOOLEAN NOT NULL,
  har_primaerfunksjon BOOLEAN NOT NULL,
  primaerfunksjon_id BIGINT,
  skrivemaater TEXT COLLATE "C" NOT NULL,
  antall_skrivemaater BIGINT NOT NULL,
  antall_beste_skrivemaater BIGINT NOT NULL,
  skrivemaatestatus TEXT COLLATE "C" NOT NULL,
  skrivemaatestatusdato DATE NOT NULL,
  beste_skrivemaate_id BIGINT NOT NULL,
  visningsnavn TEXT COLLATE "C" NOT NULL,
  navneobjekttype TEXT COLLATE "C" NOT NULL,
  vedtaksmyndighet TEXT COLLATE "C" NOT NULL,
  land TEXT COLLATE "C" NOT NULL,
  kommunenummer TEXT COLLATE "C" NOT NULL,
  kommuner TEXT COLLATE "C" NOT NULL,
  fylkesnummer TEXT COLLATE "C" NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  registrert TIMESTAMPTZ NOT NULL,
  oppdatert TIMESTAMPTZ NOT NULL,
  antall_tilleggsopplysninger BIGINT NOT NULL,
  antall_merknader BIGINT NOT NULL,
  stedsnavn_norm TEXT COLLATE "C" NOT NULL,
  rang BIGINT NOT NULL
);
CREATE UNIQUE INDEX stedsnavn_rang ON stedsnavn (rang);
CREATE UNIQUE INDEX stedsnavn_nummer ON stedsnavn (stedsnummer, stedsnavnnummer);
CREATE INDEX stedsnavn_sted ON stedsnavn (sted_id);
CREATE INDEX stedsnavn_navneobjekttype ON stedsnavn (navneobjekttype, rang);
CREATE INDEX stedsnavn_spraak ON stedsnavn (spraak, rang);
CREATE INDEX stedsnavn_navnesakstatus ON stedsnavn (navnesakstatus, rang);
CREATE INDEX stedsnavn_oppdatert ON stedsnavn (oppdatert);
CREATE INDEX stedsnavn_norm ON stedsnavn (stedsnavn_norm, rang);

CREATE TABLE skrivemaate (
  id BIGINT PRIMARY KEY NOT NULL,
  sted_id BIGINT NOT NULL,
  stedsnavn_id BIGINT NOT NULL,
  stedsnummer BIGINT NOT NULL,
  stedsnavnnummer BIGINT NOT NULL,
  skrivemaatenummer BIGINT NOT NULL,
  langnavn TEXT COLLATE "C" NOT NULL,
  kortnavn TEXT COLLATE "C",
  rekkefoelge TEXT COLLATE "C" NOT NULL,
  kasustype TEXT COLLATE "C" NOT NULL,
  skrivemaatestatus TEXT COLLATE "C" NOT NULL,
  skrivemaatestatusdato DATE NOT NULL,
  prioritert BOOLEAN NOT NULL,
  normert_fra_id BIGINT,
  spraak TEXT COLLATE "C" NOT NULL,
  navnestatus TEXT COLLATE "C" NOT NULL,
  navnesakstatus TEXT COLLATE "C" NOT NULL,
  visningsnavn TEXT COLLATE "C" NOT NULL,
  navneobjekttype TEXT COLLATE "C" NOT NULL,
  vedtaksmyndighet TEXT COLLATE "C" NOT NULL,
  land TEXT COLLATE "C" NOT NULL,
  kommuner TEXT COLLATE "C" NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  registrert TIMESTAMPTZ NOT NULL,
  oppdatert TIMESTAMPTZ NOT NULL,
  antall_merknader BIGINT NOT NULL,
  eksakt TEXT COLLATE "C" NOT NULL,
  norm TEXT COLLATE "C" NOT NULL,
  rev TEXT COLLATE "C" NOT NULL,
  rang BIGINT NOT NULL
);
CREATE UNIQUE INDEX skrivemaate_rang ON skrivemaate (rang);
CREATE UNIQUE INDEX skrivemaate_nummer ON skrivemaate (stedsnummer, stedsnavnnummer, skrivemaatenummer);
CREATE INDEX skrivemaate_norm ON skrivemaate (norm, sted_id, stedsnavn_id);
CREATE INDEX skrivemaate_rev ON skrivemaate (rev, sted_id, stedsnavn_id);
CREATE INDEX skrivemaate_eksakt ON skrivemaate (eksakt, sted_id, stedsnavn_id);
CREATE INDEX skrivemaate_sted ON skrivemaate (sted_id);
CREATE INDEX skrivemaate_stedsnavn ON skrivemaate (stedsnavn_id);
CREATE INDEX skrivemaate_navneobjekttype ON skrivemaate (navneobjekttype, rang);
CREATE INDEX skrivemaate_status ON skrivemaate (skrivemaatestatus, rang);
CREATE INDEX skrivemaate_statusdato ON skrivemaate (skrivemaatestatusdato);
CREATE INDEX skrivemaate_oppdatert ON skrivemaate (oppdatert);

-- The parts and forms of spellings that have parts, or other forms than the one of langnavn.
CREATE TABLE kasus (
  skrivemaate_id BIGINT NOT NULL,
  kasustype TEXT COLLATE "C" NOT NULL,
  variasjonstillegg TEXT COLLATE "C",
  kjernenavn TEXT COLLATE "C" NOT NULL,
  funksjonstillegg TEXT COLLATE "C",
  PRIMARY KEY (skrivemaate_id, kasustype)
);

-- Earlier values; the value in force stands on the row itself.
CREATE TABLE sted_historikk (
  sted_id BIGINT NOT NULL,
  art TEXT COLLATE "C" NOT NULL,
  fra_dato DATE NOT NULL,
  kode TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (sted_id, art, fra_dato)
);

CREATE TABLE stedsnavn_historikk (
  stedsnavn_id BIGINT NOT NULL,
  art TEXT COLLATE "C" NOT NULL,
  fra_dato DATE NOT NULL,
  kode TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (stedsnavn_id, art, fra_dato)
);

CREATE TABLE skrivemaate_historikk (
  skrivemaate_id BIGINT NOT NULL,
  art TEXT COLLATE "C" NOT NULL,
  fra_dato DATE NOT NULL,
  kode TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (skrivemaate_id, art, fra_dato)
);

CREATE TABLE sted_tilleggsopplysning (
  id BIGINT PRIMARY KEY NOT NULL,
  sted_id BIGINT NOT NULL,
  tilleggsopplysningstype TEXT COLLATE "C" NOT NULL,
  tekst TEXT COLLATE "C" NOT NULL,
  tekst_norm TEXT COLLATE "C" NOT NULL,
  lenke TEXT COLLATE "C",
  registrert TIMESTAMPTZ NOT NULL,
  oppdatert TIMESTAMPTZ NOT NULL
);
CREATE INDEX sted_tilleggsopplysning_eier ON sted_tilleggsopplysning (sted_id);
CREATE INDEX sted_tilleggsopplysning_type ON sted_tilleggsopplysning (tilleggsopplysningstype, sted_id);

CREATE TABLE stedsnavn_tilleggsopplysning (
  id BIGINT PRIMARY KEY NOT NULL,
  stedsnavn_id BIGINT NOT NULL,
  tilleggsopplysningstype TEXT COLLATE "C" NOT NULL,
  tekst TEXT COLLATE "C" NOT NULL,
  tekst_norm TEXT COLLATE "C" NOT NULL,
  lenke TEXT COLLATE "C",
  registrert TIMESTAMPTZ NOT NULL,
  oppdatert TIMESTAMPTZ NOT NULL
);
CREATE INDEX stedsnavn_tilleggsopplysning_eier ON stedsnavn_tilleggsopplysning (stedsnavn_id);
CREATE INDEX stedsnavn_tilleggsopplysning_type ON stedsnavn_tilleggsopplysning (tilleggsopplysningstype, stedsnavn_id);

CREATE TABLE sted_merknad (
  id BIGINT PRIMARY KEY NOT NULL,
  sted_id BIGINT NOT NULL,
  merknadstype TEXT COLLATE "C" NOT NULL,
  tekst TEXT COLLATE "C" NOT NULL,
  tekst_norm TEXT COLLATE "C" NOT NULL,
  fellesarkiv BOOLEAN NOT NULL
);
CREATE INDEX sted_merknad_eier ON sted_merknad (sted_id);
CREATE INDEX sted_merknad_type ON sted_merknad (merknadstype, sted_id);

CREATE TABLE stedsnavn_merknad (
  id BIGINT PRIMARY KEY NOT NULL,
  stedsnavn_id BIGINT NOT NULL,
  merknadstype TEXT COLLATE "C" NOT NULL,
  tekst TEXT COLLATE "C" NOT NULL,
  tekst_norm TEXT COLLATE "C" NOT NULL,
  fellesarkiv BOOLEAN NOT NULL
);
CREATE INDEX stedsnavn_merknad_eier ON stedsnavn_merknad (stedsnavn_id);
CREATE INDEX stedsnavn_merknad_type ON stedsnavn_merknad (merknadstype, stedsnavn_id);

CREATE TABLE skrivemaate_merknad (
  id BIGINT PRIMARY KEY NOT NULL,
  skrivemaate_id BIGINT NOT NULL,
  merknadstype TEXT COLLATE "C" NOT NULL,
  tekst TEXT COLLATE "C" NOT NULL,
  tekst_norm TEXT COLLATE "C" NOT NULL,
  fellesarkiv BOOLEAN NOT NULL
);
CREATE INDEX skrivemaate_merknad_eier ON skrivemaate_merknad (skrivemaate_id);
CREATE INDEX skrivemaate_merknad_type ON skrivemaate_merknad (merknadstype, skrivemaate_id);

CREATE TABLE vegreferanse (
  id BIGINT PRIMARY KEY NOT NULL,
  sted_id BIGINT NOT NULL,
  kommunenummer TEXT COLLATE "C" NOT NULL,
  adressekode BIGINT NOT NULL
);
CREATE INDEX vegreferanse_sted ON vegreferanse (sted_id);
CREATE INDEX vegreferanse_adressekode ON vegreferanse (kommunenummer, adressekode);

-- One row for each place, name or spelling and each cadastral unit that it is referred to; 0 where the unit has no such number.
CREATE TABLE matrikkel_sted (
  id BIGINT PRIMARY KEY NOT NULL,
  kommunenummer TEXT COLLATE "C" NOT NULL,
  gaardsnummer BIGINT NOT NULL,
  bruksnummer BIGINT NOT NULL,
  festenummer BIGINT NOT NULL,
  seksjonsnummer BIGINT NOT NULL,
  tilleggsopplysning TEXT COLLATE "C",
  tilleggsopplysning_norm TEXT COLLATE "C",
  sted_id BIGINT NOT NULL,
  stedsnummer BIGINT NOT NULL,
  stedsnavn TEXT COLLATE "C" NOT NULL,
  visningsnavn TEXT COLLATE "C" NOT NULL,
  navneobjekttype TEXT COLLATE "C" NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  rang BIGINT NOT NULL
);
CREATE UNIQUE INDEX matrikkel_sted_enhet ON matrikkel_sted (kommunenummer, gaardsnummer, bruksnummer, festenummer, seksjonsnummer, sted_id);
CREATE INDEX matrikkel_sted_sted ON matrikkel_sted (sted_id);

CREATE TABLE matrikkel_stedsnavn (
  id BIGINT PRIMARY KEY NOT NULL,
  kommunenummer TEXT COLLATE "C" NOT NULL,
  gaardsnummer BIGINT NOT NULL,
  bruksnummer BIGINT NOT NULL,
  festenummer BIGINT NOT NULL,
  seksjonsnummer BIGINT NOT NULL,
  tilleggsopplysning TEXT COLLATE "C",
  tilleggsopplysning_norm TEXT COLLATE "C",
  sted_id BIGINT NOT NULL,
  stedsnavn_id BIGINT NOT NULL,
  stedsnummer BIGINT NOT NULL,
  stedsnavnnummer BIGINT NOT NULL,
  stedsnavn TEXT COLLATE "C" NOT NULL,
  visningsnavn TEXT COLLATE "C" NOT NULL,
  skrivemaatestatus TEXT COLLATE "C" NOT NULL,
  skrivemaatestatusdato DATE NOT NULL,
  navnesakstatus TEXT COLLATE "C" NOT NULL,
  navnestatus TEXT COLLATE "C" NOT NULL,
  spraak TEXT COLLATE "C" NOT NULL,
  navneobjekttype TEXT COLLATE "C" NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  rang BIGINT NOT NULL
);
CREATE UNIQUE INDEX matrikkel_stedsnavn_enhet ON matrikkel_stedsnavn (kommunenummer, gaardsnummer, bruksnummer, festenummer, seksjonsnummer, stedsnavn_id);
CREATE INDEX matrikkel_stedsnavn_stedsnavn ON matrikkel_stedsnavn (stedsnavn_id);

CREATE TABLE matrikkel_skrivemaate (
  id BIGINT PRIMARY KEY NOT NULL,
  kommunenummer TEXT COLLATE "C" NOT NULL,
  gaardsnummer BIGINT NOT NULL,
  bruksnummer BIGINT NOT NULL,
  festenummer BIGINT NOT NULL,
  seksjonsnummer BIGINT NOT NULL,
  tilleggsopplysning TEXT COLLATE "C",
  tilleggsopplysning_norm TEXT COLLATE "C",
  sted_id BIGINT NOT NULL,
  stedsnavn_id BIGINT NOT NULL,
  skrivemaate_id BIGINT NOT NULL,
  stedsnummer BIGINT NOT NULL,
  stedsnavnnummer BIGINT NOT NULL,
  skrivemaatenummer BIGINT NOT NULL,
  langnavn TEXT COLLATE "C" NOT NULL,
  visningsnavn TEXT COLLATE "C" NOT NULL,
  skrivemaatestatus TEXT COLLATE "C" NOT NULL,
  skrivemaatestatusdato DATE NOT NULL,
  navnesakstatus TEXT COLLATE "C" NOT NULL,
  navnestatus TEXT COLLATE "C" NOT NULL,
  navneobjekttype TEXT COLLATE "C" NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  rang BIGINT NOT NULL
);
CREATE UNIQUE INDEX matrikkel_skrivemaate_enhet ON matrikkel_skrivemaate (kommunenummer, gaardsnummer, bruksnummer, festenummer, seksjonsnummer, skrivemaate_id);
CREATE INDEX matrikkel_skrivemaate_skrivemaate ON matrikkel_skrivemaate (skrivemaate_id);

CREATE TABLE navnesak (
  id BIGINT PRIMARY KEY NOT NULL,
  aar BIGINT NOT NULL,
  saksnummer BIGINT NOT NULL,
  klagesak BOOLEAN NOT NULL,
  klage_id BIGINT,
  avsluttet BOOLEAN NOT NULL,
  reist DATE NOT NULL,
  sluttdato DATE,
  beskrivelse TEXT COLLATE "C" NOT NULL,
  beskrivelse_norm TEXT COLLATE "C" NOT NULL,
  arkivreferanse TEXT COLLATE "C" NOT NULL,
  arkivreferanse_norm TEXT COLLATE "C" NOT NULL,
  vedtaksmyndighet TEXT COLLATE "C" NOT NULL,
  omraade TEXT COLLATE "C" NOT NULL,
  stedsnavn TEXT COLLATE "C" NOT NULL,
  registrert TIMESTAMPTZ NOT NULL,
  oppdatert TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX navnesak_nummer ON navnesak (aar DESC, saksnummer DESC);
CREATE INDEX navnesak_saksnummer ON navnesak (saksnummer);
CREATE INDEX navnesak_registrert ON navnesak (registrert);
CREATE INDEX navnesak_oppdatert ON navnesak (oppdatert);

CREATE TABLE navnesak_stedsnavn (
  navnesak_id BIGINT NOT NULL,
  stedsnavn_id BIGINT NOT NULL,
  PRIMARY KEY (navnesak_id, stedsnavn_id)
);
CREATE INDEX navnesak_stedsnavn_stedsnavn ON navnesak_stedsnavn (stedsnavn_id, navnesak_id);

CREATE TABLE navnesak_kommune (
  kommunenummer TEXT COLLATE "C" NOT NULL,
  navnesak_id BIGINT NOT NULL,
  PRIMARY KEY (kommunenummer, navnesak_id)
);
CREATE INDEX navnesak_kommune_navnesak ON navnesak_kommune (navnesak_id, kommunenummer);

CREATE TABLE vedtak (
  id BIGINT PRIMARY KEY NOT NULL,
  navnesak_id BIGINT NOT NULL,
  aar BIGINT NOT NULL,
  saksnummer BIGINT NOT NULL,
  arkivloepenummer BIGINT NOT NULL,
  vedtaksdato DATE NOT NULL,
  gyldig BOOLEAN NOT NULL,
  skrivemaater TEXT COLLATE "C" NOT NULL,
  vedtaksmyndighet TEXT COLLATE "C" NOT NULL,
  omraade TEXT COLLATE "C" NOT NULL,
  utoever_kommunenummer TEXT COLLATE "C",
  utoever_fylkesnummer TEXT COLLATE "C",
  registrert TIMESTAMPTZ NOT NULL,
  oppdatert TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX vedtak_nummer ON vedtak (aar DESC, saksnummer DESC, arkivloepenummer);
CREATE INDEX vedtak_navnesak ON vedtak (navnesak_id);
CREATE INDEX vedtak_saksnummer ON vedtak (saksnummer);
CREATE INDEX vedtak_vedtaksdato ON vedtak (vedtaksdato);

CREATE TABLE vedtak_skrivemaate (
  vedtak_id BIGINT NOT NULL,
  skrivemaate_id BIGINT NOT NULL,
  PRIMARY KEY (vedtak_id, skrivemaate_id)
);
CREATE INDEX vedtak_skrivemaate_skrivemaate ON vedtak_skrivemaate (skrivemaate_id, vedtak_id);

CREATE TABLE klage (
  id BIGINT PRIMARY KEY NOT NULL,
  vedtak_id BIGINT NOT NULL,
  aar BIGINT NOT NULL,
  saksnummer BIGINT NOT NULL,
  klagedato DATE NOT NULL,
  arkivreferanse TEXT COLLATE "C" NOT NULL,
  arkivreferanse_norm TEXT COLLATE "C" NOT NULL,
  beskrivelse TEXT COLLATE "C" NOT NULL,
  beskrivelse_norm TEXT COLLATE "C" NOT NULL
);
CREATE INDEX klage_vedtak ON klage (vedtak_id);
CREATE INDEX klage_nummer ON klage (aar, saksnummer);

CREATE TABLE vedtaksomraade (
  id BIGINT PRIMARY KEY NOT NULL,
  navn TEXT COLLATE "C" NOT NULL,
  fylkesnummer TEXT COLLATE "C" NOT NULL
);

CREATE TABLE samlevedtak (
  id BIGINT PRIMARY KEY NOT NULL,
  aar BIGINT NOT NULL,
  saksnummer BIGINT NOT NULL,
  vedtaksdato DATE NOT NULL,
  beskrivelse TEXT COLLATE "C" NOT NULL,
  beskrivelse_norm TEXT COLLATE "C" NOT NULL,
  arkivreferanse TEXT COLLATE "C" NOT NULL,
  arkivreferanse_norm TEXT COLLATE "C" NOT NULL,
  utgaatt BOOLEAN NOT NULL,
  grunnlag_vedtak_id BIGINT,
  vedtaksomraade_id BIGINT NOT NULL,
  stedsnavn TEXT COLLATE "C" NOT NULL,
  registrert TIMESTAMPTZ NOT NULL,
  oppdatert TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX samlevedtak_nummer ON samlevedtak (aar DESC, saksnummer DESC);
CREATE INDEX samlevedtak_registrert ON samlevedtak (registrert);
CREATE INDEX samlevedtak_oppdatert ON samlevedtak (oppdatert);

CREATE TABLE del_av_samlevedtak (
  id BIGINT PRIMARY KEY NOT NULL,
  samlevedtak_id BIGINT NOT NULL,
  arkivloepenummer BIGINT NOT NULL,
  stedsnavn_id BIGINT NOT NULL,
  stedsnummer BIGINT NOT NULL,
  stedsnavnnummer BIGINT NOT NULL
);
CREATE INDEX del_av_samlevedtak_samlevedtak ON del_av_samlevedtak (samlevedtak_id);
CREATE INDEX del_av_samlevedtak_stedsnavn ON del_av_samlevedtak (stedsnavn_id);
CREATE INDEX del_av_samlevedtak_nummer ON del_av_samlevedtak (stedsnummer, stedsnavnnummer);

CREATE TABLE samlevedtak_unntak (
  samlevedtak_id BIGINT NOT NULL,
  skrivemaate_id BIGINT NOT NULL,
  PRIMARY KEY (samlevedtak_id, skrivemaate_id)
);

CREATE TABLE bok (
  id BIGINT PRIMARY KEY NOT NULL,
  tittel TEXT COLLATE "C" NOT NULL,
  tittel_norm TEXT COLLATE "C" NOT NULL,
  isbn TEXT COLLATE "C" NOT NULL,
  utgave TEXT COLLATE "C" NOT NULL,
  utgave_norm TEXT COLLATE "C" NOT NULL,
  forfatter TEXT COLLATE "C" NOT NULL,
  utgiver TEXT COLLATE "C" NOT NULL,
  utgiver_norm TEXT COLLATE "C" NOT NULL,
  utgivelsesaar BIGINT NOT NULL,
  offentlig_bruk BOOLEAN NOT NULL,
  soeketekst TEXT COLLATE "C" NOT NULL,
  soeketekst_norm TEXT COLLATE "C" NOT NULL,
  rang BIGINT NOT NULL
);
CREATE UNIQUE INDEX bok_rang ON bok (rang);

CREATE TABLE kartprodukt (
  id BIGINT PRIMARY KEY NOT NULL,
  karttype TEXT COLLATE "C" NOT NULL,
  kartblad TEXT COLLATE "C" NOT NULL,
  kartblad_norm TEXT COLLATE "C" NOT NULL,
  utgivelsesaar BIGINT NOT NULL,
  utgiver TEXT COLLATE "C" NOT NULL,
  skann TEXT COLLATE "C"
);
CREATE INDEX kartprodukt_type ON kartprodukt (karttype, kartblad, utgivelsesaar);
CREATE INDEX kartprodukt_kartblad ON kartprodukt (kartblad_norm);

CREATE TABLE dokumentasjon (
  id BIGINT PRIMARY KEY NOT NULL,
  skrivemaate_id BIGINT NOT NULL,
  art TEXT COLLATE "C" NOT NULL,
  offentlig BOOLEAN NOT NULL,
  dato DATE,
  bok_id BIGINT,
  kartprodukt_id BIGINT,
  vedtak_id BIGINT,
  del_av_samlevedtak_id BIGINT,
  klage_id BIGINT,
  dokumenttype TEXT COLLATE "C",
  person TEXT COLLATE "C",
  person_norm TEXT COLLATE "C",
  tekst TEXT COLLATE "C",
  tekst_norm TEXT COLLATE "C",
  side TEXT COLLATE "C"
);
CREATE INDEX dokumentasjon_skrivemaate ON dokumentasjon (skrivemaate_id);
CREATE INDEX dokumentasjon_art ON dokumentasjon (art, dato);
CREATE INDEX dokumentasjon_dato ON dokumentasjon (dato);
CREATE INDEX dokumentasjon_bok ON dokumentasjon (bok_id) WHERE bok_id IS NOT NULL;
CREATE INDEX dokumentasjon_kartprodukt ON dokumentasjon (kartprodukt_id) WHERE kartprodukt_id IS NOT NULL;
CREATE INDEX dokumentasjon_vedtak ON dokumentasjon (vedtak_id) WHERE vedtak_id IS NOT NULL;
CREATE INDEX dokumentasjon_del ON dokumentasjon (del_av_samlevedtak_id) WHERE del_av_samlevedtak_id IS NOT NULL;
CREATE INDEX dokumentasjon_klage ON dokumentasjon (klage_id) WHERE klage_id IS NOT NULL;
