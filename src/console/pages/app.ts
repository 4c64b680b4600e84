import { writeLabel } from "../../text/write-label.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Account, Failure } from "../account.ts";
import { act } from "../act.ts";
import {
  listChanged,
  readTyped,
  readValues,
  renderField,
  renderGuard,
  renderOthers,
  renderShown,
  writeFields,
  type Field,
  type Values,
} from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderFault, renderHead, renderHidden, renderNote, tellGone } from "../parts.ts";
import { readNumber, readParam, readRecord, readRecords, readText } from "../read.ts";
import { renderHistory } from "../render-changes.ts";
import {
  hasTyped,
  readForm,
  readSent,
  saveChanged,
  showUnread,
  type Again,
} from "../save-changed.ts";
import { appKinds, findAppKind, writeAppAddress, type AppKind } from "./app-kinds.ts";
import { writeFilter } from "./link-query.ts";

/** One app: its fields, the links that open it, and its history; and the form for a new one. */

const slugs = appKinds.map(({ slug }) => slug).join("|");
const idPattern = `/apps/(?<slug>${slugs})/(?<id>[^/]+)`;

export const newAppPage: Page = {
  path: new RegExp(`^/apps/(?<slug>${slugs})/new$`),
  needs: appKinds.map(({ name }) => `register_${name}`),
  show: (visit) => showNew(visit),
  submit: register,
};

export const appPage: Page = {
  path: new RegExp(`^${idPattern}$`),
  needs: appKinds.map(({ name }) => `get_${name}`),
  show: (visit) => show(visit, {}),
  submit: save,
};

export const deleteAppPage: Page = {
  path: new RegExp(`^${idPattern}/delete$`),
  needs: appKinds.map(({ name }) => `delete_${name}`),
  // Whoever opens the address alone has not pressed anything.
  show: (visit) => Promise.resolve({ kind: "go", to: visit.url.pathname.replace(/\/delete$/, "") }),
  submit: remove,
};

const list = { name: "Apps", address: "/apps" };

const gone = tellGone({
  thing: "app",
  why: "It was deleted, the address is wrong, or your key may not see it.",
  list: "apps",
  address: "/apps",
});

/** The kind of app that a page is of, where the key may do this with such apps. */
function readKind({ account, params }: Visit, act_name: string): AppKind | undefined {
  const kind = findAppKind(params["slug"]);
  return kind && account.mayUse(`${act_name}_${kind.name}`) ? kind : undefined;
}

async function showNew(visit: Visit, typed?: Values, failure?: Failure): Promise<Reply> {
  const kind = readKind(visit, "register");
  if (kind === undefined) return gone;
  const { formToken, kept, url } = visit;
  const { fields, label } = kind;
  const values = typed ?? (kept === undefined ? {} : readTyped(fields, kept));
  const guard = renderGuard(typed !== undefined || kept !== undefined);
  const body = html`${renderHead(`New ${label}`, list)}
    <section class="card narrow" aria-label="Fields">
      <div class="inside">
        <form method="post" action="${url.pathname}" class="stack" ${guard}>
          ${renderHidden("form_token", formToken)} ${renderFields(fields, values, failure)}
          <div class="buttons">
            <button class="main">Register app</button>
            <a class="button quiet" href="/apps">Cancel</a>
          </div>
        </form>
      </div>
    </section>`;
  return { kind: "page", title: `New ${label}`, body, status: failure === undefined ? 200 : 422 };
}

function renderFields(
  fields: readonly Field[],
  values: Values,
  failure: Failure | undefined,
): readonly unknown[] {
  const rendered = fields.map((field) => renderField(field, values, failure?.problems));
  return [...renderOthers(fields, failure), html`<div class="pair">${rendered}</div>`];
}

async function register(visit: Visit, form: Form): Promise<Reply> {
  const kind = readKind(visit, "register");
  if (kind === undefined) return gone;
  const { fields, name } = kind;
  const typed = readTyped(fields, form);
  const blank = readValues(fields, {});
  const args = writeFields(fields, typed, listChanged(fields, blank, typed));
  const ended = await act(visit, form, {
    run: () => visit.account.call(`register_${name}`, args),
  });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "failed") return showNew(visit, typed, ended.failure);
  const id = readText(readRecord(ended.result, name), "id");
  return { kind: "go", to: `${writeAppAddress(kind, id)}?done=registered` };
}

async function show(visit: Visit, again: Again, fault?: string): Promise<Reply> {
  const kind = readKind(visit, "get");
  if (kind === undefined) return gone;
  const { account, params, formToken, url } = visit;
  const id = readParam(params, "id");
  const found = await account.readRecord(kind.name, id);
  if (found === undefined) return gone;
  if (found.kind === "failed") return showFailed(visit, kind, { again, fault }, found.failure);
  const record = found.result;
  const { fields, identifier } = kind;
  const address = writeAppAddress(kind, id);
  const title = readText(record, "name") || readText(record, identifier);
  const form = account.mayUse(`update_${kind.name}`)
    ? renderForm(visit, kind, readValues(fields, record), again)
    : renderRecord(fields, record);
  const beside = account.mayUse(`delete_${kind.name}`)
    ? html`<form method="post" action="${address}/delete">
        ${renderHidden("form_token", formToken)}<button class="grave">Delete…</button>
      </form>`
    : "";
  const body = html`${renderHead(title, list, beside)} ${renderNote(url)} ${renderFault(fault)}

    <div class="columns">
      <div class="column">
        <section class="card" aria-label="Fields"><div class="inside">${form}</div></section>
      </div>
      <div class="column">${await renderSide(visit, kind, record)}</div>
    </div>`;
  const isRefused = again.failure !== undefined || fault !== undefined;
  return { kind: "page", title, body, status: isRefused ? 422 : 200 };
}

