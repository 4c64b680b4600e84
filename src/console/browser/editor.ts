/** Previews a link or a page template while the user types. Nothing is saved. */

const draft = document.querySelector<HTMLFormElement>("form[data-draft]");
const stage = document.getElementById("stage");
if (draft && stage) preview(draft, stage);

/**
 * The delay after the last keystroke, and the minimum time between two previews. Previews count
 * against the key's rate limit.
 */
const pause = 600;
const shortest = 3000;

function preview(form: HTMLFormElement, stage: HTMLElement): void {
  let timer: number | undefined;
  let running: AbortController | undefined;
  let last = 0;
  const update = async () => {
    clearTimeout(timer);
    last = Date.now();
    running?.abort();
    running = new AbortController();
    const body = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (typeof value === "string") body.append(name, value);
    }
    body.set("do", "preview");
    body.set("known", "1");
    try {
      const { signal } = running;
      const headers = { accept: "text/html" };
      const address = form.dataset["draft"] ?? "";
      const response = await fetch(address, { method: "POST", headers, body, signal });
      if (response.status === 401 || response.status === 413) showSessionEnd();
      if (!response.ok || response.redirected) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const next = page.getElementById("stage");
      if (!next) return;
      for (const part of document.querySelectorAll("[data-drafted]")) refill(page, part);
      for (const name of ["body", "css"]) {
        const bad = page.getElementById(name)?.getAttribute("aria-invalid") ?? "false";
        document.getElementById(name)?.setAttribute("aria-invalid", bad);
      }
      replaceStage(stage, next);
    } catch {
      // A failed preview is ignored. The next keystroke retries.
    }
  };
  const updateSoon = ({ target }: Event) => {
    if (target instanceof HTMLInputElement) {
      const { name, value } = target;
      const isSeen = stage.querySelector(`.device.${CSS.escape(value)}`) !== null;
      if (name === "look" || (name === "platform" && isSeen)) return;
    }
    clearTimeout(timer);
    timer = window.setTimeout(update, Math.max(pause, last + shortest - Date.now()));
  };
  // `elements` includes fields outside of the form element that belong to the form.
  for (const field of form.elements) field.addEventListener("input", updateSoon);
  form.addEventListener("submit", (event) => {
    clearTimeout(timer);
    if (event.submitter?.getAttribute("value") !== "preview") return;
    event.preventDefault();
    void update();
  });
  if (form.hasAttribute("data-typed") || !stage.firstElementChild) void update();
}

function showSessionEnd(): void {
  const place = document.getElementById("findings");
  const text = "Your session has ended. Sign in again in another tab, then save.";
  if (place) place.textContent = text;
}

function refill(page: Document, now: Element): void {
  const next = page.getElementById(now.id);
  if (!next || now.innerHTML === next.innerHTML) return;
  now.replaceChildren(...document.importNode(next, true).childNodes);
}

function isVisible(element: Element): boolean {
  return element instanceof HTMLElement && element.offsetParent !== null;
}

/** Keeps the old preview visible until the new one has loaded. */
function replaceStage(stage: HTMLElement, next: Element): void {
  stage.toggleAttribute("data-stale", !next.querySelector(".device"));
  if (stage.hasAttribute("data-stale")) return;
  for (const late of stage.querySelectorAll(".coming")) late.remove();
  const old = [...stage.children];
  const fresh = [...document.importNode(next, true).children];
  for (const each of fresh) each.classList.add("coming");
  stage.append(...fresh);
  const frame = (fresh.find(isVisible) ?? fresh[0])?.querySelector("iframe");
  const show = () => {
    for (const each of old) each.remove();
    for (const each of fresh) each.classList.remove("coming");
  };
  if (frame) frame.addEventListener("load", show);
  else show();
}

const editor = document.querySelector<HTMLFormElement>("form[data-editor]");
if (editor) edit(editor);

/** When the user clicks a listed error, selects its line in the template. */
function edit(form: HTMLFormElement): void {
  form.addEventListener("click", (event) => {
    const { target } = event;
    const link = target instanceof Element && target.closest<HTMLElement>("[data-line]");
    if (!link) return;
    event.preventDefault();
    goToLine(link.dataset["field"] ?? "", Number(link.dataset["line"]));
  });
  form.addEventListener("input", ({ target }) => {
    // Browsers without `field-sizing` would otherwise scroll the text, but not its line numbers.
    if (!(target instanceof HTMLTextAreaElement)) return;
    target.rows = Math.max(target.rows, target.value.split("\n").length);
  });
  // After a failed save, the page scrolls to the errors and focuses the first one.
  const summary = document.querySelector("#findings .fault");
  summary?.querySelector<HTMLElement>("[data-line]")?.focus({ preventScroll: true });
  summary?.scrollIntoView({ block: "nearest" });
}

function goToLine(field: string, line: number): void {
  const area = document.getElementById(field);
  if (!(area instanceof HTMLTextAreaElement)) return;
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  area.focus({ preventScroll: true });
  area.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  document.getElementById(`${field}-${line}`)?.scrollIntoView({ block: "center" });
}
