import type { JsonObject } from "../../contract/json.ts";
import type { Account, CallError } from "../account.ts";
import { act } from "../act.ts";
import { renderGuard } from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import { createForm, type Form, type Page, type Reply, type PageRequest } from "../page.ts";
import {
  countThings,
  renderBox,
  renderCard,
  renderForm,
  renderHidden,
  renderList,
  renderPost,
} from "../parts.ts";
import type { ShownProblem, ListedVersion } from "../records.ts";
import { renderTime, writeTime } from "../render-changes.ts";
import {
  chooseLink,
  drawTemplate,
  listLinks,
  printText,
  readTyped,
  readVersion,
  readView,
  renderTemplatePreview,
  writeView,
  type RenderedPreview,
  type EditedTemplate,
} from "./template-preview.ts";

/** The editor of the page template, with a preview and the published versions. */
export const templatePage: Page = {
  path: /^\/template$/,
  entry: {
    name: "Page template",
    address: "/template",
    icon: "M3 2.5h10v11H3zM3 6h10M6.5 6v7.5",
    group: "Project",
  },
  needs: "get_template_version",
  show: (request) => show(request),
  submit,
};

async function submit(request: PageRequest, form: Form): Promise<Reply> {
  switch (form.read("do")) {
    case "save":
      return save(request, form);
    case "publish":
      return publish(request, form);
    case "restore":
      return change(request, form, "restore_template_version", { id: form.read("id") }, "restored");
    case "unpublish":
      return change(request, form, "unpublish_template", {}, "taken_down");
    default:
      return show(request, form);
  }
}

const title = "Page template";

type RejectedSave = {
  readonly failure: CallError;
  /** The hash of the current draft, which the next save may overwrite. */
  readonly was?: string;
};

async function show(
  request: PageRequest,
  form = request.kept,
  rejected?: RejectedSave,
): Promise<Reply> {
  const { account } = request;
  const links = await listLinks(account);
  const view = chooseLink(readView(request.url, form), links);
  const typed = readTyped(form);
  const was = rejected?.was ?? form?.read("was") ?? "";
  const source = typed === undefined ? await findSource(request) : { was };
  if ("failure" in source) {
    return { kind: "page", title, fault: source.failure.message, body: "", status: 200 };
  }
  const text = typed ?? source.text ?? { body: "", css: "" };
  const [versions, drawn] = await Promise.all([
    account.tryCall("list_template_versions", {}),
    drawTemplate(account, text, view),
  ]);
  const editor = renderEditor(request, {
    text,
    was: source.was,
    isTyped: typed !== undefined,
    drawn,
    failure: rejected?.failure,
    isKnown: form?.has("known") === true,
  });
  return {
    kind: "page",
    title,
    actions:
      mayWrite(account) &&
      html`<a class="button quiet" href="/template?from=starter">Use the starter template</a>`,
    body: html`${source.note && html`<p class="note" role="status">${source.note}</p>`}
      <div class="columns editing">
        ${editor}
        <div class="beside">${await renderTemplatePreview(account, { view, links, drawn })}</div>
        ${renderVersions(request, versions?.versions ?? [])}
      </div>`,
    hasFrames: true,
    ...(rejected && { status: 422 }),
  };
}

type EditorSource =
  | { readonly text?: EditedTemplate; readonly was: string; readonly note?: string }
  | { readonly failure: CallError };

/** Reads the editor's initial text: the draft, or the version in the URL. */
async function findSource({ account, url }: PageRequest): Promise<EditorSource> {
  const own = account.mayUse("save_template") ? "draft" : "live";
  const draft = await readVersion(account, own);
  if (draft.kind === "failed") return draft;
  const kept = draft.kind === "text" ? draft.text : undefined;
  const was = kept === undefined ? "" : printText(kept);
  const from = url.searchParams.get("from") ?? "";
  if (from !== "" && from !== own) {
    const found = await readVersion(account, from);
    const note =
      from === "starter"
        ? "This is the starter template. Nothing changes until you save it."
        : "This is an older version. Nothing changes until you save it.";
    if (found.kind === "text") return { text: found.text, was, note };
  }
  if (kept !== undefined && (kept.body !== "" || kept.css !== "")) return { text: kept, was };
  const starter = await readVersion(account, "starter");
  if (starter.kind !== "text") return { was };
  const live = await readVersion(account, "live");
  if (live.kind === "failed") return live;
  const hasOther = live.kind === "text" && (live.text.body !== "" || live.text.css !== "");
  return { text: starter.text, was, note: hasOther ? emptyDraft : nothingWritten };
}

