import { anyIdPattern, normalizeId, uuidPattern } from "../../contract/fields.ts";
import type { LinkFields } from "../../contract/links.ts";
import type { FieldProblem } from "../../contract/problem.ts";
import { isWholeAddress, wholeAddressFault } from "../../contract/rules/link-path.ts";
import { checkLink } from "../../contract/rules/link-rules.ts";
import { readNamedLink, type NamedLink } from "../../contract/rules/named-records.ts";
import { isBlank } from "../../contract/text.ts";
import type { PlanOperation, PlanProblem, PlanRow } from "../../state/plans.ts";
import type { GivenRow } from "../files/columns.ts";

/** Checks each row, and the rows against each other, before anything is read or sent. */

/** What rows are counted in: the lines of a text, or the places in a list, both from 1. */
export type Unit = "line" | "row";

/** A row from its source until its plan gives it an action. */
export type Row = Pick<PlanRow, "row" | "path"> & {
  /**
   * `link_id` is the link that is meant. An upsert is matched by path, and its id must agree.
   * `path` is in its one form. An upsert without one gets one chosen. An update or a deletion has
   * one where the link is named by it; an update by id has a path among its fields, to move to.
   */
  readonly link_id: string | null;
  /** What else an update or a deletion may mean by its id or path. */
  readonly named?: RowName | undefined;
  /** What to write, as the API takes it; an upsert's path is among it. */
  readonly fields: LinkFields;
  /** All that is wrong with it; such a row must not be written. */
  readonly problems: readonly PlanProblem[];
};

/** How a row names its link: the text, and the column that contains it. */
type RowName = NamedLink & { readonly by: "id" | "path"; readonly text: string };

export type RowRules = {
  readonly operation: PlanOperation;
  readonly unit: Unit;
  /** Whether ids may be others than UUIDs. */
  readonly takesAnyId?: boolean | undefined;
  /** Given if rows may name links in every way that a person does. */
  readonly linkHosts?: readonly string[] | undefined;
};

/** The check finds every rule that a row breaks, and remembers the row for later ones. */
export function createRowCheck({ operation, unit, takesAnyId = false, linkHosts }: RowRules) {
  const ids = new Map<string, number>();
  const paths = new Map<string, number>();
  return (row: number, given: GivenRow): Row => {
    const id = normalizeId(given.id?.trim() ?? "");
    const isMove = operation === "update" && id !== "";
    // A blank path asks for a generated one, but not where the link is there already.
    const named = operation === "upsert" ? undefined : readName(id, given.fields, linkHosts);
    const fields = named?.by === "path" ? dropQuery(given.fields, named.text) : given.fields;
    const { values, problems: faults } = checkLink(fields, isMove ? "update" : "create");
    const pathFaults = faults.filter(({ field }) => field === "path");
    // A path with a fault is one all the same, and a row that was not understood may have had one.
    const isNamed = values.path !== undefined || pathFaults.length > 0 || given.problems.length > 0;
    const isUuid = uuidPattern.test(id);
    const isId = isUuid || takesAnyId || named?.by === "id";
    // A text of another form can only be a name.
    const isIdForm = linkHosts === undefined || isUuid || (takesAnyId && anyIdPattern.test(id));
    const problems = [
      ...given.problems,
      ...checkKeys(operation, id, values.path, { isNamed, isId }),
      ...(operation === "upsert" || isMove ? checkScheme(given.fields.path) : []),
      ...(operation === "delete" ? [...pathFaults, ...checkDeletion(given.fields)] : faults),
      ...(operation === "update" ? checkShortening(given.fields) : []),
      ...(id === "" ? [] : noteKey(ids, "id", id, row)),
      ...(values.path === undefined ? [] : noteKey(paths, "path", values.path, row)),
    ];
    return {
      row,
      link_id: id !== "" && isIdForm ? id : null,
      named,
      path: isMove ? null : (values.path ?? null),
      fields: pickWritten(operation, isMove, given.fields, values.path),
      problems: problems.map((problem) => placeProblem(row, problem)),
    };
  };

  /** If two rows had one link, it would be unclear which of them is applied last. */
  function noteKey(
    seen: Map<string, number>,
    field: string,
    key: string,
    row: number,
  ): readonly FieldProblem[] {
    const first = seen.get(key);
    if (first === undefined) {
      // A text cut out of a chunk of a file keeps the whole chunk in memory; a copy does not.
      seen.set(Buffer.from(key).toString(), row);
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

/** A link may be named by an address with parameters, which no path has. */
function dropQuery(fields: LinkFields, text: string): LinkFields {
  return { ...fields, path: text.replace(/[?#].*/s, "") };
}

/** Every rule that the same changes of many links would break. */
export function checkChanges(fields: LinkFields): readonly FieldProblem[] {
  const { path, ...others } = fields;
  const message = "Path must be unique, so it cannot be set for many links at once";
  return [
    ...(path === undefined ? [] : [{ field: "path", message }]),
    ...checkLink(others, "update").problems,
    ...checkShortening(others),
  ];
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
  { isNamed, isId }: { readonly isNamed: boolean; readonly isId: boolean },
): readonly FieldProblem[] {
  if (id !== "") return isId ? [] : [{ field: "id", message: "Id is not a UUID" }];
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

export function placeProblem(row: number | null, { field, message }: FieldProblem): PlanProblem {
  return { ...(row !== null && { row }), ...(field && { field }), message };
}
