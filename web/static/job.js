"use strict";

// The page of a job asks how far it is, and loads itself anew when that has changed for good.
const job = document.querySelector("[data-job]");
if (job) {
  const look = async () => {
    try {
      const answer = await fetch(job.dataset.job + "?f=json", { headers: { Accept: "application/json" } });
      const now = await answer.json();
      if (!answer.ok || now.status !== job.dataset.status) return location.reload();
      job.querySelector("progress").value = now.progress;
      document.getElementById("job-percent").textContent = now.progress + " %";
    } catch { /* the server is away for a while */ }
    setTimeout(look, 1000);
  };
  setTimeout(look, 1000);
}