const nothingWritten = "No draft exists yet. This is the page that links show now.";
const emptyDraft = "The draft is empty. This is the starter template. Links show the live version.";

function mayWrite({ mayUse }: Account): boolean {
  return mayUse("save_template") || mayUse("publish_template");
}

type EditorPage = {
  readonly text: EditedTemplate;
  readonly was: string;
  /** True if the user typed the text, false if it is the text of a version. */
  readonly isTyped: boolean;
  readonly drawn: RenderedPreview;
  readonly failure: CallError | undefined;
  readonly isKnown: boolean;
};

function renderEditor(
  request: PageRequest,
  { text, was, isTyped, drawn, failure, isKnown }: EditorPage,
): Html {
  const { mayUse } = request.account;
  const refused = failure ?? drawn.failure;
  const problems = refused === undefined ? drawn.problems : (refused.problems ?? []);
  const isReadOnly = !mayWrite(request.account);
  const isRefused = refused !== undefined;
  const drafted = mayUse("preview_template") && html` data-draft="/template"`;
  const guard = renderGuard(isTyped && printText(text) !== was);
  const save = html`<button name="do" value="save" class="main">Save draft</button>`;
  const publish = html`<button name="do" value="publish">Publish…</button>`;
  const heading = describeFindings(problems.length, failure, refused);
  const body = html`${renderHidden("was", was)} ${byDefault}
    <div class="inside">
      <div id="findings" aria-live="polite" data-drafted>
        ${heading !== "" && renderFindings(heading, problems, isRefused)}
      </div>
      ${fieldNames.map((name) =>
        renderField(name, { text, problems, isRefused, isReadOnly, isKnown }),
      )}
    </div>
    ${
      !isReadOnly &&
      html`<div class="foot buttons">
        ${mayUse("save_template") && save} ${mayUse("publish_template") && publish}
      </div>`
    }`;
  const attributes = html`id="editor" data-editor ${drafted} ${guard}`;
  return renderBox("Editor", { below: renderForm(request, "/template", body, attributes) });
}

/** The Enter key triggers the form's first button, so that button must not save anything. */
const byDefault = html`<button
  name="do"
  value="preview"
  class="hidden"
  tabindex="-1"
  aria-hidden="true"
>
  Show
</button>`;

function describeFindings(
  count: number,
  failure: CallError | undefined,
  refused: CallError | undefined,
): string {
  if (count === 0) return refused?.message ?? "";
  const problems = count === 1 ? "one problem" : countThings(count, "problem");
  if (failure !== undefined) return `Not saved: the template has ${problems}.`;
  return refused === undefined
    ? `The template has ${problems}, but can be saved.`
    : `The template has ${problems}.`;
}

async function save(request: PageRequest, form: Form): Promise<Reply> {
  const refused = await saveDraft(request, form);
  return refused ?? { kind: "go", to: writeView(readView(request.url, form), "saved") };
}

/** Returns undefined if the draft was saved. Warns before overwriting a concurrent change. */
async function saveDraft(request: PageRequest, form: Form): Promise<Reply | undefined> {
  const { account } = request;
  const typed = readTyped(form);
  if (typed === undefined) return show(request, form);
  const was = form.has("was") ? form.read("was") : undefined;
  const draft = await readVersion(account, "draft");
  const now = draft.kind === "text" ? printText(draft.text) : "";
  if (now !== was && now !== printText(typed)) {
    const message =
      "Someone else changed the draft in the meantime. Open it in another tab to compare, " +
      "or save again to overwrite it.";
    return show(request, form, { was: now, failure: { code: "plan_changed", message } });
  }
  return act(request, form, {
    run: () => account.act("save_template", typed),
    done: () => undefined,
    failed: (failure) => show(request, form, { was: now, failure }),
  });
}

/** Saves the text as a draft first, so that a user who cancels loses nothing. */
async function publish(request: PageRequest, form: Form): Promise<Reply> {
  const isAsked = form.has("question");
  let sent = form;
  if (!isAsked && request.account.mayUse("save_template")) {
    const refused = await saveDraft(request, form);
    if (refused !== undefined) return refused;
    sent = markSaved(form);
  }
  return change(request, sent, "publish_template", { ...readTyped(form) }, "published");
}

/** The typed text has been saved as the draft, so the next save compares with this text. */
function markSaved(form: Form): Form {
  const typed = readTyped(form);
  const params = new URLSearchParams();
  for (const [name, value] of form.entries) params.append(name, value);
  if (typed !== undefined) params.set("was", printText(typed));
  return createForm(params);
}

