import type { FilterInput } from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import { writeLabel } from "../../text/write-label.ts";
import type { Account, CallError } from "../account.ts";
import { readTyped, renderField, renderGuard, renderOthers, type Field } from "../form-fields.ts";
import { html, type Html, type Part } from "../html.ts";
import type { Form, Page, Reply, PageRequest } from "../page.ts";
import {
  countThings,
  goToPlan,
  renderBox,
  renderCard,
  renderForm,
  renderHidden,
  renderList,
  renderOption,
  shorten,
} from "../parts.ts";
import { appKinds, listAppChoices, nameOther, renderOther } from "../app-kinds.ts";
import { flagFields, textFields } from "./link-fields.ts";
import { describeFilter, readFilter, renderQuery, writeLinkQuery } from "./link-query.ts";

/** Changes several links at once. The form creates a plan. */
export const severalPage: Page = {
  path: /^\/links\/several$/,
  needs: "plan_links",
  show: (request) => {
    const { kept } = request;
    return kept === undefined ? { kind: "go", to: "/links" } : showForm(request, kept);
  },
  submit,
};

/** The ticked links, or all links that match a search and filters. */
type Selection = {
  readonly paths: readonly string[];
  readonly isAll: boolean;
  readonly search: string;
  readonly filters: readonly FilterInput[];
};

/** The maximum number of ticked links; a page of the list has fewer. */
const mostPaths = 200;

function readSelection(form: Form): Selection {
  return {
    paths: form.readAll("path").slice(0, mostPaths),
    isAll: form.has("all"),
    search: form.read("search"),
    filters: form.readAll("filter").map(readFilter),
  };
}

function isEmpty({ isAll, paths, search, filters }: Selection): boolean {
  return isAll ? search === "" && filters.length === 0 : paths.length === 0;
}

function writeSelection({ isAll, paths, search, filters }: Selection): JsonObject {
  if (!isAll) return { filters: [{ field: "path", condition: "in", value: paths }] };
  return { ...(filters.length > 0 && { filters }), ...(search !== "" && { search }) };
}

function writeBack({ search, filters }: Selection): string {
  return `/links${writeLinkQuery({ search, filters, sort: "newest", page: 1 })}`;
}

async function submit(request: PageRequest, form: Form): Promise<Reply> {
  const selection = readSelection(form);
  const change = planEdit(form.read("way"), form);
  if (isEmpty(selection) || change === undefined) return showForm(request, form);
  const args = { ...writeSelection(selection), ...change };
  const answer = await request.account.call("plan_links", args);
  return answer.kind === "done" ? goToPlan(answer.result) : showForm(request, form, answer.failure);
}

async function showForm(request: PageRequest, form: Form, failure?: CallError): Promise<Reply> {
  const { account } = request;
  const selection = readSelection(form);
  const list = { name: "Links", address: writeBack(selection) };
  if (isEmpty(selection)) return { kind: "go", to: list.address };
  const [count, edits] = await Promise.all([
    countSelected(request, selection),
    listEdits(account, form),
  ]);
  const edit = form.read("way");
  const chosen = edits.some(({ name }) => name === edit) ? edit : edits[0]?.name;
  const change = html`<p class="soft">
      Waypost shows you a plan first. Nothing changes until you approve it.
    </p>
    ${renderOthers([], failure)}
    <div role="group" aria-label="What to change">
      ${edits.map((each) => renderEdit(each, each.name === chosen))}
    </div>
    <div class="buttons"><button class="main">Show plan</button></div>`;
  const body = [
    renderQuery(selection),
    renderBox("Which links", { inside: renderSelection(selection) }),
    renderCard("What to change", { inside: change }),
  ];
  const attributes = html`class="stack narrow" ${renderGuard(failure !== undefined)}`;
  return {
    kind: "page",
    title: describeSelection(selection, count),
    above: list,
    body: renderForm(request, "/links/several", body, attributes),
    status: failure === undefined ? 200 : 422,
  };
}

async function countSelected(
  { account }: PageRequest,
  selection: Selection,
): Promise<number | undefined> {
  if (!selection.isAll) return selection.paths.length;
  const found = await account.tryCall("list_links", { ...writeSelection(selection), limit: 1 });
  return found && (found.meta?.count ?? 0);
}

function describeSelection({ isAll }: Selection, count: number | undefined): string {
  if (count === undefined) return "Change all matching links";
  const links = countThings(count, "link");
  return isAll ? `Change all ${links} that match` : `Change ${links}`;
}

/** Longer paths are truncated here. The plan shows them in full. */
const mostOfPath = 120;

/** Puts each path next to its hidden field, because nearby repetition compresses well. */
function renderSelection({ isAll, paths, search, filters }: Selection): Part {
  if (!isAll) {
    const chips = paths.map((path) => {
      return renderChip(`/${shorten(path, mostOfPath)}`, renderHidden("path", path));
    });
    return renderList(chips, "chips");
  }
  const texts = [...(search === "" ? [] : [`Search: ${search}`]), ...filters.map(describeFilter)];
  const chips = texts.map((text) => renderChip(text));
  return [renderList(chips, "chips"), renderHidden("all", "on")];
}

function renderChip(text: string, sent?: Part): Html {
  return html`<li class="tag"><bdi>${text}</bdi>${sent}</li>`;
}

function renderEdit({ name, title, fields }: RenderedEdit, isChosen: boolean): Html {
  const checked = isChosen && html` checked`;
  return html`<div class="way">
    <label class="check">
      <input type="radio" name="way" value="${name}" ${checked} /><span>${title}</span>
    </label>
    <div role="group" aria-label="${title}">${fields}</div>
  </div>`;
}

