-- Divisions through time: versions of codes, the events that ended and began them, and the edges between versions. Days are half-open: a version holds
-- from valid_from to the day before valid_to.
CREATE TABLE lineage_version (
  id BIGINT PRIMARY KEY NOT NULL,
  scheme TEXT COLLATE "C" NOT NULL,
  code TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  parent_scheme TEXT COLLATE "C",
  parent TEXT COLLATE "C",
  valid_from DATE NOT NULL,
  valid_to DATE,
  entity TEXT COLLATE "C" NOT NULL,
  recorded TEXT COLLATE "C"
);
CREATE INDEX lineage_version_code ON lineage_version (scheme, code, valid_from);

CREATE TABLE lineage_event (
  seq BIGINT PRIMARY KEY NOT NULL,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  title TEXT COLLATE "C" NOT NULL,
  scheme TEXT COLLATE "C" NOT NULL,
  date DATE NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  codes_before TEXT COLLATE "C",
  codes_after TEXT COLLATE "C",
  changes JSON NOT NULL,
  source TEXT COLLATE "C",
  recorded TEXT COLLATE "C"
);
CREATE INDEX lineage_event_date ON lineage_event (date);
CREATE INDEX lineage_event_kind ON lineage_event (kind, date);

CREATE TABLE lineage_edge (
  id BIGINT PRIMARY KEY NOT NULL,
  scheme TEXT COLLATE "C" NOT NULL,
  event TEXT COLLATE "C" NOT NULL,
  date DATE NOT NULL,
  code_before TEXT COLLATE "C",
  code_after TEXT COLLATE "C",
  made_of TEXT COLLATE "C",
  transfer BOOLEAN NOT NULL,
  people BIGINT,
  area BIGINT,
  units BIGINT
);
