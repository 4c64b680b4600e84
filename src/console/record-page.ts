import type { JsonObject } from "../contract/json.ts";
import { writeLabel } from "../text/write-label.ts";
import type { Account, Answer, Failure, FieldProblem, Found } from "./account.ts";
import { act, createActPage } from "./act.ts";
import {
  listChanged,
  printValue,
  readShown,
  readTyped,
  readValues,
  renderField,
  renderGuard,
  renderOthers,
  renderShown,
  writeFields,
  type Field,
  type Values,
} from "./form-fields.ts";
import { html, type Html } from "./html.ts";
import type { Form, Page, Reply, Visit } from "./page.ts";
import {
  renderFacts,
  renderFault,
  renderHead,
  renderHidden,
  renderNote,
  renderPost,
  shorten,
  showMissing,
  showUnread,
  tellDone,
  type Above,
} from "./parts.ts";
import { readParam, readRecord, readText, writeFrom } from "./read.ts";

/** The pages of a kind of record: the form of a new one, one that exists, and its deletion. */
export type RecordKind = {
  /** In the names of tools and results: `ios_app` of `get_ios_app`. */
  readonly name: string;
  readonly label: string;
  /** The title of one that cannot be read. */
  readonly title: string;
  /** In the address: `/apps/ios`. */
  readonly base: string;
  readonly list: Above;
  /** What the page says if no record has the id of its address. */
  readonly gone: { readonly thing: string; readonly why: string };
  readonly creation: Creation;
  /** The first form reads the record of the page. */
  readonly forms: readonly [RecordForm, ...RecordForm[]];
  /** Texts for the title of the page; the first that is not empty is used. */
  readonly names: (record: JsonObject) => readonly string[];
  /** What the page shows beside the forms. */
  readonly view: (visit: Visit, record: JsonObject) => Promise<RecordView | Unreadable>;
  /** The note on the list after a deletion. */
  readonly deleted: string;
};

type Creation = {
  readonly tool: string;
  readonly button: string;
  /** The note on the page of the new record. */
  readonly done: string;
  readonly beside?: (account: Account) => Html | string;
  /** Asks before a record is created that is probably a mistake. */
  readonly check?: (visit: Visit, form: Form, typed: Values) => Reply | undefined;
};

type RecordForm = {
  /** Omitted for the only form of a page. */
  readonly heading?: string;
  /** Added to the address of the record. */
  readonly suffix?: string;
  readonly fields: readonly Field[];
  /** Without this tool the fields are only shown. */
  readonly tool: string;
  readonly read: (id: string, account: Account) => Promise<Found | undefined>;
  readonly save: (id: string, changes: JsonObject, account: Account) => Promise<Answer<unknown>>;
  /** The arguments for the changed fields, if they differ from the fields. */
  readonly write?: (typed: Values, names: readonly string[]) => JsonObject;
  readonly render?: (shown: ShownFields) => Promise<Html>;
  /** Marks the form for the script. */
  readonly mark?: (account: Account, id: string, isTyped: boolean) => Html | string;
};

export type ShownFields = {
  readonly account: Account;
  readonly values: Values;
  readonly failure: Failure | undefined;
};

type RecordView = {
  readonly above?: Html;
  readonly side: Html;
  readonly hasFrames?: boolean;
};

/** Why there is no view: a failure, or undefined if the record is gone by now. */
type Unreadable = { readonly failure: Failure | undefined };

