/** What stands in a form is looked at while somebody types it, and nothing of it is done. */
const looking = `
{
  const form = document.querySelector("form[data-draft]");
  const stage = document.getElementById("stage");
  const told = document.getElementById("findings");
  const refill = (page, now) => {
    const next = page.getElementById(now.id);
    if (!next || now.innerHTML === next.innerHTML) return;
    now.replaceChildren(...document.importNode(next, true).childNodes);
  };
  // What was there stays until the next one can be seen.
  const restage = (next) => {
    stage.toggleAttribute("data-stale", !next.querySelector(".device"));
    if (stage.hasAttribute("data-stale")) return;
    for (const late of stage.querySelectorAll(".coming")) late.remove();
    const old = [...stage.children];
    const fresh = [...document.importNode(next, true).children];
    for (const each of fresh) each.classList.add("coming");
    stage.append(...fresh);
    const shown = fresh.find((each) => each.offsetParent) ?? fresh[0];
    const show = () => {
      for (const each of old) each.remove();
      for (const each of fresh) each.classList.remove("coming");
    };
    const frame = shown.querySelector("iframe");
    if (frame) frame.addEventListener("load", show);
    else show();
  };

  const pause = 600;
  // A key may ask for sixty pages a minute, and some are for whoever else has it.
  const least = 3000;
  let timer;
  let running;
  let last = 0;
  const look = async () => {
    clearTimeout(timer);
    last = Date.now();
    running?.abort();
    running = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    body.set("do", "preview");
    body.set("known", "1");
    try {
      const { signal } = running;
      const headers = { accept: "text/html" };
      const answer = await fetch(form.dataset.draft, { method: "POST", headers, body, signal });
      if (answer.status === 401 || answer.status === 413) {
        told.textContent = "Your session has ended. Sign in again in another tab, then save.";
      }
      if (!answer.ok || answer.redirected) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const next = page.getElementById("stage");
      if (!next) return;
      for (const part of document.querySelectorAll("[data-drafted]")) refill(page, part);
      for (const name of ["body", "css"]) {
        const bad = page.getElementById(name)?.getAttribute("aria-invalid") ?? "false";
        document.getElementById(name)?.setAttribute("aria-invalid", bad);
      }
      restage(next);
    } catch {}
  };
  const isSeen = ({ value }) => stage.querySelector(".device." + value);
  const lookSoon = ({ target }) => {
    if (target.name === "look" || (target.name === "platform" && isSeen(target))) return;
    clearTimeout(timer);
    timer = setTimeout(look, Math.max(pause, last + least - Date.now()));
  };
  // Some of them stand elsewhere on the page.
  for (const field of form?.elements ?? []) field.addEventListener("input", lookSoon);
  form?.addEventListener("submit", (event) => {
    clearTimeout(timer);
    if (event.submitter?.value !== "preview") return;
    event.preventDefault();
    void look();
  });
  if (form?.hasAttribute("data-typed") || (form && !stage.firstElementChild)) void look();
}
`;

/** Each problem of a template links to its line. */
const editing = `
{
  const form = document.querySelector("form[data-editor]");
  const go = (link) => {
    const { field, line } = link.dataset;
    const area = document.getElementById(field);
    const lines = area.value.split("\\n");
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    area.focus({ preventScroll: true });
    area.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
    document.getElementById(field + "-" + line)?.scrollIntoView({ block: "center" });
  };
  form?.addEventListener("click", (event) => {
    const link = event.target.closest("[data-line]");
    if (!link) return;
    event.preventDefault();
    go(link);
  });

  form?.addEventListener("input", ({ target }) => {
    // Browsers without field-sizing would scroll the text away from its line numbers.
    if (target.rows) target.rows = Math.max(target.rows, target.value.split("\\n").length);
  });
  // After a failed save the summary of the problems is in view, with the focus on the first one.
  const summary = document.querySelector("#findings .fault");
  if (form) summary?.querySelector("[data-line]")?.focus({ preventScroll: true });
  if (form) summary?.scrollIntoView({ block: "nearest" });
}
`;

/** Of pages that show pages of links. */
export const editorScript = `"use strict";${looking}${editing}`;
