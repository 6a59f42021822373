"""Writes a GeoPackage whose tables are odd in one way each: odd.py FILE. What a format is known to lose is not among it; the unit tests have that."""

import sqlite3
import struct
import sys

import shapely

BASE = """
PRAGMA application_id = 0x47504B47;
PRAGMA user_version = 10300;
CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY, organization TEXT NOT NULL, organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT);
INSERT INTO gpkg_spatial_ref_sys VALUES ('WGS 84', 4326, 'EPSG', 4326, 'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]', NULL),
  ('undefined', -1, 'NONE', -1, 'undefined', NULL), ('undefined geographic', 0, 'NONE', 0, 'undefined', NULL);
CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE, description TEXT DEFAULT '',
  last_change DATETIME NOT NULL DEFAULT '2020-01-01T00:00:00.000Z', min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER);
CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL, geometry_type_name TEXT NOT NULL, srs_id INTEGER NOT NULL, z TINYINT NOT NULL, m TINYINT NOT NULL,
  PRIMARY KEY (table_name, column_name));
"""
POINT = "POINT (10 60)"
db = sqlite3.connect(sys.argv[1])
db.executescript(BASE)


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def blob(text):
    if text is None:
        return None
    g = shapely.from_wkt(text)
    b = shapely.to_wkb(g, flavor="iso", byte_order=1, output_dimension=2 + g.has_z + g.has_m)
    return b"GP\0" + bytes([0x11 if g.is_empty else 1]) + struct.pack("<i", 4326) + b


def table(name, columns, rows, kind="POINT", key="fid INTEGER PRIMARY KEY", place="geom"):
    """A table with columns (name, type) and rows of their values, before them the geometry as text; a kind of None has none. A key of text is the first value."""
    named = [(place, kind)] * (kind is not None) + columns
    if not key.startswith("fid "):
        named.insert(0, (key, "TEXT PRIMARY KEY NOT NULL"))
    spec = [quote(n) + " " + t for n, t in named]
    if key.startswith("fid "):
        spec.insert(0, key)
    db.execute(f"CREATE TABLE {quote(name)} ({', '.join(spec)})")
    db.execute("INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES (?, ?, ?, ?)", (name, "features" if kind else "attributes", name, 4326 if kind else None))
    if kind:
        db.execute("INSERT INTO gpkg_geometry_columns VALUES (?, ?, ?, 4326, 2, 2)", (name, place, kind))
    for row in rows:
        values = [blob(v) if n == place and kind else v for (n, _), v in zip(named, row)]
        db.execute(f"INSERT INTO {quote(name)} ({', '.join(quote(n) for n, _ in named)}) VALUES ({', '.join('?' * len(named))})", values)


names = ['a"b', "c'd", "select", "ORDER", "a b", "æøå", "a.b", "a,b", "a;b", "<x>", "&", "%", "日本", "🙂", "1abc", "n" * 60, "id", "type", "bbox", "properties", "ogc_fid", "name", "lon", "lat",
         "features", "f", "limit", "crs", "filter", "_", "-", "a/b", "a\\b", "a$b", "#", "a:b", "[a]", "{b}", "gml_id", "description", "Begin", "styleUrl", "x", "y", "id_"]
table("names", [(n, "TEXT") for n in names], [[POINT] + [f"v{i}" for i in range(len(names))], [POINT] + [None] * len(names)])
value = ["t", 1, 1 / 3, 1, "2020-01-01"]
table("wide", [(f"column_number_{i:03}", ["TEXT", "INTEGER", "DOUBLE", "BOOLEAN", "DATE"][i % 5]) for i in range(200)],
      [[POINT] + [value[i % 5] for i in range(200)], [POINT] + [None] * 200, [None] + [value[i % 5] for i in range(200)]])
texts = ["x" * 100000, "å" * 127, "å" * 128, "x" * 254, "x" * 255, "x" * 32767, "x" * 32768, "🙂" * 16384, "a\nb", "a\r\nb", "a\rb", "a\tb", "=1+1", "+47", "-1", "@a", '"q"', "'q'", "0301", "007", "NaN",
         "null", "NULL", "", "TRUE", "1e5", "1,5", "a;b", "a,b", "<b>&amp;", "\ufeffbom", "\u2028", "\U0010ffff", "e\u0301", "1/2/2020", "3-4", "\\N", "\\", "#REF!", None]
