import { html, type Html } from "./html.ts";

/** Pieces that several pages have. */

/** What the form before has done. */
const notes: Readonly<Record<string, string>> = {
  created: "The link is there.",
  saved: "Saved.",
  deleted: "Deleted. It can be restored for 30 days.",
  restored: "Restored.",
  undone: "Undone.",
  unchanged: "Nothing was changed.",
};

export function renderNote({ searchParams }: URL): Html | string {
  const text = notes[searchParams.get("done") ?? ""];
  return text === undefined ? "" : html`<p class="note good" role="status">${text}</p>`;
}

export function renderHidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}" />`;
}

export function renderCopy(text: string, id: string, label: string): Html {
  return html`<div class="copy">
    <code id="${id}">${text}</code>
    <button type="button" class="small" data-copy="${id}" aria-label="${label}">Copy</button>
  </div>`;
}

/** A field as a person calls it: "iOS fallback URL". */
export function writeLabel(name: string): string {
  const words = name
    .replaceAll("_", " ")
    .replace(/\b(id|url)\b/g, (word) => word.toUpperCase())
    .replace(/\bios\b/g, "iOS")
    .replace(/\bandroid\b/g, "Android");
  return words.startsWith("iOS") ? words : words.charAt(0).toUpperCase() + words.slice(1);
}
