import { randomUUID } from "node:crypto";
import type { JsonObject } from "../contract/json.ts";
import { writeLabel } from "../text/write-label.ts";
import type { Account, ChangeResult, CallError, CallResult } from "./account.ts";
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
import { html, type Html, type Part } from "./html.ts";
import type { ParentPage, Form, Page, PageReply, Reply, PageRequest } from "./page.ts";
import {
  addNote,
  renderBox,
  renderCard,
  renderCopy,
  renderFacts,
  renderForm,
  renderHidden,
  renderPost,
  shorten,
  showMissing,
} from "./parts.ts";
import { readParam, writeFrom } from "./read-address.ts";
import type { ChangedRecord, ShownProblem, RecordKind, Records } from "./records.ts";

/** The pages that create, edit and delete one kind of record. */
export type RecordPages<Kind extends RecordKind> = {
  /** The kind's name in tools and results, such as `ios_app` in `get_ios_app`. */
  readonly name: Kind;
  readonly label: string;
  /** The title if the record cannot be read. */
  readonly title: string;
  /** The path prefix of the pages, such as `/apps/ios`. */
  readonly base: string;
  readonly list: ParentPage;
  readonly creation: Pick<Creation<never>, "button" | "preview" | "check"> & {
    readonly tool: string;
    readonly note: string;
  };
  readonly form: Omit<RecordForm, "suffix" | "tool" | "read" | "save">;
  /** A second form, for settings that the API does not offer. */
  readonly settings?: RecordForm;
  /** Candidates for the page's title; the first non-empty one is used. */
  readonly names: (record: Records[Kind]) => readonly (string | null | undefined)[];
  readonly loadView: (
    request: PageRequest,
    record: Records[Kind],
  ) => Promise<RecordView | Unreadable>;
  readonly deleted: string;
};

type RecordForm = Pick<Inputs, "fields" | "render" | "mark"> & {
  /** Omitted if the page has only one form. */
  readonly heading?: string;
  readonly suffix?: string;
  /** The tool that saves the form. Without permission to use it, the fields are read-only. */
  readonly tool: string;
  readonly read: (id: string, account: Account) => Promise<CallResult | undefined>;
  readonly save: (
    id: string,
    changes: JsonObject,
    account: Account,
  ) => Promise<ChangeResult<unknown>>;
  /** Converts changed fields to the tool's arguments, if their names differ. */
  readonly write?: (typed: Values, names: readonly string[]) => JsonObject;
};

type Inputs = {
  readonly fields: readonly Field[];
  readonly render?: (shown: ShownFields) => Promise<Html>;
  readonly mark?: (account: Account, id: string, isTyped: boolean) => Html | undefined;
};

export type ShownFields = {
  readonly account: Account;
  readonly values: Values;
  readonly failure: CallError | undefined;
};

type RecordView = { readonly above?: Part; readonly side: Part; readonly hasFrames?: boolean };

/** Why a record cannot be shown. `failure` is undefined if the record no longer exists. */
type Unreadable = { readonly failure: CallError | undefined };

type PagesWithForms<Kind extends RecordKind> = RecordPages<Kind> & {
  readonly forms: readonly RecordForm[];
};

export function createRecordPages<Kind extends RecordKind>(
  pages: RecordPages<Kind>,
): readonly Page[] {
  const { name, base, creation, settings, list } = pages;
  const main: RecordForm = {
    ...pages.form,
    tool: `update_${name}`,
    read: (id, account) => account.readRecord(name, id),
    save: (id, changes, account) => account.act(`update_${name}`, { id, ...changes }),
  };
  const kind: PagesWithForms<Kind> = { ...pages, forms: settings ? [main, settings] : [main] };
  const path = `${base}/(?<id>[^/]+)`;
  return [
    createNewPage<ChangedRecord>({
      ...main,
      ...creation,
      label: kind.label,
      address: `${base}/new`,
      needs: creation.tool,
      list,
      run: ({ account }, typed, changed) =>
        account.act(creation.tool, writeChanges(main, typed, changed)),
      done: (result) => {
        const id = result[name]?.id;
        // The ID is missing if the response of a remote server could not be read.
        const address = id === undefined ? base : `${base}/${encodeURIComponent(id)}`;
        return { kind: "go", to: addNote(address, creation.note) };
      },
    }),
    ...kind.forms.map((form): Page => ({
      path: new RegExp(`^${path}${form.suffix ?? ""}$`),
      needs: form.suffix === undefined ? `get_${name}` : form.tool,
      show: (request) => show(kind, request, { form }),
      submit: (request, sent) => save(kind, request, sent, form),
    })),
    createActPage({
      path: new RegExp(`^${path}/delete$`),
      needs: `delete_${name}`,
      back: (request) => writeAddress(kind, request),
      run: ({ account, params }) => account.act(`delete_${name}`, { id: readParam(params, "id") }),
      done: (_, request) => ({
        kind: "go",
        to: addNote(readBack(list, request).address, kind.deleted),
      }),
      failed: ({ message }, request) => show(kind, request, { form: main, fault: message }),
    }),
  ];
}

