import { limits } from "../../contract/limits.ts";
import { isBlank } from "../../contract/text.ts";
import { countLines, type DiffLine, type Hunk } from "../../text/differences.ts";
import { quote } from "../../text/show-hidden.ts";
import { writeLabel, writeWords } from "../../text/write-label.ts";
import type { Fact, ChangedLine, Question } from "./question.ts";

/** Renders a question as text, for clients' forms and for results that assistants read. */

/** Keeps a question short enough for a form and for a model's context. */
const mostCharacters = 12_000;
const mostNamed = 20;

/** Renders the question, and lists the names of omitted facts at the end. */
export function writeQuestion(question: Question): string {
  const { shown, omitted } = fitFacts(question);
  const names = omitted.map(({ name }) => writeFactName(name, writeWords));
  const named = [...names.slice(0, mostNamed), ...(names.length > mostNamed ? ["…"] : [])];
  const rest = `- left out because of their length: ${named.join("; ")}`;
  const uri = fitsText(question) ? undefined : question.rows?.uri;
  const where = uri === undefined ? [] : [`- only a part is shown here; all rows: ${uri}`];
  return [question.title, ...shown, ...(names.length === 0 ? [] : [rest]), ...where].join("\n");
}

/** Whether all facts fit without truncation. */
export function fitsText(question: Question): boolean {
  return question.isPartial !== true && fitFacts(question).omitted.length === 0;
}

function fitFacts({ facts, recent }: Question) {
  const changed = recent && `${recent.time} by ${recent.by}; before that: ${recent.was}`;
  const all = [...(changed === undefined ? [] : [{ name: "changed", text: changed }]), ...facts];
  const texts = all.map(writeFact);
  let room = mostCharacters;
  const end = texts.findIndex((text) => (room -= text.length) < 0);
  const count = end < 0 ? texts.length : end;
  return { shown: texts.slice(0, count), omitted: all.slice(count) };
}

function writeFact(fact: Fact): string {
  const text = writeFactText(fact);
  const note = fact.note === undefined ? "" : ` (${fact.note})`;
  const warnings = (fact.warnings ?? []).map((warning) => ` (warning: ${warning})`).join("");
  const name = writeFactName(fact.name, writeWords);
  return `- ${name}: ${text.includes("\n") ? `\n${text}` : text}${note}${warnings}`;
}

export function writeFactName(name: string, write: (words: string) => string): string {
  if (/^[a-z]+[-.][-.a-z]+$/.test(name)) return name;
  const [, ours = "", quoted = ""] = /^([^"]*)(.*)$/s.exec(name) ?? [];
  return write(ours) + quoted;
}

export function writeFactText(fact: Fact): string {
  switch (fact.kind) {
    case "change":
      return fact.from === undefined ? `becomes ${fact.to}` : `${fact.from} → ${fact.to}`;
    case "address":
      return fact.address;
    case "lines":
      return fact.lines.map(writeLine).join("\n");
    case "diff":
      return fact.hunks.flatMap((hunk) => [writePlace(hunk), ...writeHunk(hunk)]).join("\n");
    case "list":
      return fact.items.join("\n");
    case undefined:
      return fact.text;
  }
}

/** Formats the position of a hunk as in a unified diff. */
export function writePlace(hunk: Hunk): string {
  const { old_start, new_start, lines } = hunk;
  const kept = countLines([hunk], "kept");
  const added = countLines([hunk], "added");
  const removed = lines.length - kept - added;
  return `@@ −${old_start},${kept + removed} +${new_start},${kept + added} @@`;
}

const fewestKept = 3;

/** If the whole text is replaced, only the number of old lines is shown. */
function writeHunk({ lines }: Hunk): readonly string[] {
  const removed = lines.filter(({ kind }) => kind === "removed");
  const isReplaced = removed.length > fewestKept && !lines.some(({ kind }) => kind === "kept");
  if (!isReplaced) return lines.map(writeLine);
  const rest = lines.filter(({ kind }) => kind !== "removed");
  return [`− all ${removed.length} lines`, ...rest.map(writeLine)];
}

/** Quotes the line, so that untrusted text cannot pass as text from Waypost. */
export function writeLine({ kind, text }: ChangedLine | DiffLine): string {
  return `${signs[kind]} ${quote(text, text.length)}`;
}

export const signs = { added: "+", removed: "−", kept: " " } as const;

/** App names by UUID, bundle ID or package name. */
export type AppNames = Readonly<Record<string, string>>;

/**
 * Quotes strings, lists the items of arrays and the members of objects, and writes other values as
 * JSON.
 */
export function writeValue(value: unknown, names: AppNames = {}): string {
  if (value === null || value === undefined) return "none";
  if (Array.isArray(value) && value.length === 0) return "none";
  if (typeof value === "string") {
    return Object.hasOwn(names, value)
      ? String(names[value])
      : quote(value, limits.web_address_characters);
  }
  if (Array.isArray(value)) {
    return value.map((item) => writeValue(item, names)).join(", ") || "none";
  }
  if (typeof value !== "object") return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, member]) => {
      // A known app is shown only by its name.
      const isNamed =
        identifying.has(name) && typeof member === "string" && Object.hasOwn(names, member);
      return `${isNamed ? "" : `${writeLabel(name)}: `}${writeValue(member, names)}`;
    })
    .join(", ");
}

const identifying: ReadonlySet<string> = new Set(["id", "bundle_id", "package_name"]);

/** Formats an app by name and identifier, or by UUID if both are unknown. */
export function writeApp(id: string, known: readonly unknown[]): string {
  const texts = known.filter((text) => typeof text === "string" && !isBlank(text));
  const [first, second] = texts.map((text) => quote(String(text)));
  if (first === undefined) return `an app that this API key cannot read (${quote(id)})`;
  return second === undefined ? first : `${first} (${second})`;
}
