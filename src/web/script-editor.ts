/** A template is looked at while somebody writes it, and a problem leads to its line. */
export const editorScript = `"use strict";
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

  const refill = (page, id) => {
    const [now, next] = [document.getElementById(id), page.getElementById(id)];
    if (!now || !next || now.innerHTML === next.innerHTML) return;
    now.replaceChildren(...document.importNode(next, true).childNodes);
  };
  // What was there stays until the next one can be seen.
  const restage = (page) => {
    const [now, next] = [document.getElementById("stage"), page.getElementById("stage")];
    if (!now || !next) return;
    now.toggleAttribute("data-stale", !next.querySelector("iframe"));
    if (now.hasAttribute("data-stale")) return;
    for (const late of now.querySelectorAll(".coming")) late.remove();
    const old = [...now.children];
    const fresh = [...document.importNode(next, true).children];
    for (const each of fresh) each.classList.add("coming");
    now.append(...fresh);
    const shown = fresh.find((each) => each.offsetParent) ?? fresh[0];
    shown.querySelector("iframe").addEventListener("load", () => {
      for (const each of old) each.remove();
      for (const each of fresh) each.classList.remove("coming");
    });
  };

  const pause = 600;
  // A key may ask for sixty pages a minute, and some are for whoever else has it.
  const least = 3000;
  let timer;
  let running;
  let last = 0;
  const look = async () => {
    last = Date.now();
    running?.abort();
    running = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    body.set("do", "preview");
    body.set("known", "1");
    try {
      const { signal } = running;
      const headers = { accept: "text/html" };
      const answer = await fetch(form.action, { method: "POST", headers, body, signal });
      if (answer.status === 401) {
        const [over, told] = ["Your session is over.", "What you typed is kept when you save it."];
        document.getElementById("findings").textContent = over + " " + told;
      }
      if (!answer.ok || answer.redirected) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!page.getElementById("editor")) return;
      for (const id of ["findings", "body-lines", "css-lines"]) refill(page, id);
      for (const name of ["body", "css"]) {
        const bad = page.getElementById(name).getAttribute("aria-invalid") ?? "false";
        document.getElementById(name).setAttribute("aria-invalid", bad);
      }
      restage(page);
    } catch {}
  };
  const lookSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, Math.max(pause, last + least - Date.now()));
  };
  for (const field of form?.elements ?? []) {
    if (field.matches("[name=body], [name=css], [name=platform], [name=link]")) {
      field.addEventListener("input", lookSoon);
    }
  }
  let isTyped = false;
  form?.addEventListener("input", () => (isTyped = true));
  addEventListener("beforeunload", (event) => isTyped && event.preventDefault());
  form?.addEventListener("submit", (event) => {
    if (event.submitter?.value !== "preview") {
      isTyped = false;
      return clearTimeout(timer);
    }
    event.preventDefault();
    void look();
  });
  const first = document.querySelector("#findings .fault [data-line]");
  if (first) go(first);
}
`;