function writeAddress(
  { base }: RecordNaming,
  { params, url }: Pick<PageRequest, "params" | "url">,
  suffix = "",
): string {
  return `${base}/${encodeURIComponent(readParam(params, "id"))}${suffix}${writeFrom(url)}`;
}

type RecordNaming = Pick<RecordPages<RecordKind>, "base" | "label" | "list" | "title">;

function readBack({ name, address }: ParentPage, { url }: PageRequest): ParentPage {
  const from = url.searchParams.get("from") ?? "";
  const query = from === "" ? "" : `?${String(new URLSearchParams(from))}`;
  return { name, address: `${address}${query}` };
}

export function showGone({ label, list }: Pick<RecordNaming, "label" | "list">): PageReply {
  const why = "It was deleted, the address is wrong, or your key may not see it.";
  return showMissing(label, why, list);
}

type FormState = {
  readonly form: RecordForm;
  readonly failure?: CallError;
  /** Other users' changes. The page shows them, and the next save overwrites them. */
  readonly seen?: Values;
  readonly fault?: string;
};

async function show<Kind extends RecordKind>(
  kind: PagesWithForms<Kind>,
  request: PageRequest,
  state: FormState,
): Promise<Reply> {
  const { account, params } = request;
  const id = readParam(params, "id");
  const [main, ...others] = await Promise.all([
    account.readRecord(kind.name, id),
    ...kind.forms.slice(1).map(({ read }) => read(id, account)),
  ]);
  const read = [main, ...others];
  const failed = read.find((each) => each?.kind === "failed");
  if (failed?.kind === "failed") return showFailed(kind, request, state, failed.failure);
  if (main?.kind !== "done") return showGone(kind);
  const [view, ...forms] = await Promise.all([
    kind.loadView(request, main.result),
    ...kind.forms.map((form, at) => {
      const own = read[at];
      return own?.kind === "done" && renderRecordForm(kind, request, state, form, own.result);
    }),
  ]);
  if ("failure" in view) {
    const { failure } = view;
    return failure === undefined ? showGone(kind) : showFailed(kind, request, state, failure);
  }
  return {
    kind: "page",
    title: kind.names(main.result).find((name) => name) ?? "",
    above: readBack(kind.list, request),
    actions:
      account.mayUse(`delete_${kind.name}`) &&
      renderPost(request, writeAddress(kind, request, "/delete"), deleteButton),
    fault: state.fault,
    body: html`<div class="columns">
      <div class="column">${view.above} ${forms}</div>
      <div class="column">${view.side}</div>
    </div>`,
    hasFrames: view.hasFrames ?? false,
    ...(state.failure && { status: 422 }),
  };
}

const deleteButton = html`<button class="grave">Delete…</button>`;

/** Shows the input even if the record cannot be read. */
async function showFailed(
  kind: RecordNaming,
  request: PageRequest,
  { form, failure, fault }: FormState,
  why: CallError,
): Promise<Reply> {
  const page = { kind: "page", title: kind.title, above: readBack(kind.list, request) } as const;
  if (request.kept === undefined || !request.account.mayUse(form.tool)) {
    return { ...page, fault: fault ?? why.message, body: "", status: 503 };
  }
  const failed = { form, failure: failure ?? why };
  return { ...page, body: await renderRecordForm(kind, request, failed, form, {}), status: 422 };
}

