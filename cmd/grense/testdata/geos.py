"""geos.py GRENSE FOLDER: imports generated polygons, and compares what they cover with what make_valid of GEOS makes of them. A geometry that differs by
more than a millionth of its area has to be in the report of the import. Prints a line for each set; the status is 1 when one is not."""
import json
import math
import random
import subprocess
import sys

import pyogrio
import shapely
from shapely.geometry import shape

grense, work = sys.argv[1:3]
r = random.Random(13)


def box(x, y, w, h, clockwise=False):
    b = [[x, y], [x + w, y], [x + w, y + h], [x, y + h], [x, y]]
    return b[::-1] if clockwise else b


def star(x, y, s, n=40):
    p = [[x + s * (0.5 + r.random()) * math.cos(2 * math.pi * k / n), y + s * (0.5 + r.random()) * math.sin(2 * math.pi * k / n)] for k in range(n)]
    return p + p[:1]


def polygon(*rings):
    return {"type": "Polygon", "coordinates": list(rings)}


def multi(*parts):
    return {"type": "MultiPolygon", "coordinates": list(parts)}


def bowtie(x, y, s):
    return polygon([[x, y], [x + s, y + s], [x + s, y], [x, y + s * r.uniform(0.2, 1)], [x, y]])


def touching(x, y, s):
    return r.choice([polygon(box(x, y, s, s), box(x, y + 0.2 * s, 0.3 * s, 0.3 * s)), multi([box(x, y, s, s)], [box(x + s, y, s, s)]),
                     polygon(box(x, y, s, s), [[x, y], [x + 0.5 * s, y + 0.2 * s], [x + 0.5 * s, y + 0.5 * s], [x, y]])])


def antimeridian(x, y, s):
    return r.choice([polygon(box(180 - s, y, 2 * s, s)), polygon([[180 - s, y], [-180 + s, y], [-180 + s, y + s], [180 - s, y + s], [180 - s, y]]),
                     polygon([[180 - s, y], [179.9, y + s / 3], [-180 + s, y], [-180 + s, y + s], [-179.8, y + s * 0.8], [180 - s, y + s], [180 - s, y]])])


def messy(x, y, s):
    rings = [[[x + r.random() * s, y + r.random() * s] for _ in range(r.randint(3, 9))] for _ in range(r.randint(1, 3))]
    return polygon(*[q + q[:1] for q in rings])


SETS = {
    "countries": lambda x, y, s: multi([star(x, y, s), star(x, y, s / 8)], [star(x + 20, y, s / 3)]),
    "specks": lambda x, y, s: polygon(box(x, y, 0.001, 0.001, True), box(x + 1, y, s, s, r.random() < 0.5)),
    "nested": lambda x, y, s: polygon(box(x, y, s, s), box(x + 0.1 * s, y + 0.1 * s, 0.8 * s, 0.8 * s, True), box(x + 0.3 * s, y + 0.3 * s, 0.2 * s, 0.2 * s)),
    "bow-ties": bowtie, "touching": touching, "antimeridian": antimeridian, "messy": messy,
    "collections": lambda x, y, s: {"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [x, y]}, bowtie(x, y, s), multi([box(x + 2 * s, y, s, s, True)])]},
}


def covered(g):
    parts = shapely.get_parts(g) if g.geom_type == "GeometryCollection" else [g]
    return shapely.union_all([p for v in shapely.make_valid(parts) for p in shapely.get_parts(v) if p.area > 0])


wrong = 0
for name, make in SETS.items():
    given = [make(r.uniform(-160, 140), r.uniform(-70, 60), r.uniform(0.01, 8)) for _ in range(150)]
    src, dst, report = (f"{work}/{name}.{e}" for e in ("geojson", "gpkg", "jsonl"))
    with open(src, "w") as f:
        json.dump({"type": "FeatureCollection", "features": [{"type": "Feature", "id": i + 1, "properties": {}, "geometry": g} for i, g in enumerate(given)]}, f)
    p = subprocess.run([grense, "import", src, "--into", dst, "--collection", "x", "--report", report], capture_output=True, text=True)
    if p.returncode:
        wrong += 1
        print(name, "is not imported:", p.stderr[-300:])
        continue
    listed = {str(f.get("feature")) for f in map(json.loads, open(report)) if f["action"] != "turned"}
    _, fids, geometries, _ = pyogrio.raw.read(dst, layer="x", return_fids=True)
    differ = silent = 0
    for fid, h in zip(fids, shapely.from_wkb(geometries)):
        want = covered(shape(given[int(fid) - 1]))
        if shapely.symmetric_difference(want, covered(h)).area > 1e-6 * want.area:
            differ += 1
            silent += str(fid) not in listed
    wrong += silent + (len(fids) != len(given))
    print(f"{name}: {len(fids)} geometries, {len(listed)} listed, {differ} differ, {silent} of them not listed")
sys.exit(wrong > 0)
