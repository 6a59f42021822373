-- Divisions through time: versions of codes, the events that ended and began them, and the edges between versions. Days are half-open: a version holds
-- from valid_from to the day before valid_to.
CREATE TABLE lineage_version (
  id INTEGER PRIMARY KEY NOT NULL,
  scheme TEXT NOT NULL,
  code TEXT NOT NULL,
  name TEXT NOT NULL,
  parent_scheme TEXT,
  parent TEXT,
  valid_from DATE NOT NULL,
  valid_to DATE,
  entity TEXT NOT NULL,
  recorded TEXT
);
CREATE INDEX lineage_version_code ON lineage_version (scheme, code, valid_from);

CREATE TABLE lineage_event (
  seq INTEGER PRIMARY KEY NOT NULL,
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  scheme TEXT NOT NULL,
  date DATE NOT NULL,
  kind TEXT NOT NULL,
  codes_before TEXT,
  codes_after TEXT,
  changes TEXT NOT NULL,
  source TEXT,
  recorded TEXT
);
CREATE INDEX lineage_event_date ON lineage_event (date);
CREATE INDEX lineage_event_kind ON lineage_event (kind, date);

CREATE TABLE lineage_edge (
  id INTEGER PRIMARY KEY NOT NULL,
  scheme TEXT NOT NULL,
  event TEXT NOT NULL,
  date DATE NOT NULL,
  code_before TEXT,
  code_after TEXT,
  made_of TEXT,
  transfer BOOLEAN NOT NULL,
  people INTEGER,
  area INTEGER,
  units INTEGER
);
