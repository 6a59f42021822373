"""Downloads collections in every format and compares what other readers find with what items gives.

compare.py BASE SYSTEMS COLLECTION... prints a line for each step, in so many reference systems; the status is 1 when one is wrong. GRENSE_SCHEMAS
is a folder with schemas of GML."""

import csv
import datetime
import io
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import urllib.request
import warnings
import zipfile

import geopandas
import openpyxl
import pandas
import pyogrio
import shapely
from shapely.geometry import shape

warnings.filterwarnings("ignore")
BASE = sys.argv[1]
EPSG = "http://www.opengis.net/def/crs/EPSG/0/"
NORTH_FIRST = {"4258", "3035"}
wrong = 0


def get(address):
    with urllib.request.urlopen(urllib.request.Request(address, headers={"X-API-Key": os.environ.get("GRENSE_KEY", "")} if os.environ.get("GRENSE_KEY") else {})) as r:
        return r.read(), r.headers


def report(step, faults):
    global wrong
    if faults:
        wrong += 1
        print(f"WRONG {step}: {len(faults)} faults, first {faults[:6]}")
    else:
        print(f"ok {step}")


def items(coll, crs):
    """All features of a collection by id, from the pages of items: properties, and the geometry with x before y."""
    address = f"{BASE}/collections/{coll}/items?f=json&limit=1000&precision=15" + (f"&crs={EPSG}{crs}" if crs else "")
    found = {}
    while address:
        doc = json.loads(get(address)[0])
        for f in doc["features"]:
            g = shape(f["geometry"]) if f["geometry"] else None
            found[str(f["id"])] = (f["properties"], g)
        address = next((l["href"] for l in doc["links"] if l["rel"] == "next"), None)
    return found


def moment(v):
    t = datetime.datetime.fromisoformat(str(v).replace("Z", "+00:00"))
    return t.replace(tzinfo=datetime.timezone.utc) if t.tzinfo is None else t


def same_value(got, want, blank):
    if hasattr(got, "tolist"):
        got = got.tolist()
    if isinstance(got, float) and math.isnan(got):
        got = None
    if str(got) in ("NaT", "<NA>"):
        got = None
    if got is None or got == "" and blank:
        return want is None or blank and want == ""
    if want is None:
        return False
    if isinstance(want, bool):
        return str(got).lower() in (str(want).lower(), str(int(want)), str(float(want)))
    if isinstance(want, (dict, list)):
        try:
            return json.loads(got) == want if isinstance(got, str) else got == want
        except ValueError:
            return False
    if isinstance(want, (int, float)):
        try:
            return float(got) == float(want)
        except ValueError:
            return False
    if isinstance(got, (datetime.date, datetime.datetime)):
        return moment(got) == moment(want)
    if str(got) == str(want):
        return True
    try:
        return moment(got) == moment(want)
    except ValueError:
        return False


def multi(g):
    if g is None or g.geom_type.startswith("Multi") or g.geom_type == "GeometryCollection":
        return g
    return {"Point": shapely.MultiPoint, "LineString": shapely.MultiLineString, "Polygon": shapely.MultiPolygon}[g.geom_type]([g])


def members(g):
    """The geometries that a geometry is made of, of one part each, in a fixed order."""
    if hasattr(g, "geoms"):
        parts = [p for x in g.geoms for p in members(x)]
    else:
        parts = [g]
    return sorted(parts, key=lambda p: p.wkt)


def rings(g):
    return [r for p in members(g) for r in ([p.exterior, *p.interiors] if p.geom_type == "Polygon" else [p])]


