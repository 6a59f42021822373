-- What a GeoPackage has no place for: titles in several languages, relations, search columns, roles, code lists.
CREATE TABLE grense_collection (
  id TEXT NOT NULL PRIMARY KEY,
  table_name TEXT NOT NULL UNIQUE,
  definition TEXT NOT NULL
);
