import { nameKey } from "../text/secrets.ts";
import { writeWords } from "../text/write-label.ts";
import { writeLocalTime, parseTime } from "../contract/local-time.ts";
import type { Account } from "./account.ts";
import { html, type Html, type Part } from "./html.ts";
import type { PageRequest } from "./page.ts";
import { renderCard, renderForm, renderHidden, renderList, shorten } from "./parts.ts";
import type { ListedChange } from "./records.ts";

/** Lists changes: what changed, when and by whom, with an undo button. */

export function renderChanges(
  changes: readonly ListedChange[],
  request: PageRequest,
  empty = "No changes yet.",
): Html {
  if (changes.length === 0) return html`<p class="soft">${empty}</p>`;
  const list = renderList(changes.map((change) => renderChange(change, request)));
  if (!changes.some((change) => canUndo(change, request))) return list;
  const back = renderHidden("back", writeOwnAddress(request.url));
  return renderForm(request, undoAddress, [back, list], html``);
}

export const historyAddress = "/history";
export const undoAddress = `${historyAddress}/undo`;

/** Returns this page's URL without its message code, for the redirect after an undo. */
function writeOwnAddress({ pathname, searchParams }: URL): string {
  const query = new URLSearchParams(searchParams);
  query.delete("done");
  return query.size === 0 ? pathname : `${pathname}?${String(query)}`;
}

const mostInCard = 6;

/** Lists the latest changes of a record, with a link to all of its changes. */
export async function renderHistory(
  request: PageRequest,
  target: string,
  empty?: string,
): Promise<Part> {
  const { account } = request;
  if (!account.mayUse("list_changes")) return "";
  const answer = await account.call("list_changes", {}, { target, page: 1 });
  if (answer.kind === "failed") return "";
  const { changes } = answer.result;
  const all = `${historyAddress}?${String(new URLSearchParams({ target }))}`;
  return renderCard("History", {
    inside: [
      renderChanges(changes.slice(0, mostInCard), request, empty),
      changes.length > mostInCard && html`<p><a href="${all}">View all changes</a></p>`,
    ],
  });
}

function renderChange(change: ListedChange, request: PageRequest): Html {
  const { target, at, client, by, note, end } = change;
  const name = nameTarget(change);
  const address = findAddress(change, request);
  const isJob = target.kind === "job";
  const text = isJob ? name.charAt(0).toUpperCase() + name.slice(1) : name;
  const shown = html`<bdi>${shorten(text, mostOfName)}</bdi>`;
  const subject = address === undefined ? shown : html`<a href="${address}">${shown}</a>`;
  const writer = client || by;
  const doubt = end && "Waypost does not know whether this change was made.";
  return html`<li>
    <div class="split">
      <div>
        <p>${!isJob && describeAct(change)} ${subject}</p>
        ${renderFields(change)} ${(doubt || note) && html`<p class="hint">${doubt} ${note}</p>`}
        <p class="hint">
          ${renderTime(at, request.account)}${writer && html` · <bdi>${writer}</bdi>`}
        </p>
      </div>
      ${renderUndo(change, request)}
    </div>
  </li>`;
}

function nameTarget({ target: { kind, id, name } }: ListedChange): string {
  const words = writeWords(kind);
  // Keys and webhooks have no name, so lists show the end of their ID.
  const isById = id && (kind === "api_key" || kind === "webhook");
  return name || (isById ? `${words} ${nameKey({ id })}` : words);
}

function findAddress({ target, tool }: ListedChange, { account }: PageRequest): string | undefined {
  const { id, kind } = target;
  if (!id || tool.startsWith("delete_")) return undefined;
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

/** Verbs for changes by CLI commands. */
const commandVerbs: Readonly<Record<string, string>> = {
  "keys create": "Created",
  "keys revoke": "Revoked",
  "projects create": "Created",
  "webhooks create": "Created",
  "webhooks revoke": "Revoked",
  "bin restore": "Restored",
  "bin empty": "Emptied",
};

function describeAct({ tool }: ListedChange): string {
  const [verb = ""] = tool.split("_");
  return commandVerbs[tool] ?? verbs[verb] ?? "Changed";
}

const mostFields = 3;
const mostCharacters = 48;
const mostOfName = 120;

function renderFields(change: ListedChange): Part {
  const fields = Object.entries(change.fields);
  const rest = fields.length - mostFields;
  const shown = fields
    .slice(0, mostFields)
    .map(
      ([name, { from, to }]) =>
        html`<p class="hint">
          ${writeWords(name)}: <bdi>${write(from)}</bdi> → <bdi>${write(to)}</bdi>
        </p>`,
    );
  return (
    describeAct(change) === "Changed" && [
      shown,
      rest > 0 && html`<p class="hint">and ${rest} more</p>`,
    ]
  );
}

function write(value: unknown): string {
  if (value === null || value === undefined || value === "") return "empty";
  if (typeof value === "boolean") return value ? "on" : "off";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return shorten(text, mostCharacters);
}

/** Renders a time in the user's time zone. */
export function renderTime(at: string | number | null, account: Pick<Account, "timeZone">): Part {
  const written = typeof at === "number" ? new Date(at).toISOString() : (at ?? "");
  const text = writeTime(written, account);
  return text && html`<time datetime="${written}">${text}</time>`;
}

/** Formats a time as `2026-11-22, 16:14`; empty for an invalid time. */
export function writeTime(at: string, { timeZone }: Pick<Account, "timeZone">): string {
  const time = parseTime(at);
  if (time === null) return "";
  return writeLocalTime(time, timeZone).slice(0, 16).replace("T", ", ");
}

/** Changes to records of these kinds can be undone. Users reverse other changes themselves. */
const undoable: ReadonlySet<string> = new Set([
  "link",
  "ios_app",
  "android_app",
  "project",
  "page_template",
]);

function canUndo(change: ListedChange, { account }: PageRequest): boolean {
  const { undone_by, target, by, note, fields, tool } = change;
  if (undone_by) return false;
  // Undoing a job needs its plan, which only the key that created the job can read.
  if (target.kind === "job") return account.mayUse("plan_links") && by === undefined;
  const isLost = note !== undefined && Object.keys(fields).length === 0;
  const isGone = tool === "delete_project";
  return account.mayUse("undo") && undoable.has(target.kind) && !isLost && !isGone;
}

/** Renders a change's undo button. One form encloses the whole list. */
function renderUndo(change: ListedChange, request: PageRequest): Part {
  if (change.undone_by) return html`<span class="tag">undone</span>`;
  if (!canUndo(change, request)) return "";
  const name = shorten(nameTarget(change), mostOfName);
  if (change.target.kind === "job") {
    const action = `/jobs/${encodeURIComponent(change.target.id ?? "")}/undo`;
    const label = `Undo the job: ${name}`;
    return html`<button class="small" formaction="${action}" aria-label="${label}">Undo…</button>`;
  }
  const label = `Undo: ${describeAct(change)} ${name}`;
  return html`<button class="small" name="change_id" value="${change.id}" aria-label="${label}">
    Undo
  </button>`;
}
