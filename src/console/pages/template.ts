import type { JsonObject } from "../../contract/json.ts";
import type { Account, Failure, FieldProblem } from "../account.ts";
import { act } from "../act.ts";
import { renderGuard } from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import { createForm, type Form, type Page, type Reply, type Visit } from "../page.ts";
import { renderFault, renderHidden, renderNote, renderPost } from "../parts.ts";
import { readRecords, readText } from "../read.ts";
import { renderTime, writeTime } from "../render-changes.ts";
import {
  chooseLink,
  drawTemplate,
  listLinks,
  readView,
  renderTemplatePreview,
  writeView,
  type Drawn,
} from "./template-preview.ts";
import { printText, readTyped, readVersion, type TemplateText } from "./template-text.ts";

/** The page of all links: its draft in an editor, how it looks, and what was published before. */
export const templatePage: Page = {
  path: /^\/template$/,
  entry: {
    name: "Page template",
    address: "/template",
    icon: "M3 2.5h10v11H3zM3 6h10M6.5 6v7.5",
    group: "Project",
  },
  needs: "get_template_version",
  show: (visit) => show(visit, readAgain(visit.kept)),
  submit,
};

/** What a form shows again that was not done, or was not to be. */
type Again = {
  readonly typed?: TemplateText | undefined;
  /** The print of the draft that was shown. */
  readonly was?: string;
  /** Why it was not done. */
  readonly failure?: Failure;
};

function readAgain(form: Form | undefined): Again {
  return { typed: readTyped(form), ...(form?.has("was") && { was: form.read("was") }) };
}

async function submit(visit: Visit, form: Form): Promise<Reply> {
  switch (form.read("do")) {
    case "save":
      return save(visit, form);
    case "publish":
      return publish(visit, form);
    case "restore":
      return change(visit, form, "restore_template_version", { id: form.read("id") }, "restored");
    case "unpublish":
      return change(visit, form, "unpublish_template", {}, "taken_down");
    default:
      return show(visit, readAgain(form), form);
  }
}

async function show(visit: Visit, again: Again, form?: Form): Promise<Reply> {
  const { account, kept } = visit;
  const links = await listLinks(account);
  const view = chooseLink(readView(visit.url, form ?? kept), links);
  const source = again.typed === undefined ? await findSource(visit) : { was: again.was ?? "" };
  if ("failure" in source) return renderFailed(source.failure);
  const text = again.typed ?? source.text ?? { body: "", css: "" };
  const [versions, drawn] = await Promise.all([
    listVersions(account),
    drawTemplate(account, text, view),
  ]);
  const isKnown = form?.has("known") === true;
  const editor = renderEditor(visit, {
    text,
    was: source.was,
    isTyped: again.typed !== undefined,
    drawn,
    failure: again.failure,
    isKnown,
  });
  const body = html`<div class="head">
      <h1>Page template</h1>
      ${
        mayWrite(account)
          ? html`<a class="button quiet" href="/template?from=starter">Use the starter template</a>`
          : ""
      }
    </div>
    ${renderNote(visit.url)}
    ${source.told === undefined ? "" : html`<p class="note" role="status">${source.told}</p>`}
    <div class="columns editing">
      ${editor}
      <div class="beside">${await renderTemplatePreview(account, { view, links, drawn })}</div>
      ${renderVersions(visit, versions)}
    </div>`;
  const status = again.failure === undefined ? 200 : 422;
  return { kind: "page", title: "Page template", body, status, hasFrames: true };
}

type Source =
  | { readonly text?: TemplateText; readonly was: string; readonly told?: string }
  | { readonly failure: Failure };

