import type { JsonObject } from "../../contract/json.ts";
import { html, type Html } from "../html.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderPaging } from "../list-parts.ts";
import { renderFault, renderNote, renderTable } from "../parts.ts";
import { readPage, readRecord, readRecords, readText } from "../read.ts";
import { appKinds, writeAppAddress, type AppKind } from "./app-kinds.ts";

/** The apps that links open. */
export const appsPage: Page = {
  path: /^\/apps$/,
  entry: {
    name: "Apps",
    address: "/apps",
    group: "Project",
    icon: "M5 2.5h6a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1zM7 11.5h2",
  },
  needs: ["list_ios_apps", "list_android_apps"],
  show,
};

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
  const page = readPage(url, kind.slug);
  const answer = await account.call(`list_${name}s`, { page, limit: perPage });
  const list =
    answer.kind === "done"
      ? renderList(kind, answer.result)
      : html`<div class="inside">
          ${renderFault(answer.kind === "failed" ? answer.failure.message : undefined)}
        </div>`;
  const button = account.mayUse(`register_${name}`)
    ? html`<a class="button small" href="/apps/${slug}/new">New ${label}</a>`
    : "";
  return html`<section class="card" aria-labelledby="${name}">
    <header>
      <h2 id="${name}">${heading}</h2>
      ${button}
    </header>
    ${list}
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

function renderRow(kind: AppKind, app: JsonObject): Html {
  const identifier = readText(app, kind.identifier);
  const name = readText(app, "name");
  return html`<tr>
    <td>
      <a class="line" href="${writeAppAddress(kind, readText(app, "id"))}" dir="auto"
        >${name || identifier}</a
      >
      <span class="line soft early" dir="auto">${name === "" ? "" : identifier}</span>
    </td>
    <td class="late"><span class="line soft" dir="auto">${identifier}</span></td>
  </tr>`;
}
