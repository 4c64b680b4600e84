import { digestOf } from "../text/digest.ts";
import { writeLabel } from "../text/write-label.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Failure, FieldProblem } from "./account.ts";
import { html, type Html } from "./html.ts";
import type { Form } from "./page.ts";
import { renderFault, renderHidden, renderOption } from "./parts.ts";
import { readText } from "./read.ts";

/** The fields of a form: what stands in them, what is wrong with it, and what was changed. */

export type Field = {
  readonly name: string;
  /** `lines` is a list of texts, each on a line of its own. */
  readonly kind: "text" | "area" | "lines" | "check" | "choice";
  /** Left out, it is called by its name. */
  readonly label?: string;
  readonly hint?: string;
  /** It has the line to itself. */
  readonly isBroad?: boolean;
  /** Machines read it letter for letter, so that no keyboard is to mend it. */
  readonly isExact?: boolean;
  /** The member of a record that it shows, where that has another name. */
  readonly member?: string;
  /** What there is to choose. */
  readonly choices?: readonly Choice[];
};

export type Choice = { readonly value: string; readonly name: string };

/** What stands in the fields, by their names. */
export type Values = Readonly<Record<string, string>>;

export function readValues(fields: readonly Field[], record: JsonObject): Values {
  return collect(fields, ({ name, kind, member = name }) => {
    const value = record[member];
    if (kind === "check") return writeCheck(value === true);
    if (Array.isArray(value)) return value.filter((item) => typeof item === "string").join("\n");
    return unifyLines(readText(record, member));
  });
}

export function readTyped(fields: readonly Field[], form: Form): Values {
  return collect(fields, ({ name, kind }) =>
    kind === "check" ? writeCheck(form.has(name)) : unifyLines(form.read(name)),
  );
}

/** What stood in the fields when the form was shown, or by what it is known again. */
export function readShown(fields: readonly Field[], form: Form): Values {
  return collect(fields, ({ name }) => unifyLines(form.read(writeShownName(name))));
}

/** For a form whose values are held against those that are there when it is sent. */
export function renderShown(fields: readonly Field[], shown: Values): readonly Html[] {
  return fields.map(({ name }) => renderHidden(writeShownName(name), printValue(shown[name])));
}

/** A value by which it is known again, without its length: it stands in the form already. */
export function printValue(value = ""): string {
  return value.length > longestPrint ? digestOf([value]) : value;
}

/** No print is as long. */
const longestPrint = 64;

function collect(fields: readonly Field[], read: (field: Field) => string): Values {
  return Object.fromEntries(fields.map((field) => [field.name, read(field)]));
}

function writeShownName(name: string): string {
  return `was.${name}`;
}

const on = "on";

function writeCheck(isOn: boolean): string {
  return isOn ? on : "";
}

/** A browser sends its own line ends. */
function unifyLines(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

export function listChanged(
  fields: readonly Field[],
  shown: Values,
  typed: Values,
): readonly string[] {
  return fields.flatMap(({ name }) =>
    printValue(shown[name]) === printValue(typed[name]) ? [] : [name],
  );
}

/** The arguments of a call that gives these fields what was typed in them. */
export function writeFields(
  fields: readonly Field[],
  typed: Values,
  names: readonly string[],
): JsonObject {
  const changed = fields.filter(({ name }) => names.includes(name));
  return Object.fromEntries(
    changed.map(({ name, kind }) => [name, writeValue(kind, typed[name] ?? "")]),
  );
}

function writeValue(kind: Field["kind"], value: string): unknown {
  if (kind === "check") return value === on;
  if (kind !== "lines") return value;
  return value.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));
}

/**
 * Marks a form whose changes are lost when a person leaves the page, so that the browser warns. It
 * counts as changed from the start where it shows what was typed before and not saved.
 */
export function renderGuard(isTyped: boolean): Html {
  return html` data-guard="${isTyped ? "typed" : ""}"`;
}

/** What is wrong, and belongs to none of the fields. */
export function renderOthers(
  fields: readonly Field[],
  failure: Failure | undefined,
): readonly (Html | string)[] {
  if (failure === undefined) return [];
  const { problems = [], message } = failure;
  if (problems.length === 0) return [renderFault(message)];
  const names = new Set(fields.map(({ name }) => name));
  const others = problems.filter(({ field }) => field === undefined || !names.has(field));
  return others.map((problem) => renderFault(problem.message));
}

export function renderField(
  field: Field,
  values: Values,
  problems: readonly FieldProblem[] = [],
): Html {
  const { name, kind, label = writeLabel(name), hint = "", isBroad = false } = field;
  const value = values[name] ?? "";
  const faults = renderFaults(name, problems);
  const described = [...faults.ids, ...(hint === "" ? [] : [`${name}-hint`])];
  const about = html`${describeBy(described)}${
    faults.ids.length > 0 ? html` aria-invalid="true"` : ""
  }`;
  const told = html`${faults.shown}${
    hint === "" ? "" : html`<p class="hint" id="${name}-hint">${hint}</p>`
  }`;
  if (kind === "check") {
    const checked = value === on ? html` checked` : "";
    return html`<div class="check">
      <input type="checkbox" id="${name}" name="${name}" ${about} ${checked} />
      <div><label for="${name}">${label}</label>${told}</div>
    </div>`;
  }
  return html`<div class="${isBroad ? "field broad" : "field"}">
    <label for="${name}">${label}</label>${renderInput(field, value, about)}${told}
  </div>`;
}

/** What is wrong with a field, and the ids by which its input refers to it. */
export function renderFaults(name: string, problems: readonly FieldProblem[]) {
  const own = problems.filter((problem) => problem.field === name);
  const shown = own.map(
    ({ message }, at) => html`<p class="error" id="${name}-${at}">${message}</p>`,
  );
  return { shown, ids: own.map((_, at) => `${name}-${at}`) };
}

export function describeBy(ids: readonly string[]): Html | string {
  return ids.length === 0 ? "" : html` aria-describedby="${ids.join(" ")}"`;
}

function renderInput(
  { name, kind, choices = [], isExact = false }: Field,
  value: string,
  about: Html,
): Html {
  const exact = isExact ? html` spellcheck="false" autocapitalize="off"` : "";
  if (kind === "choice") {
    const options = choices.map((choice) => renderOption(choice.value, choice.name, value));
    return html`<select id="${name}" name="${name}" ${about}>
      ${options}
    </select>`;
  }
  const given = html`id="${name}" name="${name}" dir="auto" ${exact} ${about}`;
  if (kind === "area" || kind === "lines") {
    // The first line end of all is the markup's own.
    const text = `\n${value}`;
    return html`<textarea ${given}>${text}</textarea>`;
  }
  return html`<input ${given} value="${value}" autocomplete="off" />`;
}
