import { followHeader } from "../follow-header.ts";

/** The parts of pages that need JavaScript: copying, searching while typing, and refreshing. */

document.documentElement.classList.add("scripted");

document.addEventListener("click", ({ target }) => {
  const button = target instanceof Element && target.closest<HTMLElement>("[data-copy]");
  const source = button && document.getElementById(button.dataset["copy"] ?? "");
  if (button && source) void copy(source, button);
});

async function copy(source: Element, button: Element): Promise<void> {
  const word = button.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection()?.selectAllChildren(source);
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = word), 2000);
}

type Options = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
};

/** Loads a page. Returns null after a redirect, because then the session has ended. */
async function load(address: string, options: Options): Promise<Document | null | undefined> {
  const headers = { accept: "text/html", ...options.headers };
  const response = await fetch(address, { ...options, headers });
  if (response.redirected) return null;
  if (!response.ok) return undefined;
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

const marks = ["id", "name", "value", "href", "formaction", "aria-label"];

function findTokens(place: Element): NodeListOf<HTMLInputElement> {
  return place.querySelectorAll("[name=form_token]");
}

/** Replaces an element of the page, and restores the focus inside it. */
function replace(page: Document | null | undefined, id: string): void {
  const [now, next] = [document.getElementById(id), page?.getElementById(id)];
  if (!now || !next) return;
  // Each response masks the CSRF token differently, which must not count as a change.
  const [token] = findTokens(now);
  if (token) for (const other of findTokens(next)) other.setAttribute("value", token.value);
  if (now.isEqualNode(next)) return;
  const held = document.activeElement;
  const isIn = held !== null && now !== held && now.contains(held);
  for (const name of now.getAttributeNames()) {
    if (!next.hasAttribute(name)) now.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) now.setAttribute(name, value);
  now.replaceChildren(...document.importNode(next, true).childNodes);
  if (!isIn) return;
  const isSame = (each: Element) =>
    marks.every((name) => each.getAttribute(name) === held.getAttribute(name));
  const again = [...now.querySelectorAll<HTMLElement>(held.tagName)].find(isSame);
  (again ?? now).focus({ preventScroll: true });
}

for (const form of document.querySelectorAll<HTMLFormElement>("form[data-live]")) {
  const id = form.dataset["live"] ?? "";
  let running: AbortController | undefined;
  let timer: number | undefined;
  const search = async () => {
    running?.abort();
    const { signal } = (running = new AbortController());
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (typeof value === "string" && value !== "") query.append(name, value);
    }
    const address = `${form.getAttribute("action")}?${query}`;
    document.getElementById(id)?.setAttribute("aria-busy", "true");
    try {
      const page = await load(address, { signal });
      if (!page) return location.assign(address);
      replace(page, id);
      // Screen readers announce the number of results, not every result.
      const found = document.querySelector(`#${id} .foot .number, #${id} .empty p`);
      const announced = document.getElementById("found");
      if (announced) announced.textContent = found?.textContent.trim() ?? "";
      // The filter form contains the search text, so it is replaced too.
      replace(page, "filters");
      history.replaceState(null, "", address);
    } catch {
      if (!signal.aborted) document.getElementById(id)?.removeAttribute("aria-busy");
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(search, 180);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    void search();
  });
}

document.addEventListener("change", ({ target }) => {
  const form = target instanceof HTMLInputElement && target.form;
  if (!form || !form.matches("[data-select]")) return;
  const boxes = [...form.querySelectorAll<HTMLInputElement>("td.pick input")];
  const all = form.querySelector<HTMLInputElement>("[data-all]");
  const selected = form.querySelector("[data-count]");
  if (!all || !selected) return;
  if (target === all) for (const box of boxes) box.checked = all.checked;
  const count = boxes.filter((box) => box.checked).length;
  all.checked = count === boxes.length;
  all.indeterminate = count > 0 && !all.checked;
  const isWhole = form.querySelector("[name=all]:checked") !== null;
  selected.textContent = isWhole ? "All selected" : `${count} selected`;
});