def same_shape(got, want, flat=False):
    """flat: a collection is its members, and rings of areas that are not valid are grouped in any way."""
    if got is None or want is None or got.is_empty or want.is_empty:
        return (got is None or got.is_empty) and (want is None or want.is_empty)
    if multi(got).normalize().equals_exact(multi(want).normalize(), 1e-9):
        return True
    places = 7 if max(abs(v) for v in want.bounds) <= 360 else 2  # of texts, in degrees or metres
    got, want = (shapely.transform(g, lambda c: c.round(places), include_z=g.has_z) for g in (got, want))
    if multi(got).normalize().equals_exact(multi(want).normalize(), 1.01 * 10**-places):
        return True
    if not flat or want.geom_type != "GeometryCollection" and want.is_valid and not shapely.equals(got, want):
        return False  # of repeated positions, too, a ring can begin at several places
    take = (lambda g: sorted(sorted((round(x, 7), round(y, 7)) for x, y, *_ in r.coords[:-1]) if r.geom_type == "LinearRing" else sorted(r.coords) for r in rings(g)))
    return take(got) == take(want)


def compare(step, want, rows, names=None, spatial=True, blank=False, flat=False):
    """rows are id, properties, geometry; names translate properties; blank: null and empty are one; flat: see same_shape."""
    faults, seen = [], set()
    nothing = {n for p, _ in want.values() for n in p} - {n for p, _ in want.values() for n, v in p.items() if v is not None}
    for id, props, geom in rows:
        seen.add(id)
        if id not in want:
            faults.append((id, "is not in items"))
            continue
        p, g = want[id]
        for name, v in p.items():
            if name == "id":
                continue
            column = names(name) if names else name
            if column not in props:
                if blank and name in nothing:
                    continue  # a column that has no value
                faults.append((id, name, "is missing"))
            elif not same_value(props[column], v, blank):
                faults.append((id, name, props[column], v))
        if spatial and not same_shape(geom, g, flat):
            faults.append((id, "geometry", str(geom)[:80], str(g)[:80]))
    faults += [(id, "is missing") for id in want if id not in seen]
    report(step, faults)


def frame(df, column="id"):
    geometry = df.geometry if hasattr(df, "geometry") and isinstance(df, geopandas.GeoDataFrame) else [None] * len(df)
    for row, g in zip(df.to_dict("records"), geometry):
        yield str(row[column]), row, g


def read(path, name=None, **more):
    """A file whose only layer is called so; None: as the file."""
    try:
        return pyogrio.read_dataframe(path, **more)
    except IndexError:  # GDAL finds no layer where there is no feature
        return pandas.DataFrame({"id": []})
    except pyogrio.errors.GeometryError:  # pyogrio has no name for layers of several kinds with heights
        if path.endswith(".gml"):
            return pyogrio.read_dataframe(path, use_arrow=True, **more)
        layer = name or os.path.splitext(os.path.basename(path))[0]
        with open(path + ".vrt", "w") as f:
            f.write(f'<OGRVRTDataSource><OGRVRTLayer name="{layer}"><SrcDataSource>{path}</SrcDataSource><GeometryType>wkbUnknown</GeometryType></OGRVRTLayer></OGRVRTDataSource>')
        return pyogrio.read_dataframe(path + ".vrt", **more)


def joined(rows):
    """Rows of an id, which a file has for each kind of its members, as one."""
    found = {}
    for id, props, g in rows:
        found.setdefault(id, (props, []))[1].append(g)
    for id, (props, geoms) in found.items():
        geoms = [g for g in geoms if g is not None]
        yield id, props, shapely.GeometryCollection(geoms) if len(geoms) > 1 else geoms[0] if geoms else None


def escaped(name):
    """The name of a property in XML."""
    name = re.sub(r"_(?=x([0-9A-F]{4}|[0-9A-F]{6})_)", "_x005F_", name)
    return re.sub(r"[^\w.-]|^[\d.-]", lambda m: f"_x{ord(m[0]):04X}_" if ord(m[0]) < 0x10000 else f"_x{ord(m[0]):06X}_", name)


def short(v, most):
    """The beginning of a text that has more bytes of UTF-8."""
    return v.encode()[:200].decode(errors="ignore") if isinstance(v, str) and len(v.encode()) > most else v


def check_crs(step, df, crs):
    name = df.crs.to_authority() if df.crs else None
    good = [("EPSG", crs)] if crs else [("OGC", "CRS84"), ("EPSG", "4326")]
    report(step + " crs", [] if name in good else [name])


