// What the tests ask of a page from inside the browser. It runs in a world of its own, after axe-core: the page's own scripts and its
// Content-Security-Policy are as people have them. Each function gives faults as texts.
"use strict";

// name says which element it is, in a few words that are the same for elements of one sort.
const nameOf = (e) => {
  let s = e.localName;
  if (e.id) s += "#" + e.id;
  else if (e.classList.length) s += "." + [...e.classList].join(".");
  const outer = e.parentElement && e.parentElement.closest("[id],[class]");
  return outer && !e.id ? (outer.id ? "#" + outer.id : "." + outer.classList[0]) + " " + s : s;
};

const shown = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });

// thirdParty is what the page shows of Swagger UI, which is not ours.
const thirdParty = "#swagger";

// toolShown waits until the tool of others shows the first of our paths.
const toolShown = () => new Promise((done) => {
  const look = () => document.querySelector(thirdParty + " .opblock") ? done(true) : setTimeout(look, 20);
  look();
});

// mapShown scrolls to the map of tiles and waits until it is drawn, or until it is clear that the picture stays. A page may have none.
const mapShown = () => new Promise((done) => {
  const figure = document.querySelector("figure[data-tiles]");
  if (!figure) return done(true);
  figure.scrollIntoView();
  const look = () => figure.dataset.shown === "picture" || figure.querySelector(".tilemap[aria-busy=false]") ? done(true) : setTimeout(look, 20);
  look();
});

// mapColours is how many colours the canvas of the map has, up to 64.
const mapColours = () => {
  const c = document.querySelector(".tilemap canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
  for (let i = 0; i < d.length && seen.size < 64; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
  return seen.size;
};

// mapPixels is how many pixels of each colour the canvas of the map has, and which colours it is drawn with.
const mapPixels = () => {
  const box = document.querySelector(".tilemap"), c = box.querySelector("canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, Counts = {};
  for (let i = 0; i < d.length; i += 4) { const name = `${d[i]},${d[i + 1]},${d[i + 2]}`; Counts[name] = (Counts[name] ?? 0) + 1; }
  const of = (name) => getComputedStyle(box).getPropertyValue("--map-" + name).trim().slice(1).match(/../g).map((h) => parseInt(h, 16));
  return { Point: of("point"), Chosen: of("chosen"), Sea: of("sea"), Area: of("area"), Counts, All: d.length / 4 };
};

// accessible gives what axe-core finds wrong with the page as it is shown now (WCAG 2.2 A and AA, and best practice).
const accessible = async () => {
  const context = { include: [document], exclude: document.querySelector(thirdParty) ? [[thirdParty]] : [] };
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"];
  const r = await axe.run(context, { runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] });
  const faults = r.violations.flatMap((v) =>
    v.nodes.slice(0, 3).map((n) => `axe ${v.id}: ${n.target.join(" ")}: ${n.failureSummary.split("\n").slice(1).join(" ").trim().slice(0, 300)}`));
  if (r.passes.length < 10) faults.push(`axe ran only ${r.passes.length} rules with a result`);
  return faults;
};

// links gives every address that the page leads to, without those of thirdParty.
const links = () => [...document.querySelectorAll("a[href],link[href],img[src],script[src],form[method=get]")]
  .filter((e) => !e.closest(thirdParty))
  .map((e) => e.localName === "form" ? e.action : e.href instanceof SVGAnimatedString ? new URL(e.href.baseVal, document.baseURI).href : e.href || e.src);

// narrow gives what makes the page wider than its window (WCAG 2.2, 1.4.10). What scrolls inside a part of its own may be wider.
const narrow = () => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const wide = [...document.body.querySelectorAll("*")].filter((e) => {
    if (!shown(e) || e.getBoundingClientRect().right <= width + 1) return false;
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) if (getComputedStyle(p).overflowX !== "visible") return false;
    return true;
  });
  return [`scrolls sideways at ${width} px: ${document.documentElement.scrollWidth} px, by ${[...new Set(wide.map(nameOf))].slice(0, 4).join(", ")}`];
};

