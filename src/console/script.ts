import { followHeader } from "./follow.ts";

/** What only a script can do: copying, searching while somebody types, what runs meanwhile. */
export const script = `"use strict";
document.documentElement.classList.add("scripted");
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  const word = button.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = word), 2000);
});

// Nobody who is signed in is led elsewhere.
const load = async (address, { headers, signal } = {}) => {
  const answer = await fetch(address, { headers: { accept: "text/html", ...headers }, signal });
  if (answer.redirected) return null;
  if (!answer.ok) return undefined;
  return new DOMParser().parseFromString(await answer.text(), "text/html");
};
const marks = ["id", "name", "value", "href", "formaction", "aria-label"];
const findTokens = (place) => [...place.querySelectorAll("[name=form_token]")];
const replace = (page, id) => {
  const [now, next] = [document.getElementById(id), page?.getElementById(id)];
  if (!now || !next) return;
  // Each page has other letters for the same token.
  const [token] = findTokens(now);
  if (token) for (const other of findTokens(next)) other.setAttribute("value", token.value);
  if (now.isEqualNode(next)) return;
  const held = document.activeElement;
  const isIn = now !== held && now.contains(held);
  for (const name of now.getAttributeNames()) {
    if (!next.hasAttribute(name)) now.removeAttribute(name);
  }
  for (const name of next.getAttributeNames()) now.setAttribute(name, next.getAttribute(name));
  now.replaceChildren(...document.importNode(next, true).childNodes);
  if (!isIn) return;
  const isSame = (each) =>
    marks.every((name) => each.getAttribute(name) === held.getAttribute(name));
  const again = [...now.querySelectorAll(held.tagName)].find(isSame);
  (again ?? now).focus({ preventScroll: true });
};

for (const form of document.querySelectorAll("form[data-live]")) {
  const id = form.dataset.live;
  let running;
  let timer;
  const search = async () => {
    running?.abort();
    running = new AbortController();
    const fields = [...new FormData(form)].filter(([, value]) => value !== "");
    const address = form.getAttribute("action") + "?" + new URLSearchParams(fields);
    document.getElementById(id)?.setAttribute("aria-busy", "true");
    try {
      const page = await load(address, running);
      if (!page) return location.assign(address);
      replace(page, id);
      // Who listens is told how many they are, and not each of them.
      const told = document.querySelector("#" + id + " .foot .number, #" + id + " .empty p");
      document.getElementById("found").textContent = told?.textContent.trim() ?? "";
      // What it adds to is what is searched for now.
      replace(page, "filters");
      history.replaceState(null, "", address);
    } catch (error) {
      if (error.name !== "AbortError") document.getElementById(id)?.removeAttribute("aria-busy");
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 180);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    void search();
  });
}

document.addEventListener("change", ({ target }) => {
  const form = target.form;
  if (!form?.matches("[data-select]")) return;
  const boxes = [...form.querySelectorAll("td.pick input")];
  const [all, told] = [form.querySelector("[data-all]"), form.querySelector("[data-count]")];
  if (target === all) for (const box of boxes) box.checked = all.checked;
  const count = boxes.filter((box) => box.checked).length;
  all.checked = count === boxes.length;
  all.indeterminate = count > 0 && !all.checked;
  told.textContent = form.elements.all?.checked ? "All selected" : count + " selected";
});

// The browser asks before it leaves a page with unsaved changes.
const readFields = (form) => {
  const fields = new FormData(form);
  // A preview's controls belong to the form, but are outside it: they only choose what is shown.
  for (const field of form.elements) if (!form.contains(field)) fields.delete(field.name);
  return String(new URLSearchParams(fields));
};
const guarded = new Map(
  [...document.querySelectorAll("form[data-guard]")].map((form) => [form, readFields(form)]),
);
let sent;
document.addEventListener("submit", (event) => {
  if (!event.defaultPrevented) sent = event.target;
});
addEventListener("beforeunload", (event) => {
  const isChanged = ([form, before]) =>
    form !== sent && (form.dataset.guard === "typed" || readFields(form) !== before);
  if ([...guarded].some(isChanged)) event.preventDefault();
  // A person who stays on the page may change the form again.
  sent = undefined;
});

const drop = document.querySelector("[data-drop]");
if (drop) {
  const judge = () => {
    const isLarge = drop.files[0]?.size > drop.dataset.most;
    drop.setCustomValidity(isLarge ? "The file is larger than 4 MB." : "");
  };
  const light = (isOver) => drop.classList.toggle("over", isOver);
  drop.addEventListener("change", judge);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    light(true);
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && light(false));
  addEventListener("drop", (event) => {
    event.preventDefault();
    light(false);
    if (event.dataTransfer.files.length === 0) return;
    drop.files = event.dataTransfer.files;
    judge();
    drop.form.requestSubmit();
  });
}

const listFollowed = () => [...document.querySelectorAll("[data-follow]")];
let next;
const follow = () => {
  clearTimeout(next);
  const seconds = listFollowed().map(({ dataset }) => Number(dataset.follow));
  if (seconds.length > 0) next = setTimeout(lookAgain, Math.min(...seconds) * 1000);
};
// Nobody has to sit there for it, so that no session lasts longer by it.
const headers = { "${followHeader}": "1" };
const lookAgain = async () => {
  const page = document.hidden
    ? undefined
    : await load(location.href, { headers }).catch(() => undefined);
  if (page === null) return location.reload();
  if (page) document.title = page.title;
  replace(page, "waits");
  const parts = page ? listFollowed() : [];
  const isOver = ({ id }) => page.getElementById(id)?.dataset.follow === undefined;
  // What has ended may leave other things to do, anywhere on the page.
  if (parts.some(isOver)) replace(page, "main");
  else for (const { id } of parts) replace(page, id);
  follow();
};
follow();
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && listFollowed().length > 0) void lookAgain();
});

// A browser may keep a page for who goes back: what is shown once is not in it.
addEventListener("pagehide", () => {
  for (const part of document.querySelectorAll("[data-once]")) part.replaceChildren();
});

document.querySelector("[aria-invalid=true]")?.focus();
`;
