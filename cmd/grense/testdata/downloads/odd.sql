-- Tables with types that only a database has. What it cannot say in GeoJSON is null there, or text.
CREATE TYPE colour AS ENUM ('red', 'green');
CREATE TABLE types (id INT PRIMARY KEY, small SMALLINT, big BIGINT, exact NUMERIC, fixed NUMERIC(12, 2), single REAL, double DOUBLE PRECISION, yes BOOLEAN, short CHAR(5), text VARCHAR(20), code UUID, colour colour,
	object JSONB, written JSON, list INT[], texts TEXT[], day DATE, moment TIMESTAMPTZ, local TIMESTAMP, clock TIME, span INTERVAL, bytes BYTEA, money MONEY, address INET, bits BIT(3), range INT4RANGE,
	twice INT GENERATED ALWAYS AS (id * 2) STORED, geom GEOMETRY(Point, 4326));
INSERT INTO types VALUES
	(1, 1, 9223372036854775807, 12345678901234567890.123456789, 1.10, 0.1, 0.1, TRUE, 'ab', 'x', '123e4567-e89b-12d3-a456-426614174000', 'red', '{"a": [1, null]}', '[1, 2]', '{1,NULL,3}', '{a,"b,c",NULL}',
		'2020-02-29', '2020-02-29T12:00:00.5Z', '2020-02-29T12:00:00', '12:00', '1 day', '\x00ff', 12.5, '10.0.0.1', '101', '[1,5)', DEFAULT, ST_SetSRID(ST_MakePoint(10, 60), 4326)),
	(2, -1, -9223372036854775808, 'NaN', -0.01, 'NaN', 'Infinity', FALSE, '', '', NULL, 'green', '[]', '{}', '{}', '{}', 'infinity', '-infinity', 'infinity', '23:59:59', '-1 month', '', NULL, '::1', '000', 'empty', DEFAULT, NULL),
	(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, DEFAULT, 'SRID=4326;POINT EMPTY'),
	(4, 0, 0, 0.1, 0, 1e-45, 5e-324, TRUE, '     ', 'y', NULL, NULL, '[1]', '1', '{2147483647}', '{""}', '0044-03-15 BC', '0044-03-15 12:00 BC', '10000-01-01', NULL, '0', NULL, -1, '10.0.0.0/8', '111', '(,)', DEFAULT,
		ST_SetSRID(ST_MakePoint(180, -90), 4326));
CREATE TABLE shapes (id TEXT PRIMARY KEY, geom GEOMETRY(GeometryZ, 4326));
INSERT INTO shapes VALUES ('arc', 'SRID=4326;CIRCULARSTRING Z (0 0 1, 1 1 2, 2 0 3)'), ('curved area', 'SRID=4326;CURVEPOLYGON Z (CIRCULARSTRING Z (0 0 1, 4 0 1, 4 4 1, 0 4 1, 0 0 1))'),
	('triangles', 'SRID=4326;TIN Z (((0 0 0, 0 1 0, 1 0 0, 0 0 0)))'), ('surface', 'SRID=4326;POLYHEDRALSURFACE Z (((0 0 0, 0 1 0, 1 1 0, 1 0 0, 0 0 0)))'), ('null', NULL);
CREATE TABLE sphere (id BIGINT PRIMARY KEY, name TEXT, place GEOGRAPHY(Point));
INSERT INTO sphere VALUES (9007199254740993, 'x', 'POINT (10 60)'), (-1, NULL, NULL);
CREATE TABLE "Odd ""table"" æ/2" ("Key" TEXT PRIMARY KEY, "select" TEXT, "a""b" TEXT, geom GEOMETRY(MultiPolygon, 25833));
INSERT INTO "Odd ""table"" æ/2" VALUES ('a/b', 'x', 'y', 'SRID=25833;MULTIPOLYGON (((0 6500000, 10 6500000, 10 6500010, 0 6500000)))'), ('', NULL, '', NULL);
