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

const load = async (address, signal) => {
  const answer = await fetch(address, { headers: { accept: "text/html" }, signal });
  if (!answer.ok || answer.redirected) return undefined;
  return new DOMParser().parseFromString(await answer.text(), "text/html");
};
const replace = (page, id) => {
  const [now, next] = [document.getElementById(id), page?.getElementById(id)];
  if (now && next) now.replaceWith(document.importNode(next, true));
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
      const page = await load(address, running.signal);
      if (!page) return location.assign(address);
      replace(page, id);
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

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.key !== "/") return;
  if (event.target.closest("input, textarea, select")) return;
  const field = document.querySelector("input[type=search]");
  if (!field) return;
  event.preventDefault();
  field.focus();
});

const follow = () => {
  if (!document.querySelector("[data-follow]")) return;
  setTimeout(async () => {
    if (!document.hidden) {
      const page = await load(location.href).catch(() => undefined);
      for (const part of document.querySelectorAll("[data-follow]")) replace(page, part.id);
    }
    follow();
  }, 3000);
};
follow();

// A browser may keep a page for who goes back: what is shown once is not in it.
addEventListener("pagehide", () => {
  for (const part of document.querySelectorAll("[data-once]")) part.replaceChildren();
});

document.querySelector("[aria-invalid=true]")?.focus();
`;