table("texts", [("t", "TEXT")], [[POINT, t] for t in texts])
dates = ["0001-01-01", "0099-12-31", "1582-10-10", "1899-12-31", "1900-01-01", "1900-02-28", "1900-03-01", "1901-01-01", "1969-12-31", "1970-01-01", "2000-02-29", "2038-01-20", "2262-04-12", "9999-12-31"]
table("dates", [("d", "DATE")], [[POINT, d] for d in dates + [None]])
moments = [d + "T00:00:00.000Z" for d in dates] + ["1850-03-04T05:06:07.890Z", "1969-12-31T23:59:59.999Z", "2020-01-01T23:59:59.999Z", "2020-06-01T12:00:00Z", "1677-09-21T00:12:43Z"]
table("moments", [("m", "DATETIME")], [[POINT, m] for m in moments + [None]])
table("wrong_dates", [("d", "DATE"), ("m", "DATETIME")], [[POINT, "2020-02-30", "2020-02-30T00:00:00Z"], [POINT, "2020-01-01", "2020-01-01T00:00:00Z"], [POINT, "x", "x"], [POINT, None, None]])
numbers = [0.0, -0.0, 0.1, 1 / 3, 1e-320, 5e-324, 1.7976931348623157e308, -1e308, 1e21, 1e-7, 123456789.123456789, 1e15, 2.0**53 + 2, None]
table("numbers", [("r", "DOUBLE")], [[POINT, n] for n in numbers])
table("infinite", [("r", "DOUBLE")], [[POINT, float("inf")], [POINT, 1.5], [POINT, float("-inf")]])
integers = [0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**53, 2**53 + 1, -(2**53) - 1, 10**15 - 1, 10**15, 10**17, 10**18, 2**63 - 1, -(2**63), None]
table("integers", [("i", "INTEGER")], [[POINT, n] for n in integers])
table("mixed_types", [("i", "INTEGER"), ("r", "DOUBLE"), ("b", "BOOLEAN"), ("t", "TEXT")], [[POINT, "text", "text", 1, 5], [POINT, 1, 2, 0, "x"], [POINT, 1.5, 1, 1, 1.5], [POINT] + [None] * 4])
table("booleans", [("b", "BOOLEAN"), ("n", "BOOLEAN")], [[POINT, 1, 2], [POINT, 0, 1], [POINT, None, -1]])
table("binary", [("b", "BLOB"), ("t", "TEXT")], [[POINT, b"\0\xff", "a"], [POINT, None, "b"]])
table("empty", [("t", "TEXT"), ("i", "INTEGER")], [], "MULTIPOLYGON")
table("empty_table", [("t", "TEXT"), ("i", "INTEGER")], [], None)
table("no_place", [("t", "TEXT"), ("i", "INTEGER")], [["a", 1], ["b", None], [None, 3]], None)
table("only_null", [("t", "TEXT")], [[None, "a"], [None, "b"]], "POLYGON")
table("only_null_of_any_kind", [("t", "TEXT")], [[None, "a"], [None, "b"]], "GEOMETRY")
table("no_property", [], [[POINT], [None]])
table("one", [("t", "TEXT")], [[POINT, "a"]])
area = "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0), (2 2, 2 4, 4 4, 4 2, 2 2))"
mixed = ["POINT (1 2)", "LINESTRING (0 0, 1 1)", area, "MULTIPOINT ((1 2), (3 4))", "MULTILINESTRING ((0 0, 1 1), (2 2, 3 3))", "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))",
         "GEOMETRYCOLLECTION (POINT (1 2), LINESTRING (0 0, 1 1), POLYGON ((0 0, 1 0, 1 1, 0 0)))", "GEOMETRYCOLLECTION (GEOMETRYCOLLECTION (POINT (1 2), POINT (2 3)), MULTIPOINT ((5 5), (6 6)))", None]
table("mixed", [("t", "TEXT")], [[g, g and g.split()[0]] for g in mixed], "GEOMETRY")
table("empty_places", [("t", "TEXT")], [[g, g] for g in ["POINT EMPTY", "LINESTRING EMPTY", "POLYGON EMPTY", "MULTIPOLYGON EMPTY", "GEOMETRYCOLLECTION EMPTY", "POINT (1 1)"]], "GEOMETRY")
table("heights", [("t", "TEXT")], [[g, g] for g in ["POINT Z (1 2 3)", "POINT Z (1 2 -0.5)", "POINT Z (1 2 8848.86)", "POINT Z (1 2 1e10)"]])
table("heights_of_any_kind", [("t", "TEXT")], [[g, g.split()[0]] for g in ["LINESTRING Z (1 2 3, 4 5 6)", "POLYGON Z ((0 0 1, 1 0 2, 1 1 3, 0 0 1))", "MULTIPOINT Z ((1 2 3), (4 5 6))",
      "MULTIPOLYGON Z (((0 0 1, 1 0 2, 1 1 3, 0 0 1)))"]], "GEOMETRY")
table("measures", [("t", "TEXT")], [[g, g.split()[0]] for g in ["POINT M (1 2 3)", "LINESTRING M (0 0 1, 1 1 2)", "POINT (1 2)"]], "GEOMETRY")
table("heights_and_measures", [("t", "TEXT")], [[g, g.split()[0]] for g in ["POINT ZM (1 2 3 4)", "POLYGON ZM ((0 0 1 9, 1 0 2 9, 1 1 3 9, 0 0 1 9))"]], "GEOMETRY")
table("antimeridian", [("t", "TEXT")], [[g, g.split()[0]] for g in ["LINESTRING (179 0, -179 0)", "MULTIPOLYGON (((179 0, 180 0, 180 1, 179 1, 179 0)), ((-180 0, -179 0, -179 1, -180 1, -180 0)))",
      "POINT (180 0)", "POINT (-180 0)", "POINT (0 90)", "POINT (0 -90)", "POLYGON ((-180 -90, 180 -90, 180 -60, -180 -60, -180 -90))"]], "GEOMETRY")
table("tiny", [("t", "TEXT")], [[g, str(i)] for i, g in enumerate(["POLYGON ((10 60, 10.00000001 60, 10.00000001 60.00000001, 10 60))", "LINESTRING (10 60, 10.00000001 60)", "POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))",
      "POLYGON ((0 0, 0 1, 1 1, 1 0, 0 0))", "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 1 2, 2 2, 2 1, 1 1), (1 1, 1 2, 2 2, 2 1, 1 1))"])], "GEOMETRY")
ids = ["a", "0301", "a b", "a/b", "../x", 'a"b', "c'd", "<x>", "æ", "🙂", "x" * 250, "a,b", "=1", "%20", "a?b", "a#b", "1", "01", "A", "-", "a\nb", "a;b", ".", "..", "true", "null"]
table("ids", [("t", "TEXT")], [[i, POINT, i] for i in ids], key="code")
table('Odd "name" æ/1', [("t", "TEXT")], [[POINT, "x"]])
table("select", [("from", "TEXT")], [[POINT, "x"]], place="group")
db.commit()
