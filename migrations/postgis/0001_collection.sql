-- What PostGIS has no place for: titles in several languages, relations, search columns, roles, code lists; and the API keys.
CREATE TABLE collection (
  id TEXT NOT NULL PRIMARY KEY,
  table_name TEXT NOT NULL UNIQUE,
  definition JSON NOT NULL,
  modified TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE api_key (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  hash BYTEA NOT NULL,
  created TIMESTAMPTZ NOT NULL,
  expires TIMESTAMPTZ,
  revoked TIMESTAMPTZ,
  last_used TIMESTAMPTZ
);
