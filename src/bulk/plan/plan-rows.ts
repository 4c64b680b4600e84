import type { JsonObject } from "../../contract/json.ts";
import { links, type LinkFields, type ReadLink } from "../../contract/links.ts";
import { isStoreToken } from "../../contract/rules/link-rules.ts";
import { toSentence } from "../../contract/problem.ts";
import { placeHere } from "../../contract/rules/named-records.ts";
import type { PlanOperation, PlanRow } from "../../state/plans.ts";
import { describeForeignHost } from "../../text/show-address.ts";
import { quote } from "../../text/show-hidden.ts";
import type { Owner } from "../owner.ts";
import { placeProblem, type Row } from "../rows/check-rows.ts";
import {
  batchRows,
  findLinks,
  findThere,
  pickMeant,
  type KnownLinks,
  type TakenPaths,
  type PathAccess,
} from "../select/find-links.ts";
import { createAppSettling, type AppRules, type SettledFields } from "./settle-apps.ts";

/** Plans what each row would change. Reads from the server, but writes nothing. */

/** A planned row before it gets its position, with all of its problems. */
export type PlannedRow = Omit<PlanRow, "position"> & Pick<Row, "problems">;

/** The values of a row that writes nothing. */
const unwritten = { fields: null, before: null, message: null };

export type SettledRow = Row & SettledFields;

export type PlanContext = PathAccess &
  AppRules &
  Pick<Owner, "linkHost"> & {
    readonly operation: PlanOperation;
    /**
     * Generates the path of a new link if its row has none. With a fixed path, creating the link
     * can be retried safely.
     */
    readonly createPath: () => string;
  };

export async function* planRows(
  planning: PlanContext,
  rows: AsyncIterable<Row>,
): AsyncGenerator<PlannedRow> {
  const settleApps = createAppSettling(planning);
  const earlier: EarlierRows = { rowsById: new Map(), left: new Set() };
  for await (const batch of batchRows(rows)) {
    const known = await findLinks(planning, batch);
    for (const given of batch) {
      const isApplicable = given.problems.length === 0;
      // Rows of deletions have no fields, so this resolves no apps.
      const { fault, ...settled } = await settleApps(given.fields, given.row, isApplicable);
      const found = settled.problems.map((each) => placeProblem(given.row, each));
      const row = { ...given, ...settled, problems: [...given.problems, ...found] };
      const message = row.problems.map((problem) => problem.message).join("; ");
      if (message !== "") yield planRefusal("invalid", row, message);
      else if (fault !== undefined) yield planRefusal("conflict", row, fault);
      else yield planRow(planning, row, known, earlier);
    }
  }
}

type EarlierRows = {
  readonly rowsById: Map<string, number | null>;
  /** Paths that earlier rows of the plan free by moving their links. */
  readonly left: Set<string>;
};

function planRow(
  planning: PlanContext,
  row: SettledRow,
  known: KnownLinks,
  { rowsById, left }: EarlierRows,
): PlannedRow {
  if (planning.operation === "upsert") return planUpsert(planning, row, known);
  const meant = pickMeant(row, known);
  const [link] = meant;
  if (link === undefined || meant.length > 1) {
    const message = link ? describeSeveral(meant) : explainMissing(row, known, planning);
    return planRefusal("conflict", row, message);
  }
  const first = rowsById.get(link.id);
  if (first !== undefined) {
    const message = `This is the same link as in row ${first}; keep one of them`;
    return planRefusal("invalid", row, message);
  }
  rowsById.set(link.id, row.row);
  if (planning.operation === "update") {
    return planUpdate({ ...row, link_id: link.id }, link, known, left);
  }
  const isNamed = row.named?.by === "path";
  const isElsewhere = !isNamed && row.path !== null && link.path !== row.path;
  const message = "The link with this ID now has another path";
  return isElsewhere ? planRefusal("conflict", row, message) : planDeletion(row, link);
}

function explainMissing(row: Row, known: KnownLinks, { linkHost }: PlanContext): string {
  if (known.isPartial) return maybeUnread;
  const address = row.named?.address;
  if (address === undefined || address.isOurs === true) return "This link does not exist";
  const here = placeHere(address, linkHost, findThere(row, known));
  return `This link does not exist: ${describeForeignHost(address.host, here)}`;
}

function describeSeveral(meant: readonly ReadLink[]): string {
  const some = meant.slice(0, mostCandidates).map(({ path, id }) => quote(path ?? id));
  const more = meant.length > mostCandidates ? [`${meant.length - mostCandidates} more`] : [];
  const named = toSentence([...some, ...more]);
  return `Several links match: ${named}; use the ID or the whole path`;
}

const mostCandidates = 5;

const maybeUnread = "This link may be one of those that could not be read";

