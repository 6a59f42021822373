-- Indexes for searches of a whole country. Those over moments hold rang too, so that a search finds its first hits, or that there are too
-- many, without reading a place.

DROP INDEX sted_registrert;
DROP INDEX sted_oppdatert;
DROP INDEX stedsnavn_oppdatert;
DROP INDEX skrivemaate_oppdatert;
DROP INDEX skrivemaate_statusdato;
DROP INDEX dokumentasjon_dato;
DROP INDEX stedsnavn_sted;
DROP INDEX skrivemaate_sted;
CREATE INDEX sted_registrert ON sted (registrert, rang);
CREATE INDEX sted_oppdatert ON sted (oppdatert, rang);
CREATE INDEX sted_allmenn_interesse ON sted (rang) WHERE av_allmenn_interesse = 1;
CREATE INDEX stedsnavn_registrert ON stedsnavn (registrert, rang);
CREATE INDEX stedsnavn_oppdatert ON stedsnavn (oppdatert, rang);
CREATE INDEX stedsnavn_allmenn_interesse ON stedsnavn (rang) WHERE av_allmenn_interesse = 1;
CREATE INDEX stedsnavn_sted ON stedsnavn (sted_id, rang);
CREATE INDEX skrivemaate_registrert ON skrivemaate (registrert, rang);
CREATE INDEX skrivemaate_oppdatert ON skrivemaate (oppdatert, rang);
CREATE INDEX skrivemaate_statusdato ON skrivemaate (skrivemaatestatusdato, rang);
CREATE INDEX skrivemaate_allmenn_interesse ON skrivemaate (rang) WHERE av_allmenn_interesse = 1;
CREATE INDEX skrivemaate_sted ON skrivemaate (sted_id, rang);
CREATE INDEX dokumentasjon_dato ON dokumentasjon (dato, skrivemaate_id);

-- What a search reads of a place or a name that it found by a spelling.
CREATE INDEX sted_id ON sted (id, rang);
CREATE INDEX stedsnavn_id ON stedsnavn (id, rang);

-- The spellings of one text are many: trigrams are of the texts, each once.
DROP TABLE skrivemaate_fts;
CREATE TABLE skrivemaate_tekst (
  id INTEGER PRIMARY KEY NOT NULL,
  norm TEXT NOT NULL
);
CREATE VIRTUAL TABLE skrivemaate_fts USING fts5 (norm, content = '', columnsize = 0, detail = none, tokenize = 'trigram');
