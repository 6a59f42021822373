// A map of vector tiles on a canvas, in any tile matrix set. site.js loads it where a figure with data-tiles comes into view. The figure tells:
// data-tiles the tileset, data-layers what features are called and where their pages are, data-id and data-view the feature and the box in front,
// data-key where to ask whether a key is held. Where tiles cannot be had, the drawing of the server stays.
const sheet = new CSSStyleSheet();
sheet.replaceSync(`
.tilemap { --map-sea: #d5e3ea; --map-bare: #f3f6f5; --map-area: #f3efe6; --map-a0: #f4ead6; --map-a1: #e2ead6; --map-a2: #e9e1ec; --map-a3: #f3e0d6; --map-line: #837788; --map-upper: #6d5d70; --map-text: #2f3138; --map-halo: #ffffff; --map-here: #fbdc7a; --map-chosen: #a8501a; --map-point: #5b6674; position: relative; max-width: 46rem; height: 26rem; max-height: 85vh; border-radius: 6px; overflow: hidden; touch-action: pan-y; background: var(--raised); }
.tilemap.moved { touch-action: none; }
.tilemap canvas { display: block; width: 100%; height: 100%; cursor: grab; }
.tilemap:focus-visible { outline-offset: -3px; }
.tilemap .tools { right: auto; flex-direction: column; }
.tilemap .tools button { display: block; }
.tilemap.keys:focus::after { content: ""; position: absolute; left: calc(50% - .5rem); top: calc(50% - .5rem); width: 1rem; height: 1rem; border: 2px solid var(--focus); border-radius: 50%; pointer-events: none; }
.scalebar { position: absolute; left: .7rem; bottom: .6rem; border: 2px solid var(--text); border-top: 0; color: var(--text); font-size: .8rem; line-height: 1.2; text-align: center; white-space: nowrap; pointer-events: none; background: var(--ground); box-shadow: 0 0 0 .3rem var(--ground); }
.found { min-height: 1.6em; margin: .4rem 0 0; }
@media (prefers-color-scheme: dark) {
  .tilemap:not(.paper) { --map-sea: #0f171e; --map-bare: #1a2426; --map-area: #27303a; --map-a0: #2b3540; --map-a1: #2c3933; --map-a2: #37313f; --map-a3: #3b332f; --map-line: #7d8a98; --map-upper: #a3afbc; --map-text: #e4e9ee; --map-halo: #0d1319; --map-here: #5d6d3a; --map-chosen: #ffd479; --map-point: #c3ccd6; }
}
@media (forced-colors: active) {
  .tilemap:not(.paper) { --map-sea: Canvas; --map-bare: Canvas; --map-area: Canvas; --map-a0: Canvas; --map-a1: Canvas; --map-a2: Canvas; --map-a3: Canvas; --map-line: CanvasText; --map-upper: CanvasText; --map-text: CanvasText; --map-halo: Canvas; --map-here: Highlight; --map-chosen: LinkText; --map-point: LinkText; forced-color-adjust: none; border: 1px solid CanvasText; }
}
@media print { .tilemap canvas { object-fit: contain; object-position: 0 0; } .scalebar, .tilemap .tools, .tilemap ~ .hint { display: none; } }
`);

const EXTENT = 4096, KEPT = 160;