def valid(coll, folder, name):
    """Asks xmllint whether a file of GML is of the schema of its collection."""
    for x in ("gml.xsd", "sf.xsd"):
        shutil.copy(os.path.join(os.environ["GRENSE_SCHEMAS"], x), folder)
    with open(os.path.join(folder, "sf.xsd")) as f:
        text = f.read().replace("http://localhost/collections/places/schema", f"{BASE}/collections/{coll}/schema")
    with open(os.path.join(folder, "sf.xsd"), "w") as f:
        f.write(text)
    with open(os.path.join(folder, "app.xsd"), "wb") as f:
        f.write(get(f"{BASE}/collections/{coll}/schema?f=xsd")[0])
    with open(os.path.join(folder, "catalog.xml"), "w") as f:
        f.write('<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog"><uri name="http://schemas.opengis.net/gml/3.2.1/gml.xsd" uri="gml.xsd"/></catalog>')
    lint = subprocess.run(["xmllint", "--nonet", "--huge", "--noout", "--schema", os.path.join(folder, "sf.xsd"), name], capture_output=True, text=True,
                          env={**os.environ, "XML_CATALOG_FILES": os.path.join(folder, "catalog.xml")})
    report(f"{coll} gml by its schema", lint.stderr.splitlines()[:3] if lint.returncode else [])


