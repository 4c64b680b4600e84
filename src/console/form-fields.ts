import { hashValue } from "../text/digest.ts";
import { writeLabel } from "../text/write-label.ts";
import type { JsonObject } from "../contract/json.ts";
import type { CallError } from "./account.ts";
import type { ShownProblem } from "./records.ts";
import { html, type Html, type Part } from "./html.ts";
import type { Form } from "./page.ts";
import { renderFault, renderHidden, renderOption } from "./parts.ts";

/** Form fields: their values, their errors and what the user changed. */

export type Field = {
  readonly name: string;
  /** `lines`: a list with one entry per line. `checks`: a list of checkboxes. */
  readonly kind: "text" | "area" | "lines" | "check" | "choice" | "checks";
  /** Defaults to a label derived from the name. */
  readonly label?: string;
  readonly hint?: string;
  readonly isBroad?: boolean;
  /** Turns off autocorrection, for values such as IDs. */
  readonly isExact?: boolean;
  /** The name of the record's property, if it differs from the field's name. */
  readonly member?: string;
  readonly choices?: readonly Choice[];
  readonly groups?: readonly (Choice & { readonly choices: readonly Choice[] })[];
};

export type Choice = { readonly value: string; readonly name: string };

export type Values = Readonly<Record<string, string>>;

export function readValues(fields: readonly Field[], record: JsonObject): Values {
  return collect(fields, ({ name, kind, member = name }) => {
    const value = record[member];
    if (kind === "check") return writeCheck(value === true);
    if (Array.isArray(value)) return value.filter((item) => typeof item === "string").join("\n");
    const isPlain = typeof value === "string" || typeof value === "number";
    return isPlain ? unifyLines(String(value)) : "";
  });
}

export function readTyped(fields: readonly Field[], form: Form): Values {
  return collect(fields, ({ name, kind }) => {
    if (kind === "check") return writeCheck(form.has(name));
    return unifyLines(kind === "checks" ? form.readAll(name).join("\n") : form.read(name));
  });
}

/** Reads the form's original values. Long values are replaced by their hashes. */
export function readShown(fields: readonly Field[], form: Form): Values {
  return collect(fields, ({ name }) => unifyLines(form.read(writeShownName(name))));
}

/** Renders the original values as hidden fields, to detect concurrent changes on submit. */
export function renderShown(fields: readonly Field[], shown: Values): readonly Html[] {
  return fields.map(({ name }) => renderHidden(writeShownName(name), printValue(shown[name])));
}

/** Replaces a long value with its hash, so that hidden fields stay short. */
export function printValue(value = ""): string {
  return value.length > longestPrint ? hashValue([value]) : value;
}

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

/** Replaces the CRLF line endings that browsers send. */
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

/** Builds the arguments of a call that sets these fields to the typed values. */
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
  return kind === "lines" || kind === "checks" ? splitLines(value) : value;
}

export function splitLines(text = ""): readonly string[] {
  return text.split("\n").flatMap((line) => line.trim() || []);
}

/** Warns before unsaved changes are lost. `isTyped`: the form already contains unsaved changes. */
export function renderGuard(isTyped: boolean): Html {
  return html` data-guard="${isTyped ? "typed" : ""}"`;
}

export function renderOthers(fields: readonly Field[], failure: CallError | undefined): Part {
  if (failure === undefined) return "";
  const { problems = [], message } = failure;
  const others = problems.filter((problem) => !fields.some((field) => isAbout(field, problem)));
  return (problems.length === 0 ? [{ message }] : others).map((other) =>
    renderFault(other.message),
  );
}

/** An error in `ios_app.team_id` or `ios_app_id` belongs to the field `ios_app`. */
function isAbout({ name, member = name }: Field, problem: ShownProblem): boolean {
  const [field] = (problem.field ?? "").split(".");
  return field === name || field === member;
}

export function renderField(
  field: Field,
  values: Values,
  problems: readonly ShownProblem[] = [],
): Html {
  const { name, kind, label = writeLabel(name), hint, isBroad = false } = field;
  const value = values[name] ?? "";
  const own = problems.filter((problem) => isAbout(field, problem));
  const ids = [...own.map((_, at) => `${name}-${at}`), ...(hint ? [`${name}-hint`] : [])];
  const described = html`${ids.length > 0 && html` aria-describedby="${ids.join(" ")}"`}`;
  const about = html`${described}${own.length > 0 && html` aria-invalid="true"`}`;
  const below = html`${own.map(
    ({ message }, at) => html`<p class="error" id="${name}-${at}">${message}</p>`,
  )}${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}`;
  if (kind === "checks") return renderGroups(field, splitLines(value), described, below);
  if (kind === "check") {
    return html`<div class="check">
      <input type="checkbox" id="${name}" name="${name}" ${about} ${value === on && checked} />
      <div><label for="${name}">${label}</label>${below}</div>
    </div>`;
  }
  return html`<div class="${isBroad ? "field broad" : "field"}">
    <label for="${name}">${label}</label>${renderInput(field, value, about)}${below}
  </div>`;
}

const checked = html` checked`;

function renderGroups(
  { name, groups = [] }: Field,
  ticked: readonly string[],
  described: Html,
  below: Html,
): Html {
  const shown = groups.map(
    (group) =>
      html`<div role="group" aria-labelledby="of-${group.value}" ${described} class="scopes">
        <p id="of-${group.value}">${group.name}</p>
        ${group.choices.map((choice) => renderBox(name, choice, ticked))} ${below}
      </div>`,
  );
  return html`<div class="filters limits broad">${shown}</div>`;
}

function renderBox(field: string, { value, name }: Choice, ticked: readonly string[]): Html {
  const on = ticked.includes(value) && checked;
  return html`<div class="check">
    <input type="checkbox" id="${value}" name="${field}" value="${value}" ${on} />
    <label for="${value}">${name}</label>
  </div>`;
}

function renderInput(
  { name, kind, choices = [], isExact = false }: Field,
  value: string,
  about: Html,
): Html {
  if (kind === "choice") {
    const options = choices.map((choice) => renderOption(choice.value, choice.name, value));
    return html`<select id="${name}" name="${name}" ${about}>
      ${options}
    </select>`;
  }
  const exact = isExact && html` spellcheck="false" autocapitalize="off"`;
  const given = html`id="${name}" name="${name}" dir="auto" ${exact} ${about}`;
  if (kind === "area" || kind === "lines") {
    // Browsers drop a line break at the start of a textarea, so an extra line break is added.
    return html`<textarea ${given}>${`\n${value}`}</textarea>`;
  }
  return html`<input ${given} value="${value}" autocomplete="off" />`;
}