// Reads a vector tile (Mapbox Vector Tile 2.1): layers of features with id, tags, kind (1 points, 2 lines, 3 areas) and parts, flat lists of x and y.
const decode = (bytes) => {
  const text = new TextDecoder();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const varint = (s) => {
    let v = 0, f = 1, b;
    do { b = bytes[s.at++]; v += (b & 127) * f; f *= 128; } while (b > 127);
    return v;
  };
  const signed = (v) => v % 2 ? -(v + 1) / 2 : v / 2;
  const message = (at, end, field) => {
    const s = { at };
    while (s.at < end) {
      const tag = varint(s), kind = tag & 7;
      let from = s.at, to = from, value = 0;
      if (kind === 0) { value = varint(s); to = s.at; }
      else if (kind === 1) to = from + 8;
      else if (kind === 5) to = from + 4;
      else { const n = varint(s); from = s.at; to = from + n; }
      s.at = to;
      field(tag >>> 3, from, to, value);
    }
  };
  const layers = [];
  message(0, bytes.length, (n, from, to) => {
    if (n !== 3) return;
    const layer = { name: "", extent: EXTENT, features: [] }, keys = [], values = [], raw = [];
    message(from, to, (n, from, to, v) => {
      if (n === 1) layer.name = text.decode(bytes.subarray(from, to));
      else if (n === 2) raw.push([from, to]);
      else if (n === 3) keys.push(text.decode(bytes.subarray(from, to)));
      else if (n === 5) layer.extent = v;
      else if (n === 4) message(from, to, (n, from, to, v) => values.push(
        n === 1 ? text.decode(bytes.subarray(from, to)) : n === 2 ? view.getFloat32(from, true) : n === 3 ? view.getFloat64(from, true) : n === 6 ? signed(v) : n === 7 ? !!v : v));
    });
    for (const [from, to] of raw) {
      const f = { tags: {}, kind: 0, parts: [] };
      message(from, to, (n, from, to, v) => {
        const s = { at: from };
        if (n === 3) f.kind = v;
        else if (n === 2) while (s.at < to) { const k = varint(s); f.tags[keys[k]] = values[varint(s)]; }
        else if (n === 4) {
          let x = 0, y = 0, part;
          while (s.at < to) {
            const c = varint(s), op = c & 7;
            if (op === 7) continue;
            for (let i = c >>> 3; i > 0; i--) {
              if (op === 1) f.parts.push(part = []);
              part.push(x += signed(varint(s)), y += signed(varint(s)));
            }
          }
        }
      });
      layer.features.push(f);
    }
    layers.push(layer);
  });
  return layers;
};

const area = (p) => {
  let a = 0;
  for (let i = 0, j = p.length - 2; i < p.length; j = i, i += 2) a += p[j] * p[i + 1] - p[i] * p[j + 1];
  return a / 2;
};

// The corners of the box of the largest ring.
const extremes = (parts) => {
  const p = parts.reduce((a, b) => Math.abs(area(b)) > Math.abs(area(a)) ? b : a), x = p.filter((_, i) => i % 2 === 0), y = p.filter((_, i) => i % 2);
  const least = (v) => v.reduce((a, b) => Math.min(a, b)), most = (v) => v.reduce((a, b) => Math.max(a, b));
  return [[least(x), least(y)], [most(x), most(y)]];
};

// A place for a name inside of an area: the middle of the widest piece of three lines across its largest ring, within the tile.
const inside = (parts, extent) => {
  let ring, most = 0;
  for (const p of parts) if (area(p) > most) most = area(ring = p);
  if (!ring) return null;
  let low = Infinity, high = -Infinity;
  for (let i = 1; i < ring.length; i += 2) { low = Math.min(low, ring[i]); high = Math.max(high, ring[i]); }
  low = Math.max(low, 0); high = Math.min(high, extent);
  let best = null;
  for (const part of [.5, .35, .65]) {
    const y = low + (high - low) * part + .5, cuts = [];
    for (const p of parts) for (let i = 0, j = p.length - 2; i < p.length; j = i, i += 2) {
      if ((p[i + 1] > y) !== (p[j + 1] > y)) cuts.push(p[i] + (y - p[i + 1]) / (p[j + 1] - p[i + 1]) * (p[j] - p[i]));
    }
    cuts.sort((a, b) => a - b);
    for (let i = 0; i + 1 < cuts.length; i += 2) {
      const a = Math.max(cuts[i], 0), b = Math.min(cuts[i + 1], extent);
      if (b > a && (!best || b - a > best.width * 1.2)) best = { x: (a + b) / 2, y, width: b - a };
    }
  }
  return best && { ...best, size: most };
};

// Sizes in pixels at zooms, as /style has them: widths of borders by level, and the radius of points.
const BORDERS = [[3, .5, 6, .9, 9, 1.9, 14, 3.5], [3, .4, 6, .6, 9, 1, 14, 2.2], [3, .3, 6, .4, 9, .7, 14, 1.5]], POINTS = [4, 1.5, 14, 4];
const sizeAt = (zoom, [low, size, ...rest]) => {
  if (zoom <= low || !rest.length) return size;
  return zoom >= rest[0] ? sizeAt(zoom, rest) : size + (rest[1] - size) * (zoom - low) / (rest[0] - low);
};

