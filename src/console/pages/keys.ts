import { randomUUID } from "node:crypto";
import type { ClientKey, ListedKey } from "../../admin/keys.ts";
import { describeKeyAccess, nameKey } from "../../text/name-key.ts";
import { createActPage } from "../act.ts";
import { html, type Html } from "../html.ts";
import { renderPaging } from "../list-parts.ts";
import type { Page, Reply, Visit } from "../page.ts";
import {
  renderFault,
  renderNote,
  renderPost,
  renderTable,
  showMadeBefore,
  showSecret,
} from "../parts.ts";
import { readPage, readParam } from "../read.ts";
import { renderTime } from "../render-changes.ts";

export const keyList = { name: "Keys", address: "/keys" };

/** The project's API keys and client keys, with what each may do and when it was last used. */
export const keysPage: Page = {
  path: /^\/keys$/,
  entry: {
    ...keyList,
    group: "Project",
    icon: "M13.5 5.8a3.3 3.3 0 1 1-6.6 0 3.3 3.3 0 0 1 6.6 0zM7.9 8.1 2.5 13.5M4.5 11.5l1.7 1.7",
  },
  needs: "list_keys",
  show: (visit) => show(visit),
};

const revoking = { needs: "change_keys", back: () => keyList.address };

export const revokeKeyPage = createActPage({
  ...revoking,
  path: /^\/keys\/(?<id>[^/]+)\/revoke$/,
  run: ({ account, params }) => account.admin.revokeKey(readParam(params, "id")),
  done: ({ isOwn }) => (isOwn ? signedOut : { kind: "go", to: "/keys?done=revoked" }),
  failed: ({ message }, visit) => show(visit, message),
});

export const revokeClientKeyPage = createActPage({
  ...revoking,
  path: /^\/keys\/client\/(?<id>[^/]+)\/revoke$/,
  run: ({ account, params }) => account.admin.revokeClientKey(readParam(params, "id")),
  done: () => ({ kind: "go", to: "/keys?done=revoked" }),
  failed: ({ message }) => showMadeBefore("Client key", message, keyList),
});

export const newClientKeyPage = createActPage({
  ...revoking,
  path: /^\/keys\/client$/,
  run: ({ account }, form) => account.admin.createClientKey(form.read("once")),
  done: ({ token }) =>
    showSecret({
      title: "Your new client key",
      label: "Client key",
      lead: "Copy it now. Waypost does not show it again.",
      id: "token",
      secret: token,
      facts: [
        [
          "Use it in",
          html`The SDK setting <code>clientAPIKey</code>, next to <code>baseURL</code>`,
        ],
      ],
      list: keyList,
    }),
  failed: ({ message }) => showMadeBefore("Client key", message, keyList),
});

/** The session ends with its key. */
const signedOut: Reply = {
  kind: "page",
  title: "Key revoked",
  body: html`<h1>Key revoked</h1>
    <p class="soft">You were signed in with this key. Sign in with another one.</p>
    <p><a class="button" href="/sign-in">Sign in</a></p>`,
};

async function show(visit: Visit, fault?: string): Promise<Reply> {
  const { account, url } = visit;
  const answer = await account.admin.listKeys();
  const { keys, client_keys } =
    answer.kind === "done" ? answer.result : { keys: [], client_keys: [] };
  const failed = answer.kind === "failed" ? answer.failure.message : undefined;
  const mayChange = account.mayUse("change_keys");
  const shown = mayChange ? [...columns, revokeColumn] : columns;
  const rows = cutPage(keys, readPage(url));
  const body = html`<div class="head">
      <h1>Keys</h1>
      ${mayChange ? html`<a class="button main" href="/keys/new">New key</a>` : ""}
    </div>
    ${renderNote(url)} ${renderFault(fault ?? failed)}
    <p class="soft">
      Assistants and programs connect with a key. You choose what it may do when you create it.
    </p>
    <section class="card" aria-label="Keys">
      ${renderTable(
        "Keys",
        shown,
        rows.map((key) => renderRow(key, visit)),
      )}
      ${renderPages(keys, readPage(url), "keys", "/keys?page=")}
    </section>
    ${renderClientKeys(visit, client_keys)}`;
  return { kind: "page", title: "Keys", body, status: fault === undefined ? 200 : 422 };
}

const perPage = 25;

/** The newest first. */
function cutPage<Item>(items: readonly Item[], page: number): readonly Item[] {
  return items.toReversed().slice((page - 1) * perPage, page * perPage);
}

function renderPages(items: readonly unknown[], page: number, things: string, address: string) {
  return renderPaging({ page, last: Math.ceil(items.length / perPage) }, things, address);
}

const columns = [
  { name: "Key" },
  { name: "Created", look: "late when" },
  { name: "Last used", look: "late when" },
];
const revokeColumn = { name: "Revoke", look: "number revoke" };

function renderRow(key: ListedKey, visit: Visit): Html {
  const { is_own, is_kept, created_at, last_used_at } = key;
  const used = is_own ? "now" : renderTime(last_used_at, visit.account) || "never";
  const tags = [...(is_own ? ["this session"] : []), ...(is_kept ? ["this machine"] : [])];
  return html`<tr>
    <td>
      <code>${nameKey(key)}</code>${tags.map((text) => html` <span class="tag">${text}</span>`)}
      <span class="granted">${describeKeyAccess(key.role, key.scopes)}</span>
      <span class="line soft early">Last used: ${used}</span>
    </td>
    <td class="late soft">${renderTime(created_at, visit.account)}</td>
    <td class="late soft">${used}</td>
    ${renderRevoke(visit, key, "/keys")}
  </tr>`;
}

function renderRevoke(visit: Visit, key: { readonly id: string }, above: string): Html | string {
  if (!visit.account.mayUse("change_keys")) return "";
  const button = html`<button class="small grave" aria-label="Revoke ${nameKey(key)}…">
    Revoke…
  </button>`;
  const address = `${above}/${encodeURIComponent(key.id)}/revoke`;
  return html`<td class="number">${renderPost(visit, address, button)}</td>`;
}

function renderClientKeys(visit: Visit, keys: readonly ClientKey[]): Html {
  const { account, url } = visit;
  const mayChange = account.mayUse("change_keys");
  const button = html`<button>New client key</button>`;
  const form = renderPost(visit, "/keys/client", button, { once: randomUUID() });
  const heads = [{ name: "Client key" }, { name: "Created", look: "late when" }];
  const shown = mayChange ? [...heads, revokeColumn] : heads;
  const page = readPage(url, "client");
  const rows = cutPage(keys, page).map(
    (key) =>
      html`<tr>
        <td><code>${nameKey(key)}</code></td>
        <td class="late soft">${renderTime(key.created_at, account)}</td>
        ${renderRevoke(visit, key, "/keys/client")}
      </tr>`,
  );
  return html`<section class="card" aria-labelledby="client-keys">
    <h2 id="client-keys">Client keys</h2>
    <div class="inside stack">
      <p class="soft">
        The SDK in a mobile app uses a client key. The key is not a secret: it can only look up the
        link that opened or installed the app.
      </p>
      ${mayChange ? form : ""}
    </div>
    ${rows.length === 0 ? "" : renderTable("Client keys", shown, rows)}
    ${renderPages(keys, page, "client keys", "/keys?client=")}
  </section>`;
}
