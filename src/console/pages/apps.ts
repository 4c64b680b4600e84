import type { JsonObject } from "../../contract/json.ts";
import type { Account } from "../account.ts";
import { html, type Html } from "../html.ts";
import { renderPaging } from "../list-parts.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderFault, renderNote, renderTable } from "../parts.ts";
import { readNumber, readPage, readRecord, readRecords, readText } from "../read.ts";
import { createRecordPages, type RecordKind } from "../record-page.ts";
import { renderHistory } from "../render-changes.ts";
import { appKinds, type AppKind } from "./app-kinds.ts";
import { writeFilter } from "./link-query.ts";

const list = { name: "Apps", address: "/apps" };

/** The apps that links open: the list, and the pages of each kind. */
export const appsPage: Page = {
  path: /^\/apps$/,
  entry: {
    ...list,
    group: "Project",
    icon: "M5 2.5h6a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1zM7 11.5h2",
  },
  needs: ["list_ios_apps", "list_android_apps"],
  show,
};

export const appPages = appKinds.flatMap((kind) => createRecordPages(describeKind(kind)));

function describeKind(kind: AppKind): RecordKind {
  const { name, label, slug, identifier, fields } = kind;
  return {
    name,
    label,
    title: label,
    base: `${list.address}/${slug}`,
    list,
    gone: {
      thing: "app",
      why: "It was deleted, the address is wrong, or your key may not see it.",
    },
    creation: { tool: `register_${name}`, button: "Register app", done: "registered" },
    forms: [
      {
        fields,
        tool: `update_${name}`,
        read: (id, account) => account.readRecord(name, id),
        save: (id, changes, account) => account.call(`update_${name}`, { id, ...changes }),
      },
    ],
    names: (app) => [readText(app, "name"), readText(app, identifier)],
    view: async (visit, app) => {
      const [links, history] = await Promise.all([
        renderLinks(kind, readText(app, identifier), visit.account),
        renderHistory(visit, readText(app, "id")),
      ]);
      return { side: html`${links} ${history}` };
    },
    deleted: "deleted",
  };
}

const mostLinks = 5;

async function renderLinks(
  { linkFilter }: AppKind,
  identifier: string,
  account: Account,
): Promise<Html | string> {
  if (!account.mayUse("list_links") || identifier === "") return "";
  const filter = { field: linkFilter, condition: "eq", value: identifier } as const;
  const answer = await account.call("list_links", { filters: [filter], limit: mostLinks });
  if (answer.kind !== "done") return "";
  const links = readRecords(answer.result, "links");
  const count = readNumber(readRecord(answer.result, "meta"), "count");
  const all = `/links?${String(new URLSearchParams({ filter: writeFilter(filter) }))}`;
  const rows = links.map((link) => {
    const name = readText(link, "name") || `/${readText(link, "path")}`;
    const address = `/links/${encodeURIComponent(readText(link, "id"))}`;
    return html`<li><a class="line" href="${address}" dir="auto">${name}</a></li>`;
  });
  const more =
    count > rows.length
      ? html`<p><a href="${all}">View all ${count.toLocaleString("en")} links</a></p>`
      : "";
  return html`<section class="card" aria-labelledby="links">
    <h2 id="links">Links that open this app</h2>
    <div class="inside">
      ${
        rows.length === 0
          ? html`<p class="soft">No links open this app yet.</p>`
          : html`<ul class="list">
                ${rows}
              </ul>
              ${more}`
      }
    </div>
  </section>`;
}

const perPage = 25;

async function show(visit: Visit): Promise<Reply> {
  const { account, url } = visit;
  const listed = appKinds.filter(({ name }) => account.mayUse(`list_${name}s`));
  const lists = await Promise.all(listed.map((kind) => renderKind(kind, visit)));
  const body = html`<div class="head">
      <h1>Apps</h1>
      ${account.mayUse("list_bin") ? html`<a class="button quiet" href="/deleted">Deleted</a>` : ""}
    </div>
    ${renderNote(url)}
    <p class="soft">
      Links open these apps if they are installed, and their store pages if they are not.
    </p>
    ${lists}`;
  return { kind: "page", title: "Apps", body };
}

async function renderKind(kind: AppKind, { account, url }: Visit): Promise<Html> {
  const { name, heading, slug, label } = kind;
  const page = readPage(url, slug);
  const answer = await account.call(`list_${name}s`, { page, limit: perPage });
  const fault = answer.kind === "failed" ? answer.failure.message : undefined;
  const shown =
    answer.kind === "done"
      ? renderList(kind, answer.result)
      : html`<div class="inside">${renderFault(fault)}</div>`;
  const button = account.mayUse(`register_${name}`)
    ? html`<a class="button small" href="/apps/${slug}/new">New ${label}</a>`
    : "";
  return html`<section class="card" aria-labelledby="${name}">
    <header>
      <h2 id="${name}">${heading}</h2>
      ${button}
    </header>
    ${shown}
  </section>`;
}

function renderList(kind: AppKind, result: JsonObject): Html {
  const apps = readRecords(result, `${kind.name}s`);
  if (apps.length === 0) {
    return html`<div class="empty"><p>No ${kind.label}s yet.</p></div>`;
  }
  const rows = apps.map((app) => renderRow(kind, app));
  return html`${renderTable(`${kind.heading} apps`, columns, rows)}
  ${renderPaging(readRecord(result, "meta"), `${kind.label}s`, `/apps?${kind.slug}=`)}`;
}

const columns = [{ name: "App" }, { name: "Identifier", look: "late" }];

function renderRow({ slug, identifier: field }: AppKind, app: JsonObject): Html {
  const identifier = readText(app, field);
  const name = readText(app, "name");
  const address = `/apps/${slug}/${encodeURIComponent(readText(app, "id"))}`;
  return html`<tr>
    <td>
      <a class="line" href="${address}" dir="auto">${name || identifier}</a>
      <span class="line soft early" dir="auto">${name === "" ? "" : identifier}</span>
    </td>
    <td class="late"><span class="line soft" dir="auto">${identifier}</span></td>
  </tr>`;
}
