import * as z from "zod";
import type { JsonObject } from "../../contract/json.ts";
import { links, type LinkFields, type ReadLink } from "../../contract/links.ts";
import { faultOf, type FieldProblem } from "../../contract/problem.ts";
import { isBlank } from "../../contract/text.ts";
import { unwrap } from "../../contract/unwrap-schema.ts";
import { findNearest } from "../../text/nearest-name.ts";
import { quoteLine } from "../../text/show-hidden.ts";
import { unescapeFormula, escapeFormula } from "./escape-formula.ts";
import { escapeHidden, unescapeHidden } from "../../text/escape-hidden.ts";

/**
 * The columns of a file of links, as the contract has the fields of a link: a plain field by its
 * name, what is inside another by both (`ios_app.bundle_id`), and what only an answer has.
 */

/** What a row says of one link, before any rule was applied to it. */
export type GivenRow = {
  readonly id?: string;
  readonly fields: LinkFields;
  /** What could not be read. */
  readonly problems: readonly FieldProblem[];
};

export type Header = {
  /** One for each cell of a record; undefined for an unknown column. */
  readonly columns: readonly (Column | undefined)[];
  /** Whether any cell is the name of a column, or near to one. */
  readonly isHeader: boolean;
  readonly problems: readonly FieldProblem[];
};

export type Column = {
  readonly name: string;
  /** Where the cell goes: `known` is passed over, because it cannot be written. */
  readonly role: "id" | "field" | "known";
  readonly kind: Kind;
  /** `["url"]`, or `["ios_app", "bundle_id"]`. */
  readonly place: readonly [field: string, member?: string];
};

type Kind = "text" | "flag" | "list";

/** An answer names the app of a link by its id alone. */
const appIds = { ios_app_id: "ios_app", android_app_id: "android_app" } as const;
/** What an export has beside the fields that can be written. */
export const readOnly = ["shortened_path", "clicks"] as const;
/** What the tools add to a link. */
const added = ["address", "short_address"] as const;

const columns: ReadonlyMap<string, Column> = new Map(
  listColumns().map((column) => [column.name, column]),
);

/** What an export writes, in this order: `writeLink` fills these columns. */
export const exportColumns: readonly string[] = [
  "id",
  ...[...columns.values()].flatMap(({ name, role, place }) =>
    role === "field" && place.length === 1 ? [name] : [],
  ),
  ...Object.keys(appIds),
  ...readOnly,
];

export function readHeader(cells: readonly string[]): Header {
  const isHeader = cells.some((cell) => columns.has(cell.trim()) || findMeant(cell.trim()));
  const problems: FieldProblem[] = [];
  const taken = new Map<string, string>();
  const found = cells.map((cell, index) => {
    const name = cell.trim();
    const column = columns.get(name);
    if (column === undefined) {
      problems.push(explainUnknown(name, index));
      return undefined;
    }
    const place = column.place.join(".");
    const other = taken.get(place);
    taken.set(place, name);
    if (other === undefined) return column;
    const message =
      other === name
        ? `The column ${name} appears twice`
        : `The columns ${other} and ${name} mean the same thing; keep only one`;
    problems.push({ field: name, message });
    return undefined;
  });
  return { columns: found, problems, isHeader };
}

/** A column that is not there leaves its field alone; an empty cell clears it. */
export function readCells(
  columns: readonly (Column | undefined)[],
  cells: readonly string[],
): GivenRow {
  const fields: Record<string, unknown> = {};
  const problems: FieldProblem[] = [];
  let id = "";
  for (const [index, column] of columns.entries()) {
    const cell = unescapeHidden(unescapeFormula(cells[index] ?? ""));
    if (column === undefined || column.role === "known") continue;
    if (column.role === "id") {
      id = cell.trim();
      continue;
    }
    const value = readValue(column.kind, cell);
    if (value === undefined) problems.push(explainFlag(column.name, cell));
    else place(fields, column, value);
  }
  for (const app of Object.values(appIds)) completeApp(fields, app);
  return { ...(id !== "" && { id }), fields, problems };
}

