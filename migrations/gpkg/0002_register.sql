-- The place-name register: places (sted), their names (stedsnavn) and spellings (skrivemaate), the cases, decisions and documentation
-- behind them. Codes are stored as their public values; table kode says what they mean. What a search filters, sorts or prints is
-- repeated on the row that it concerns, so that a hit is read from one row. rang is dense and unique in its table: places by
-- importance, display name and number, names and spellings in the order of their places.

CREATE TABLE kode (
  id INTEGER PRIMARY KEY NOT NULL,
  liste TEXT NOT NULL,
  verdi TEXT NOT NULL,
  kort TEXT,
  forelder TEXT,
  rekkefoelge INTEGER NOT NULL,
  navn_nb TEXT NOT NULL,
  navn_nn TEXT,
  navn_en TEXT,
  navn_se TEXT,
  UNIQUE (liste, verdi)
);

CREATE TABLE sted (
  id INTEGER PRIMARY KEY NOT NULL,
  geom GEOMETRY,
  stedsnummer INTEGER NOT NULL,
  visningsnavn TEXT NOT NULL,
  stedsnavn TEXT NOT NULL,
  navneobjekttype TEXT NOT NULL,
  navneobjektgruppe TEXT NOT NULL,
  navneobjekthovedgruppe TEXT NOT NULL,
  stedstatus TEXT NOT NULL,
  land TEXT NOT NULL,
  kommunenummer TEXT NOT NULL,
  kommuner TEXT NOT NULL,
  fylkesnummer TEXT NOT NULL,
  spraakprioritering TEXT NOT NULL,
  vedtaksmyndighet TEXT NOT NULL,
  sortering1 TEXT NOT NULL,
  sortering2 TEXT NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  lokal_id TEXT NOT NULL,
  registrert DATETIME NOT NULL,
  oppdatert DATETIME NOT NULL,
  sluttdato DATE,
  antall_tilleggsopplysninger INTEGER NOT NULL,
  antall_merknader INTEGER NOT NULL,
  visningsnavn_norm TEXT NOT NULL,
  rang INTEGER NOT NULL
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
  kommunenummer TEXT NOT NULL,
  rang INTEGER NOT NULL,
  sted_id INTEGER NOT NULL,
  navneobjekttype TEXT NOT NULL,
  PRIMARY KEY (kommunenummer, rang, sted_id)
) WITHOUT ROWID;
CREATE INDEX sted_kommune_type ON sted_kommune (kommunenummer, navneobjekttype, rang, sted_id);
CREATE INDEX sted_kommune_sted ON sted_kommune (sted_id, kommunenummer);