/** A kind of bulk change that `plan_links` supports. */
type BulkEdit = {
  readonly title: string;
  /** Each field's name starts with the edit's name, because all edits share one form. */
  readonly fields: readonly Field[];
  /** Returns the plan's arguments, except those that select links. */
  readonly plan: (read: (name: string) => string, form: Form) => JsonObject;
};

const otherFields = textFields.filter((name) => name !== "path" && name !== "url");

const edits: Readonly<Record<string, BulkEdit>> = {
  set: {
    title: "Set a field",
    fields: [
      // A path is unique to a link, so it cannot be set for several links.
      chooseField("set", ["url", ...otherFields]),
      text("set-value", "New value", "Leave this empty to clear the field."),
    ],
    plan: (read) => ({ changes: { [read("field")]: read("value") } }),
  },
  choose: {
    title: "Choose an app, or turn an option on or off",
    fields: [],
    plan: (_, form) => ({ changes: readChoice(form) }),
  },
  replace: {
    title: "Replace part of a field",
    fields: [
      chooseField("replace", ["url", ...textFields.filter((name) => name !== "url")]),
      {
        name: "replace-match",
        label: "Replace",
        kind: "choice",
        choices: [
          { value: "text", name: "Every occurrence of a text" },
          { value: "host", name: "The host of a web address" },
        ],
      },
      text("replace-from", "Old text"),
      text("replace-to", "New text"),
    ],
    plan: (read) => {
      const match = read("match") === "host" ? "host" : "text";
      return { replace: [{ field: read("field"), from: read("from"), to: read("to"), match }] };
    },
  },
  query: {
    title: "Add a query parameter to web addresses",
    fields: [
      chooseField(
        "query",
        textFields.filter((name) => /(^|_)url$/.test(name)),
      ),
      text("query-name", "Parameter", "For example, utm_source."),
      text("query-value", "Value"),
    ],
    plan: (read) => ({
      add_query: { field: read("field"), values: { [read("name")]: read("value") } },
    }),
  },
  prefix: {
    title: "Add a prefix to paths",
    fields: [
      text("prefix-prefix", "Prefix", "For example, spring/. The old addresses stop working."),
    ],
    plan: (read) => ({ path_prefix: read("prefix") }),
  },
};

function chooseField(edit: string, names: readonly string[]): Field {
  const choices = names.map((name) => ({ value: name, name: writeLabel(name) }));
  return { name: `${edit}-field`, label: "Field", kind: "choice", choices };
}

function text(name: string, label: string, hint = ""): Field {
  return { name, label, kind: "text", hint };
}

type RenderedEdit = { readonly name: string; readonly title: string; readonly fields: Part };

async function listEdits(account: Account, form: Form): Promise<readonly RenderedEdit[]> {
  const choice = await renderChoose(account, form);
  const changes = Object.entries(edits).map(([name, { title, fields }]) => {
    const values = readTyped(fields, form);
    const rendered = fields.map((field) => renderField(field, values));
    const pair = fields.length > 1 ? html`<div class="pair">${rendered}</div>` : rendered;
    return { name, title, fields: name === "choose" ? choice : pair };
  });
  const kept = html`<p>
    Deleted links stay in the bin for 30 days. You can restore them from there.
  </p>`;
  return [
    ...(account.mayUse("update_link") ? changes : []),
    ...(account.mayUse("delete_link")
      ? [{ name: "delete", title: "Delete them", fields: kept }]
      : []),
  ];
}

function planEdit(name: string, form: Form): JsonObject | undefined {
  if (name === "delete") return { operation: "delete" };
  const edit = Object.hasOwn(edits, name) ? edits[name] : undefined;
  if (edit === undefined) return undefined;
  const typed = readTyped(edit.fields, form);
  const read = (field: string) => typed[`${name}-${field}`] ?? "";
  return { operation: "update", ...edit.plan(read, form) };
}

/** Parses a choice such as `ios_app:ID`, `ios_app:` for no app, or `enable_forced_redirect:on`. */
function readChoice(form: Form): JsonObject {
  // The ID of an unlisted app overrides the selected app.
  const typed = appKinds.flatMap(({ name }) => {
    const id = form.read(nameOther(name)).trim();
    return id === "" ? [] : [[name, { id }] as const];
  });
  if (typed.length > 0) return Object.fromEntries(typed);
  const [, field = "", value = ""] = /^(\w+):([^]*)$/.exec(form.read("choice")) ?? [];
  if (flagFields.includes(field)) return { [field]: value === "on" };
  return { [field]: value === "" ? null : { id: value } };
}

async function renderChoose(account: Account, form: Form): Promise<Part> {
  const chosen = form.read("choice");
  const apps = await listAppChoices(account, {});
  const options = [
    ...apps.map(({ kind: { name }, choices }) => {
      const label = writeLabel(name);
      const all = [...choices, { value: "", name: "none" }];
      const named = all.map((app) =>
        renderOption(`${name}:${app.value}`, `${label}: ${app.name}`, chosen),
      );
      return html`<optgroup label="${label}">${named}</optgroup>`;
    }),
    ...flagFields.map((name) => {
      const states = ["on", "off"].map((state) =>
        renderOption(`${name}:${state}`, `${writeLabel(name)}: ${state}`, chosen),
      );
      return html`<optgroup label="${writeLabel(name)}">${states}</optgroup>`;
    }),
  ];
  return html`<div class="field">
      <label for="choice">New value</label>
      <select id="choice" name="choice">
        ${options}
      </select>
    </div>
    ${apps.map((each) => renderOther(each, form.read(nameOther(each.kind.name))))}`;
}
