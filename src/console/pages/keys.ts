import type { JsonObject } from "../../contract/json.ts";
import { describeKeyAccess, nameKey } from "../../text/name-key.ts";
import { act } from "../act.ts";
import { html, type Html } from "../html.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderPaging } from "../list-parts.ts";
import { renderFault, renderHidden, renderNote, renderTable } from "../parts.ts";
import { readPage, readParam, readRecord, readRecords, readText } from "../read.ts";
import { renderTime } from "../render-changes.ts";
import { renderClientKeys } from "./client-keys.ts";

/** The keys of the project: what each may do, when it was used, and its end. */
export const keysPage: Page = {
  path: /^\/keys$/,
  entry: {
    name: "Keys",
    address: "/keys",
    group: "Project",
    icon: "M13.5 5.8a3.3 3.3 0 1 1-6.6 0 3.3 3.3 0 0 1 6.6 0zM7.9 8.1 2.5 13.5M4.5 11.5l1.7 1.7",
  },
  needs: "list_keys",
  show: (visit) => show(visit),
};

export const revokeKeyPage: Page = {
  path: /^\/keys\/(?<id>[^/]+)\/revoke$/,
  needs: "revoke_key",
  // Whoever opens the address alone has not pressed anything.
  show: () => Promise.resolve({ kind: "go", to: "/keys" }),
  submit: async (visit, form) => {
    const args = { id: readParam(visit.params, "id") };
    const ended = await act(visit, form, { tool: "revoke_key", args, back: "/keys" });
    if (ended.kind === "reply") return ended.reply;
    if (ended.kind === "failed") return show(visit, ended.failure.message);
    const isOwn = readRecord(ended.result, "revoked")["is_own"] === true;
    return isOwn ? signedOut : { kind: "go", to: "/keys?done=revoked" };
  },
};

/** Its session is over with it. */
const signedOut: Reply = {
  kind: "page",
  title: "Key revoked",
  body: html`<h1>Key revoked</h1>
    <p class="soft">You were signed in with this key. Sign in with another one.</p>
    <p><a class="button" href="/sign-in">Sign in</a></p>`,
};

async function show(visit: Visit, fault?: string): Promise<Reply> {
  const { account, url } = visit;
  const answer = await account.call("list_keys", {});
  const keys = answer.kind === "done" ? readRecords(answer.result, "keys") : [];
  const clientKeys = answer.kind === "done" ? readRecords(answer.result, "client_keys") : [];
  const failed = answer.kind === "failed" ? answer.failure.message : undefined;
  const page = readPage(url);
  const newest = keys.toReversed().slice((page - 1) * perPage, page * perPage);
  const rows = newest.map((key) => renderRow(key, visit));
  const meta = { page, last: Math.ceil(keys.length / perPage) };
  const shown = account.mayUse("revoke_key") ? [...columns, revokeColumn] : columns;
  const body = html`<div class="head">
      <h1>Keys</h1>
      ${account.mayUse("make_key") ? html`<a class="button main" href="/keys/new">New key</a>` : ""}
    </div>
    ${renderNote(url)} ${renderFault(fault ?? failed)}
    <p class="soft">
      Assistants and programs connect with a key. You choose what it may do when you create it.
    </p>
    <section class="card" aria-label="Keys">
      ${renderTable("Keys", shown, rows)} ${renderPaging(meta, "keys", "/keys?page=")}
    </section>
    ${renderClientKeys(visit, clientKeys)}`;
  return { kind: "page", title: "Keys", body, status: fault === undefined ? 200 : 422 };
}

const perPage = 25;

const columns = [
  { name: "Key" },
  { name: "Created", look: "late when" },
  { name: "Last used", look: "late when" },
];
const revokeColumn = { name: "Revoke", look: "number revoke" };

function renderRow(key: JsonObject, visit: Visit): Html {
  const made = renderTime(readText(key, "created_at"), visit.account);
  const isOwn = key["is_own"] === true;
  const used = isOwn ? "now" : renderTime(readText(key, "last_used_at"), visit.account) || "never";
  const tags = [
    ...(isOwn ? ["this session"] : []),
    ...(key["is_kept"] === true ? ["this machine"] : []),
  ].map((text) => html` <span class="tag">${text}</span>`);
  return html`<tr>
    <td>
      <code>${nameKey({ id: readText(key, "id") })}</code>${tags}
      <span class="granted">${describeAccess(key)}</span>
      <span class="line soft early">Last used: ${used}</span>
    </td>
    <td class="late soft">${made}</td>
    <td class="late soft">${used}</td>
    ${renderRevoke(key, visit)}
  </tr>`;
}

export function describeAccess(key: JsonObject): string {
  const granted: readonly unknown[] = Array.isArray(key["scopes"]) ? key["scopes"] : [];
  return describeKeyAccess(readText(key, "role"), granted.map(String));
}

function renderRevoke(key: JsonObject, { account, formToken }: Visit): Html | string {
  if (!account.mayUse("revoke_key")) return "";
  const id = readText(key, "id");
  return html`<td class="number">
    <form method="post" action="/keys/${encodeURIComponent(id)}/revoke">
      ${renderHidden("form_token", formToken)}
      <button class="small grave" aria-label="Revoke ${nameKey({ id })}…">Revoke…</button>
    </form>
  </td>`;
}
