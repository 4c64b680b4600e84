import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../contract/json.ts";
import { nameKey } from "../../text/name-key.ts";
import { act } from "../act.ts";
import { html, type Html } from "../html.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderPaging } from "../list-parts.ts";
import { renderCopy, renderHead, renderHidden, renderTable } from "../parts.ts";
import { readPage, readParam, readRecord, readText } from "../read.ts";
import { renderTime } from "../render-changes.ts";

/** The keys of apps, below those of assistants and programs: made, shown once, revoked. */

const list = { name: "Keys", address: "/keys" };

export const newClientKeyPage: Page = {
  path: /^\/keys\/client$/,
  needs: "make_client_key",
  // Whoever opens the address alone has not pressed anything.
  show: () => Promise.resolve({ kind: "go", to: list.address }),
  submit: async (visit, form) => {
    const args = { once: form.read("once") };
    const ended = await act(visit, form, { tool: "make_client_key", args, back: list.address });
    if (ended.kind === "reply") return ended.reply;
    if (ended.kind === "failed") return explain(ended.failure.message);
    return showOnce(readRecord(ended.result, "key"));
  },
};

export const revokeClientKeyPage: Page = {
  path: /^\/keys\/client\/(?<id>[^/]+)\/revoke$/,
  needs: "revoke_client_key",
  show: newClientKeyPage.show,
  submit: async (visit, form) => {
    const args = { id: readParam(visit.params, "id") };
    const ended = await act(visit, form, { tool: "revoke_client_key", args, back: list.address });
    if (ended.kind === "reply") return ended.reply;
    if (ended.kind === "failed") return explain(ended.failure.message);
    return { kind: "go", to: "/keys?done=revoked" };
  },
};

export function renderClientKeys(visit: Visit, keys: readonly JsonObject[]): Html {
  const { account, formToken } = visit;
  const mayMake = account.mayUse("make_client_key");
  const button = html`<form method="post" action="/keys/client">
    ${renderHidden("form_token", formToken)} ${renderHidden("once", randomUUID())}
    <button>New client key</button>
  </form>`;
  const columns = [{ name: "Client key" }, { name: "Created", look: "late when" }];
  const shown = mayMake ? [...columns, { name: "Revoke", look: "number revoke" }] : columns;
  const page = readPage(visit.url, "client");
  const newest = keys.toReversed().slice((page - 1) * perPage, page * perPage);
  const rows = newest.map((key) => renderRow(key, visit));
  const meta = { page, last: Math.ceil(keys.length / perPage) };
  const table = rows.length === 0 ? "" : renderTable("Client keys", shown, rows);
  return html`<section class="card" aria-labelledby="client-keys">
    <h2 id="client-keys">Client keys</h2>
    <div class="inside stack">
      <p class="soft">
        The SDK in a mobile app uses a client key. The key is not a secret: it can only look up the
        link that opened or installed the app.
      </p>
      ${mayMake ? button : ""}
    </div>
    ${table} ${renderPaging(meta, "client keys", "/keys?client=")}
  </section>`;
}

const perPage = 25;

function renderRow(key: JsonObject, { account, formToken }: Visit): Html {
  const id = readText(key, "id");
  const name = nameKey({ id });
  const revoke = html`<td class="number">
    <form method="post" action="/keys/client/${encodeURIComponent(id)}/revoke">
      ${renderHidden("form_token", formToken)}
      <button class="small grave" aria-label="Revoke ${name}…">Revoke…</button>
    </form>
  </td>`;
  return html`<tr>
    <td><code>${name}</code></td>
    <td class="late soft">${renderTime(readText(key, "created_at"), account)}</td>
    ${account.mayUse("revoke_client_key") ? revoke : ""}
  </tr>`;
}

function explain(message: string): Reply {
  const body = html`${renderHead("Client key", list)}
    <p>${message}</p>
    <p><a class="button" href="/keys">View all keys</a></p>`;
  return { kind: "page", title: "Client key", body, status: 409 };
}

function showOnce(key: JsonObject): Reply {
  const body = html`${renderHead("Your new client key", list)}
    <section class="card narrow" aria-label="Client key">
      <div class="inside">
        <p class="note good" role="status">Copy it now. Waypost does not show it again.</p>
        <div data-once>${renderCopy(readText(key, "token"), "token", "Copy the key")}</div>
        <dl class="facts">
          <div>
            <dt>Use it in</dt>
            <dd>The SDK setting <code>clientAPIKey</code>, next to <code>baseURL</code></dd>
          </div>
        </dl>
        <div class="buttons"><a class="button main" href="/keys">I have copied it</a></div>
      </div>
    </section>`;
  return { kind: "page", title: "Your new client key", body };
}
