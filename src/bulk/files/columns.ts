import * as z from "zod";
import type { JsonObject } from "../../contract/json.ts";
import { links, type LinkFields, type ReadLink } from "../../contract/links.ts";
import { makeFieldProblem, type FieldProblem } from "../../contract/problem.ts";
import { isBlank } from "../../contract/text.ts";
import { unwrap } from "../../contract/fields.ts";
import { escapeHidden, unescapeHidden } from "../../text/escape.ts";
import { findNearest } from "../../text/nearest-name.ts";
import { quoteLine } from "../../text/show-hidden.ts";
import { escapeFormula, unescapeFormula } from "./csv.ts";

/**
 * The columns of a CSV file of links, and the fields of a JSON row. The name of a nested field has
 * two parts (`ios_app.bundle_id`). Read-only columns are included.
 */

/** A link that was read from a row but not yet validated. */
export type InputRow = {
  readonly id?: string;
  readonly fields: LinkFields;
  /** Problems with values that could not be parsed. */
  readonly problems: readonly FieldProblem[];
};

export type FileColumn = {
  readonly name: string;
  /** A `known` column is read-only, so it is ignored. */
  readonly role: "id" | "field" | "known";
  readonly kind: ColumnKind;
  /** Where the link stores the value, such as `["url"]` or `["ios_app", "bundle_id"]`. */
  readonly place: readonly [field: string, member?: string];
};

type ColumnKind = "text" | "flag" | "list";

/** Maps app ID fields to app fields. For an app, the API returns only the ID. */
const appIds = { ios_app_id: "ios_app", android_app_id: "android_app" } as const;
/** Fields that an export contains but that cannot be written. */
const readOnly = ["shortened_path", "clicks"] as const;
/** Fields that the tools add to each link. */
const added = ["address", "short_address"] as const;

const columns: ReadonlyMap<string, FileColumn> = new Map(
  listColumns().map((column) => [column.name, column]),
);

export const exportColumns: readonly string[] = [
  "id",
  ...[...columns.values()].flatMap(({ name, role, place }) =>
    role === "field" && place.length === 1 ? [name] : [],
  ),
  ...Object.keys(appIds),
  ...readOnly,
];

function listColumns(): readonly FileColumn[] {
  const describe = (name: string, kind: ColumnKind, place: FileColumn["place"]): FileColumn => {
    return { name, role: "field", kind, place };
  };
  const fields = Object.entries<z.core.$ZodType>(links.create.body.shape);
  return [
    { name: "id", role: "id", kind: "text", place: ["id"] },
    ...fields.flatMap(([field, schema]) => {
      const inner = unwrap(schema);
      if (!(inner instanceof z.ZodObject)) return [describe(field, findColumnKind(inner), [field])];
      return Object.entries<z.core.$ZodType>(inner.shape).map(([member, part]) =>
        describe(`${field}.${member}`, findColumnKind(unwrap(part)), [field, member]),
      );
    }),
    ...Object.entries(appIds).map(([name, app]) => describe(name, "text", [app, "id"])),
    ...[...readOnly, ...added].map((name): FileColumn => {
      return { name, role: "known", kind: "text", place: [name] };
    }),
  ];
}

function findColumnKind(schema: z.core.$ZodType): ColumnKind {
  if (schema instanceof z.ZodBoolean) return "flag";
  return schema instanceof z.ZodArray ? "list" : "text";
}

/**
 * Returns a column for each cell, or undefined for an unknown name. `isHeader` is true if at least
 * one cell is a column name or similar to one.
 */
export function readHeader(cells: readonly string[]) {
  const names = cells.map((cell) => cell.trim());
  const isHeader = names.some((name) => columns.has(name) || findMeant(name) !== undefined);
  const problems: FieldProblem[] = [];
  const taken = new Map<string, string>();
  const found = names.map((name, index) => {
    const refuse = (message: string) => void problems.push({ field: name, message });
    const column = columns.get(name);
    if (name === "") return refuse(`Column ${index + 1} has no name`);
    if (column === undefined) return refuse(explainUnknown("column", name));
    const place = column.place.join(".");
    const other = taken.get(place);
    taken.set(place, name);
    if (other === undefined) return column;
    if (other === name) return refuse(`The column ${name} appears twice`);
    return refuse(`The columns ${other} and ${name} mean the same thing; keep only one`);
  });
  return { columns: found, problems, isHeader };
}

function explainUnknown(what: "column" | "field", name: string): string {
  const nearest = findMeant(name);
  const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
  return `Unknown ${what} ${quoteLine(name)}${hint}`;
}

function findMeant(name: string): string | undefined {
  if (name === "") return undefined;
  // For example, `bundle_id` finds `ios_app.bundle_id`.
  const inside = [...columns.keys()].find((known) => known.endsWith(`.${name}`));
  return inside ?? findNearest(name, columns.keys());
}

/**
 * Reads the cells of a link. A missing column leaves its field unchanged, and an empty cell clears
 * it.
 */