/**
 * What an export has of a link; what a deployment adds of its own would not be read again. What is
 * not known of it is left out: read again, it stays as it is.
 */
export function pickExported(link: ReadLink): JsonObject {
  const known = exportColumns.filter((name) => link[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, link[name]]));
}

/** The cells of a link for an export; read again, they are the fields that it has. */
export function writeLink(link: ReadLink): readonly string[] {
  return exportColumns.map((name) => {
    const value = link[name] ?? null;
    if (value === null) return "";
    return escapeFormula(typeof value === "string" ? escapeHidden(value) : JSON.stringify(value));
  });
}

/** What is wrong with a column's or a member's name, and which one may have been meant. */
export function explainUnknown(name: string, index?: number): FieldProblem {
  if (name === "") return { field: "", message: `Column ${(index ?? 0) + 1} has no name` };
  const nearest = findMeant(name);
  const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
  const what = index === undefined ? "field" : "column";
  return { field: name, message: `Unknown ${what} ${quoteLine(name)}${hint}` };
}

function findMeant(name: string): string | undefined {
  if (name === "") return undefined;
  // Without the app before it, the name is still that of one column alone.
  const inside = [...columns.keys()].find((known) => known.endsWith(`.${name}`));
  return inside ?? findNearest(name, columns.keys());
}

function listColumns(): readonly Column[] {
  return [
    { name: "id", role: "id", kind: "text", place: ["id"] },
    ...Object.entries<z.core.$ZodType>(links.create.body.shape).flatMap(listFieldColumns),
    ...Object.entries(appIds).map(([name, app]) => describeField(name, "text", [app, "id"])),
    ...[...readOnly, ...added].map((name): Column => {
      return { name, role: "known", kind: "text", place: [name] };
    }),
  ];
}

function listFieldColumns([field, schema]: [string, z.core.$ZodType]): readonly Column[] {
  const inner = unwrap(schema);
  if (!(inner instanceof z.ZodObject)) return [describeField(field, kindOf(inner), [field])];
  return Object.entries<z.core.$ZodType>(inner.shape).map(([member, part]) =>
    describeField(`${field}.${member}`, kindOf(unwrap(part)), [field, member]),
  );
}

function describeField(name: string, kind: Kind, place: Column["place"]): Column {
  return { name, role: "field", kind, place };
}

function kindOf(schema: z.core.$ZodType): Kind {
  if (schema instanceof z.ZodBoolean) return "flag";
  return schema instanceof z.ZodArray ? "list" : "text";
}

/** Undefined for what is no flag. */
export function readFlag(text: string): boolean | undefined {
  if (/^(true|1|yes)$/i.test(text)) return true;
  return /^(false|0|no)$/i.test(text) ? false : undefined;
}

function readValue(kind: Kind, cell: string): unknown {
  if (kind === "flag") return cell.trim() === "" ? null : readFlag(cell.trim());
  return kind === "list" ? cell.split(/\s+/).filter((part) => part !== "") : cell;
}

function explainFlag(name: string, cell: string): FieldProblem {
  const message = `must be true or false (or 1, 0, yes, no), not ${quoteLine(cell)}`;
  return { ...faultOf(name, message), field: name };
}

function place(fields: Record<string, unknown>, { place }: Column, value: unknown): void {
  const [field, member] = place;
  // The cast holds: only this function sets members of this object.
  if (member === undefined) fields[field] = value;
  else ((fields[field] ??= {}) as Record<string, unknown>)[member] = value;
}

/**
 * Of an app, empty cells say nothing beside one that is filled; where all are empty and one of
 * them could have named an app, the link is to have none.
 */
function completeApp(fields: Record<string, unknown>, app: "ios_app" | "android_app"): void {
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
