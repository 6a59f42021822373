// What pages gain where scripts run: suggestions under the search field, maps that zoom and move, and maps of tiles. Without it everything still
// works: the field is a form, the map a picture.
"use strict";

// Suggestions: the combobox pattern of WAI-ARIA 1.2 with a listbox. The buttons of the form name the collections that are asked.
for (const form of document.querySelectorAll("form.search")) {
  const field = form.querySelector("input[name=q]");
  const list = form.querySelector("[role=listbox]");
  const status = form.querySelector("[role=status]");
  const text = form.dataset;
  const lang = form.elements.lang.value;
  let found = [], active = -1, timer, asking, allowed, asked = "";

  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  field.autocomplete = "off";

  const close = () => {
    list.hidden = true;
    active = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const choose = (i) => {
    list.children[active]?.setAttribute("aria-selected", "false");
    active = i;
    const option = list.children[i];
    if (!option) return field.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", option.id);
  };
  const go = (i) => { location.href = found[i].href; };
  const show = () => {
    list.replaceChildren(...found.map((x, i) => {
      const option = document.createElement("li");
      option.id = list.id + "-" + i;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      const name = document.createElement("span"), kind = document.createElement("span");
      name.textContent = x.name;
      if (x.lang) name.lang = x.lang;
      kind.className = "hint";
      kind.textContent = x.kind;
      option.append(name, " ", kind);
      option.addEventListener("mousedown", (e) => e.preventDefault()); // the field keeps the focus
      option.addEventListener("click", () => go(i));
      return option;
    }));
    active = -1;
    list.hidden = found.length === 0;
    field.setAttribute("aria-expanded", String(found.length > 0));
    field.removeAttribute("aria-activedescendant");
    status.textContent = found.length ? text.found.replace("%d", found.length) : text.none;
  };
  // Without a key there is nothing to suggest; the service says whether the cookie holds one, since scripts cannot see it.
  const mayAsk = () => allowed ??= !text.key ? Promise.resolve(true) :
    fetch(text.key).then((r) => r.json()).then((d) => {
      form.querySelector(".key-hint").hidden = d.keyAccepted;
      return d.keyAccepted;
    }).catch((e) => { allowed = undefined; throw e; }); // the next letter asks again
  const ask = async () => {
    const q = field.value.trim();
    if (q === asked) return;
    asked = q;
    asking?.abort();
    if (q.length < 2) { found = []; status.textContent = ""; return close(); }
    const { signal } = asking = new AbortController();
    try {
      if (!await mayAsk()) return;
      const r = await fetch(`${new URL(form.action).pathname}?f=json&lang=${lang}&q=${encodeURIComponent(q)}`, { signal });
      if (!r.ok) throw new Error(r.status); // which is not that there is nothing
      const groups = (await r.json()).groups;
      if (signal.aborted) return;
      found = groups.flatMap((g) => g.hits.map((h) => ({ name: h.name, lang: h.lang, kind: h.about, href: h.href }))).slice(0, 10);
      if (document.activeElement === field) show();
    } catch (e) {
      if (e.name === "AbortError") return;
      asked = status.textContent = "";
      found = [];
      close(); // the form still works
    }
  };
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 180); });
  field.addEventListener("keydown", (e) => {
    const n = found.length, open = !list.hidden;
    if (e.key === "ArrowDown" && n) { if (!open) show(); choose((active + 1) % n); }
    else if (e.key === "ArrowUp" && open) choose((active + n - (active < 0 ? 0 : 1)) % n);
    else if (e.key === "Escape" && open) close();
    else return;
    e.preventDefault();
  });
  form.addEventListener("submit", (e) => {
    if (list.hidden || active < 0) return;
    e.preventDefault();
    go(active);
  });
  field.addEventListener("blur", close);
  close();
}