export function createRecordPages(kind: RecordKind): readonly Page[] {
  const { name, base, creation, forms, list } = kind;
  const path = `${base}/(?<id>[^/]+)`;
  return [
    {
      path: new RegExp(`^${base}/new$`),
      needs: creation.tool,
      show: (visit) => showNew(kind, visit),
      submit: (visit, form) => create(kind, visit, form),
    },
    ...forms.map((form): Page => ({
      path: new RegExp(`^${path}${form.suffix ?? ""}$`),
      needs: form.suffix === undefined ? `get_${name}` : form.tool,
      show: (visit) => show(kind, visit, { form }),
      submit: (visit, sent) => save(kind, visit, sent, form),
    })),
    createActPage({
      path: new RegExp(`^${path}/delete$`),
      needs: `delete_${name}`,
      back: (visit) => writeAddress(kind, visit),
      run: ({ account, params }) => account.call(`delete_${name}`, { id: readParam(params, "id") }),
      done: (_, visit) => ({ kind: "go", to: tellDone(readBack(list, visit), kind.deleted) }),
      failed: ({ message }, visit) => show(kind, visit, { form: forms[0], fault: message }),
    }),
  ];
}

/** Keeps the place in the list that the page was opened from. */
function writeAddress({ base }: RecordKind, { params, url }: Visit, suffix = ""): string {
  return `${base}/${encodeURIComponent(readParam(params, "id"))}${suffix}${writeFrom(url)}`;
}

/** The list with its page, search and filters. */
function readBack({ address }: Above, { url }: Visit): string {
  const from = url.searchParams.get("from") ?? "";
  return from === "" ? address : `${address}?${String(new URLSearchParams(from))}`;
}

function tellMissing({ gone, list }: RecordKind): Reply {
  return showMissing(gone, list);
}

/** The form that was sent, and what it shows again because it was not saved. */
type Sent = {
  readonly form: RecordForm;
  readonly again?: Again;
  /** Why the record was not deleted. */
  readonly fault?: string;
};

type Again = {
  readonly typed: Values;
  /** What was in the fields before. */
  readonly was: Values;
  readonly failure?: Failure;
};

async function show(kind: RecordKind, visit: Visit, sent: Sent): Promise<Reply> {
  const { account, params, url } = visit;
  const id = readParam(params, "id");
  const found = await Promise.all(kind.forms.map(({ read }) => read(id, account)));
  const [main] = found;
  const failed = found.find((each) => each?.kind === "failed");
  if (failed?.kind === "failed") return showFailed(kind, visit, sent, failed.failure);
  if (main?.kind !== "done") return tellMissing(kind);
  const record = main.result;
  const [view, ...forms] = await Promise.all([
    kind.view(visit, record),
    ...kind.forms.map((form, at) => {
      const read = found[at];
      return read?.kind === "done" ? renderForm(kind, visit, { ...sent, shown: form }, read) : "";
    }),
  ]);
  if ("failure" in view) {
    const { failure } = view;
    return failure === undefined ? tellMissing(kind) : showFailed(kind, visit, sent, failure);
  }
  const title = kind.names(record).find((name) => name !== "") ?? "";
  const beside = account.mayUse(`delete_${kind.name}`)
    ? renderPost(visit, writeAddress(kind, visit, "/delete"), deleteButton)
    : "";
  const back = { ...kind.list, address: readBack(kind.list, visit) };
  const body = html`${renderHead(title, back, beside)} ${renderNote(url)} ${renderFault(sent.fault)}
    <div class="columns">
      <div class="column">${view.above ?? ""} ${forms}</div>
      <div class="column">${view.side}</div>
    </div>`;
  const isRefused = sent.again?.failure !== undefined || sent.fault !== undefined;
  const { hasFrames = false } = view;
  return { kind: "page", title, body, status: isRefused ? 422 : 200, hasFrames };
}

const deleteButton = html`<button class="grave">Delete…</button>`;

/** Shows what a person typed even if the record cannot be read. */
async function showFailed(
  kind: RecordKind,
  visit: Visit,
  sent: Sent,
  why: Failure,
): Promise<Reply> {
  const { form, again, fault } = sent;
  const { title } = kind;
  const back = { ...kind.list, address: readBack(kind.list, visit) };
  const isTyped = again !== undefined || visit.kept !== undefined;
  if (!isTyped || !visit.account.mayUse(form.tool)) {
    return showUnread(title, back, fault ?? why.message);
  }
  const shown = { form, shown: form, again: readAgain(form.fields, visit, {}, again) };
  const failed = { ...shown, again: { ...shown.again, failure: again?.failure ?? why } };
  const body = html`${renderHead(title, back)} ${await renderForm(kind, visit, failed)}`;
  return { kind: "page", title, body, status: 422 };
}