function change(
  request: PageRequest,
  form: Form,
  tool: string,
  args: JsonObject,
  done: string,
): Promise<Reply> {
  return act(request, form, {
    run: () => request.account.act(tool, args),
    done: () => ({ kind: "go", to: writeView(readView(request.url, form), done) }),
    failed: (failure) => show(request, form, { failure }),
  });
}

function renderVersions(request: PageRequest, versions: readonly ListedVersion[]): Html {
  const isAnyLive = versions.some(({ live }) => live);
  const button = html`<button class="small grave">Unpublish…</button>`;
  const rows = versions.map((version) => renderVersion(request, version));
  return renderCard("Versions", {
    actions:
      isAnyLive &&
      request.account.mayUse("unpublish_template") &&
      renderPost(request, "/template", button, { do: "unpublish" }),
    inside: [
      !isAnyLive && html`<p class="soft">Links show the default page.</p>`,
      rows.length > 0 && renderList(rows),
    ],
  });
}

function renderVersion(request: PageRequest, { id, published_at = "", live }: ListedVersion): Html {
  const { account } = request;
  const time = renderTime(published_at, account);
  const label = `Restore the version from ${writeTime(published_at, account)}`;
  const button = html`<button class="small" aria-label="${label}">Restore…</button>`;
  return html`<li>
    <div class="split">
      <p>
        <a href="/template?from=${encodeURIComponent(id)}">${time || id}</a>
        ${live && html`<span class="tag good">live</span>`}
      </p>
      ${
        account.mayUse("restore_template_version") &&
        renderPost(request, "/template", button, { do: "restore", id })
      }
    </div>
  </li>`;
}

type EditorField = keyof EditedTemplate;

const fields: Readonly<Record<EditorField, { readonly label: string; readonly hint: string }>> = {
  body: {
    label: "Body",
    hint: "HTML and Liquid. {% store_buttons %} adds the buttons.",
  },
  css: { label: "CSS", hint: "Use prefers-color-scheme to support dark mode." },
};
const fieldNames = ["body", "css"] as const;

type EditorState = {
  readonly text: EditedTemplate;
  readonly problems: readonly ShownProblem[];
  readonly isRefused: boolean;
  readonly isReadOnly: boolean;
  /** Whether the browser already shows the text, so that the response can omit it. */
  readonly isKnown: boolean;
};

/** A text field with line numbers. The numbers of lines with errors are marked. */
function renderField(name: EditorField, shown: EditorState): Html {
  const { text, problems, isRefused, isReadOnly, isKnown } = shown;
  const { label, hint } = fields[name];
  const own = problems.filter(({ field }) => field === name);
  const isFaulty = own.length > 0 && isRefused;
  const described = isFaulty ? `${name}-hint findings` : `${name}-hint`;
  const count = countLines(text[name]);
  const about = html`id="${name}" name="${name}" rows="${count}"
  aria-describedby="${described}"${isFaulty && html` aria-invalid="true"`}${
    isReadOnly && html` readonly`
  }
  wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off"`;
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <div class="code">
      ${renderNumbers(name, count, own)}
      <textarea ${about}>${"\n"}${!isKnown && text[name]}</textarea>
    </div>
    <p class="hint" id="${name}-hint">${hint}</p>
  </div>`;
}

const fewestLines = 8;
/** Extra numbers for lines that the user adds before the next redraw. Unused numbers are hidden. */
const spareLines = 150;

function countLines(text: string): number {
  return Math.max(text.split("\n").length, fewestLines);
}

/** Renders line numbers. The listed errors link to them. */
function renderNumbers(name: EditorField, count: number, problems: readonly ShownProblem[]): Html {
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

function renderFindings(heading: string, problems: readonly ShownProblem[], isRefused: boolean) {
  return html`<div class="${isRefused ? "fault" : "warning"}">
    <p><strong>${heading}</strong></p>
    ${problems.length > 0 && renderList(problems.map(renderFinding), "findings")}
  </div>`;
}

function renderFinding({ field = "", line, message }: ShownProblem): Html {
  const isPlaced = line !== undefined && Object.hasOwn(fields, field);
  if (!isPlaced) return html`<li>${message}</li>`;
  // `isPlaced` implies that `field` names one of the fields, so the cast is safe.
  const { label } = fields[field as EditorField];
  const place = html` data-field="${field}" data-line="${line}"`;
  return html`<li>
    <a href="#${nameLine(field, line)}" ${place}>${label}, line ${line}</a>
    ${message}
  </li>`;
}