// Maps: buttons, keys, dragging, pinching, and the wheel with Ctrl, so that the page scrolls as ever.
for (const figure of document.querySelectorAll("figure.picture")) {
  const map = figure.querySelector("svg.map"), words = figure.dataset.words?.split("|");
  if (!map || !words) continue;
  const [, , width, height] = map.getAttribute("viewBox").split(" ").map(Number);
  let x = 0, y = 0, k = 1;

  const draw = () => {
    k = Math.min(Math.max(k, 1), 24);
    x = Math.min(Math.max(x, 0), width - width / k);
    y = Math.min(Math.max(y, 0), height - height / k);
    map.setAttribute("viewBox", [x, y, width / k, height / k].map((v) => +v.toFixed(2)).join(" "));
    map.style.setProperty("--k", k);
    figure.classList.toggle("zoomed", k > 1);
    for (const b of buttons) b.disabled = b.name === "in" ? k >= 24 : k <= 1;
  };
  const zoom = (factor, cx = .5, cy = .5) => { // around a place, as a part of what is seen
    const was = k;
    k = Math.min(Math.max(k * factor, 1), 24);
    x += cx * width * (1 / was - 1 / k);
    y += cy * height * (1 / was - 1 / k);
    draw();
  };
  const move = (dx, dy) => { x += dx * width / k; y += dy * height / k; draw(); };
  const place = (e) => { const r = map.getBoundingClientRect(); return [(e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height]; };
  const acts = {
    in: ["+", words[1], () => zoom(1.6)], out: ["−", words[2], () => zoom(1 / 1.6)], all: ["⤢", words[3], () => { k = 1; draw(); }],
    left: ["←", words[4], () => move(-.25, 0)], right: ["→", words[5], () => move(.25, 0)],
    up: ["↑", words[6], () => move(0, -.25)], down: ["↓", words[7], () => move(0, .25)],
  };
  const keys = { "+": "in", "=": "in", "-": "out", "0": "all", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.setAttribute("role", "group");
  tools.setAttribute("aria-label", words[0]);
  const buttons = Object.entries(acts).map(([name, [sign, label, act]]) => {
    const b = document.createElement("button");
    b.type = "button";
    b.name = name;
    b.textContent = sign;
    b.title = label;
    b.tabIndex = -1;
    b.setAttribute("aria-label", label);
    b.addEventListener("click", () => { act(); map.focus({ preventScroll: true }); });
    return b;
  });
  tools.append(...buttons);
  // The map is one stop of the keyboard: arrows go from feature to feature, or move a map without any.
  const links = [...map.querySelectorAll("a")], told = document.createElement("p"), middle = (a) => { const b = a.getBBox(); return [b.x + b.width / 2, b.y + b.height / 2]; };
  for (const a of links) a.setAttribute("tabindex", "-1");
  map.setAttribute("tabindex", "0");
  told.className = "told hint";
  told.setAttribute("role", "status");
  told.textContent = words[links.length ? 8 : 9];
  const step = (dx, dy) => {
    const at = links.indexOf(document.activeElement), from = at < 0 ? [x + width / k / 2, y + height / k / 2] : middle(links[at]);
    let best, least = Infinity;
    for (const a of links) {
      const [mx, my] = middle(a), vx = mx - from[0], vy = my - from[1], along = vx * dx + vy * dy, far = along + 2 * Math.abs(vx * dy - vy * dx);
      if (a !== document.activeElement && along > 0 && far < least) { best = a; least = far; }
    }
    if (!best) return;
    best.focus({ preventScroll: true });
    told.textContent = best.querySelector("title").textContent;
    if (k > 1) { [x, y] = middle(best); x -= width / k / 2; y -= height / k / 2; draw(); }
  };
  const ways = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1] };
  figure.addEventListener("keydown", (e) => {
    const name = keys[e.key];
    if (!name || e.ctrlKey || e.metaKey || e.altKey || !map.isConnected) return;
    if (ways[name] && links.length) step(...ways[name]);
    else if (k === 1 && name !== "in") return;
    else acts[name][2]();
    e.preventDefault();
  });
  map.after(tools, told);

  map.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    zoom(Math.exp(-e.deltaY / 200), ...place(e));
  }, { passive: false });
  const held = new Map();
  let moved = 0;
  map.addEventListener("pointerdown", (e) => {
    if (e.button === 0) held.set(e.pointerId, place(e));
    if (held.size === 1) moved = 0;
  });
  map.addEventListener("pointermove", (e) => {
    const from = held.get(e.pointerId);
    if (!from) return;
    const to = place(e), other = [...held].find(([id]) => id !== e.pointerId)?.[1];
    held.set(e.pointerId, to);
    const r = map.getBoundingClientRect();
    moved += Math.abs(to[0] - from[0]) * r.width + Math.abs(to[1] - from[1]) * r.height;
    if (moved > 4 && !map.hasPointerCapture(e.pointerId)) map.setPointerCapture(e.pointerId);
    if (other) {
      const far = (p) => Math.hypot((p[0] - other[0]) * r.width, (p[1] - other[1]) * r.height);
      zoom(far(to) / Math.max(far(from), 1), (to[0] + other[0]) / 2, (to[1] + other[1]) / 2);
    } else if (k > 1) move(from[0] - to[0], from[1] - to[1]);
  });
  for (const end of ["pointerup", "pointercancel"]) map.addEventListener(end, (e) => held.delete(e.pointerId));
  map.addEventListener("click", (e) => { if (moved > 4) e.preventDefault(); }, true); // a drag follows no link
  map.addEventListener("dragstart", (e) => e.preventDefault());
  draw();
}

// Maps of tiles take the place of the picture where they come into view, and are loaded then only.
for (const figure of document.querySelectorAll("figure[data-tiles]")) {
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((e) => e.isIntersecting)) return;
    seen.disconnect();
    import(figure.dataset.script).then((m) => m.default(figure)).catch(() => false).then((there) => { figure.dataset.shown = there ? "map" : "picture"; });
  });
  seen.observe(figure);
}

// Buttons that copy.
for (const code of document.querySelectorAll(".copies code")) {
  const text = code.closest("ul").dataset;
  const b = document.createElement("button"), done = document.createElement("span");
  b.type = "button";
  b.className = "quiet";
  b.textContent = text.copy + " " + code.previousSibling.data.trim().slice(0, -1);
  done.setAttribute("role", "status");
  b.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      done.textContent = " " + text.done;
    } catch { // not allowed here: it is marked, to be copied by the keyboard
      getSelection().selectAllChildren(code);
    }
  });
  code.after(" ", b, done);
}
