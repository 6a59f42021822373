-- Indexes for searches of a whole country. Those over moments hold rang too, so that a search finds its first hits, or that there are too
-- many, without reading a place.

DROP INDEX sted_registrert;
DROP INDEX sted_oppdatert;
DROP INDEX stedsnavn_oppdatert;
DROP INDEX stedsnavn_sted;
DROP INDEX skrivemaate_oppdatert;
DROP INDEX skrivemaate_statusdato;
DROP INDEX skrivemaate_sted;
DROP INDEX dokumentasjon_dato;
CREATE INDEX sted_registrert ON sted (registrert, rang);
CREATE INDEX sted_oppdatert ON sted (oppdatert, rang);
CREATE INDEX sted_allmenn_interesse ON sted (rang) WHERE av_allmenn_interesse;
CREATE INDEX stedsnavn_registrert ON stedsnavn (registrert, rang);
CREATE INDEX stedsnavn_oppdatert ON stedsnavn (oppdatert, rang);
CREATE INDEX stedsnavn_allmenn_interesse ON stedsnavn (rang) WHERE av_allmenn_interesse;
CREATE INDEX stedsnavn_sted ON stedsnavn (sted_id, rang);
CREATE INDEX skrivemaate_registrert ON skrivemaate (registrert, rang);
CREATE INDEX skrivemaate_oppdatert ON skrivemaate (oppdatert, rang);
CREATE INDEX skrivemaate_statusdato ON skrivemaate (skrivemaatestatusdato, rang);
CREATE INDEX skrivemaate_allmenn_interesse ON skrivemaate (rang) WHERE av_allmenn_interesse;
CREATE INDEX skrivemaate_sted ON skrivemaate (sted_id, rang);
CREATE INDEX dokumentasjon_dato ON dokumentasjon (dato, skrivemaate_id);
-- It says that a place is in a municipality once, so that places come in the order of rang without a sort.
CREATE UNIQUE INDEX sted_kommune_rang ON sted_kommune (kommunenummer, rang);

-- Trigrams serve patterns that neither begin nor end with letters, LIKE '%fjell%', and searches for words. The extension is one of PostgreSQL's contributed modules;
-- it may be missing, and a database may refuse it to its owner. Then these read all names, and give the same answers. Where it
-- is there already, it is used where it is; else it goes beside PostGIS, where the role may, so that it outlives the schema grense.
DO $$
DECLARE
  place TEXT;
BEGIN
  BEGIN
    SELECT quote_ident(n.nspname) INTO place FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'postgis';
    EXECUTE 'CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA ' || place;
  EXCEPTION WHEN OTHERS THEN
    NULL;
  END;
  BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
  EXCEPTION WHEN OTHERS THEN
    NULL;
  END;
  place := NULL;
  SELECT quote_ident(n.nspname) INTO place FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm';
  IF place IS NOT NULL THEN
    EXECUTE 'CREATE INDEX skrivemaate_gram ON skrivemaate USING gin (norm ' || place || '.gin_trgm_ops)';
    EXECUTE 'CREATE INDEX sted_gram ON sted USING gin (visningsnavn_norm ' || place || '.gin_trgm_ops)';
    EXECUTE 'CREATE INDEX stedsnavn_gram ON stedsnavn USING gin (stedsnavn_norm ' || place || '.gin_trgm_ops)';
  END IF;
END
$$;
