"use strict";

// The form of a process runs it without leaving the page: how far the upload is, then the result, to read where it is short and to save. What runs as a job has a page of its own.
// What is refused comes as the page that people without scripts get, of which the words and the fields with faults are taken.
const title = document.title, [running, failed, done, save] = document.getElementById("run").dataset.words.split("|");
for (const form of document.querySelectorAll("form.run")) {
  const outcome = form.querySelector(".outcome");
  const say = (...nodes) => { outcome.hidden = false; outcome.replaceChildren(...nodes); };
  const make = (tag, words) => { const e = document.createElement(tag); e.textContent = words; return e; };
  let saved;
  form.addEventListener("submit", (event) => {
    if (event.submitter?.value === "job") return;
    event.preventDefault();
    const data = new FormData(form, event.submitter), ask = new XMLHttpRequest(), bar = document.createElement("progress");
    const buttons = form.querySelectorAll("button");
    document.title = title;
    for (const f of form.querySelectorAll(".fault")) {
      for (const name of ["aria-invalid", "aria-describedby"]) f.parentElement.querySelector("[name]").removeAttribute(name);
      f.remove();
    }
    const busy = (is) => { for (const b of buttons) b.disabled = is; };
    bar.max = 1;
    bar.setAttribute("aria-label", running);
    bar.removeAttribute("value");
    say(make("p", running), bar);
    ask.upload.onprogress = (e) => { if (e.lengthComputable && e.loaded < e.total) bar.value = e.loaded / e.total; else bar.removeAttribute("value"); };
    ask.onloadend = async () => {
      busy(false);
      const type = ask.getResponseHeader("Content-Type") ?? "", answer = ask.response;
      if (ask.status < 200 || ask.status > 299) {
        const page = new DOMParser().parseFromString(answer ? await answer.text() : "", "text/html"), told = page.querySelector("main .alert");
        const why = make("p", failed);
        why.className = "alert";
        say(...told ? [told] : [why, ...page.querySelectorAll("main > .lead, main > p[lang], main > .scroll")]);
        if (!told) return;
        document.title = page.title;
        for (const f of page.querySelectorAll(".fault")) form.elements.namedItem(f.parentElement.querySelector("[name]").name).closest("p").replaceWith(f.parentElement);
        return form.querySelector("[aria-invalid]")?.focus();
      }
      const nodes = [make("p", done)];
      if (/json|^text\//.test(type) && answer.size < 20000) {
        const pre = make("pre", await answer.text());
        pre.tabIndex = 0;
        nodes.push(pre);
      }
      if (answer?.size) {
        if (saved) URL.revokeObjectURL(saved);
        const link = make("a", save);
        link.href = saved = URL.createObjectURL(answer);
        link.download = /filename="?([^";]+)/.exec(ask.getResponseHeader("Content-Disposition") ?? "")?.[1] ?? "result";
        const p = document.createElement("p");
        p.append(link);
        nodes.push(p);
      }
      say(...nodes);
    };
    ask.open("POST", form.action);
    ask.responseType = "blob";
    ask.setRequestHeader("Accept", "text/html, application/json;q=0.9");
    ask.send(form.enctype === "multipart/form-data" ? data : new URLSearchParams(data));
    busy(true);
  });
}
