import { anyIdPattern, normalizeId, uuidPattern } from "../../contract/fields.ts";
import type { LinkFields } from "../../contract/links.ts";
import type { FieldProblem } from "../../contract/problem.ts";
import { isWholeAddress, wholeAddressFault } from "../../contract/rules/link-path.ts";
import { checkLink } from "../../contract/rules/link-rules.ts";
import { readNamedLink, type NamedLink } from "../../contract/rules/named-link.ts";
import { isBlank } from "../../contract/text.ts";
import type { PlanOperation, PlanProblem, PlanRow } from "../../state/plans.ts";
import type { GivenRow } from "../files/columns.ts";

/** Checks each row, and the rows against each other, before anything is read or sent. */

/** What rows are counted in: the lines of a text, or the places in a list, both from 1. */
export type Unit = "line" | "row";

/** A row from its source to its plan, which gives it an action and a position. */
export type Row = Omit<PlanRow, "position" | "action" | "fields"> & {
  /**
   * `link_id` is the link that is meant. An upsert is matched by path, and its id must agree.
   * `path` is in its one form. An upsert without one gets one chosen. An update or a deletion has
   * one where the link is named by it; an update by id has a path among its fields, to move to.
   */
  readonly row: number | null;
  /** What else an update or a deletion may mean by its id or path. */
  readonly named?: RowName | undefined;
  /** What to write, as the API takes it; an upsert's path is among it. */
  readonly fields: LinkFields;
  /** All that is wrong with it; such a row must not be written. */
  readonly problems: readonly PlanProblem[];
};

/** Of a row that nothing is known of yet. */
export const emptyRow: Row = {
  row: null,
  link_id: null,
  path: null,
  fields: {},
  before: null,
  message: null,
  problems: [],
};

/** The text by which the row names its link, and the column of that text. */
type RowName = NamedLink & { readonly by: "id" | "path"; readonly text: string };

/** Which row came first with an id or a path. */
export type Seen = {
  readonly unit: Unit;
  /** Where the project's links live, where rows may name them in every way that a person does. */
  readonly linkHosts: readonly string[] | undefined;
  /** Whether ids may be others than UUIDs, as those of another deployment than ours may be. */
  readonly takesAnyId: boolean;
  readonly ids: Map<string, number>;
  readonly paths: Map<string, number>;
};

export function createSeenRows(
  unit: Unit,
  takesAnyId = false,
  linkHosts?: readonly string[],
): Seen {
  return { unit, takesAnyId, linkHosts, ids: new Map(), paths: new Map() };
}

/** Every rule that the row breaks, all at once. `seen` remembers it for the rows to come. */
export function checkRow(operation: PlanOperation, row: number, given: GivenRow, seen: Seen): Row {
  const id = normalizeId(given.id?.trim() ?? "");
  const isMove = operation === "update" && id !== "";
  // A blank path asks for a generated one, but not where the link is there already.
  const named = operation === "upsert" ? undefined : readName(id, given.fields, seen);
  const fields = named?.by === "path" ? dropQuery(given.fields, named.text) : given.fields;
  const { values, problems: faults } = checkLink(fields, isMove ? "update" : "create");
  const pathFaults = faults.filter(({ field }) => field === "path");
  // A path with a fault is one all the same, and a row that was not understood may have had one.
  const isNamed = values.path !== undefined || pathFaults.length > 0 || given.problems.length > 0;
  const takesAnyId = seen.takesAnyId || named?.by === "id";
  const problems = [
    ...given.problems,
    ...checkKeys(operation, id, values.path, { isNamed, takesAnyId }),
    ...(operation === "upsert" || isMove ? checkScheme(given.fields.path) : []),
    ...(operation === "delete" ? [...pathFaults, ...checkDeletion(given.fields)] : faults),
    ...(operation === "update" ? checkShortening(given.fields) : []),
    ...findDuplicates(row, id, values.path, seen),
  ];
  return {
    ...emptyRow,
    row,
    link_id: id !== "" && isId(id, seen) ? id : null,
    named,
    path: isMove ? null : (values.path ?? null),
    fields: pickWritten(operation, isMove, given.fields, values.path),
    problems: problems.map((problem) => placeProblem(row, problem)),
  };
}

function readName(id: string, { path }: LinkFields, seen: Seen): RowName | undefined {
  const { linkHosts } = seen;
  if (linkHosts === undefined || uuidPattern.test(id)) return undefined;
  if (id !== "") return { ...readNamedLink(id, linkHosts), by: "id", text: id };
  if (path === undefined || path === null || isBlank(path)) return undefined;
  return { ...readNamedLink(path, linkHosts), by: "path", text: path };
}