/** What the editor begins with: the draft, or what the address asks for in its place. */
async function findSource({ account, url }: Visit): Promise<Source> {
  const own = account.mayUse("save_template") ? "draft" : "live";
  const draft = await readVersion(account, own);
  if (draft.kind === "failed") return draft;
  const kept = draft.kind === "text" ? draft.text : undefined;
  const was = kept === undefined ? "" : printText(kept);
  const from = url.searchParams.get("from") ?? "";
  if (from !== "" && from !== own) {
    const found = await readVersion(account, from);
    const told =
      from === "starter"
        ? "This is the starter template. Nothing changes until you save it."
        : "This is an older version. Nothing changes until you save it.";
    if (found.kind === "text") return { text: found.text, was, told };
  }
  if (kept !== undefined && (kept.body !== "" || kept.css !== "")) return { text: kept, was };
  const starter = await readVersion(account, "starter");
  if (starter.kind !== "text") return { was };
  const live = await readVersion(account, "live");
  if (live.kind === "failed") return live;
  const hasOther = live.kind === "text" && (live.text.body !== "" || live.text.css !== "");
  return { text: starter.text, was, told: hasOther ? emptyDraft : nothingWritten };
}

const nothingWritten = "No draft exists yet. This is the page that links show now.";
const emptyDraft = "The draft is empty. This is the starter template. Links show the live version.";

function mayWrite({ mayUse }: Account): boolean {
  return mayUse("save_template") || mayUse("publish_template");
}

type Editing = {
  readonly text: TemplateText;
  readonly was: string;
  /** Whether a person typed the text, and it was not read from a version. */
  readonly isTyped: boolean;
  readonly drawn: Drawn;
  readonly failure: Failure | undefined;
  readonly isKnown: boolean;
};

function renderEditor(
  visit: Visit,
  { text, was, isTyped, drawn, failure, isKnown }: Editing,
): Html {
  const { account, formToken } = visit;
  const refused = failure ?? drawn.failure;
  const problems = refused === undefined ? drawn.problems : (refused.problems ?? []);
  const isReadOnly = !mayWrite(account);
  const drafted = account.mayUse("preview_template") ? html` data-draft="/template"` : "";
  const guard = renderGuard(isTyped && printText(text) !== was);
  const buttons = [
    account.mayUse("save_template")
      ? html`<button name="do" value="save" class="main">Save draft</button>`
      : "",
    account.mayUse("publish_template")
      ? html`<button name="do" value="publish">Publish…</button>`
      : "",
  ];
  const found = { problems, refused, title: describeFindings(problems.length, failure, refused) };
  return html`<section class="card" aria-label="Editor">
    <form method="post" action="/template" id="editor" data-editor ${drafted} ${guard}>
      ${renderHidden("form_token", formToken)} ${renderHidden("was", was)} ${byDefault}
      <div class="inside">
        <div id="findings" aria-live="polite" data-drafted>${renderFindings(found)}</div>
        ${renderTemplateFields({
          text,
          problems,
          isRefused: refused !== undefined,
          isReadOnly,
          isKnown,
        })}
      </div>
      ${isReadOnly ? "" : html`<div class="foot buttons">${buttons}</div>`}
    </form>
  </section>`;
}

/** Where no button was pressed, browsers take the form's first one: nothing is saved then. */
const byDefault = html`<button
  name="do"
  value="preview"
  class="hidden"
  tabindex="-1"
  aria-hidden="true"
>
  Show
</button>`;

/** What is wrong at which line stands below it, in the API's own sentences. */
function describeFindings(
  count: number,
  failure: Failure | undefined,
  refused: Failure | undefined,
): string {
  if (count === 0) return refused?.message ?? "";
  const problems = count === 1 ? "one problem" : `${count} problems`;
  if (failure !== undefined) return `Not saved: the template has ${problems}.`;
  return refused === undefined
    ? `The template has ${problems}, but can be saved.`
    : `The template has ${problems}.`;
}

function renderFailed({ message }: Failure): Reply {
  const body = html`<div class="head"><h1>Page template</h1></div>
    ${renderFault(message)}`;
  return { kind: "page", title: "Page template", body };
}

async function save(visit: Visit, form: Form): Promise<Reply> {
  const refused = await saveDraft(visit, form);
  if (refused !== undefined) return refused;
  return { kind: "go", to: writeView(readView(visit.url, form), "saved") };
}