export function readCells(
  header: readonly (FileColumn | undefined)[],
  cells: readonly string[],
): InputRow {
  const fields: Record<string, unknown> = {};
  const problems: FieldProblem[] = [];
  let id = "";
  for (const [index, column] of header.entries()) {
    const cell = unescapeHidden(unescapeFormula(cells[index] ?? ""));
    if (column === undefined || column.role === "known") continue;
    if (column.role === "id") {
      id = cell.trim();
      continue;
    }
    const value = parseCell(column.kind, cell);
    if (value !== undefined) setField(fields, column.place, value);
    else {
      const fault = `must be true or false (or 1, 0, yes, no), not ${quoteLine(cell)}`;
      problems.push(makeFieldProblem(column.name, fault));
    }
  }
  for (const app of Object.values(appIds)) completeApp(fields, app);
  return { ...(id !== "" && { id }), fields, problems };
}

function parseCell(kind: ColumnKind, cell: string): unknown {
  if (kind === "flag") return cell.trim() === "" ? null : readFlag(cell.trim());
  return kind === "list" ? cell.split(/\s+/).filter((part) => part !== "") : cell;
}

/** Returns undefined if the text is not a boolean. */
export function readFlag(text: string): boolean | undefined {
  if (/^(true|1|yes)$/i.test(text)) return true;
  return /^(false|0|no)$/i.test(text) ? false : undefined;
}

export function setField(
  fields: Record<string, unknown>,
  [field, member]: readonly [field: string, member?: string | undefined],
  value: unknown,
): void {
  // The cast is safe, because only this function sets nested objects in `fields`.
  if (member === undefined) fields[field] = value;
  else ((fields[field] ??= {}) as Record<string, unknown>)[member] = value;
}

/**
 * Removes an app's empty cells. If all of them are empty, and one is for the app's ID, bundle ID or
 * package name, clears the link's app.
 */
function completeApp(fields: Record<string, unknown>, app: string): void {
  const given = fields[app];
  if (typeof given !== "object" || given === null) return;
  const filled = Object.entries(given).filter(
    ([, value]) => !isBlank(value) && !(Array.isArray(value) && value.length === 0),
  );
  const canName = ["id", "bundle_id", "package_name"].some((name) => name in given);
  if (filled.length > 0) fields[app] = Object.fromEntries(filled);
  else if (canName) fields[app] = null;
  else delete fields[app];
}

const containers = new Set(
  [...columns.values()].flatMap(({ place }) => (place[1] ? place[0] : [])),
);

/**
 * Reads the properties of a link. A missing property leaves its field unchanged, and null or an
 * empty string clears it.
 */
export function readObject(item: unknown): InputRow {
  if (!isObject(item)) {
    return { fields: {}, problems: [{ field: "", message: `The row must be ${anObject}` }] };
  }
  const fields: Record<string, unknown> = {};
  const problems: FieldProblem[] = [];
  let id: unknown;
  for (const [name, value] of Object.entries(item)) {
    const found = findProblems(name, value);
    problems.push(...found);
    const { role, place } = columns.get(name) ?? { role: "field", place: [name, undefined] };
    const [field, member] = place;
    // Skip an app with one invalid value, because the other values could cause misleading problems.
    if (found.length > 0 || role === "known" || value === undefined) continue;
    if (role === "id") id = value;
    else if (fields[field] !== undefined) {
      const message = `${field} and ${field}_id mean the same thing; keep only one`;
      problems.push({ field, message });
    } else if (member === undefined) fields[field] = value;
    else fields[field] = value ? { [member]: value } : null;
  }
  return { ...(typeof id === "string" && id !== "" && { id }), fields, problems };
}

const anObject = "an object of link fields";

function findProblems(name: string, value: unknown): readonly FieldProblem[] {
  const isContainer = containers.has(name);
  if (name.includes(".") || !(isContainer || columns.has(name))) return [refuseUnknown(name)];
  if (value === undefined || value === null) return [];
  if (!isContainer) return explainValue(name, value);
  if (!isObject(value)) return [{ field: name, message: `${name} must be ${anObject}` }];
  return Object.entries(value).flatMap(([member, each]) => explainValue(`${name}.${member}`, each));
}

function explainValue(name: string, value: unknown): readonly FieldProblem[] {
  const column = columns.get(name);
  if (column === undefined) return [refuseUnknown(name)];
  const { isKind, words } = kinds[column.kind];
  const isFine = value === undefined || value === null || column.role === "known" || isKind(value);
  return isFine ? [] : [{ field: name, message: `${name} must be ${words}` }];
}

function refuseUnknown(name: string): FieldProblem {
  return { field: name, message: explainUnknown("field", name) };
}

const isText = (value: unknown): boolean => typeof value === "string";

const kinds: Readonly<Record<ColumnKind, { isKind: (value: unknown) => boolean; words: string }>> =
  {
    text: { isKind: isText, words: "text" },
    flag: { isKind: (value) => typeof value === "boolean", words: "true or false" },
    list: { isKind: (value) => Array.isArray(value) && value.every(isText), words: "a list" },
  };

export function isObject(item: unknown): item is object {
  return typeof item === "object" && item !== null && !Array.isArray(item);
}

/**
 * Selects the fields to export. A field that the server did not return is left out, so an import
 * leaves it unchanged.
 */
export function pickExported(link: ReadLink): JsonObject {
  const known = exportColumns.filter((name) => link[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, link[name]]));
}

export function writeLink(link: ReadLink): readonly string[] {
  return exportColumns.map((name) => {
    const value = link[name] ?? null;
    if (value === null) return "";
    return escapeFormula(typeof value === "string" ? escapeHidden(value) : JSON.stringify(value));
  });
}