/** A link may be named by an address with parameters, which no path has. */
function dropQuery(fields: LinkFields, text: string): LinkFields {
  return { ...fields, path: text.replace(/[?#].*/s, "") };
}

/** What no deployment has for an id is only a name. */
function isId(id: string, { linkHosts, takesAnyId }: Seen): boolean {
  if (linkHosts === undefined || uuidPattern.test(id)) return true;
  return takesAnyId && anyIdPattern.test(id);
}

/** Every rule that the same changes of many links would break. */
export function checkChanges(fields: LinkFields): readonly FieldProblem[] {
  const { path, ...others } = fields;
  const message = "Path must be unique, so it cannot be set for many links at once";
  const problems = [
    ...(path === undefined ? [] : [{ field: "path", message }]),
    ...checkLink(others, "update").problems,
    ...checkShortening(others),
  ];
  return problems.map(addHint);
}

/** The API ignores `shorten` on a link that exists, without an error. */
function checkShortening({ options }: LinkFields): readonly FieldProblem[] {
  if (options?.shorten !== true) return [];
  const message = "A link can get a short path only when it is created; remove options.shorten";
  return [{ field: "options.shorten", message }];
}

function pickWritten(
  operation: PlanOperation,
  isMove: boolean,
  { path: _path, ...others }: LinkFields,
  path: string | undefined,
): LinkFields {
  if (operation === "delete") return {};
  // An update that names its link only by path keeps that path. A blank path is no path.
  const hasPath = path !== undefined && (operation === "upsert" || isMove);
  return hasPath ? { ...others, path } : others;
}

function checkKeys(
  operation: PlanOperation,
  id: string,
  path: string | undefined,
  { isNamed, takesAnyId }: { readonly isNamed: boolean; readonly takesAnyId: boolean },
): readonly FieldProblem[] {
  if (id !== "") {
    return takesAnyId || uuidPattern.test(id) ? [] : [{ field: "id", message: "Id is not a UUID" }];
  }
  if (path !== undefined && !isFindable(path)) {
    const way = operation === "upsert" ? "" : ", or name the link by its ID";
    return [{ field: "path", message: `Path starts or ends with a space; remove it${way}` }];
  }
  if (operation === "upsert" || isNamed) return [];
  return [
    {
      field: "id",
      message: `The row does not say which link to ${operation}; give its id or path`,
    },
  ];
}

/** The API would take a whole address for a path, and make a link at the wrong place. */
function checkScheme(path: string | null | undefined): readonly FieldProblem[] {
  if (!isWholeAddress(path ?? "")) return [];
  return [{ field: "path", message: `Path ${wholeAddressFault}` }];
}

/** Filters are stripped: no link is looked up by white space at the ends of its path. */
export function isFindable(path: string): boolean {
  return path === path.trim();
}

/** A deletion ignores other fields: a row that has some was meant for another operation. */
function checkDeletion(fields: LinkFields): readonly FieldProblem[] {
  const others = Object.keys(fields).filter((field) => field !== "path");
  if (others.length === 0) return [];
  const message = `A row to delete can have only id or path; remove ${others.join(", ")}`;
  return [{ field: others[0] ?? "", message }];
}

/** Of two rows for one link, chance would decide which one is applied last. */
function findDuplicates(
  row: number,
  id: string,
  path: string | undefined,
  { unit, ids, paths }: Seen,
): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  const noteKey = (seen: Map<string, number>, field: string, key: string) => {
    const first = seen.get(key);
    if (first === undefined) {
      seen.set(copyText(key), row);
      return;
    }
    const both = `${unit}s ${first} and ${row}`;
    problems.push({ field, message: `The same ${field} is in ${both}; keep one of them` });
  };
  if (id !== "") noteKey(ids, "id", id);
  if (path !== undefined) noteKey(paths, "path", path);
  return problems;
}

/** What was cut out of a chunk of a file keeps the whole chunk in memory; a copy does not. */
function copyText(text: string): string {
  return Buffer.from(text).toString();
}

/** What to do about a problem, by the end of the API's own sentence. */
const hints: readonly (readonly [ending: string, hint: string])[] = [
  [
    "must be an http or https address",
    "write the whole address, such as https://shop.example/spring",
  ],
  [
    "must be a Google Play address",
    "write the whole address, such as market://details?id=com.example.app",
  ],
  [
    "must be an App Store address",
    "write the whole address, such as itms-apps://apps.apple.com/app/id123",
  ],
  ["Bundle is invalid", "use letters, digits and hyphens, separated by dots"],
  [
    "Package name is invalid",
    "use two or more parts that start with a letter, such as com.example",
  ],
  ["Fingerprints is invalid", "use pairs of hexadecimal digits separated by colons, such as AB:CD"],
  ["Path has invalid percent-encoding", "write the characters themselves, without percent signs"],
  ["Path is reserved", "the link host uses it for something else; choose another"],
  ["Path can't be blank", "leave it out to keep the current path"],
  ["contains control characters", "remove line breaks and invisible characters"],
  ["is not a UUID", "copy it from an export, or leave it out"],
];

/** The sentence, with what to do where it does not say so by itself. */
export function addHint({ field, message }: FieldProblem): FieldProblem {
  const hint = hints.find(([ending]) => message.endsWith(ending))?.[1];
  return { field, message: hint === undefined ? message : `${message}: ${hint}` };
}

export function placeProblem(row: number | null, problem: FieldProblem): PlanProblem {
  const { field, message } = addHint(problem);
  return { ...(row !== null && { row }), ...(field && { field }), message };
}
