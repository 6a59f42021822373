"""Measures simplified areas, in Web Mercator, against the areas themselves, which are in degrees: layers of archives of tiles, or files of features.

judge.py tiles AREAS.geojson LAYER ID FIRST LAST FILE.mbtiles...
judge.py files AREAS.geojson ID FILE.geojson...

Prints for each file, and level of tiles: its name, the level or 0, corners of all rings, features whose borders do not match those of their neighbours, features
that are no valid polygons, overlaps in parts of a million of all areas, and by how much the areas of the features are off, in parts of a million of all areas.
"""
import json, math, sqlite3, sys, zlib
import numpy, shapely

WORLD, EXTENT = 2 * math.pi * 6378137, 4096


def project(xy):
    x = xy[:, 0] / 360 * WORLD
    y = numpy.log(numpy.tan(numpy.pi / 4 + numpy.radians(xy[:, 1]) / 2)) * 6378137
    return numpy.column_stack([x, y])


def varint(b, i):
    n = shift = 0
    while True:
        n |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return n, i


def fields(b):
    """Fields of a message: number and value."""
    i = 0
    while i < len(b):
        tag, i = varint(b, i)
        if tag & 7 == 0:
            v, i = varint(b, i)
        elif tag & 7 == 2:
            n, i = varint(b, i)
            v, i = b[i:i + n], i + n
        else:
            n = 8 if tag & 7 == 1 else 4
            v, i = b[i:i + n], i + n
        yield tag >> 3, v


def varints(b):
    i, out = 0, []
    while i < len(b):
        v, i = varint(b, i)
        out.append(v)
    return out


def rings(commands):
    x = y = i = 0
    ring, out = [], []
    while i < len(commands):
        kind, n = commands[i] & 7, commands[i] >> 3
        i += 1
        if kind == 7:
            out.append(ring)
            continue
        for _ in range(n):
            a, b = commands[i], commands[i + 1]
            x, y, i = x + ((a >> 1) ^ -(a & 1)), y + ((b >> 1) ^ -(b & 1)), i + 2
            if kind == 1:
                ring = []
            ring.append((x, y))
    return out


def area(ring):
    p = numpy.array(ring, dtype=float)
    return (p[:, 0] * numpy.roll(p[:, 1], -1) - numpy.roll(p[:, 0], -1) * p[:, 1]).sum() / 2


def polygons(list_of_rings):
    """Rings that run as the first one are outer ones (Mapbox Vector Tile 2.1, 4.3.4.4)."""
    out = []
    for r in list_of_rings:
        if len(r) < 3 or area(r) == 0:
            continue
        if area(r) > 0 or not out:
            out.append([r, []])
        else:
            out[-1][1].append(r)
    return shapely.MultiPolygon([shapely.Polygon(s, h) for s, h in out])


def layer(tile, name, key):
    """Features of a layer of a tile: id, corners and geometry, in the units of a tile."""
    for number, l in fields(tile):
        if number != 3:
            continue
        keys, values, features, called = [], [], [], ""
        for n, v in fields(l):
            if n == 1:
                called = v.decode()
            elif n == 2:
                features.append(v)
            elif n == 3:
                keys.append(v.decode())
            elif n == 4:
                kind, value = next(iter(fields(v)))
                values.append(value.decode() if kind == 1 else str(value))
        if called != name:
            continue
        for f in features:
            got = dict(fields(f))
            if got.get(3) != 3:
                continue
            tags = varints(got.get(2, b""))
            found = {keys[k]: values[v] for k, v in zip(tags[::2], tags[1::2])}
            r = rings(varints(got[4]))
            yield found[key], sum(map(len, r)), polygons(r)


def level(db, z, name, key, true):
    box = shapely.box(0, 0, EXTENT, EXTENT)
    corners = unmatched = invalid = 0
    overlap, areas = 0.0, dict.fromkeys(true, 0.0)
    unit = (WORLD / 2 ** z / EXTENT) ** 2
    for (data,) in db.execute("SELECT tile_data FROM tiles WHERE zoom_level = ?", (z,)):
        features = list(layer(zlib.decompress(data, 47), name, key))
        if not features:
            continue
        corners += sum(n for _, n, _ in features)
        g = numpy.array([g for _, _, g in features])
        bad = ~shapely.is_valid(g)
        invalid += int(bad.sum())
        unmatched += int(shapely.intersects(shapely.coverage_invalid_edges(g), box).sum())
        g[bad] = shapely.make_valid(g[bad])
        inside = shapely.intersection(g, box)
        a = shapely.area(inside)
        overlap += (a.sum() - shapely.area(shapely.union_all(inside))) * unit
        for (id, _, _), v in zip(features, a):
            areas[id] += v * unit
    whole = sum(true.values())
    off = sum(abs(areas[id] - a) for id, a in true.items())
    return z, corners, unmatched, invalid, round(overlap / whole * 1e6, 3), round(off / whole * 1e6, 3)


def whole(path, key, true):
    features = json.load(open(path))["features"]
    g = numpy.array([shapely.geometry.shape(f["geometry"]) for f in features])
    bad = ~shapely.is_valid(g)
    unmatched = int((shapely.length(shapely.coverage_invalid_edges(g)) > 0).sum())
    corners = int(shapely.get_num_coordinates(g).sum() - sum(shapely.get_num_interior_rings(p) + 1 for p in shapely.get_parts(g)))
    g[bad] = shapely.make_valid(g[bad])
    areas = dict.fromkeys(true, 0.0)
    for f, v in zip(features, shapely.area(g)):
        areas[f["properties"][key]] += v
    all = sum(true.values())
    overlap = shapely.area(g).sum() - shapely.area(shapely.union_all(g))
    off = sum(abs(areas[id] - a) for id, a in true.items())
    return 0, corners, unmatched, int(bad.sum()), round(overlap / all * 1e6, 3), round(off / all * 1e6, 3)


def areas_of(path, key):
    true = {}
    for f in json.load(open(path))["features"]:
        g = shapely.transform(shapely.geometry.shape(f["geometry"]), project)
        true[f["properties"][key]] = true.get(f["properties"][key], 0) + g.area
    return true


def main():
    how, path, *rest = sys.argv[1:]
    if how == "files":
        key, *files = rest
        true = areas_of(path, key)
        for file in files:
            print(file, *whole(file, key, true))
        return
    name, key, first, last, *files = rest
    true = areas_of(path, key)
    for file in files:
        db = sqlite3.connect(file)
        for z in range(int(first), int(last) + 1):
            print(file, *level(db, z, name, key, true))


main()
