import { isJsonObject, type JsonObject } from "../contract/json.ts";
import type { StatedProblem } from "../contract/problem.ts";
import { humanize } from "../contract/text.ts";

/** The single problems of a refusal, each with its field where that can be told. */

const mostProblems = 100;
/** Lists within each other are read so far. */
const mostLevels = 5;

/** Where they are listed. */
const listNames: readonly string[] = [
  "problems",
  "errors",
  "error",
  "details",
  "violations",
  "issues",
  "invalid_params",
  "invalid-params",
  "message",
  "detail",
];
/** Of these, an object names its fields: `{"url": ["is invalid"]}`. */
const mapNames: ReadonlySet<string> = new Set(["errors", "error", "message", "detail"]);

/** What one of them says, and what it is about. */
const messageNames: readonly string[] = [
  "message",
  "detail",
  "reason",
  "description",
  "msg",
  "error",
  "title",
  "code",
];
const fieldNames: readonly string[] = [
  "field",
  "param",
  "parameter",
  "property",
  "attribute",
  "pointer",
  "loc",
  "path",
  "name",
  "key",
];

/** Stand for the whole, so that what they say has no field. */
const wholeNames: ReadonlySet<string> = new Set([
  "",
  "base",
  "_",
  "__all__",
  "non_field_errors",
  "full_messages",
]);
/** What a field's own name may stand inside of. */
const outerNames: readonly string[] = ["data", "attributes", "body", "link", "project"];

export function listProblems(body: unknown, wrapper: string | undefined): StatedProblem[] {
  const outer = new Set(wrapper === undefined ? outerNames : [...outerNames, wrapper]);
  const problems = listIn(body, mostLevels).slice(0, mostProblems);
  return problems.map(({ field, message, ...place }) => {
    const name = readName(field, outer);
    if (name === undefined) return { ...place, message };
    return { field: name, ...place, message: writeClause(name, message) };
  });
}

function listIn(body: unknown, levels: number): readonly StatedProblem[] {
  if (Array.isArray(body)) return listItems(body, "", levels);
  if (!isJsonObject(body)) return [];
  for (const name of listNames) {
    const problems = listUnder(name, body[name], levels);
    if (problems.length > 0) return problems;
  }
  // Some answer nothing else than the fields, each with its list.
  const isMap = Object.values(body).every((texts) => Array.isArray(texts) && texts.every(isText));
  return isMap ? listFields(body, "", levels) : [];
}

function listUnder(name: string, said: unknown, levels: number): readonly StatedProblem[] {
  if (Array.isArray(said)) return listItems(said, "", levels);
  if (levels === 0 || !isJsonObject(said) || !mapNames.has(name)) return [];
  const message = readMessage(said);
  if (message === undefined) return listFields(said, "", levels);
  // It is an envelope of its own, with a sentence for all and perhaps a field.
  const inner = listIn(said, levels - 1);
  const field = said["field"] ?? said["param"];
  return inner.length > 0 || !isText(field) ? inner : [{ field, message }];
}

function listItems(
  items: readonly unknown[],
  field: string,
  levels: number,
): readonly StatedProblem[] {
  if (levels === 0) return [];
  return items.slice(0, mostProblems).flatMap((item) => {
    if (isText(item)) return [{ field, message: item }];
    if (!isJsonObject(item)) return [];
    const message = readMessage(item);
    if (message === undefined) return listFields(item, field, levels - 1);
    return [{ field: readField(item) ?? field, ...readPlace(item), message }];
  });
}

function listFields(fields: JsonObject, outer: string, levels: number): readonly StatedProblem[] {
  if (levels === 0) return [];
  return Object.entries(fields)
    .slice(0, mostProblems)
    .flatMap(([name, said]) => {
      const field = wholeNames.has(name) ? outer : `${outer}.${name}`;
      if (isText(said)) return [{ field, message: said }];
      if (Array.isArray(said)) return listItems(said, field, levels - 1);
      return isJsonObject(said) ? listItems([said], field, levels - 1) : [];
    });
}

function readMessage(item: JsonObject): string | undefined {
  return messageNames.map((name) => item[name]).find(isText);
}

function readField(item: JsonObject): string | undefined {
  // JSON:API says it as `{"source": {"pointer": "/data/attributes/url"}}`.
  const { source } = item;
  const places = isJsonObject(source) ? [item, source] : [item];
  const told = places.flatMap((place) => fieldNames.map((name) => place[name]));
  const found = told.find((name) => isText(name) || Array.isArray(name));
  return Array.isArray(found) ? found.filter(isText).join(".") : found;
}

function readPlace({ line, column }: JsonObject): Pick<StatedProblem, "line" | "column"> {
  return {
    ...(isWhole(line) && { line }),
    ...(isWhole(column) && { column }),
  };
}

/** The field as this API names it: `link[url]`, `/data/attributes/url` and `body.Url` are `url`. */
function readName(told: string | undefined, outer: ReadonlySet<string>): string | undefined {
  const parts = (told ?? "")
    .split(/[^\p{L}\p{N}_-]+/u)
    .filter((part) => part !== "")
    .map((part) => part.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase());
  while (parts.length > 1 && outer.has(parts[0] ?? "")) parts.shift();
  const name = parts.join(".");
  return wholeNames.has(name) ? undefined : name;
}

/** `is invalid` goes on from the field's name; what begins by itself is a sentence already. */
function writeClause(field: string, message: string): string {
  const name = field.slice(field.lastIndexOf(".") + 1);
  const isWhole = !/^\p{Ll}/u.test(message) || message.toLowerCase().startsWith(name);
  return isWhole ? message : `${humanize(name)} ${message}`;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value);
}