async function renderRecordForm(
  kind: RecordNaming,
  { account, params, url, formToken, ...request }: PageRequest,
  state: FormState,
  form: RecordForm,
  record: JsonObject,
): Promise<Html> {
  const { fields, heading, tool, suffix, mark } = form;
  const values = readValues(fields, record);
  const mayWrite = account.mayUse(tool);
  const renderBody = (inside: Part) =>
    heading === undefined ? renderBox("Fields", { inside }) : renderCard(heading, { inside });
  if (!mayWrite && heading === undefined) return renderBody(renderValues(fields, values));
  const isAddressed = form === state.form;
  const kept = isAddressed ? request.kept : undefined;
  const failure = isAddressed ? state.failure : undefined;
  const typed = kept === undefined ? values : readTyped(fields, kept);
  const was = kept === undefined ? values : { ...readShown(fields, kept), ...state.seen };
  const isTyped = kept !== undefined;
  const rendered = await renderInputs(form, { account, values: typed, failure });
  const body = mayWrite
    ? html`${rendered}
        <div class="buttons"><button class="main">Save</button></div>`
    : html`<fieldset disabled>${rendered}</fieldset>`;
  const marks = mark?.(account, readParam(params, "id"), isTyped);
  const attributes = html`class="stack" ${marks} ${renderGuard(isTyped)}`;
  const action = writeAddress(kind, { params, url }, suffix);
  return renderBody(
    renderForm({ formToken }, action, [renderShown(fields, was), body], attributes),
  );
}

/** Shows the fields that have a value to users whose key may not change them. */
function renderValues(fields: readonly Field[], values: Values): Html {
  const facts = fields.flatMap(({ name, label = writeLabel(name) }) =>
    values[name] === "" ? [] : [[label, html`<span dir="auto">${values[name]}</span>`] as const],
  );
  return renderFacts(facts, "facts wide");
}

async function renderInputs({ fields, render }: Inputs, shown: ShownFields): Promise<Html> {
  if (render !== undefined) return render(shown);
  const { values, failure } = shown;
  const rendered = fields.map((field) => renderField(field, values, failure?.problems));
  return html`${renderOthers(fields, failure)}
    <div class="pair">${rendered}</div>`;
}

/** Saves only changed fields. Shows concurrent changes before overwriting them. */
async function save<Kind extends RecordKind>(
  kind: PagesWithForms<Kind>,
  request: PageRequest,
  sent: Form,
  form: RecordForm,
): Promise<Reply> {
  const { account, params } = request;
  const { fields } = form;
  const again = { ...request, kept: sent };
  if (!account.mayUse(form.tool)) return showGone(kind);
  const id = readParam(params, "id");
  const [was, typed] = [readShown(fields, sent), readTyped(fields, sent)];
  const found = await form.read(id, account);
  if (found === undefined) return showGone(kind);
  if (found.kind === "failed") return showFailed(kind, again, { form }, found.failure);
  const changed = listChanged(fields, was, typed);
  const back = writeAddress(kind, request);
  if (changed.length === 0) return { kind: "go", to: addNote(back, "unchanged") };
  const now = readValues(fields, found.result);
  const problems = listConflicts(changed, { was, typed, now });
  if (problems.length > 0) {
    const message = "Someone else made changes in the meantime.";
    const failure = { code: "plan_changed", message, problems };
    const seen = Object.fromEntries(changed.map((name) => [name, now[name] ?? ""]));
    return show(kind, again, { form, seen, failure });
  }
  return act(request, sent, {
    run: () => form.save(id, writeChanges(form, typed, changed), account),
    done: () => ({ kind: "go", to: addNote(back, "saved") }),
    failed: (failure) => show(kind, again, { form, failure }),
  });
}

function writeChanges(form: RecordForm, typed: Values, names: readonly string[]): JsonObject {
  return form.write?.(typed, names) ?? writeFields(form.fields, typed, names);
}

type ComparedValues = Readonly<Record<"was" | "typed" | "now", Values>>;