function renderForm(visit: Visit, kind: AppKind, values: Values, again: Again): Html {
  const { fields } = kind;
  const { typed, was } = readForm(visit, fields, values, again);
  const address = writeAppAddress(kind, readParam(visit.params, "id"));
  const guard = renderGuard(hasTyped(visit, again));
  return html`<form method="post" action="${address}" class="stack" ${guard}>
    ${renderHidden("form_token", visit.formToken)} ${renderShown(fields, was)}
    ${renderFields(fields, typed, again.failure)}
    <div class="buttons"><button class="main">Save</button></div>
  </form>`;
}

type Told = { readonly again: Again; readonly fault?: string | undefined };

/** What somebody has typed is there, also where the app cannot be read. */
function showFailed(visit: Visit, kind: AppKind, { again, fault }: Told, why: Failure): Reply {
  const mayTell = hasTyped(visit, again) && visit.account.mayUse(`update_${kind.name}`);
  const failed = { ...again, failure: again.failure ?? why };
  return showUnread({
    title: kind.label,
    head: renderHead(kind.label, list),
    form: mayTell ? renderForm(visit, kind, {}, failed) : undefined,
    fault: fault ?? why.message,
  });
}

/** For a key that may only look. */
function renderRecord(fields: readonly Field[], record: JsonObject): Html {
  const values = readValues(fields, record);
  const rows = fields.flatMap(({ name, label = writeLabel(name) }) =>
    values[name] === ""
      ? []
      : [
          html`<div>
            <dt>${label}</dt>
            <dd dir="auto">${values[name]}</dd>
          </div>`,
        ],
  );
  return html`<dl class="facts wide">${rows}</dl>`;
}

async function renderSide(
  visit: Visit,
  kind: AppKind,
  record: JsonObject,
): Promise<readonly (Html | string)[]> {
  const { account } = visit;
  const id = readText(record, "id");
  const [links, history] = await Promise.all([
    renderLinks(kind, readText(record, kind.identifier), account),
    renderHistory(visit, id),
  ]);
  return [...links, history];
}

const mostLinks = 5;

async function renderLinks(
  { linkFilter }: AppKind,
  identifier: string,
  account: Account,
): Promise<readonly Html[]> {
  if (!account.mayUse("list_links") || identifier === "") return [];
  const filter = { field: linkFilter, condition: "eq", value: identifier } as const;
  const answer = await account.call("list_links", { filters: [filter], limit: mostLinks });
  if (answer.kind !== "done") return [];
  const links = readRecords(answer.result, "links");
  const count = readNumber(readRecord(answer.result, "meta"), "count");
  const all = `/links?${String(new URLSearchParams({ filter: writeFilter(filter) }))}`;
  const rows = links.map((link) => {
    const name = readText(link, "name") || `/${readText(link, "path")}`;
    const address = `/links/${encodeURIComponent(readText(link, "id"))}`;
    return html`<li><a class="line" href="${address}" dir="auto">${name}</a></li>`;
  });
  const shown =
    rows.length === 0
      ? html`<p class="soft">No links open this app yet.</p>`
      : html`<ul class="list">
            ${rows}
          </ul>
          ${
            count > rows.length
              ? html`<p><a href="${all}">View all ${count.toLocaleString("en")} links</a></p>`
              : ""
          }`;
  return [
    html`<section class="card" aria-labelledby="links">
      <h2 id="links">Links that open this app</h2>
      <div class="inside">${shown}</div>
    </section>`,
  ];
}

async function save(visit: Visit, form: Form): Promise<Reply> {
  const kind = readKind(visit, "update");
  if (kind === undefined) return gone;
  const { fields, name } = kind;
  const id = readParam(visit.params, "id");
  const found = await visit.account.readRecord(name, id);
  if (found === undefined) return gone;
  if (found.kind === "failed") {
    return showFailed(visit, kind, { again: readSent(fields, form) }, found.failure);
  }
  const saved = await saveChanged(visit, form, {
    fields,
    save: (typed, names) =>
      visit.account.call(`update_${name}`, { id, ...writeFields(fields, typed, names) }),
    now: readValues(fields, found.result),
    back: writeAppAddress(kind, id),
  });
  return saved.kind === "again" ? show(visit, saved.again) : saved;
}

async function remove(visit: Visit, form: Form): Promise<Reply> {
  const kind = readKind(visit, "delete");
  if (kind === undefined) return gone;
  const id = readParam(visit.params, "id");
  const back = writeAppAddress(kind, id);
  const ended = await act(visit, form, {
    run: () => visit.account.call(`delete_${kind.name}`, { id }),
    back,
  });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "failed") return show(visit, {}, ended.failure.message);
  return { kind: "go", to: "/apps?done=deleted" };
}
