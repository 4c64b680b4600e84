import type { FieldProblem } from "../account.ts";
import { html, type Html } from "../html.ts";
import type { TemplateText } from "./template-text.ts";

/** The two texts of a template with the numbers of their lines, and what is wrong at which. */

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
  /** Whether what is wrong keeps it from being saved. */
  readonly isRefused: boolean;
  readonly isReadOnly: boolean;
  /** Where a script asks what is wrong, which has the text: it is not sent back. */
  readonly isKnown: boolean;
};

export function renderTemplateFields(shown: Shown): Html {
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
/** For what is typed before the numbers are written anew; the rest of them is cut off. */
const spareLines = 150;

function countLines(text: string): number {
  return Math.max(text.split("\n").length, fewestLines);
}

/** Beside the text, which has as many lines; those where something is wrong can be led to. */
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
  /** Whatever keeps it from being saved. */
  readonly refused: unknown;
};

/** Each of them leads to its line. */
export function renderFindings({ title, problems, refused }: Findings): Html | string {
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
  // The place is in a text that is there.
  const { label } = fields[field as Field];
  const place = html` data-field="${field}" data-line="${line}"`;
  return html`<li>
    <a href="#${nameLine(field, line)}" ${place}>${label}, line ${line}</a>
    ${message}
  </li>`;
}