CREATE TABLE stedsnavn (
  id INTEGER PRIMARY KEY NOT NULL,
  geom GEOMETRY,
  sted_id INTEGER NOT NULL,
  stedsnummer INTEGER NOT NULL,
  stedsnavnnummer INTEGER NOT NULL,
  stedsnavn TEXT NOT NULL,
  navnestatus TEXT NOT NULL,
  navnesakstatus TEXT NOT NULL,
  spraak TEXT NOT NULL,
  opphavsspraak TEXT,
  eksonym BOOLEAN NOT NULL,
  har_primaerfunksjon BOOLEAN NOT NULL,
  primaerfunksjon_id INTEGER,
  skrivemaater TEXT NOT NULL,
  antall_skrivemaater INTEGER NOT NULL,
  antall_beste_skrivemaater INTEGER NOT NULL,
  skrivemaatestatus TEXT NOT NULL,
  skrivemaatestatusdato DATE NOT NULL,
  beste_skrivemaate_id INTEGER NOT NULL,
  visningsnavn TEXT NOT NULL,
  navneobjekttype TEXT NOT NULL,
  vedtaksmyndighet TEXT NOT NULL,
  land TEXT NOT NULL,
  kommunenummer TEXT NOT NULL,
  kommuner TEXT NOT NULL,
  fylkesnummer TEXT NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  registrert DATETIME NOT NULL,
  oppdatert DATETIME NOT NULL,
  antall_tilleggsopplysninger INTEGER NOT NULL,
  antall_merknader INTEGER NOT NULL,
  stedsnavn_norm TEXT NOT NULL,
  rang INTEGER NOT NULL
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
  id INTEGER PRIMARY KEY NOT NULL,
  sted_id INTEGER NOT NULL,
  stedsnavn_id INTEGER NOT NULL,
  stedsnummer INTEGER NOT NULL,
  stedsnavnnummer INTEGER NOT NULL,
  skrivemaatenummer INTEGER NOT NULL,
  langnavn TEXT NOT NULL,
  kortnavn TEXT,
  rekkefoelge TEXT NOT NULL,
  kasustype TEXT NOT NULL,
  skrivemaatestatus TEXT NOT NULL,
  skrivemaatestatusdato DATE NOT NULL,
  prioritert BOOLEAN NOT NULL,
  normert_fra_id INTEGER,
  spraak TEXT NOT NULL,
  navnestatus TEXT NOT NULL,
  navnesakstatus TEXT NOT NULL,
  visningsnavn TEXT NOT NULL,
  navneobjekttype TEXT NOT NULL,
  vedtaksmyndighet TEXT NOT NULL,
  land TEXT NOT NULL,
  kommuner TEXT NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  registrert DATETIME NOT NULL,
  oppdatert DATETIME NOT NULL,
  antall_merknader INTEGER NOT NULL,
  eksakt TEXT NOT NULL,
  norm TEXT NOT NULL,
  rev TEXT NOT NULL,
  rang INTEGER NOT NULL
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
CREATE VIRTUAL TABLE skrivemaate_fts USING fts5 (norm, content = 'skrivemaate', content_rowid = 'id', columnsize = 0, tokenize = 'trigram');

-- The parts and forms of spellings that have parts, or other forms than the one of langnavn.
CREATE TABLE kasus (
  skrivemaate_id INTEGER NOT NULL,
  kasustype TEXT NOT NULL,
  variasjonstillegg TEXT,
  kjernenavn TEXT NOT NULL,
  funksjonstillegg TEXT,
  PRIMARY KEY (skrivemaate_id, kasustype)
) WITHOUT ROWID;

-- Earlier values; the value in force stands on the row itself.
CREATE TABLE sted_historikk (
  sted_id INTEGER NOT NULL,
  art TEXT NOT NULL,
  fra_dato DATE NOT NULL,
  kode TEXT NOT NULL,
  PRIMARY KEY (sted_id, art, fra_dato)
) WITHOUT ROWID;

CREATE TABLE stedsnavn_historikk (
  stedsnavn_id INTEGER NOT NULL,
  art TEXT NOT NULL,
  fra_dato DATE NOT NULL,
  kode TEXT NOT NULL,
  PRIMARY KEY (stedsnavn_id, art, fra_dato)
) WITHOUT ROWID;

CREATE TABLE skrivemaate_historikk (
  skrivemaate_id INTEGER NOT NULL,
  art TEXT NOT NULL,
  fra_dato DATE NOT NULL,
  kode TEXT NOT NULL,
  PRIMARY KEY (skrivemaate_id, art, fra_dato)
) WITHOUT ROWID;

CREATE TABLE sted_tilleggsopplysning (
  id INTEGER PRIMARY KEY NOT NULL,
  sted_id INTEGER NOT NULL,
  tilleggsopplysningstype TEXT NOT NULL,
  tekst TEXT NOT NULL,
  tekst_norm TEXT NOT NULL,
  lenke TEXT,
  registrert DATETIME NOT NULL,
  oppdatert DATETIME NOT NULL
);
CREATE INDEX sted_tilleggsopplysning_eier ON sted_tilleggsopplysning (sted_id);
CREATE INDEX sted_tilleggsopplysning_type ON sted_tilleggsopplysning (tilleggsopplysningstype, sted_id);

CREATE TABLE stedsnavn_tilleggsopplysning (
  id INTEGER PRIMARY KEY NOT NULL,
  stedsnavn_id INTEGER NOT NULL,
  tilleggsopplysningstype TEXT NOT NULL,
  tekst TEXT NOT NULL,
  tekst_norm TEXT NOT NULL,
  lenke TEXT,
  registrert DATETIME NOT NULL,
  oppdatert DATETIME NOT NULL
);
CREATE INDEX stedsnavn_tilleggsopplysning_eier ON stedsnavn_tilleggsopplysning (stedsnavn_id);
CREATE INDEX stedsnavn_tilleggsopplysning_type ON stedsnavn_tilleggsopplysning (tilleggsopplysningstype, stedsnavn_id);

CREATE TABLE sted_merknad (
  id INTEGER PRIMARY KEY NOT NULL,
  sted_id INTEGER NOT NULL,
  merknadstype TEXT NOT NULL,
  tekst TEXT NOT NULL,
  tekst_norm TEXT NOT NULL,
  fellesarkiv BOOLEAN NOT NULL
);
CREATE INDEX sted_merknad_eier ON sted_merknad (sted_id);
CREATE INDEX sted_merknad_type ON sted_merknad (merknadstype, sted_id);

CREATE TABLE stedsnavn_merknad (
  id INTEGER PRIMARY KEY NOT NULL,
  stedsnavn_id INTEGER NOT NULL,
  merknadstype TEXT NOT NULL,
  tekst TEXT NOT NULL,
  tekst_norm TEXT NOT NULL,
  fellesarkiv BOOLEAN NOT NULL
);
CREATE INDEX stedsnavn_merknad_eier ON stedsnavn_merknad (stedsnavn_id);
CREATE INDEX stedsnavn_merknad_type ON stedsnavn_merknad (merknadstype, stedsnavn_id);

CREATE TABLE skrivemaate_merknad (
  id INTEGER PRIMARY KEY NOT NULL,
  skrivemaate_id INTEGER NOT NULL,
  merknadstype TEXT NOT NULL,
  tekst TEXT NOT NULL,
  tekst_norm TEXT NOT NULL,
  fellesarkiv BOOLEAN NOT NULL
);
CREATE INDEX skrivemaate_merknad_eier ON skrivemaate_merknad (skrivemaate_id);
CREATE INDEX skrivemaate_merknad_type ON skrivemaate_merknad (merknadstype, skrivemaate_id);

CREATE TABLE vegreferanse (
  id INTEGER PRIMARY KEY NOT NULL,
  sted_id INTEGER NOT NULL,
  kommunenummer TEXT NOT NULL,
  adressekode INTEGER NOT NULL
);
CREATE INDEX vegreferanse_sted ON vegreferanse (sted_id);
CREATE INDEX vegreferanse_adressekode ON vegreferanse (kommunenummer, adressekode);

-- One row for each place, name or spelling and each cadastral unit that it is referred to; 0 where the unit has no such number.
CREATE TABLE matrikkel_sted (
  id INTEGER PRIMARY KEY NOT NULL,
  kommunenummer TEXT NOT NULL,
  gaardsnummer INTEGER NOT NULL,
  bruksnummer INTEGER NOT NULL,
  festenummer INTEGER NOT NULL,
  seksjonsnummer INTEGER NOT NULL,
  tilleggsopplysning TEXT,
  tilleggsopplysning_norm TEXT,
  sted_id INTEGER NOT NULL,
  stedsnummer INTEGER NOT NULL,
  stedsnavn TEXT NOT NULL,
  visningsnavn TEXT NOT NULL,
  navneobjekttype TEXT NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  rang INTEGER NOT NULL
);
CREATE UNIQUE INDEX matrikkel_sted_enhet ON matrikkel_sted (kommunenummer, gaardsnummer, bruksnummer, festenummer, seksjonsnummer, sted_id);
CREATE INDEX matrikkel_sted_sted ON matrikkel_sted (sted_id);

CREATE TABLE matrikkel_stedsnavn (
  id INTEGER PRIMARY KEY NOT NULL,
  kommunenummer TEXT NOT NULL,
  gaardsnummer INTEGER NOT NULL,
  bruksnummer INTEGER NOT NULL,
  festenummer INTEGER NOT NULL,
  seksjonsnummer INTEGER NOT NULL,
  tilleggsopplysning TEXT,
  tilleggsopplysning_norm TEXT,
  sted_id INTEGER NOT NULL,
  stedsnavn_id INTEGER NOT NULL,
  stedsnummer INTEGER NOT NULL,
  stedsnavnnummer INTEGER NOT NULL,
  stedsnavn TEXT NOT NULL,
  visningsnavn TEXT NOT NULL,
  skrivemaatestatus TEXT NOT NULL,
  skrivemaatestatusdato DATE NOT NULL,
  navnesakstatus TEXT NOT NULL,
  navnestatus TEXT NOT NULL,
  spraak TEXT NOT NULL,
  navneobjekttype TEXT NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  rang INTEGER NOT NULL
);
CREATE UNIQUE INDEX matrikkel_stedsnavn_enhet ON matrikkel_stedsnavn (kommunenummer, gaardsnummer, bruksnummer, festenummer, seksjonsnummer, stedsnavn_id);
CREATE INDEX matrikkel_stedsnavn_stedsnavn ON matrikkel_stedsnavn (stedsnavn_id);

CREATE TABLE matrikkel_skrivemaate (
  id INTEGER PRIMARY KEY NOT NULL,
  kommunenummer TEXT NOT NULL,
  gaardsnummer INTEGER NOT NULL,
  bruksnummer INTEGER NOT NULL,
  festenummer INTEGER NOT NULL,
  seksjonsnummer INTEGER NOT NULL,
  tilleggsopplysning TEXT,
  tilleggsopplysning_norm TEXT,
  sted_id INTEGER NOT NULL,
  stedsnavn_id INTEGER NOT NULL,
  skrivemaate_id INTEGER NOT NULL,
  stedsnummer INTEGER NOT NULL,
  stedsnavnnummer INTEGER NOT NULL,
  skrivemaatenummer INTEGER NOT NULL,
  langnavn TEXT NOT NULL,
  visningsnavn TEXT NOT NULL,
  skrivemaatestatus TEXT NOT NULL,
  skrivemaatestatusdato DATE NOT NULL,
  navnesakstatus TEXT NOT NULL,
  navnestatus TEXT NOT NULL,
  navneobjekttype TEXT NOT NULL,
  av_allmenn_interesse BOOLEAN NOT NULL,
  rang INTEGER NOT NULL
);
CREATE UNIQUE INDEX matrikkel_skrivemaate_enhet ON matrikkel_skrivemaate (kommunenummer, gaardsnummer, bruksnummer, festenummer, seksjonsnummer, skrivemaate_id);
CREATE INDEX matrikkel_skrivemaate_skrivemaate ON matrikkel_skrivemaate (skrivemaate_id);

CREATE TABLE navnesak (
  id INTEGER PRIMARY KEY NOT NULL,
  aar INTEGER NOT NULL,
  saksnummer INTEGER NOT NULL,
  klagesak BOOLEAN NOT NULL,
  klage_id INTEGER,
  avsluttet BOOLEAN NOT NULL,
  reist DATE NOT NULL,
  sluttdato DATE,
  beskrivelse TEXT NOT NULL,
  beskrivelse_norm TEXT NOT NULL,
  arkivreferanse TEXT NOT NULL,
  arkivreferanse_norm TEXT NOT NULL,
  vedtaksmyndighet TEXT NOT NULL,
  omraade TEXT NOT NULL,
  stedsnavn TEXT NOT NULL,
  registrert DATETIME NOT NULL,
  oppdatert DATETIME NOT NULL
);
CREATE UNIQUE INDEX navnesak_nummer ON navnesak (aar DESC, saksnummer DESC);
CREATE INDEX navnesak_saksnummer ON navnesak (saksnummer);
CREATE INDEX navnesak_registrert ON navnesak (registrert);
CREATE INDEX navnesak_oppdatert ON navnesak (oppdatert);

CREATE TABLE navnesak_stedsnavn (
  navnesak_id INTEGER NOT NULL,
  stedsnavn_id INTEGER NOT NULL,
  PRIMARY KEY (navnesak_id, stedsnavn_id)
) WITHOUT ROWID;
CREATE INDEX navnesak_stedsnavn_stedsnavn ON navnesak_stedsnavn (stedsnavn_id, navnesak_id);

CREATE TABLE navnesak_kommune (
  kommunenummer TEXT NOT NULL,
  navnesak_id INTEGER NOT NULL,
  PRIMARY KEY (kommunenummer, navnesak_id)
) WITHOUT ROWID;
CREATE INDEX navnesak_kommune_navnesak ON navnesak_kommune (navnesak_id, kommunenummer);

CREATE TABLE vedtak (
  id INTEGER PRIMARY KEY NOT NULL,
  navnesak_id INTEGER NOT NULL,
  aar INTEGER NOT NULL,
  saksnummer INTEGER NOT NULL,
  arkivloepenummer INTEGER NOT NULL,
  vedtaksdato DATE NOT NULL,
  gyldig BOOLEAN NOT NULL,
  skrivemaater TEXT NOT NULL,
  vedtaksmyndighet TEXT NOT NULL,
  omraade TEXT NOT NULL,
  utoever_kommunenummer TEXT,
  utoever_fylkesnummer TEXT,
  registrert DATETIME NOT NULL,
  oppdatert DATETIME NOT NULL
);
CREATE UNIQUE INDEX vedtak_nummer ON vedtak (aar DESC, saksnummer DESC, arkivloepenummer);
CREATE INDEX vedtak_navnesak ON vedtak (navnesak_id);
CREATE INDEX vedtak_saksnummer ON vedtak (saksnummer);
CREATE INDEX vedtak_vedtaksdato ON vedtak (vedtaksdato);

CREATE TABLE vedtak_skrivemaate (
  vedtak_id INTEGER NOT NULL,
  skrivemaate_id INTEGER NOT NULL,
  PRIMARY KEY (vedtak_id, skrivemaate_id)
) WITHOUT ROWID;
CREATE INDEX vedtak_skrivemaate_skrivemaate ON vedtak_skrivemaate (skrivemaate_id, vedtak_id);

CREATE TABLE klage (
  id INTEGER PRIMARY KEY NOT NULL,
  vedtak_id INTEGER NOT NULL,
  aar INTEGER NOT NULL,
  saksnummer INTEGER NOT NULL,
  klagedato DATE NOT NULL,
  arkivreferanse TEXT NOT NULL,
  arkivreferanse_norm TEXT NOT NULL,
  beskrivelse TEXT NOT NULL,
  beskrivelse_norm TEXT NOT NULL
);
CREATE INDEX klage_vedtak ON klage (vedtak_id);
CREATE INDEX klage_nummer ON klage (aar, saksnummer);

CREATE TABLE vedtaksomraade (
  id INTEGER PRIMARY KEY NOT NULL,
  navn TEXT NOT NULL,
  fylkesnummer TEXT NOT NULL
);

CREATE TABLE samlevedtak (
  id INTEGER PRIMARY KEY NOT NULL,
  aar INTEGER NOT NULL,
  saksnummer INTEGER NOT NULL,
  vedtaksdato DATE NOT NULL,
  beskrivelse TEXT NOT NULL,
  beskrivelse_norm TEXT NOT NULL,
  arkivreferanse TEXT NOT NULL,
  arkivreferanse_norm TEXT NOT NULL,
  utgaatt BOOLEAN NOT NULL,
  grunnlag_vedtak_id INTEGER,
  vedtaksomraade_id INTEGER NOT NULL,
  stedsnavn TEXT NOT NULL,
  registrert DATETIME NOT NULL,
  oppdatert DATETIME NOT NULL
);
CREATE UNIQUE INDEX samlevedtak_nummer ON samlevedtak (aar DESC, saksnummer DESC);
CREATE INDEX samlevedtak_registrert ON samlevedtak (registrert);
CREATE INDEX samlevedtak_oppdatert ON samlevedtak (oppdatert);

CREATE TABLE del_av_samlevedtak (
  id INTEGER PRIMARY KEY NOT NULL,
  samlevedtak_id INTEGER NOT NULL,
  arkivloepenummer INTEGER NOT NULL,
  stedsnavn_id INTEGER NOT NULL,
  stedsnummer INTEGER NOT NULL,
  stedsnavnnummer INTEGER NOT NULL
);
CREATE INDEX del_av_samlevedtak_samlevedtak ON del_av_samlevedtak (samlevedtak_id);
CREATE INDEX del_av_samlevedtak_stedsnavn ON del_av_samlevedtak (stedsnavn_id);
CREATE INDEX del_av_samlevedtak_nummer ON del_av_samlevedtak (stedsnummer, stedsnavnnummer);

CREATE TABLE samlevedtak_unntak (
  samlevedtak_id INTEGER NOT NULL,
  skrivemaate_id INTEGER NOT NULL,
  PRIMARY KEY (samlevedtak_id, skrivemaate_id)
) WITHOUT ROWID;

CREATE TABLE bok (
  id INTEGER PRIMARY KEY NOT NULL,
  tittel TEXT NOT NULL,
  tittel_norm TEXT NOT NULL,
  isbn TEXT NOT NULL,
  utgave TEXT NOT NULL,
  utgave_norm TEXT NOT NULL,
  forfatter TEXT NOT NULL,
  utgiver TEXT NOT NULL,
  utgiver_norm TEXT NOT NULL,
  utgivelsesaar INTEGER NOT NULL,
  offentlig_bruk BOOLEAN NOT NULL,
  soeketekst TEXT NOT NULL,
  soeketekst_norm TEXT NOT NULL,
  rang INTEGER NOT NULL
);
CREATE UNIQUE INDEX bok_rang ON bok (rang);

CREATE TABLE kartprodukt (
  id INTEGER PRIMARY KEY NOT NULL,
  karttype TEXT NOT NULL,
  kartblad TEXT NOT NULL,
  kartblad_norm TEXT NOT NULL,
  utgivelsesaar INTEGER NOT NULL,
  utgiver TEXT NOT NULL,
  skann TEXT
);
CREATE INDEX kartprodukt_type ON kartprodukt (karttype, kartblad, utgivelsesaar);
CREATE INDEX kartprodukt_kartblad ON kartprodukt (kartblad_norm);

CREATE TABLE dokumentasjon (
  id INTEGER PRIMARY KEY NOT NULL,
  skrivemaate_id INTEGER NOT NULL,
  art TEXT NOT NULL,
  offentlig BOOLEAN NOT NULL,
  dato DATE,
  bok_id INTEGER,
  kartprodukt_id INTEGER,
  vedtak_id INTEGER,
  del_av_samlevedtak_id INTEGER,
  klage_id INTEGER,
  dokumenttype TEXT,
  person TEXT,
  person_norm TEXT,
  tekst TEXT,
  tekst_norm TEXT,
  side TEXT
);
CREATE INDEX dokumentasjon_skrivemaate ON dokumentasjon (skrivemaate_id);
CREATE INDEX dokumentasjon_art ON dokumentasjon (art, dato);
CREATE INDEX dokumentasjon_dato ON dokumentasjon (dato);
CREATE INDEX dokumentasjon_bok ON dokumentasjon (bok_id) WHERE bok_id IS NOT NULL;
CREATE INDEX dokumentasjon_kartprodukt ON dokumentasjon (kartprodukt_id) WHERE kartprodukt_id IS NOT NULL;
CREATE INDEX dokumentasjon_vedtak ON dokumentasjon (vedtak_id) WHERE vedtak_id IS NOT NULL;
CREATE INDEX dokumentasjon_del ON dokumentasjon (del_av_samlevedtak_id) WHERE del_av_samlevedtak_id IS NOT NULL;
CREATE INDEX dokumentasjon_klage ON dokumentasjon (klage_id) WHERE klage_id IS NOT NULL;
