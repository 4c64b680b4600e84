import { anyIdPattern, normalizeId, uuidPattern } from "../../contract/fields.ts";
import type { LinkFields } from "../../contract/links.ts";
import type { FieldProblem } from "../../contract/problem.ts";
import { isWholeAddress, wholeAddressFault } from "../../contract/rules/link-path.ts";
import { checkLink } from "../../contract/rules/link-rules.ts";
import { readNamedLink, type NamedLink } from "../../contract/rules/named-records.ts";
import { isBlank } from "../../contract/text.ts";
import type { PlanOperation, PlanProblem, PlanRow } from "../../state/plans.ts";
import type { InputRow } from "../files/columns.ts";

/** Validates rows and finds duplicates. This needs no requests. */

/** What row numbers count: lines of a file, or items of a list. Both start at 1. */
export type Unit = "line" | "row";

/** A validated row that is not yet planned. */
export type Row = Pick<PlanRow, "row" | "path"> & {
  /**
   * Together with `path`, identifies the link. If both are set, the link must match both. An upsert
   * without a path gets a generated one. The new path of an update is in `fields`.
   */
  readonly link_id: string | null;
  /** Set if the ID or path of an update or deletion may instead be the link's name or URL. */
  readonly named?: RowName | undefined;
  /** The fields to write, as the API expects them, including the path of an upsert. */
  readonly fields: LinkFields;
  /** A row with problems is never sent. */
  readonly problems: readonly PlanProblem[];
};

type RowName = NamedLink & { readonly by: "id" | "path"; readonly text: string };

export type RowRules = {
  readonly operation: PlanOperation;
  readonly unit: Unit;
  /** Whether IDs that are not UUIDs are accepted. */
  readonly takesAnyId?: boolean | undefined;
  /** If set, a row may identify its link by name or URL. */
  readonly linkHosts?: readonly string[] | undefined;
};

/**
 * Creates a function that finds all problems of a row. To find duplicates, it remembers the IDs and
 * paths of earlier rows.
 */
export function createRowCheck({ operation, unit, takesAnyId = false, linkHosts }: RowRules) {
  const seen = { id: new Map<string, number>(), path: new Map<string, number>() };
  return (row: number, given: InputRow): Row => {
    const id = normalizeId(given.id?.trim() ?? "");
    const isMove = operation === "update" && id !== "";
    const isPathWritten = operation === "upsert" || isMove;
    // The path of an upsert is a value to write, not a reference to a link.
    const named = operation === "upsert" ? undefined : readName(id, given.fields, linkHosts);
    // Remove the query string of a URL, because it is not part of the path.
    const namedPath = named?.by === "path" && { path: named.text.replace(/[?#].*/s, "") };
    const linkFields = { ...given.fields, ...namedPath };
    const { values, problems: faults } = checkLink(linkFields, isMove ? "update" : "create");
    const { path } = values;
    const pathFaults = faults.filter(({ field }) => field === "path");
    // If the path or any other value is invalid, do not also report that the path is missing.
    const isNamed = path !== undefined || pathFaults.length > 0 || given.problems.length > 0;
    const isUuid = uuidPattern.test(id);
    const isId = isUuid || takesAnyId || named?.by === "id";
    // Text that cannot be an ID must be a name.
    const isIdForm = linkHosts === undefined || isUuid || (takesAnyId && anyIdPattern.test(id));
    const problems = [
      ...given.problems,
      ...checkKeys(operation, id, path, { isNamed, isId }),
      ...(isPathWritten && isWholeAddress(given.fields.path ?? "") ? [wholeAddressProblem] : []),
      ...(operation === "delete" ? [...pathFaults, ...checkDeletion(given.fields)] : faults),
      ...(operation === "update" ? checkShortening(given.fields) : []),
      ...(id === "" ? [] : noteKey("id", id, row)),
      ...(path === undefined ? [] : noteKey("path", path, row)),
    ];
    const { path: _path, ...others } = given.fields;
    // A path that only identifies the link is not written. A blank path counts as missing.
    const written = isPathWritten && path !== undefined ? { ...others, path } : others;
    return {
      row,
      link_id: id !== "" && isIdForm ? id : null,
      named,
      path: isMove ? null : (path ?? null),
      fields: operation === "delete" ? {} : written,
      problems: problems.map((problem) => placeProblem(row, problem)),
    };
  };

  /**
   * Rejects a second row for the same link, because either of the two could be the intended one.
   */
  function noteKey(field: keyof typeof seen, key: string, row: number): readonly FieldProblem[] {
    const first = seen[field].get(key);
    if (first === undefined) {
      // A copy, because a substring would keep its whole chunk of the file in memory.
      seen[field].set(Buffer.from(key).toString(), row);
      return [];
    }
    const both = `${unit}s ${first} and ${row}`;
    return [{ field, message: `The same ${field} is in ${both}; keep one of them` }];
  }
}

function readName(
  id: string,
  { path }: LinkFields,
  linkHosts: readonly string[] | undefined,
): RowName | undefined {
  if (linkHosts === undefined || uuidPattern.test(id)) return undefined;
  if (id !== "") return { ...readNamedLink(id, linkHosts), by: "id", text: id };
  if (path === undefined || path === null || isBlank(path)) return undefined;
  return { ...readNamedLink(path, linkHosts), by: "path", text: path };
}

/** Finds all problems with changes that would apply to many links. */
export function checkChanges(fields: LinkFields): readonly FieldProblem[] {
  const { path, ...others } = fields;
  const message = "Path must be unique, so it cannot be set for many links at once";
  return [
    ...(path === undefined ? [] : [{ field: "path", message }]),
    ...checkLink(others, "update").problems,
    ...checkShortening(others),
  ];
}

/** Rejects `shorten` for existing links, because the API silently ignores it. */
function checkShortening({ options }: LinkFields): readonly FieldProblem[] {
  if (options?.shorten !== true) return [];
  const message = "A link can get a short path only when it is created; remove options.shorten";
  return [{ field: "options.shorten", message }];
}

function checkKeys(
  operation: PlanOperation,
  id: string,
  path: string | undefined,
  { isNamed, isId }: { readonly isNamed: boolean; readonly isId: boolean },
): readonly FieldProblem[] {
  if (id !== "") return isId ? [] : [{ field: "id", message: "Id is not a UUID" }];
  if (path !== undefined && !isFindable(path)) {
    const way = operation === "upsert" ? "" : ", or name the link by its ID";
    return [{ field: "path", message: `Path starts or ends with a space; remove it${way}` }];
  }
  if (operation === "upsert" || isNamed) return [];
  const message = `The row does not say which link to ${operation}; give its id or path`;
  return [{ field: "id", message }];
}

/** Rejects a whole URL as a path, because the API would create a link that visitors cannot open. */
const wholeAddressProblem = { field: "path", message: `Path ${wholeAddressFault}` };

/**
 * Whether a filter can find the path. The server trims filter values, so surrounding spaces are
 * lost.
 */
export function isFindable(path: string): boolean {
  return path === path.trim();
}

/** Rejects a deletion with other fields, because the user probably meant another operation. */
function checkDeletion(fields: LinkFields): readonly FieldProblem[] {
  const others = Object.keys(fields).filter((field) => field !== "path");
  if (others.length === 0) return [];
  const message = `A row to delete can have only id or path; remove ${others.join(", ")}`;
  return [{ field: others[0] ?? "", message }];
}

export function placeProblem(row: number | null, { field, message }: FieldProblem): PlanProblem {
  return { ...(row !== null && { row }), ...(field && { field }), message };
}