const path = (f) => {
  const p = new Path2D();
  for (const part of f.parts) {
    p.moveTo(part[0], part[1]);
    for (let i = 2; i < part.length; i += 2) p.lineTo(part[i], part[i + 1]);
    if (f.kind === 3) p.closePath();
  }
  return p;
};

// A tile as it is drawn: paths by layer and by colour, features with their own, names with places.
const prepare = (layers, names) => layers.map((layer) => {
  const l = { name: layer.name, extent: layer.extent, areas: new Path2D(), colours: [0, 1, 2, 3].map(() => new Path2D()), lines: new Path2D(), points: [], features: layer.features };
  const about = l.about = names[l.name] ?? {};
  for (const f of l.features) {
    f.id = String(f.tags.id ?? "");
    f.name = String((about.title && f.tags[about.title]) ?? f.id);
    f.lang = about.lang && f.tags[about.lang];
    if (f.kind === 1) {
      for (const p of f.parts) for (let i = 0; i < p.length; i += 2) l.points.push({ x: p[i], y: p[i + 1], f });
      f.label = f.parts[0] && { x: f.parts[0][0], y: f.parts[0][1], size: 0 };
      continue;
    }
    f.path = path(f);
    (f.kind === 3 ? l.areas : l.lines).addPath(f.path);
    if (f.kind === 3) l.colours[f.tags.color_index]?.addPath(f.path);
    f.label = f.kind === 3 ? inside(f.parts, l.extent) : null;
  }
  return l;
});

const element = (name, className, parent, more) => {
  const e = Object.assign(document.createElement(name), more);
  if (className) e.className = className;
  parent?.append(e);
  return e;
};

const json = async (address) => {
  const r = await fetch(address, { headers: { Accept: "application/json" } });
  if (!r.ok) throw new Error(r.status);
  return r.json();
};

// The grid: levels with the width of a cell, the origin (x east, y north) and the number of tiles.
const gridOf = async (address) => {
  const set = await json(address);
  const scheme = set.links.find((l) => l.rel.endsWith("/tiling-scheme")), item = set.links.find((l) => l.rel === "item");
  const local = (href) => { const u = new URL(href.replace(/[{}]/g, (c) => c === "{" ? "_b_" : "_e_")); return (u.pathname + u.search).replace(/_b_/g, "{").replace(/_e_/g, "}"); };
  const tms = await json(local(scheme.href));
  const swapped = /^(Y|N|Lat)/i.test(tms.orderedAxes?.[0] ?? "");
  const levels = set.tileMatrixSetLimits.map((limits) => {
    const m = tms.tileMatrices.find((m) => m.id === limits.tileMatrix), [a, b] = m.pointOfOrigin;
    return { id: m.id, cell: m.cellSize, side: m.cellSize * m.tileWidth, x: swapped ? b : a, y: swapped ? a : b, rows: m.matrixHeight, columns: m.matrixWidth };
  });
  if (!levels.length) throw new Error("empty");
  return { levels, template: local(item.href), degrees: /CRS84|\/4326$|\/4258$/.test(tms.crs), mercator: /\/3857$/.test(tms.crs) };
};

// What the colours of the page are now. Where nobody knows where land ends, what has no data is not sea.
const colours = (probe, bare) => {
  const out = {};
  for (const name of ["sea", "area", "a0", "a1", "a2", "a3", "line", "upper", "text", "halo", "here", "chosen", "point"]) {
    probe.style.color = `var(--map-${bare && name === "sea" ? "bare" : name})`;
    out[name] = getComputedStyle(probe).color;
  }
  return out;
};