function planUpsert({ createPath }: PlanContext, row: SettledRow, known: KnownLinks): PlannedRow {
  const { link_id, fields } = row;
  const path = row.path ?? createPath();
  const named = known.byId.get(link_id ?? "");
  const link = known.byPath.get(path) ?? (named?.path === path ? named : undefined);
  if (link_id !== null && link?.id !== link_id) {
    return planRefusal("conflict", row, row.path === null ? pathless : mismatch);
  }
  if (known.byShort.has(path)) {
    return planRefusal("conflict", row, "The path is already another link's short path");
  }
  if (link === undefined && known.isPartial) return planRefusal("conflict", row, maybeUnread);
  if (link !== undefined) return planChange(row, link);
  return { ...row, ...unwritten, action: "create", path, fields: { ...fields, path } };
}

const pathless = "An upsert needs a path; to write by ID, use the operation update";
const mismatch =
  "No link has both this ID and this path; to change the path, use the operation update; " +
  "to write by path, remove the ID";

export function planUpdate(
  row: SettledRow,
  link: ReadLink,
  known: TakenPaths,
  left: Set<string>,
): PlannedRow {
  const { path } = row.fields;
  if (typeof path === "string" && path !== link.path) {
    const isLinks = known.byPath.has(path) && !left.has(path);
    if (isLinks || known.byShort.has(path)) {
      return planRefusal("conflict", row, "The new path is already taken");
    }
    if (known.isPartial) return planRefusal("conflict", row, maybeUnread);
    left.add(link.path ?? "");
  }
  return planChange(row, link);
}

export function planChange(row: SettledRow, link: ReadLink): PlannedRow {
  const changed = listChanged(link, row);
  const unread = listUnknown(link).filter((field) => changed.includes(field));
  if (unread.length > 0) return planUnread(row, link, unread);
  const fields = pickChanged(row.fields, changed);
  // An unchanged row stores neither fields nor the link.
  if (Object.keys(fields).length === 0) return planLink(row, link, { action: "unchanged" });
  return planLink(row, link, { action: "update", fields, before: link });
}

/** A value that could not be parsed cannot be shown for approval or restored by an undo. */
export function planUnread(row: Row, link: ReadLink, unread: readonly string[]): PlannedRow {
  const message = `The link's ${toSentence(unread)} could not be read`;
  return planLink(row, link, { action: "conflict", message });
}

export function planDeletion(row: Row, link: ReadLink): PlannedRow {
  const unread = toSentence(listUnknown(link));
  const message = `The link's ${unread} could not be read, so the deletion cannot be undone`;
  const deletion = { action: "delete", before: link } as const;
  return planLink(row, link, { ...deletion, ...(unread !== "" && { message }) });
}

export function planRefusal(action: "invalid" | "conflict", row: Row, message: string): PlannedRow {
  return { ...row, ...unwritten, action, message };
}

function planLink(
  row: Row,
  { id, path }: ReadLink,
  planned: Pick<PlannedRow, "action"> & Partial<PlannedRow>,
): PlannedRow {
  return { ...row, ...unwritten, link_id: id, path: path ?? null, ...planned };
}

/** Lists the fields that would change. A field whose current value is unknown counts as changed. */
function listChanged(
  link: ReadLink,
  {
    fields: { ios_app: _ios, android_app: _android, options: _options, ...plain },
    appIds,
  }: SettledFields,
): readonly string[] {
  const changed = Object.entries({ ...plain, ...appIds }).filter(([field, to]) => {
    const from = link[field];
    return to !== undefined && from !== to && !(isUnset(from) && isUnset(to));
  });
  return changed.map(([field]) => field);
}

function isUnset(value: unknown): boolean {
  return value === null || value === "" || value === false;
}

/** Selects the changed fields of a row. The API requires both store tokens together. */
function pickChanged(fields: LinkFields, changed: readonly string[]): LinkFields {
  const hasToken = changed.some(isStoreToken);
  const picked = Object.entries(fields).filter(
    ([field]) =>
      changed.includes(field) ||
      changed.includes(`${field}_id`) ||
      (hasToken && isStoreToken(field)),
  );
  return Object.fromEntries(picked);
}

/**
 * Lists the fields of a link, except clicks, that changed since the plan was made. Ignores fields
 * that the server never returned.
 */
export function listEdits(before: JsonObject, now: ReadLink): readonly string[] {
  return linkFields.filter((field) =>
    now[field] === undefined ? before[field] !== undefined : (before[field] ?? null) !== now[field],
  );
}

/** Lists the fields of a link that the server did not return. */
export function listUnknown(link: ReadLink): readonly string[] {
  return linkFields.filter((field) => link[field] === undefined);
}

const linkFields = Object.keys(links.show.response.shape).filter((field) => field !== "clicks");