type Rendered = Sent & { readonly shown: RecordForm };

async function renderForm(
  kind: RecordKind,
  visit: Visit,
  { form, shown, again }: Rendered,
  { result }: { readonly result: JsonObject } = { result: {} },
): Promise<Html> {
  const { account, formToken } = visit;
  const { fields, heading, tool, suffix, mark } = shown;
  const isSent = form === shown;
  const values = readValues(fields, result);
  const mayWrite = account.mayUse(tool);
  if (!mayWrite && heading === undefined) return renderCard(heading, renderValues(fields, values));
  const own = isSent ? visit : { kept: undefined };
  const { typed, was, failure } = readAgain(fields, own, values, isSent ? again : undefined);
  const isTyped = isSent && (again !== undefined || visit.kept !== undefined);
  const id = readParam(visit.params, "id");
  const rendered = await renderFields(shown, { account, values: typed, failure });
  const save = html`<div class="buttons"><button class="main">Save</button></div>`;
  return renderCard(
    heading,
    html`<form
      method="post"
      action="${writeAddress(kind, visit, suffix)}"
      class="stack"
      ${mark?.(account, id, isTyped) ?? ""}
      ${renderGuard(isTyped)}
    >
      ${renderHidden("form_token", formToken)} ${renderShown(fields, was)}
      ${mayWrite ? html`${rendered} ${save}` : html`<fieldset disabled>${rendered}</fieldset>`}
    </form>`,
  );
}

function renderCard(heading: string | undefined, inside: Html): Html {
  if (heading === undefined) {
    return html`<section class="card" aria-label="Fields">
      <div class="inside">${inside}</div>
    </section>`;
  }
  const id = heading.toLowerCase();
  return html`<section class="card" aria-labelledby="${id}">
    <h2 id="${id}">${heading}</h2>
    <div class="inside">${inside}</div>
  </section>`;
}

/** The fields that have a value, for a key that may not change them. */
function renderValues(fields: readonly Field[], values: Values): Html {
  const facts = fields.flatMap(({ name, label = writeLabel(name) }) =>
    values[name] === "" ? [] : [[label, html`<span dir="auto">${values[name]}</span>`] as const],
  );
  return renderFacts(facts, "facts wide");
}

async function renderFields({ fields, render }: RecordForm, shown: ShownFields): Promise<Html> {
  if (render !== undefined) return render(shown);
  const { values, failure } = shown;
  const rendered = fields.map((field) => renderField(field, values, failure?.problems));
  return html`${renderOthers(fields, failure)}
    <div class="pair">${rendered}</div>`;
}

/** The values of the fields, and the earlier values that changes are compared with. */
function readAgain(
  fields: readonly Field[],
  { kept }: Pick<Visit, "kept">,
  values: Values,
  again: Again | undefined,
): Again {
  if (again !== undefined) return again;
  if (kept === undefined) return { typed: values, was: values };
  return { typed: readTyped(fields, kept), was: readShown(fields, kept) };
}