/** Undefined where it is saved; not over what somebody else has saved meanwhile. */
async function saveDraft(visit: Visit, form: Form): Promise<Reply | undefined> {
  const { account } = visit;
  const { typed, was } = readAgain(form);
  if (typed === undefined) return show(visit, {}, form);
  const draft = await readVersion(account, "draft");
  const now = draft.kind === "text" ? printText(draft.text) : "";
  if (now !== was && now !== printText(typed)) {
    const message =
      "Someone else changed the draft in the meantime. Open it in another tab to compare, " +
      "or save again to overwrite it.";
    return show(visit, { typed, was: now, failure: { code: "plan_changed", message } }, form);
  }
  const ended = await act(visit, form, { run: () => account.call("save_template", typed) });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "done") return undefined;
  return show(visit, { typed, was: now, failure: ended.failure }, form);
}

/** What is typed is the draft first: whoever says no has lost nothing. */
async function publish(visit: Visit, form: Form): Promise<Reply> {
  const isAsked = form.has("question");
  let sent = form;
  if (!isAsked && visit.account.mayUse("save_template")) {
    const refused = await saveDraft(visit, form);
    if (refused !== undefined) return refused;
    sent = noteSaved(form);
  }
  return change(visit, sent, "publish_template", { ...readTyped(form) }, "published");
}

/** The draft is what was typed by now: whoever goes on with the form began with that. */
function noteSaved(form: Form): Form {
  const typed = readTyped(form);
  const params = new URLSearchParams();
  for (const [name, value] of form.entries) params.append(name, value);
  if (typed !== undefined) params.set("was", printText(typed));
  return createForm(params);
}

async function change(
  visit: Visit,
  form: Form,
  tool: string,
  args: JsonObject,
  done: string,
): Promise<Reply> {
  const view = readView(visit.url, form);
  const ended = await act(visit, form, { run: () => visit.account.call(tool, args) });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "done") return { kind: "go", to: writeView(view, done) };
  return show(visit, { ...readAgain(form), failure: ended.failure }, form);
}

/** The published versions, newest first. */
async function listVersions({ mayUse, call }: Account): Promise<readonly JsonObject[]> {
  if (!mayUse("list_template_versions")) return [];
  const answer = await call("list_template_versions", {});
  // A project that never had a template has no versions of it.
  return answer.kind === "done" ? readRecords(answer.result, "versions") : [];
}

function renderVersions(visit: Visit, versions: readonly JsonObject[]): Html {
  const { account } = visit;
  const live = versions.find(isLive);
  const rows = versions.map((version) => renderVersion(visit, version));
  return html`<section class="card" aria-labelledby="versions">
    <header>
      <h2 id="versions">Versions</h2>
      ${
        live !== undefined && account.mayUse("unpublish_template")
          ? renderAct(visit, "unpublish", html`<button class="small grave">Unpublish…</button>`)
          : ""
      }
    </header>
    <div class="inside">
      ${live === undefined ? html`<p class="soft">Links show the default page.</p>` : ""}
      ${
        rows.length === 0
          ? ""
          : html`<ul class="list">
              ${rows}
            </ul>`
      }
    </div>
  </section>`;
}

function isLive({ live }: JsonObject): boolean {
  return live === true;
}

function renderVersion(visit: Visit, version: JsonObject): Html {
  const { account } = visit;
  const [id, at] = [readText(version, "id"), readText(version, "published_at")];
  const time = renderTime(at, account);
  const label = `Restore the version from ${writeTime(at, account)}`;
  const button = html`${renderHidden("id", id)}<button class="small" aria-label="${label}">
      Restore…
    </button>`;
  return html`<li>
    <div class="split">
      <p>
        <a href="/template?from=${encodeURIComponent(id)}">${time === "" ? id : time}</a>
        ${isLive(version) ? html`<span class="tag good">live</span>` : ""}
      </p>
      ${account.mayUse("restore_template_version") ? renderAct(visit, "restore", button) : ""}
    </div>
  </li>`;
}