def collection(coll, folder):
    served = json.loads(get(f"{BASE}/collections/{coll}?f=json")[0])["crs"]
    systems = [""] + [c for c in ["25833", "4258", "3035"] if EPSG + c in served]
    for crs in systems[:int(sys.argv[2])]:
        want = items(coll, crs)
        swapped = {i: (p, shapely.transform(g, lambda c: c[:, ::-1]) if g and crs in NORTH_FIRST else g) for i, (p, g) in want.items()}
        base = f"{BASE}/collections/{coll}/download?"
        at = f"&crs={EPSG}{crs}" if crs else ""
        file = lambda f: os.path.join(folder, f"{coll}{crs}.{f}")

        def fetch(f, end=None):
            b, h = get(base + "f=" + f + at)
            name = file(end or f)
            with open(name, "wb") as o:
                o.write(b)
            return name, b

        _, b = fetch("json")
        compare(f"{coll} {crs} json", want, ((str(x["id"]), x["properties"], shape(x["geometry"]) if x["geometry"] else None) for x in json.loads(b)["features"]))
        _, b = fetch("geojsonseq")
        rows = [json.loads(x) for x in b.decode().split("\x1e")[1:]]
        compare(f"{coll} {crs} geojsonseq", want, ((str(x["id"]), x["properties"], shape(x["geometry"]) if x["geometry"] else None) for x in rows))
        want = swapped  # from here on x is before y; the reader of GML turns its axes
        for f, end in [("gpkg", "gpkg"), ("flatgeobuf", "fgb"), ("gml", "gml")]:
            name, _ = fetch(f, end)
            try:
                df = read(name, coll if f == "flatgeobuf" else None)
            except Exception as e:
                report(f"{coll} {crs} {f}", [str(e)])
                continue
            compare(f"{coll} {crs} {f}", want, frame(df), blank=f == "gml", names=escaped if f == "gml" else None)
            if f == "gml" and not crs:
                valid(coll, folder, name)
            if isinstance(df, geopandas.GeoDataFrame) and df.geometry.notna().any():
                check_crs(f"{coll} {crs} {f}", df, crs)
            if f == "flatgeobuf" and isinstance(df, geopandas.GeoDataFrame) and df.geometry.notna().all() and len(df):
                box = df.iloc[len(df) // 2].geometry.bounds
                hits = set(read(name, coll, bbox=box)["id"].astype(str))
                report(f"{coll} {crs} flatgeobuf by its index", sorted(set(df[df.geometry.intersects(shapely.box(*box))]["id"].astype(str)) - hits))
        name, _ = fetch("parquet")
        has_geometry = any(g is not None for _, g in want.values())
        if has_geometry:
            df = geopandas.read_parquet(name)
            compare(f"{coll} {crs} parquet", want, frame(df))
            check_crs(f"{coll} {crs} parquet", df, crs)
            box = df.geometry.dropna().iloc[0].bounds
            hits = set(geopandas.read_parquet(name, bbox=box)["id"].astype(str))
            report(f"{coll} {crs} parquet by box", sorted(set(df[df.geometry.intersects(shapely.box(*box))]["id"].astype(str)) - hits))
        name, b = fetch("shapefile", "shp.zip")
        rows, names = [], None
        for layer in pyogrio.list_layers("/vsizip/" + name):
            df = read("/vsizip/" + name, layer=layer[0])
            rows += list(frame(df))
            if isinstance(df, geopandas.GeoDataFrame) and df.geometry.notna().any():
                check_crs(f"{coll} {crs} shapefile {layer[0]}", df, crs)
        order = ["id"] + [n for n in next(iter(want.values()))[0] if n != "id"] if want else []
        columns = [c for c in (rows[0][1] if rows else {}) if c != "geometry"]
        table = dict(zip(order, columns))
        long = lambda v: isinstance(v, (dict, list)) and len(json.dumps(v)) > 200
        cut = {i: ({k: short(v, 240) for k, v in p.items() if not long(v)}, g) for i, (p, g) in want.items()}
        rows = [(i, {k: short(v, 240) for k, v in p.items()}, g) for i, p, g in rows]
        compare(f"{coll} {crs} shapefile", cut, joined(rows), flat=True, names=lambda n: table.get(n, n), blank=True)
        if crs:
            continue
        name, b = fetch("topojson")
        left = {i: v for i, v in want.items() if v[1] is None or v[1].geom_type == "GeometryCollection"}  # which GDAL leaves out
        if len(left) < len(want):
            plane = {i: (p, shapely.force_2d(g)) for i, (p, g) in want.items() if i not in left}
            compare(f"{coll} topojson", plane, (r for r in frame(read(name)) if r[0] not in left), flat=True)
        there = [g for o in json.loads(b)["objects"].values() for g in o["geometries"]]
        compare(f"{coll} topojson, all", want, ((g["id"], g["properties"], None) for g in there), spatial=False)
        name, _ = fetch("kml")
        df = read(name)
        id = "id2" if "id2" in df.columns else "id"  # newer versions keep id for an attribute
        compare(f"{coll} kml", want, frame(df, id), names=lambda n: n + "2" if n + "2" in df.columns else n, blank=True, flat=True)
        _, b = fetch("csv")
        compare(f"{coll} csv", want, ((r["id"], r, None) for r in csv.DictReader(io.StringIO(b.decode(), newline=""))), spatial=False, blank=True)
        name, _ = fetch("xlsx")
        sheet = openpyxl.load_workbook(name, read_only=True).worksheets[0]
        lines = sheet.iter_rows(values_only=True)
        head = next(lines)
        rows = [(str(r[0]), dict(zip(head, r + (None,) * len(head))), None) for r in lines]  # a row ends with its last value
        cut = {i: ({k: short(v, 30000) for k, v in p.items()}, g) for i, (p, g) in want.items()}
        compare(f"{coll} xlsx", cut, [(i, {k: short(v, 30000) for k, v in p.items()}, g) for i, p, g in rows], spatial=False, blank=True)
        for id, p in ((r[0], r[1]) for r in rows):
            for k, v in want.get(id, ({}, None))[0].items():
                if isinstance(v, str) and isinstance(p.get(k), (int, float)):
                    report(f"{coll} xlsx keeps codes as text", [(id, k, v, p[k])])
                    break


def each(check):
    """Runs a check of every collection in a folder of its own, and ends with the status."""
    with tempfile.TemporaryDirectory() as folder:
        for c in sys.argv[3:]:
            try:
                check(c, folder)
            except Exception:
                report(c, traceback.format_exc().splitlines()[-6:])
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    each(collection)
