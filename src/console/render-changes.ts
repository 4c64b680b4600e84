import { nameKey } from "../text/name-key.ts";
import { writeWords } from "../text/write-label.ts";
import type { JsonObject } from "../contract/json.ts";
import { writeLocalTime } from "../contract/local-time.ts";
import { parseTime } from "../contract/parse-time.ts";
import type { Account } from "./account.ts";
import { html, type Html } from "./html.ts";
import type { Visit } from "./page.ts";
import { renderHidden, shorten } from "./parts.ts";
import { readRecord, readRecords, readText } from "./read.ts";

/** What was changed: what it was, when and by whom, and how it is taken back. */

export function renderChanges(
  changes: readonly JsonObject[],
  visit: Visit,
  empty = "No changes yet.",
): Html {
  if (changes.length === 0) return html`<p class="soft">${empty}</p>`;
  const list = html`<ul class="list">
    ${changes.map((change) => renderChange(change, visit))}
  </ul>`;
  if (!changes.some((change) => canUndo(change, visit))) return list;
  return html`<form method="post" action="${undoAddress}">
    ${renderHidden("form_token", visit.formToken)} ${renderHidden("back", writeHere(visit.url))}
    ${list}
  </form>`;
}

export const historyAddress = "/history";
export const undoAddress = `${historyAddress}/undo`;

/** Where it is shown, to come back there. */
function writeHere({ pathname, searchParams }: URL): string {
  const query = new URLSearchParams(searchParams);
  query.delete("done");
  return query.size === 0 ? pathname : `${pathname}?${String(query)}`;
}

const mostInCard = 6;

/** The last changes of one thing, and the way to all of them. */
export async function renderHistory(
  visit: Visit,
  target: string,
  empty?: string,
): Promise<Html | string> {
  const { account } = visit;
  if (!account.mayUse("list_changes")) return "";
  const answer = await account.listChanges({ target, page: 1 });
  if (answer.kind !== "done") return "";
  const changes = readRecords(answer.result, "changes");
  const all = `${historyAddress}?${String(new URLSearchParams({ target }))}`;
  return html`<section class="card" aria-labelledby="history">
    <h2 id="history">History</h2>
    <div class="inside">
      ${renderChanges(changes.slice(0, mostInCard), visit, empty)}
      ${changes.length > mostInCard ? html`<p><a href="${all}">View all changes</a></p>` : ""}
    </div>
  </section>`;
}

function renderChange(change: JsonObject, visit: Visit): Html {
  const target = readRecord(change, "target");
  const name = nameTarget(target);
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
        ${renderFields(change)} ${renderNotes(change)}
        <p class="hint">
          ${renderTime(readText(change, "at"), visit.account)}${describeWriter(change)}
        </p>
      </div>
      ${renderUndo(change, visit)}
    </div>
  </li>`;
}

function nameTarget(target: JsonObject): string {
  const [kind, id] = [readText(target, "kind"), readText(target, "id")];
  const words = writeWords(kind);
  // A key and a webhook have no name; lists call them by this.
  const isById = (kind === "api_key" || kind === "webhook") && id !== "";
  return readText(target, "name") || (isById ? `${words} ${nameKey({ id })}` : words);
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
  unpublish: "Unpublished",
  apply: "Applied",
  undo: "Undid a change to",
};

/** What was typed at the terminal: a thing, and what was done to it. */
const commandVerbs: Readonly<Record<string, string>> = {
  "keys create": "Created",
  "keys revoke": "Revoked",
  "projects create": "Created",
  "webhooks create": "Created",
  "webhooks revoke": "Revoked",
  "bin restore": "Restored",
  "bin empty": "Emptied",
};

function describeAct(change: JsonObject): string {
  const tool = readText(change, "tool");
  const [verb = ""] = tool.split("_");
  return commandVerbs[tool] ?? verbs[verb] ?? "Changed";
}

const mostFields = 3;
const mostCharacters = 48;
const mostOfName = 120;

function renderFields(change: JsonObject): Html | string {
  const names = Object.keys(readRecord(change, "fields"));
  if (describeAct(change) !== "Changed" || names.length === 0) return "";
  const shown = names.slice(0, mostFields).map((name) => {
    const { from, to } = readRecord(readRecord(change, "fields"), name);
    return html`<p class="hint">
      ${writeWords(name)}: <bdi>${write(from)}</bdi> → <bdi>${write(to)}</bdi>
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

/** What is not put back, and what nobody knows of it. */
function renderNotes(change: JsonObject): Html | string {
  const doubt =
    readText(change, "end") === "" ? "" : "Waypost does not know whether this change was made.";
  const told = [doubt, readText(change, "note")].filter((text) => text !== "").join(" ");
  return told === "" ? "" : html`<p class="hint">${told}</p>`;
}

/** In the user's time zone, which `Account` names. */
export function renderTime(
  at: string | number | null,
  account: Pick<Account, "timeZone">,
): Html | string {
  const written = typeof at === "number" ? new Date(at).toISOString() : (at ?? "");
  const text = writeTime(written, account);
  return text === "" ? "" : html`<time datetime="${written}">${text}</time>`;
}

/** `2026-11-22, 16:14`; an empty text for what is no time. */
export function writeTime(at: string, { timeZone }: Pick<Account, "timeZone">): string {
  const time = parseTime(at);
  if (time === null) return "";
  return writeLocalTime(time, timeZone).slice(0, 16).replace("T", ", ");
}

function describeWriter(change: JsonObject): Html | string {
  const writer = readText(change, "client") || readText(change, "by");
  return writer === "" ? "" : html` · <bdi>${writer}</bdi>`;
}

/** What is done by hand, to a key or a project's settings, is put back by hand. */
const undoable: ReadonlySet<string> = new Set([
  "link",
  "ios_app",
  "android_app",
  "project",
  "page_template",
]);

function canUndo(change: JsonObject, { account }: Visit): boolean {
  if (readText(change, "undone_by") !== "") return false;
  const kind = readText(readRecord(change, "target"), "kind");
  // Many links are put back by a plan of whoever has changed them.
  if (kind === "job") return account.mayUse("plan_links") && change["by"] === undefined;
  const isLost =
    readText(change, "note") !== "" && Object.keys(readRecord(change, "fields")).length === 0;
  const isGone = readText(change, "tool") === "delete_project";
  return account.mayUse("undo") && undoable.has(kind) && !isLost && !isGone;
}

/** One of the buttons of the form around the list. */
function renderUndo(change: JsonObject, visit: Visit): Html | string {
  if (readText(change, "undone_by") !== "") return html`<span class="tag">undone</span>`;
  if (!canUndo(change, visit)) return "";
  const target = readRecord(change, "target");
  const name = shorten(nameTarget(target), mostOfName);
  if (readText(target, "kind") === "job") {
    const action = `/jobs/${encodeURIComponent(readText(target, "id"))}/undo`;
    const label = `Undo the job: ${name}`;
    return html`<button class="small" formaction="${action}" aria-label="${label}">Undo…</button>`;
  }
  const label = `Undo: ${describeAct(change)} ${name}`;
  const id = readText(change, "id");
  return html`<button class="small" name="change_id" value="${id}" aria-label="${label}">
    Undo
  </button>`;
}