function renderAct(visit: Visit, name: string, rest: Html): Html {
  return renderPost(visit, "/template", rest, { do: name });
}

type Field = keyof TemplateText;

const fields: Readonly<Record<Field, { readonly label: string; readonly hint: string }>> = {
  body: {
    label: "Body",
    hint: "HTML and Liquid. {% store_buttons %} adds the buttons.",
  },
  css: { label: "CSS", hint: "Use prefers-color-scheme to support dark mode." },
};

type Shown = {
  readonly text: TemplateText;
  readonly problems: readonly FieldProblem[];
  /** Whether the problems prevent saving. */
  readonly isRefused: boolean;
  readonly isReadOnly: boolean;
  /** Set when the script of the page asks, which has the text: it is not sent back. */
  readonly isKnown: boolean;
};

/** The two texts of a template, with line numbers that mark the lines with problems. */
function renderTemplateFields(shown: Shown): Html {
  return html`${renderField("body", shown)} ${renderField("css", shown)}`;
}

function renderField(name: Field, shown: Shown): Html {
  const { text, problems, isRefused, isReadOnly, isKnown } = shown;
  const { label, hint } = fields[name];
  const own = problems.filter(({ field }) => field === name);
  const isFaulty = own.length > 0 && isRefused;
  const described = isFaulty ? `${name}-hint findings` : `${name}-hint`;
  const count = countLines(text[name]);
  const about = html`id="${name}" name="${name}" rows="${count}"
  aria-describedby="${described}"${isFaulty ? html` aria-invalid="true"` : ""}${
    isReadOnly ? html` readonly` : ""
  }
  wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off"`;
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <div class="code">
      ${renderNumbers(name, count, own)}
      <textarea ${about}>${"\n"}${isKnown ? "" : text[name]}</textarea>
    </div>
    <p class="hint" id="${name}-hint">${hint}</p>
  </div>`;
}

const fewestLines = 8;
/** Numbers for lines that are typed before the next redraw. Unused numbers are cut off. */
const spareLines = 150;

function countLines(text: string): number {
  return Math.max(text.split("\n").length, fewestLines);
}

/** The line numbers beside a text. Findings link to the numbers of the lines with problems. */
function renderNumbers(name: Field, count: number, problems: readonly FieldProblem[]): Html {
  const faulty = new Set(problems.map(({ line }) => line));
  const numbers = Array.from({ length: count + spareLines }, (_, index) => {
    const line = index + 1;
    const shown = faulty.has(line) ? html`<b id="${nameLine(name, line)}">${line}</b>` : line;
    return [shown, "\n"];
  });
  return html`<pre class="gutter" id="${name}-lines" data-drafted aria-hidden="true">
${numbers}</pre>`;
}

function nameLine(name: string, line: number): string {
  return `${name}-${line}`;
}

type Findings = {
  readonly title: string;
  readonly problems: readonly FieldProblem[];
  /** Why it cannot be saved, if it cannot. */
  readonly refused: unknown;
};

/** Each problem links to its line. */
function renderFindings({ title, problems, refused }: Findings): Html | string {
  if (title === "") return "";
  const rows = problems.map(renderFinding);
  return html`<div class="${refused === undefined ? "warning" : "fault"}">
    <p><strong>${title}</strong></p>
    ${
      rows.length === 0
        ? ""
        : html`<ul class="findings">
            ${rows}
          </ul>`
    }
  </div>`;
}

function renderFinding({ field = "", line, message }: FieldProblem): Html {
  const isPlaced = line !== undefined && Object.hasOwn(fields, field);
  if (!isPlaced) return html`<li>${message}</li>`;
  // `isPlaced` has checked that it is one of the fields.
  const { label } = fields[field as Field];
  const place = html` data-field="${field}" data-line="${line}"`;
  return html`<li>
    <a href="#${nameLine(field, line)}" ${place}>${label}, line ${line}</a>
    ${message}
  </li>`;
}
