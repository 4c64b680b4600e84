import type { JsonObject } from "../contract/json.ts";
import { html, type Html } from "./html.ts";
import type { Visit } from "./page.ts";
import { renderHidden, shorten } from "./parts.ts";
import { readRecord, readText } from "./read.ts";

/** What was changed: what it was, when and by whom, and how it is taken back. */

export function renderChanges(changes: readonly JsonObject[], visit: Visit): Html {
  if (changes.length === 0) return html`<p class="soft">Nothing yet.</p>`;
  return html`<ul class="list">
    ${changes.map((change) => renderChange(change, visit))}
  </ul>`;
}

function renderChange(change: JsonObject, visit: Visit): Html {
  const target = readRecord(change, "target");
  const name = readText(target, "name") || nameKind(readText(target, "kind"));
  const address = findAddress(change, visit);
  // What a job did is told by its name.
  const isJob = readText(target, "kind") === "job";
  const told = isJob ? name.charAt(0).toUpperCase() + name.slice(1) : name;
  const shown = html`<bdi>${shorten(told, mostOfName)}</bdi>`;
  const subject = address === undefined ? shown : html`<a href="${address}">${shown}</a>`;
  return html`<li>
    <div class="split">
      <div>
        <p>${isJob ? "" : describeAct(change)} ${subject}</p>
        ${renderFields(change)}
        <p class="hint">${renderTime(readText(change, "at"))}${describeWriter(change)}</p>
      </div>
      ${renderUndo(change, visit)}
    </div>
  </li>`;
}

function nameKind(kind: string): string {
  return kind.replaceAll("_", " ").replace(/\bapi\b/, "API");
}

/** Where it is to be seen as it is now. */
function findAddress(change: JsonObject, { account }: Visit): string | undefined {
  const target = readRecord(change, "target");
  const id = readText(target, "id");
  if (id === "" || readText(change, "tool").startsWith("delete_")) return undefined;
  const kind = readText(target, "kind");
  if (kind === "link" && account.mayUse("get_link")) return `/links/${encodeURIComponent(id)}`;
  const isSeen = kind === "job" && account.mayUse("get_job");
  return isSeen ? `/jobs/${encodeURIComponent(id)}` : undefined;
}

const verbs: Readonly<Record<string, string>> = {
  create: "Created",
  upsert: "Saved",
  update: "Changed",
  delete: "Deleted",
  restore: "Restored",
  shorten: "Shortened",
  register: "Registered",
  save: "Saved",
  publish: "Published",
  unpublish: "Took down",
  apply: "Applied",
  undo: "Undid a change of",
};

/** What was typed at the terminal: a thing, and what was done to it. */
const commandVerbs: Readonly<Record<string, string>> = {
  "keys create": "Made",
  "keys revoke": "Revoked",
  "projects create": "Created",
  "bin restore": "Restored",
  "bin empty": "Emptied",
};

function describeAct(change: JsonObject): string {
  const tool = readText(change, "tool");
  const [verb = ""] = tool.split("_");
  return commandVerbs[tool] ?? verbs[verb] ?? "Changed";
}

/** What is done by hand is put back by hand. */
const byHand: ReadonlySet<string> = new Set(["api_key", "project_settings"]);

const mostFields = 3;
const mostCharacters = 48;
const mostOfName = 120;

function renderFields(change: JsonObject): Html | string {
  const names = Object.keys(readRecord(change, "fields"));
  if (describeAct(change) !== "Changed" || names.length === 0) return "";
  const shown = names.slice(0, mostFields).map((name) => {
    const { from, to } = readRecord(readRecord(change, "fields"), name);
    return html`<p class="hint">
      ${name.replaceAll("_", " ")}: <bdi>${write(from)}</bdi> → <bdi>${write(to)}</bdi>
    </p>`;
  });
  const rest = names.length - mostFields;
  return html`${shown}${rest > 0 ? html`<p class="hint">and ${rest} more</p>` : ""}`;
}

function write(value: unknown): string {
  if (value === null || value === undefined || value === "") return "empty";
  if (typeof value === "boolean") return value ? "on" : "off";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return shorten(text, mostCharacters);
}

/** On the user's clocks, as the tool has told it. */
export function renderTime(at: string): Html | string {
  const [, day = "", time = ""] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)/.exec(at) ?? [];
  return day === "" ? "" : html`<time datetime="${at}">${day}, ${time}</time>`;
}

function describeWriter(change: JsonObject): Html | string {
  const writer = readText(change, "client") || readText(change, "by");
  return writer === "" ? "" : html` · <bdi>${writer}</bdi>`;
}

function renderUndo(change: JsonObject, { account, formToken, url }: Visit): Html | string {
  const isDone = readText(change, "undone_by") !== "";
  if (isDone) return html`<span class="tag">undone</span>`;
  // Many links are put back by a plan, which has a page of its own.
  const kind = readText(readRecord(change, "target"), "kind");
  const isLeft = kind === "job" || byHand.has(kind);
  if (!account.mayUse("undo") || isLeft || readText(change, "end") !== "") return "";
  const name = readText(readRecord(change, "target"), "name");
  return html`<form method="post" action="/">
    ${renderHidden("form_token", formToken)} ${renderHidden("back", url.pathname)}
    ${renderHidden("change_id", readText(change, "id"))}
    <button class="small" aria-label="Undo: ${describeAct(change)} ${shorten(name, mostOfName)}">
      Undo
    </button>
  </form>`;
}