// unbroken gives the words of labels, names and times in tables that do not fit on a line.
const unbroken = () => [...document.querySelectorAll(".properties th, td time, .stack code")].flatMap((e) => [...e.textContent.matchAll(/[^\s-]+/g)].filter((m) => {
  const r = document.createRange(), text = document.createTreeWalker(e, NodeFilter.SHOW_TEXT).nextNode();
  r.setStart(text, m.index);
  r.setEnd(text, m.index + m[0].length);
  return new Set([...r.getClientRects()].map((b) => b.top)).size > 1;
}).map((m) => `${m[0]} is broken`));

// still gives what moves though the reader asked for less motion.
const still = () => {
  const moving = (s) => s.animationName !== "none" || s.transitionDuration.split(",").some((d) => parseFloat(d) > 0.001);
  const faults = new Set();
  for (const e of document.querySelectorAll("*")) {
    if (e.closest(thirdParty)) continue;
    for (const part of [null, "::before", "::after"]) if (moving(getComputedStyle(e, part))) faults.add(`moves with reduced motion: ${nameOf(e)}`);
  }
  return [...faults];
};

// luminance is that of a computed colour (WCAG 2.2, relative luminance); null for what has none.
const luminance = (colour) => {
  const m = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(colour);
  if (!m || m[4] === "0") return null;
  const [r, g, b] = m.slice(1, 4).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

// printed gives what would be lost on paper: what is wider than it, the address, maps, text too light for white; and what only a screen can use.
const printed = () => {
  const faults = new Set(narrow());
  for (const e of document.querySelectorAll(".address, svg.map, .tilemap canvas")) if (!shown(e) || !e.getClientRects().length) faults.add(`is not printed: ${nameOf(e)}`);
  for (const e of document.querySelectorAll("form, .skip, .languages")) if (shown(e) && e.getClientRects().length) faults.add(`is printed: ${nameOf(e)}`);
  const heading = document.querySelector("h1");
  if (!heading || !shown(heading)) faults.add("the heading is not printed");
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = texts.nextNode(); n; n = texts.nextNode()) {
    const e = n.parentElement;
    if (!n.data.trim() || e.closest(thirdParty) || e.closest("script,style,title,desc") || !shown(e)) continue;
    const style = getComputedStyle(e);
    const l = luminance(e instanceof SVGElement ? style.fill : style.color);
    if (l !== null && 1.05 / (l + 0.05) < 4.5) faults.add(`is printed too light: ${nameOf(e)} ${style.color}`);
  }
  return [...faults];
};

// readable gives what the page lacks for people whose browser runs no scripts, and for all others.
const readable = () => {
  const faults = [];
  const text = document.querySelector("main")?.innerText.trim() ?? "";
  if (text.length < 40) faults.push(`main shows ${text.length} characters`);
  if (/\b(undefined|NaN|\[object)\b/.test(text)) faults.push("main shows a value of a script");
  for (const e of document.querySelectorAll("button[type=button], .needs-script")) if (shown(e) && !scriptsRun) faults.push(`can do nothing without scripts: ${nameOf(e)}`);
  return faults;
};

let scriptsRun = true; // set by the test

// focused describes the element that has the focus now; visible tells whether people can see that it has.
const focused = () => {
  const e = document.activeElement;
  if (!e || e === document.body) return { name: "", tag: "" };
  const marks = (x) => { const s = getComputedStyle(x); return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2; };
  const r = e.getBoundingClientRect();
  const inMap = e instanceof SVGElement && [...e.querySelectorAll("path")].some((p) => parseFloat(getComputedStyle(p).strokeWidth) >= 3);
  return {
    name: nameOf(e), tag: e.localName, id: e.id, field: e.getAttribute("name") ?? "", type: e.type instanceof SVGAnimatedString ? "" : e.type ?? "",
    href: e.getAttribute("href") ?? "", order: [...document.querySelectorAll("*")].indexOf(e),
    visible: (marks(e) || inMap) && r.bottom > 0 && r.right > 0 && r.top < innerHeight && r.left < innerWidth,
    action: e.form ? new URL(e.form.action).pathname : "", open: e.parentElement?.open ?? false, value: e.value ?? "",
  };
};

// tabbable counts what the tab key must reach.
const tabbable = () => [...document.querySelectorAll("a[href],button,input:not([type=hidden]),select,textarea,summary,[tabindex='0']")]
  .filter((e) => shown(e) && !e.disabled && !e.closest(thirdParty)).length;