/** Reads a form's values, except those of the preview's controls. These are not saved. */
function readFields(form: HTMLFormElement): string {
  const fields = new FormData(form);
  for (const field of form.elements) {
    const name = field.getAttribute("name");
    if (name !== null && !form.contains(field)) fields.delete(name);
  }
  return JSON.stringify([...fields]);
}

/** Warns before leaving a page with unsaved changes. */
const guarded = new Map(
  [...document.querySelectorAll<HTMLFormElement>("form[data-guard]")].map((form) => [
    form,
    readFields(form),
  ]),
);
let sent: EventTarget | null;
document.addEventListener("submit", (event) => {
  if (!event.defaultPrevented) sent = event.target;
});
addEventListener("beforeunload", (event) => {
  const isChanged = ([form, before]: readonly [HTMLFormElement, string]) =>
    form !== sent && (form.dataset["guard"] === "typed" || readFields(form) !== before);
  if ([...guarded].some(isChanged)) event.preventDefault();
  // If the user stays on the page, later changes must cause a warning again.
  sent = null;
});

const drop = document.querySelector<HTMLInputElement>("[data-drop]");
if (drop) {
  const judge = () => {
    const isLarge = (drop.files?.[0]?.size ?? 0) > Number(drop.dataset["most"]);
    drop.setCustomValidity(isLarge ? "The file is larger than 4 MB." : "");
  };
  const light = (isOver: boolean) => drop.classList.toggle("over", isOver);
  drop.addEventListener("change", judge);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    light(true);
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && light(false));
  addEventListener("drop", (event) => {
    event.preventDefault();
    light(false);
    const files = event.dataTransfer?.files;
    if (!files || files.length === 0) return;
    drop.files = files;
    judge();
    drop.form?.requestSubmit();
  });
}

const listFollowed = () => [...document.querySelectorAll<HTMLElement>("[data-follow]")];
let next: number | undefined;
function follow(): void {
  clearTimeout(next);
  const seconds = listFollowed().map(({ dataset }) => Number(dataset["follow"]));
  if (seconds.length > 0) next = window.setTimeout(refresh, Math.min(...seconds) * 1000);
}

/** Refreshes the page. The header keeps this automatic request from extending the session. */
async function refresh(): Promise<void> {
  const page = document.hidden
    ? undefined
    : await load(location.href, { headers: { [followHeader]: "1" } }).catch(() => undefined);
  if (page === null) return location.reload();
  if (page) document.title = page.title;
  replace(page, "waits");
  const parts = page ? listFollowed() : [];
  const isOver = ({ id }: Element) => page?.getElementById(id)?.dataset["follow"] === undefined;
  // Once a job has ended, other actions may be available, so the whole page is replaced.
  if (parts.some(isOver)) replace(page, "main");
  else for (const { id } of parts) replace(page, id);
  follow();
}
follow();
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && listFollowed().length > 0) void refresh();
});

/** Removes secrets before the browser caches the page for its Back button. */
addEventListener("pagehide", () => {
  for (const part of document.querySelectorAll("[data-once]")) part.replaceChildren();
});

/**
 * Opens the console if a signed-in user visits the sign-in page. The server cannot redirect,
 * because the session cookie is limited to the console's path. Console pages save that path in
 * local storage, which servers on other ports cannot read.
 */
async function openSavedConsole(): Promise<void> {
  const home = document.querySelector("a.brand")?.getAttribute("href");
  if (home) return localStorage.setItem("waypost-console", home);
  const saved = localStorage.getItem("waypost-console");
  const hasAlert = document.querySelector("[role=alert]") !== null;
  const isPlain = location.pathname === "/sign-in" && location.search === "" && !hasAlert;
  if (!isPlain || saved === null) return;
  const page = await load(saved, { headers: { [followHeader]: "1" } });
  if (page) location.replace(saved);
}
// Some browsers deny access to local storage.
void openSavedConsole().catch(() => undefined);

document.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
