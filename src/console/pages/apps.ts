import type { Account } from "../account.ts";
import { html, type Part } from "../html.ts";
import { renderAnswer, renderPaging, renderRows } from "../list-parts.ts";
import type { Page, Reply, PageRequest } from "../page.ts";
import { renderCard, renderList, writeNumber } from "../parts.ts";
import { readPage } from "../read-address.ts";
import { createRecordPages } from "../record-page.ts";
import type { ListedApp } from "../records.ts";
import { renderHistory } from "../render-changes.ts";
import { appKinds, nameApp, type AppKind } from "../app-kinds.ts";
import { writeFilter } from "./link-query.ts";

/** The pages for apps: the list, and pages to create, edit and delete apps of each kind. */

const list = { name: "Apps", address: "/apps" };

const appsPage: Page = {
  path: /^\/apps$/,
  entry: {
    ...list,
    group: "Project",
    icon: "M5 2.5h6a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1zM7 11.5h2",
  },
  needs: ["list_ios_apps", "list_android_apps"],
  show,
};

export const appPages: readonly Page[] = [
  appsPage,
  ...appKinds.flatMap((kind) => {
    const { name, label, slug, identifier, fields } = kind;
    return createRecordPages({
      name,
      label,
      title: label,
      base: `${list.address}/${slug}`,
      list,
      creation: { tool: `register_${name}`, button: "Register app", note: "registered" },
      form: { fields },
      names: (app: ListedApp) => [nameApp(kind, app)],
      loadView: async (request, app) => {
        const [links, history] = await Promise.all([
          renderLinks(kind, app[identifier] ?? "", request.account),
          renderHistory(request, app.id),
        ]);
        return { side: [links, history] };
      },
      deleted: "deleted",
    });
  }),
];

const mostLinks = 5;

async function renderLinks(
  { linkFilter }: AppKind,
  identifier: string,
  { tryCall }: Account,
): Promise<Part> {
  if (identifier === "") return "";
  const filter = { field: linkFilter, condition: "eq", value: identifier } as const;
  const found = await tryCall("list_links", { filters: [filter], limit: mostLinks });
  if (found === undefined) return "";
  const { links, meta } = found;
  const count = meta?.count ?? 0;
  const all = `/links?${String(new URLSearchParams({ filter: writeFilter(filter) }))}`;
  const rows = links.map(({ id, name, path = "" }) => {
    const address = `/links/${encodeURIComponent(id)}`;
    return html`<li><a class="line" href="${address}" dir="auto">${name || `/${path}`}</a></li>`;
  });
  const more = html`<p><a href="${all}">View all ${writeNumber(count)} links</a></p>`;
  const inside =
    rows.length === 0
      ? html`<p class="soft">No links open this app yet.</p>`
      : [renderList(rows), count > rows.length && more];
  return renderCard("Links that open this app", { inside });
}

const perPage = 25;

async function show(request: PageRequest): Promise<Reply> {
  const { account } = request;
  const listed = appKinds.filter(({ name }) => account.mayUse(`list_${name}s`));
  return {
    kind: "page",
    title: "Apps",
    actions:
      account.mayUse("list_bin") && html`<a class="button quiet" href="/deleted">Deleted</a>`,
    body: html`<p class="soft">
        Links open these apps if they are installed, and their store pages if they are not.
      </p>
      ${await Promise.all(listed.map((kind) => renderKind(kind, request)))}`,
  };
}

async function renderKind(kind: AppKind, { account, url }: PageRequest): Promise<Part> {
  const { name, heading, slug, label } = kind;
  const page = readPage(url, slug);
  const answer = await account.call(`list_${name}s`, { page, limit: perPage });
  const below = renderAnswer(answer, (result) =>
    renderRows({
      things: `${heading} apps`,
      columns: listColumns(kind),
      rows: result[`${name}s`] ?? [],
      empty: `No ${label}s yet.`,
      paging: renderPaging(result.meta, `${label}s`, `/apps?${slug}=`),
    }),
  );
  const button = html`<a class="button small" href="/apps/${slug}/new">New ${label}</a>`;
  return renderCard(heading, { below, actions: account.mayUse(`register_${name}`) && button });
}

function listColumns(kind: AppKind) {
  const { slug, identifier } = kind;
  return [
    {
      name: "App",
      cell: (app: ListedApp) =>
        html`<a class="line" href="/apps/${slug}/${encodeURIComponent(app.id)}" dir="auto"
            >${nameApp(kind, app)}</a
          >
          <span class="line soft early" dir="auto">${app.name && app[identifier]}</span>`,
    },
    {
      name: "Identifier",
      look: "late",
      cell: (app: ListedApp) => html`<span class="line soft" dir="auto">${app[identifier]}</span>`,
    },
  ];
}