/** Only changed fields are saved. A change by someone else meanwhile is shown first. */
async function save(kind: RecordKind, visit: Visit, sent: Form, form: RecordForm): Promise<Reply> {
  const { account, params } = visit;
  const { fields } = form;
  if (!account.mayUse(form.tool)) return tellMissing(kind);
  const id = readParam(params, "id");
  const [was, typed] = [readShown(fields, sent), readTyped(fields, sent)];
  const found = await form.read(id, account);
  if (found === undefined) return tellMissing(kind);
  if (found.kind === "failed") {
    return showFailed(kind, visit, { form, again: { typed, was } }, found.failure);
  }
  const changed = listChanged(fields, was, typed);
  const back = writeAddress(kind, visit);
  if (changed.length === 0) return { kind: "go", to: tellDone(back, "unchanged") };
  const now = readValues(fields, found.result);
  const problems = listConflicts(changed, { was, typed, now });
  if (problems.length > 0) {
    const message = "Someone else made changes in the meantime.";
    const failure = { code: "plan_changed", message, problems };
    const seen = Object.fromEntries(changed.map((name) => [name, now[name] ?? ""]));
    // The form now shows the other change, so saving again may overwrite it.
    return show(kind, visit, { form, again: { typed, was: { ...was, ...seen }, failure } });
  }
  const changes = writeChanges(form, typed, changed);
  const ended = await act(visit, sent, { run: () => form.save(id, changes, account) });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "done") return { kind: "go", to: tellDone(back, "saved") };
  return show(kind, visit, { form, again: { typed, was, failure: ended.failure } });
}

function writeChanges(form: RecordForm, typed: Values, names: readonly string[]): JsonObject {
  return form.write?.(typed, names) ?? writeFields(form.fields, typed, names);
}

type Compared = Readonly<Record<"was" | "typed" | "now", Values>>;

function listConflicts(names: readonly string[], compared: Compared): readonly FieldProblem[] {
  const { was, typed, now } = compared;
  return names
    .filter((name) => printValue(now[name]) !== printValue(was[name]))
    .filter((name) => now[name] !== typed[name])
    .map((name) => ({ field: name, message: describeConflict(now[name] ?? "") }));
}

const mostShown = 200;

function describeConflict(value: string): string {
  const is = value === "" ? "It is now empty" : `It is now “${shorten(value, mostShown)}”`;
  return `Someone else changed this in the meantime. ${is}. Save again to overwrite it.`;
}

async function showNew(
  kind: RecordKind,
  { account, formToken, kept }: Visit,
  typed?: Values,
  failure?: Failure,
): Promise<Reply> {
  const { base, creation, list } = kind;
  const [form] = kind.forms;
  const title = `New ${kind.label}`;
  const blank = readValues(form.fields, {});
  const values = typed ?? (kept === undefined ? blank : readTyped(form.fields, kept));
  const guard = renderGuard(typed !== undefined || kept !== undefined);
  const beside = creation.beside?.(account) ?? "";
  const body = html`${renderHead(title, list)}
    <div class="columns">
      <section class="card narrow" aria-label="Fields">
        <div class="inside">
          <form
            method="post"
            action="${base}/new"
            class="stack"
            ${form.mark?.(account, "new", false) ?? ""}
            ${guard}
          >
            ${renderHidden("form_token", formToken)}
            ${await renderFields(form, { account, values, failure })}
            <div class="buttons">
              <button class="main">${creation.button}</button>
              <a class="button quiet" href="${list.address}">Cancel</a>
            </div>
          </form>
        </div>
      </section>
      ${beside}
    </div>`;
  const status = failure === undefined ? 200 : 422;
  return { kind: "page", title, body, status, hasFrames: beside !== "" };
}

async function create(kind: RecordKind, visit: Visit, sent: Form): Promise<Reply> {
  const { name, base, creation } = kind;
  const [form] = kind.forms;
  const typed = readTyped(form.fields, sent);
  const question = creation.check?.(visit, sent, typed);
  if (question !== undefined) return question;
  const filled = listChanged(form.fields, readValues(form.fields, {}), typed);
  const args = writeChanges(form, typed, filled);
  const ended = await act(visit, sent, { run: () => visit.account.call(creation.tool, args) });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "failed") return showNew(kind, visit, typed, ended.failure);
  const id = readText(readRecord(ended.result, name), "id");
  return { kind: "go", to: tellDone(`${base}/${encodeURIComponent(id)}`, creation.done) };
}