export default async function start(figure) {
  const text = figure.dataset, words = text.words.split("|"), names = JSON.parse(text.layers || "{}");
  if (text.key && !(await json(text.key)).keyAccepted) return false; // without a key there are no tiles
  const grid = await gridOf(text.tiles), shore = new Path2D();
  for (const ring of text.shore ? await json(text.shore) : []) {
    for (let i = 0; i < ring.length; i += 2) shore[i ? "lineTo" : "moveTo"](ring[i], ring[i + 1]);
    shore.closePath();
  }
  const { levels } = grid, last = levels.at(-1);

  const box = element("div", "tilemap"), canvas = element("canvas", "", box), bar = element("div", "scalebar", box);
  canvas.setAttribute("aria-hidden", "true");
  bar.setAttribute("aria-hidden", "true");
  box.tabIndex = 0;
  box.setAttribute("role", "application");
  box.setAttribute("aria-roledescription", text.map);
  box.setAttribute("aria-label", figure.querySelector("svg")?.getAttribute("aria-label") || text.map);
  const help = element("p", "hint", null, { id: "map-help-" + Math.random().toString(36).slice(2), textContent: text.help });
  box.setAttribute("aria-describedby", help.id);
  const status = element("p", "found", null);
  status.setAttribute("role", "status");
  const probe = element("span", "", box, { hidden: true });

  // Where the map is: the middle, and how many units of the grid a pixel has.
  const home = () => {
    const whole = text.whole ? text.whole.split(",").map(Number) : [last.x, last.y - last.rows * last.side, last.x + last.columns * last.side, last.y];
    const v = text.view ? text.view.split(",").map(Number) : whole;
    const res = Math.max((v[2] - v[0]) / width, (v[3] - v[1]) / height) * (text.view ? 1.6 : 1.1);
    return { x: (v[0] + v[2]) / 2, y: (v[1] + v[3]) / 2, res: Math.max(res, last.cell / 4), whole };
  };
  let width = 0, height = 0, at, paint, chosen = text.id ? { layer: Object.keys(names).find((n) => !names[n].ground), id: text.id } : null, moved = false, waiting = 0;
  const tiles = new Map(); // by address: {layers, used} once it is there, {} before, null where nothing is
  const failed = new Map(); // how often, by address
  const limit = () => {
    const h = home(), w = h.whole, most = Math.max((w[2] - w[0]) / width, (w[3] - w[1]) / height) * 1.3;
    at.res = Math.min(Math.max(at.res, last.cell / 8), most);
    at.x = Math.min(Math.max(at.x, w[0]), w[2]);
    at.y = Math.min(Math.max(at.y, w[1]), w[3]);
  };
  const levelAt = (res) => levels.findLast((l) => l.cell >= res * .999) ?? levels[0];
  // Which levels have tiles may be known since the first of these was asked for.
  let retold = 0;
  const retell = async () => {
    if (performance.now() < retold) return;
    retold = performance.now() + 5000;
    const now = (await gridOf(text.tiles)).levels;
    levels.splice(0, levels.length, ...now);
  };
  const key = (l, row, col) => `${l.id}/${row}/${col}`;
  const load = (l, row, col) => {
    const k = key(l, row, col);
    if (tiles.has(k)) {
      const t = tiles.get(k);
      if (t?.layers) t.used = performance.now();
      return t;
    }
    tiles.set(k, {});
    waiting++;
    const href = grid.template.replace("{tileMatrix}", l.id).replace("{tileRow}", row).replace("{tileCol}", col);
    fetch(href).then(async (r) => {
      if (r.status !== 200) {
        if (r.status !== 204 && r.status !== 404) throw new Error(r.status, { cause: r.headers.get("Retry-After") });
        if (r.status === 204 && r.headers.get("OATiles-hint") !== "empty") await retell();
        return tiles.set(k, null);
      }
      tiles.set(k, { layers: prepare(decode(new Uint8Array(await r.arrayBuffer())).filter((l) => names[l.name]), names), used: performance.now() });
      failed.delete(k);
    }).catch((e) => {
      const n = failed.get(k) ?? 0; // in vain: the next time later, so that a page that is left open asks for little
      failed.set(k, n + 1);
      setTimeout(() => { tiles.delete(k); draw(); }, Math.max(5 * 2 ** Math.min(n, 3), +e.cause || 0) * 1000);
    }).finally(() => { waiting--; if (!waiting && !begun) begin(); draw(); });
    if (tiles.size > KEPT) {
      const old = [...tiles].filter(([, t]) => t?.layers).sort((a, b) => a[1].used - b[1].used).slice(0, tiles.size - KEPT);
      for (const [k] of old) tiles.delete(k);
    }
    return null;
  };
  const pixel = (x, y) => [(x - at.x) / at.res + width / 2, (at.y - y) / at.res + height / 2];

  // The tiles in view; where one is not there yet, the coarser one that is.
  const inView = () => {
    const l = levelAt(at.res), [west, south, east, north] = home().whole, out = [];
    const col = (x) => Math.floor((x - l.x) / l.side), row = (y) => Math.floor((l.y - y) / l.side);
    const w = width / 2 * at.res, h = height / 2 * at.res;
    for (let r = Math.max(row(Math.min(at.y + h, north)), 0); r <= Math.min(row(Math.max(at.y - h, south)), l.rows - 1); r++) {
      for (let c = Math.max(col(Math.max(at.x - w, west)), 0); c <= Math.min(col(Math.min(at.x + w, east)), l.columns - 1); c++) {
        let t = load(l, r, c), from = { l, r, c };
        for (let i = levels.indexOf(l) - 1, rr = r, cc = c; t !== null && !t?.layers && i >= 0; i--) {
          const up = Math.round(levels[i].side / levels[i + 1].side);
          rr = Math.floor(rr / up); cc = Math.floor(cc / up);
          const coarse = tiles.get(key(levels[i], rr, cc));
          if (coarse?.layers) { t = coarse; from = { l: levels[i], r: rr, c: cc }; }
        }
        if (t?.layers) out.push({ l, r, c, t, from });
      }
    }
    return out;
  };

  // Where nearly all features lie in a small part of the map, as the communes of France do, that part is seen first.
  let begun = !!text.view;
  const begin = () => {
    const ends = [[], []];
    for (const { t, from } of moved ? [] : inView()) for (const l of t.layers) for (const f of l.about.ground ? [] : l.features) {
      const p = f.parts[0] ?? [];
      if (!p.length) continue;
      const corners = f.tags.count && !f.id ? extremes(f.parts) : [p]; // of an area that stands for many features
      for (const c of corners) for (let n = f.id ? 1 : f.tags.count / 2 || 1; n > 0; n--) [from.c + c[0] / l.extent, from.r + c[1] / l.extent].forEach((v, i) => ends[i].push(v * from.l.side));
    }
    const n = ends[0].length;
    begun = moved || n > 0 && [...tiles.values()].every((t) => !t || t.layers);
    if (n < 100 || !begun) return;
    const l = levelAt(at.res), [w, e, top, low] = ends.flatMap((a) => (a.sort((a, b) => a - b), [a[Math.floor(n / 100)], a[Math.floor(n * .99)]]));
    const res = Math.max((e - w) / width, (low - top) / height, last.cell) * 1.3;
    if (res < home().res / 3) { at = { x: l.x + (w + e) / 2, y: l.y - (top + low) / 2, res }; moved = true; }
  };

  const ratio = () => window.devicePixelRatio || 1;
  let asked = 0;
  const draw = () => { asked ||= requestAnimationFrame(() => { asked = 0; if (width) drawNow(); }); };
  const drawNow = () => {
    const g = canvas.getContext("2d"), d = ratio(), seen = inView();
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.fillStyle = paint.sea;
    g.fillRect(0, 0, canvas.width, canvas.height);
    g.lineJoin = "round";
    const [sx, sy] = pixel(0, 0);
    g.setTransform(d / at.res, 0, 0, -d / at.res, sx * d, sy * d);
    g.fillStyle = paint.area;
    g.fill(shore);
    g.strokeStyle = paint.line;
    g.lineWidth = .8 * at.res;
    g.stroke(shore);
    const labels = new Map(), z = zoomNow(), dots = seen.reduce((n, s) => n + s.t.layers.reduce((n, l) => n + l.points.length, 0), 0) > 1000 ? 1.2 : sizeAt(z, POINTS);
    for (const s of seen) {
      const edge = (l, r, c) => pixel(l.x + c * l.side, l.y - r * l.side).map((v) => Math.round(v * d));
      const [x0, y0] = edge(s.l, s.r, s.c), [x1, y1] = edge(s.l, s.r + 1, s.c + 1);
      const [fx, fy] = pixel(s.from.l.x + s.from.c * s.from.l.side, s.from.l.y - s.from.r * s.from.l.side);
      g.save();
      g.setTransform(1, 0, 0, 1, 0, 0);
      g.beginPath();
      g.rect(x0, y0, x1 - x0, y1 - y0);
      g.clip();
      const into = (l) => {
        const k = s.from.l.side / at.res / l.extent;
        g.setTransform(k * d, 0, 0, k * d, fx * d, fy * d);
        return k;
      };
      for (const l of s.t.layers) {
        into(l);
        g.fillStyle = paint.area;
        g.fill(l.areas);
        if (!l.about.ground) l.colours.forEach((p, i) => { g.fillStyle = paint["a" + i]; g.fill(p); });
        for (const f of l.features) if (chosen?.id === f.id && chosen.layer === l.name && f.kind === 3) { g.fillStyle = paint.here; g.fill(f.path); }
      }
      for (const [i, l] of [...s.t.layers.entries()].reverse()) { // the upper levels last
        const level = s.t.layers.length > 1 ? Math.min(i, 2) : 1;
        g.strokeStyle = level ? paint.line : paint.upper;
        g.lineWidth = sizeAt(z, BORDERS[level]) / into(l);
        g.stroke(l.areas);
      }
      for (const l of s.t.layers) {
        const k = into(l);
        g.strokeStyle = paint.point;
        g.lineWidth = 1.2 / k;
        g.stroke(l.lines);
        g.strokeStyle = paint.chosen; // what is chosen stands out by its outline
        for (const f of l.features) if (chosen?.id === f.id && chosen.layer === l.name && f.path) { g.lineWidth = (f.kind === 2 ? 4 : 2.4) / k; g.stroke(f.path); }
        for (const p of l.points) {
          const here = chosen?.id === p.f.id && chosen.layer === l.name;
          g.fillStyle = here ? paint.here : paint.point;
          g.beginPath();
          g.arc(p.x, p.y, (here ? 5 : dots) / k, 0, 7);
          g.fill();
          if (here) { g.lineWidth = 2.4 / k; g.stroke(); }
        }
        for (const f of l.features) {
          if (l.about.ground || !f.label || !f.name) continue;
          const x = fx + f.label.x * k, y = fy + f.label.y * k, id = l.name + "/" + f.id, old = labels.get(id);
          const size = f.label.size * k * k, room = f.kind === 3 ? f.label.width * k : Infinity;
          if (x < 0 || y < 0 || x > width || y > height || old && old.size >= size) continue;
          labels.set(id, { x, y, size, room, f, layer: l.name, first: l.about.first?.includes(f.name) });
        }
      }
      g.restore();
    }
    g.setTransform(d, 0, 0, d, 0, 0);
    drawNames(g, [...labels.values()]);
    drawScale();
    box.setAttribute("aria-busy", String(waiting > 0));
  };

  // Names, after those that come first the largest areas; what does not fit is left out until the map is larger. In a crowd few are wider than their areas.
  const drawNames = (g, list) => {
    const taken = [[0, 0, 48, 120], [0, height - 36, 170, height]]; // by buttons and scale
    g.textAlign = "center";
    g.textBaseline = "middle";
    const rank = (n) => (chosen?.id === n.f.id ? 2 : n.first ? 1 : 0), few = list.length <= 20;
    let over = 0;
    list.sort((a, b) => rank(b) - rank(a) || b.size - a.size);
    for (const n of list.slice(0, 600)) {
      if (taken.length > 120) break;
      const here = chosen?.id === n.f.id && chosen.layer === n.layer;
      g.font = `${here ? 600 : 400} ${n.size > 60000 ? 15 : 12.5}px system-ui, sans-serif`;
      const w = g.measureText(n.f.name).width + 8, h = 18, y = n.f.kind === 1 ? n.y - 11 : n.y;
      const b = [n.x - w / 2, y - h / 2, n.x + w / 2, y + h / 2];
      if (!here && (b[0] < 0 || b[1] < 0 || b[2] > width || b[3] > height)) continue;
      const wide = !few && !rank(n) && n.room < w * .75, apart = wide ? 14 : 0;
      if (wide && over > 30 || taken.some((t) => b[0] < t[2] + apart && b[2] > t[0] - apart && b[1] < t[3] + apart && b[3] > t[1] - apart)) continue;
      if (wide) over++;
      taken.push(b);
      g.strokeStyle = paint.halo;
      g.lineWidth = 3;
      g.strokeText(n.f.name, n.x, y);
      g.fillStyle = paint.text;
      g.fillText(n.f.name, n.x, y);
    }
  };

  // The zoom of map libraries at which the ground is as large.
  const zoomNow = () => Math.log2(grid.degrees ? 360 / 512 / at.res : 78271.517 * (grid.mercator ? 1 : Math.max(Math.cos(at.y / 6378137), .1)) / at.res);

  const drawScale = () => {
    let metres = at.res;
    if (grid.degrees) metres *= 111319.49 * Math.cos(at.y * Math.PI / 180);
    if (grid.mercator) metres /= Math.cosh(at.y / 6378137);
    const most = metres * 160, ten = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].map((n) => n * ten).find((n) => n <= most);
    bar.style.width = length / metres + "px";
    bar.textContent = length < 1000 ? `${length} m` : `${(length / 1000).toLocaleString(document.documentElement.lang)} km`;
  };

  // What is at a place of the map: the smallest area, or a point or line beside it.
  const find = (x, y) => {
    const g = canvas.getContext("2d");
    let found = null;
    for (const s of inView()) {
      const [fx, fy] = pixel(s.from.l.x + s.from.c * s.from.l.side, s.from.l.y - s.from.r * s.from.l.side);
      const [x0, y0] = pixel(s.l.x + s.c * s.l.side, s.l.y - s.r * s.l.side), side = s.l.side / at.res;
      const there = x >= x0 - 8 && y >= y0 - 8 && x < x0 + side + 8 && y < y0 + side + 8;
      if (!there) continue;
      const within = x >= x0 && y >= y0 && x < x0 + side && y < y0 + side;
      for (const l of s.t.layers) {
        if (l.about.ground) continue;
        const k = s.from.l.side / at.res / l.extent, tx = (x - fx) / k, ty = (y - fy) / k;
        const take = (f, far, size) => { if (!found || far < found.far || far === found.far && size <= found.size) found = { f, far, size, layer: l.name }; };
        for (const p of l.points) { const far = Math.hypot(p.x - tx, p.y - ty) * k; if (far < 10) take(p.f, far / 100, 0); }
        g.save();
        g.setTransform(1, 0, 0, 1, 0, 0);
        g.lineWidth = 12 / k;
        if (within) for (const f of l.features) {
          if (!f.id) continue; // stands for many
          if (f.kind === 2 && g.isPointInStroke(f.path, tx, ty)) take(f, .5, 0);
          if (f.kind === 3 && g.isPointInPath(f.path, tx, ty)) take(f, 1, f.label?.size ?? 0);
        }
        g.restore();
      }
    }
    return found;
  };
  const show = (x, y) => {
    const hit = find(x, y);
    chosen = hit && { layer: hit.layer, id: hit.f.id };
    status.replaceChildren();
    if (!hit) status.textContent = text.nothing;
    else {
      const about = names[hit.layer];
      const link = element("a", "", status, { textContent: hit.f.name });
      if (hit.f.lang) link.lang = ({ nor: "no", sme: "se" })[hit.f.lang] || hit.f.lang;
      if (about?.href) link.href = about.href.replace("{id}", encodeURIComponent(hit.f.id));
      if (about?.name) status.append(" ", element("span", "hint", null, { textContent: about.name }));
    }
    draw();
  };

  const touched = () => { limit(); moved = true; box.classList.add("moved"); draw(); };
  const zoom = (factor, x = width / 2, y = height / 2) => {
    const gx = at.x + (x - width / 2) * at.res, gy = at.y - (y - height / 2) * at.res;
    at.res /= factor;
    limit();
    at.x = gx - (x - width / 2) * at.res;
    at.y = gy + (y - height / 2) * at.res;
    touched();
  };
  const pan = (dx, dy) => { at.x += dx * at.res; at.y -= dy * at.res; touched(); };
  const reset = () => { at = home(); moved = false; box.classList.remove("moved"); draw(); };
  const acts = { "+": () => zoom(1.6), "=": () => zoom(1.6), "-": () => zoom(1 / 1.6), "0": reset, ArrowLeft: () => pan(-width / 5, 0), ArrowRight: () => pan(width / 5, 0),
    ArrowUp: () => pan(0, -height / 5), ArrowDown: () => pan(0, height / 5), Enter: () => show(width / 2, height / 2) };
  box.addEventListener("keydown", (e) => {
    const act = acts[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey || e.target !== box) return;
    e.preventDefault();
    box.classList.add("keys"); // shows the cross in the middle
    act();
  });
  const tools = element("div", "tools", box);
  for (const [sign, label, act] of [["+", words[1], acts["+"]], ["−", words[2], acts["-"]], ["⤢", words[3], reset]]) {
    const b = element("button", "", tools, { type: "button", textContent: sign, title: label, tabIndex: -1 });
    b.setAttribute("aria-label", label);
    b.addEventListener("click", () => { act(); box.focus({ preventScroll: true }); });
  }

  box.addEventListener("wheel", (e) => { // of a map that has the focus, or with Ctrl: else the page scrolls
    if (!e.ctrlKey && !e.metaKey && !box.contains(document.activeElement)) return;
    e.preventDefault();
    const r = canvas.getBoundingClientRect();
    zoom(Math.exp(-e.deltaY / (e.deltaMode ? 12 : 300)), e.clientX - r.left, e.clientY - r.top);
  }, { passive: false });
  const held = new Map();
  let way = 0;
  canvas.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    held.set(e.pointerId, e);
    if (held.size === 1) way = 0;
    canvas.setPointerCapture(e.pointerId);
    box.classList.remove("keys");
  });
  canvas.addEventListener("pointermove", (e) => {
    const from = held.get(e.pointerId);
    if (!from) return;
    const other = [...held.values()].find((o) => o.pointerId !== e.pointerId), r = canvas.getBoundingClientRect();
    held.set(e.pointerId, e);
    way += Math.hypot(e.clientX - from.clientX, e.clientY - from.clientY);
    if (other) {
      const far = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
      zoom(far(e) / Math.max(far(from), 1), (e.clientX + other.clientX) / 2 - r.left, (e.clientY + other.clientY) / 2 - r.top);
      pan((from.clientX - e.clientX) / 2, (from.clientY - e.clientY) / 2);
    } else if (way > 4) pan(from.clientX - e.clientX, from.clientY - e.clientY);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (e) => {
    if (held.delete(e.pointerId) && end === "pointerup" && !held.size && way <= 4) {
      const r = canvas.getBoundingClientRect();
      show(e.clientX - r.left, e.clientY - r.top);
    }
  });
  canvas.addEventListener("dblclick", (e) => { const r = canvas.getBoundingClientRect(); zoom(2, e.clientX - r.left, e.clientY - r.top); });

  if (!document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets.push(sheet);
  const drawing = figure.querySelector("svg, .nomap"), old = figure.querySelector(".tools");
  const rect = drawing?.getBoundingClientRect();
  if (rect?.height > 100) box.style.height = Math.round(rect.height) + "px";
  drawing ? drawing.before(box, status, help) : figure.prepend(box, status, help);
  drawing?.remove();
  old?.remove();
  figure.querySelector(".told")?.remove();
  for (const e of figure.querySelectorAll("[data-tiled]")) e.textContent = e.dataset.tiled; // the caption, where it is another
  figure.classList.remove("picture");
  const repaint = () => { paint = colours(probe, text.bare); draw(); };
  for (const [when, paper] of [["beforeprint", true], ["afterprint", false]]) addEventListener(when, () => { // light on paper, at once
    box.classList.toggle("paper", paper);
    paint = colours(probe, text.bare);
    if (width) drawNow();
  });
  for (const q of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) matchMedia(q).addEventListener("change", repaint);
  new ResizeObserver(() => {
    const r = canvas.getBoundingClientRect();
    if (!r.width) return;
    width = r.width; height = r.height;
    canvas.width = Math.round(width * ratio()); canvas.height = Math.round(height * ratio());
    if (!at || !moved) at = home();
    limit();
    drawNow();
  }).observe(box);
  repaint();
  return true;
}
