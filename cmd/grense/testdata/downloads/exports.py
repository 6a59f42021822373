"""Runs the processes that export and compares their files with what items gives; areas are chosen anew here, one feature by one, with shapely.

exports.py BASE SYSTEMS COLLECTION... prints a line for each step, in so many reference systems; the status is 1 when one is wrong."""

import csv
import io
import json
import os
import sys
import urllib.request

import pyogrio
import shapely

from compare import BASE, EPSG, NORTH_FIRST, compare, each, frame, get, items, read, report

KEY = {"X-API-Key": os.environ["GRENSE_KEY"]} if os.environ.get("GRENSE_KEY") else {}
AREA, DIVIDED = "fylker", "kommuner"
whole = {}


def run(process, folder="", **inputs):
    """The output of a process; in a folder, the path of the file."""
    body = json.dumps({"inputs": inputs, "response": "raw"}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{BASE}/processes/{process}/execution", body, {"Content-Type": "application/json", **KEY})) as r:
        b = r.read()
    if not folder:
        return b
    path = os.path.join(folder, "export.gpkg")
    with open(path, "wb") as f:
        f.write(b)
    return path


def rows(b):
    return [(r["id"], r, None) for r in csv.DictReader(io.StringIO(b.decode(), newline=""))]


def plain(want, crs):
    """Features with x before y, whatever items says."""
    return {i: (p, shapely.transform(g, lambda c: c[:, ::-1]) if g and crs in NORTH_FIRST else g) for i, (p, g) in want.items()}


def export(coll, folder):
    doc = json.loads(get(f"{BASE}/collections/{coll}?f=json")[0])
    stored = doc.get("storageCrs", "").rpartition("/")[2]
    stored = "" if stored == "CRS84" else stored
    want = plain(items(coll, stored), stored)
    compare(f"{coll} gpkg", want, frame(read(run("export-collection-gpkg", folder, collection_id=coll))))
    for crs in [c for c in ("4258", "3035") if EPSG + c in doc["crs"]][: int(sys.argv[2])]:
        df = read(run("export-collection-gpkg", folder, collection_id=coll, crs=f"EPSG:{crs}"))
        compare(f"{coll} gpkg {crs}", plain(items(coll, crs), crs), frame(df))
    compare(f"{coll} csv", want, rows(run("export-collection-csv", collection_id=coll)), spatial=False, blank=True)
    path = run("export-all-gpkg", folder)
    layers = [l[0] for l in pyogrio.list_layers(path)]
    compare(f"{coll} of all, gpkg", want, frame(read(path, layer=coll)))
    report(f"{coll} all layers", sorted(set(layers) ^ set(sys.argv[3:])))
    for name in {n for p, _ in want.values() for n in p}:
        values = [p[name] for p, _ in want.values() if p.get(name) is not None]
        if name != "id" and values and not any(isinstance(v, (dict, list)) for v in values):
            got = json.loads(run("get-distinct-values", resource_name=coll, queryable=name))["value"]
            report(f"{coll} values of {name}", [] if len(got) == len(set(got)) and set(got) == set(values) else [len(got), sorted(set(got) ^ set(values), key=str)[:5]])
    if coll == DIVIDED:
        areas(want, folder)
    else:
        drawn(coll, want, folder)


def counties(folder):
    """The counties with the positions that are stored, which items rounds."""
    if not whole:
        df = read(run("export-collection-gpkg", folder, collection_id=AREA))
        whole.update({str(i): (n, g) for i, n, g in zip(df["id"], df["navn"], df.geometry)})
    return whole


def areas(want, folder):
    """The municipalities of each county: by code, by both predicates, as GeoPackage and as CSV."""
    df = read(run("export-collection-gpkg", folder, collection_id=DIVIDED))
    stored = dict(zip((str(i) for i in df["id"]), df.geometry))
    chosen = {
        "code": lambda id, g, code, area: id.startswith(code),
        "within": lambda id, g, code, area: g.within(area),
        "intersects": lambda id, g, code, area: g.intersects(area),
    }
    found = dict.fromkeys(chosen, 0)
    for code, (name, area) in counties(folder).items():
        for predicate, in_it in chosen.items():
            part = {i: want[i] for i, g in stored.items() if in_it(i, g, code, area)}
            found[predicate] += len(part)
            inputs = {"collection_id": DIVIDED, "area_type": "fylke", "predicate": predicate}
            compare(f"{name} {predicate} gpkg", part, frame(read(run("export-by-area-gpkg", folder, area_name=name, **inputs))))
            compare(f"{name} {predicate} csv", part, rows(run("export-collection-csv", area_id=code, **inputs)), spatial=False, blank=True)
    report("municipalities are found", [] if found["code"] == len(want) and 0 < found["within"] < found["intersects"] else [found])


def drawn(coll, want, folder):
    """Other features with geometries in each county, by both predicates."""
    if coll == AREA or not any(g is not None for _, g in want.values()):
        return
    df = read(run("export-collection-gpkg", folder, collection_id=coll))
    stored = dict(zip((str(i) for i in df["id"]), df.geometry))
    found = 0
    for code, (name, area) in counties(folder).items():
        for predicate in ("within", "intersects"):
            part = {i: want[i] for i, g in stored.items() if g is not None and getattr(g, predicate)(area)}
            found += len(part)
            compare(f"{coll} {predicate} {name}", part, frame(read(run("export-by-area-gpkg", folder, collection_id=coll, area_type="fylke", area_id=code, predicate=predicate))))
    report(f"{coll} has features in counties", [] if found else ["none"])


each(export)