function listConflicts(
  names: readonly string[],
  compared: ComparedValues,
): readonly ShownProblem[] {
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

type Creation<Result> = Inputs & {
  readonly label: string;
  readonly address: string;
  readonly needs: string;
  readonly list: ParentPage;
  readonly button: string;
  readonly usual?: Values;
  readonly preview?: (account: Account) => Html | undefined;
  /** Asks for confirmation if the input is probably a mistake. */
  readonly check?: (request: PageRequest, sent: Form, typed: Values) => Reply | undefined;
  /** Whether the form has a unique ID, so that submitting it twice creates only one record. */
  readonly makesOnlyOne?: boolean;
  /** `once` is the form's unique ID, or empty. */
  readonly run: (
    request: PageRequest,
    typed: Values,
    changed: readonly string[],
    once: string,
  ) => Promise<ChangeResult<Result>>;
  readonly done: (result: Result) => Reply;
};

export function createNewPage<Result>(creation: Creation<Result>): Page {
  const { address, needs, fields, check, run, done } = creation;
  const blank = readValues(fields, {});
  return {
    path: new RegExp(`^${address}$`),
    needs,
    show: (request) => showNew(creation, request),
    submit: async (request, sent) => {
      const typed = readTyped(fields, sent);
      const question = check?.(request, sent, typed);
      if (question !== undefined) return question;
      const changed = listChanged(fields, blank, typed);
      return act(request, sent, {
        run: () => run(request, typed, changed, sent.read("once")),
        done,
        failed: (failure) =>
          failure.code === madeBefore
            ? showMadeBefore(creation.label, creation.list, failure)
            : showNew(creation, { ...request, kept: sent }, failure),
      });
    },
  };
}

/** The error code when a form with a unique ID is submitted twice. */
const madeBefore = "409";

export function showMadeBefore(label: string, list: ParentPage, { message }: CallError): Reply {
  return {
    kind: "page",
    title: `${writeLabel(label)} already created`,
    above: list,
    body: html`<p>${message}</p>
      <p><a class="button" href="${list.address}">View all ${list.name.toLowerCase()}</a></p>`,
    status: 409,
  };
}

async function showNew(
  creation: Omit<Creation<never>, "needs" | "check" | "run" | "done">,
  request: PageRequest,
  failure?: CallError,
): Promise<Reply> {
  const { label, list, address, fields, usual = readValues(fields, {}) } = creation;
  const { account, kept } = request;
  const values = kept === undefined ? usual : readTyped(fields, kept);
  const marks = creation.mark?.(account, "new", false);
  const attributes = html`class="stack" ${marks} ${renderGuard(kept !== undefined)}`;
  const once = creation.makesOnlyOne && renderHidden("once", kept?.read("once") || randomUUID());
  const body = html`${once} ${await renderInputs(creation, { account, values, failure })}
    <div class="buttons">
      <button class="main">${creation.button}</button>
      <a class="button quiet" href="${list.address}">Cancel</a>
    </div>`;
  const inside = renderForm(request, address, body, attributes);
  const preview = creation.preview?.(account);
  return {
    kind: "page",
    title: `New ${label}`,
    above: list,
    body: html`<div class="columns">
      ${renderBox("Fields", { inside, look: "narrow" })} ${preview}
    </div>`,
    hasFrames: preview !== undefined,
    ...(failure && { status: 422 }),
  };
}

/** Shows a secret once. It appears in no URL and is not stored. */
export function showSecret(
  name: "key" | "client key" | "secret",
  secret: string,
  list: ParentPage,
  facts: readonly (readonly [name: string, text: Part])[],
): Reply {
  const isSecret = name === "secret";
  const lead = isSecret
    ? "Copy the secret now. Waypost signs messages with it and does not show it again."
    : "Copy it now. Waypost does not show it again.";
  const id = isSecret ? "secret" : "token";
  const inside = html`<p class="note good" role="status">${lead}</p>
    <div data-once>${renderCopy(secret, id, `Copy the ${isSecret ? "secret" : "key"}`)}</div>
    ${renderFacts(facts)}
    <div class="buttons">
      <a class="button main" href="${list.address}">I have copied it</a>
    </div>`;
  return {
    kind: "page",
    title: isSecret ? "Your new webhook" : `Your new ${name}`,
    above: list,
    body: renderBox("Secret", { inside, look: "narrow" }),
  };
}
