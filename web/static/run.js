"use strict";

// The form of a process runs it without leaving the page: how far the upload is, then the result, to read where it is short and to save. What runs as a job has a page of its own.
const [running, failed, done, save] = document.getElementById("run").dataset.words.split("|");
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
    for (const e of form.elements) e.removeAttribute("aria-invalid");
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
        let why = "", wrong;
        try {
          const problem = JSON.parse(await answer.text());
          for (const f of problem.faults ?? []) {
            const field = form.elements[f.name.split("/")[2] ?? f.name];
            field?.setAttribute?.("aria-invalid", "true");
            wrong ??= field;
          }
          why = problem.detail ?? (problem.faults ?? []).map((f) => `${f.name}: ${f.cure}.`).join(" ");
        } catch { /* the server did not answer */ }
        const told = make("p", `${failed} `), reason = make("span", why);
        told.className = "alert";
        reason.lang = "en";
        told.append(reason);
        say(told);
        return wrong?.focus?.();
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
    ask.setRequestHeader("Accept", "application/json");
    ask.send(form.enctype === "multipart/form-data" ? data : new URLSearchParams(data));
    busy(true);
  });
}
