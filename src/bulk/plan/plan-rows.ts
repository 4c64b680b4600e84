import type { ServerAccess } from "../../client/client.ts";
import type { Random } from "../../contract/clock.ts";
import type { FilterInput } from "../../contract/filters.ts";
import { links, type LinkFields, type ReadLink } from "../../contract/links.ts";
import { Problem, toSentence, type StatedProblem } from "../../contract/problem.ts";
import { checkLink, isStoreToken } from "../../contract/rules/link-rules.ts";
import { placeHere } from "../../contract/rules/named-records.ts";
import type { Jobs } from "../../state/jobs.ts";
import type { PlanOperation, PlanRow, PlanRule } from "../../state/plans.ts";
import { describeForeignHost } from "../../text/show-address.ts";
import { quote } from "../../text/show-hidden.ts";
import type { Owner } from "../owner.ts";
import { checkChanges, type Row } from "../rows/check-rows.ts";
import { batchRows, findLinks, pickMeant, type KnownLinks } from "../find-links.ts";
import { selectParts } from "../../lists/select-links.ts";
import { applyRules, listRuledFields } from "./change-by-rule.ts";
import { createAppSettling, type AppRules, type SettledRow } from "./settle-apps.ts";

/** Plans what rows and filters would change. Reads links and apps, but writes nothing. */

/** A planned row that has no position yet, with all of its problems. */
export type PlannedRow = Omit<PlanRow, "position"> & Pick<Row, "problems">;

/** Fields of a row that writes nothing. */
const unwritten = { fields: null, before: null, message: null };

export type PlanContext = Owner &
  ServerAccess &
  AppRules & {
    readonly operation: PlanOperation;
    readonly random: Random;
    readonly jobs: Jobs;
  };

export async function* planRows(
  planning: PlanContext,
  rows: AsyncIterable<Row>,
): AsyncGenerator<PlannedRow> {
  const settleApps = createAppSettling(planning);
  const earlier = createEarlierRows();
  for await (const batch of batchRows(rows)) {
    const known = await findLinks(planning, batch);
    for (const given of batch) {
      // For a deletion, this does nothing, because its row has no fields.
      const row = await settleApps(given);
      const message = row.problems.map((problem) => problem.message).join("; ");
      if (message !== "") yield planRefusal("invalid", row, message);
      else if (row.fault !== undefined) yield planRefusal("conflict", row, row.fault);
      else yield planRow(planning, row, known, earlier);
    }
  }
}

/**
 * What earlier rows of the plan do: the links that they change, and the paths that they free
 * (`left`) or take (`taken`).
 */
const createEarlierRows = () => ({
  rowsById: new Map<string, number | null>(),
  left: new Set<string>(),
  taken: new Set<string>(),
});
type EarlierRows = ReturnType<typeof createEarlierRows>;

function planRow(
  planning: PlanContext,
  row: SettledRow,
  known: KnownLinks,
  earlier: EarlierRows,
): PlannedRow {
  if (planning.operation === "upsert") return planUpsert(planning, row, known);
  const meant = pickMeant(row, known);
  const [link] = meant;
  if (link === undefined || meant.length > 1) {
    const message = link ? describeSeveral(meant) : explainMissing(row, known, planning);
    return planRefusal("conflict", row, message);
  }
  const first = earlier.rowsById.get(link.id);
  if (first !== undefined) {
    const message = `This is the same link as in row ${first}; keep one of them`;
    return planRefusal("invalid", row, message);
  }
  earlier.rowsById.set(link.id, row.row);
  if (planning.operation === "update") {
    return planUpdate({ ...row, link_id: link.id }, link, known, earlier);
  }
  const isNamed = row.named?.by === "path";
  const isElsewhere = !isNamed && row.path !== null && link.path !== row.path;
  const message = "The link with this ID now has another path";
  return isElsewhere ? planRefusal("conflict", row, message) : planDeletion(row, link);
}

function explainMissing({ named }: Row, links: KnownLinks, { known }: PlanContext): string {
  if (links.isPartial) return maybeUnread;
  const address = named?.address;
  if (address === undefined || address.isOurs === true) return "This link does not exist";
  // The URL is on another host, but the project may have a link with the same path.
  const there = links.byPath.get(address.path) ?? links.byShort.get(address.path);
  const here = placeHere(address, known?.linkHost, there);
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

function planUpsert({ random }: PlanContext, row: SettledRow, known: KnownLinks): PlannedRow {
  const { link_id, fields } = row;
  // The path is chosen now, so that creating the link can be retried safely.
  const path = row.path ?? Buffer.from(random.bytes(pathBytes)).toString("hex");
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

const pathBytes = 6;
const pathless = "An upsert needs a path; to write by ID, use the operation update";
const mismatch =
  "No link has both this ID and this path; to change the path, use the operation update; " +
  "to write by path, remove the ID";

export type FilterPlanInput = {
  readonly operation: "update" | "delete";
  readonly filters: readonly FilterInput[];
  readonly search?: string | undefined;
  readonly changes: LinkFields;
  /** Rules that compute a value for each link. They never change the fields in `changes`. */
  readonly rules?: readonly PlanRule[];
};

/** Plans the same changes or rules for all links that match the filters. */
export async function* planFilters(
  planning: PlanContext,
  { operation, filters, search, changes, rules = [] }: FilterPlanInput,
): AsyncGenerator<PlannedRow> {
  const row = await createAppSettling(planning)({ ...unknownLink, fields: changes });
  const faults = operation === "delete" ? [] : checkChanges(changes);
  const problems = [...faults, ...row.problems];
  if (problems.length > 0) throw refuseChanges(problems);
  if (row.fault !== undefined) throw refuseChanges([{ message: row.fault }]);
  const ruling = { row, rules, ruled: listRuledFields(rules), earlier: createEarlierRows() };
  for await (const { rows, unread } of selectParts(planning, filters, search)) {
    if (operation === "delete") for (const link of rows) yield planDeletion(row, link);
    else yield* planUpdates(planning, rows, ruling);
    for (let left = unread; left > 0; left -= 1) yield unreadLink;
  }
}

const unknownLink = { row: null, link_id: null, path: null, fields: {}, problems: [] };
/** A matching link that could not be parsed becomes a row with a conflict. */
const unreadMessage = "A link that matches the filters could not be read";
const unreadLink = planRefusal("conflict", unknownLink, unreadMessage);

export function refuseChanges(problems: readonly StatedProblem[]): Problem {
  const message = toSentence(problems.map((problem) => problem.message));
  const placed = problems.map(({ field, ...rest }) => {
    return { field: field === undefined ? "changes" : `changes.${field}`, ...rest };
  });
  return new Problem(422, message, { problems: placed });
}

type RuleContext = {
  /** The values that all links get, before rules are applied. */
  readonly row: SettledRow;
  readonly rules: readonly PlanRule[];
  readonly ruled: ReadonlySet<string>;
  readonly earlier: EarlierRows;
};

async function* planUpdates(
  planning: PlanContext,
  found: readonly ReadLink[],
  ruling: RuleContext,
): AsyncGenerator<PlannedRow> {
  const updates = found.map((link) => ({ link, row: applyToLink(link, ruling) }));
  const rows = updates.map(({ row }) => row);
  const known = await findLinks(planning, rows);
  for (const { link, row } of updates) yield planLinkUpdate(row, link, ruling, known);
}

function applyToLink(link: ReadLink, { row, rules }: RuleContext): SettledRow {
  const ruled = applyRules(link, rules);
  const { values, problems } = checkLink(ruled.fields, "update");
  // Use the path in normalized form, to look it up and to send it.
  const path = values.path === undefined ? {} : { path: values.path };
  const fields = { ...row.fields, ...ruled.fields, ...path };
  return { ...row, fields, problems: [...ruled.problems, ...problems] };
}

function planLinkUpdate(
  given: SettledRow,
  link: ReadLink,
  { ruled, earlier }: RuleContext,
  known: KnownLinks,
): PlannedRow {
  const unread = listUnknown(link).filter((field) => ruled.has(field));
  if (unread.length > 0) return planUnread(given, link, unread);
  const row = { ...given, link_id: link.id, path: link.path ?? null, problems: [] };
  if (given.problems.length > 0) {
    return planRefusal("invalid", row, given.problems.map(({ message }) => message).join("; "));
  }
  return planUpdate(row, link, known, earlier);
}

function planUpdate(
  row: SettledRow,
  link: ReadLink,
  known: KnownLinks,
  { left, taken }: EarlierRows,
): PlannedRow {
  const { path } = row.fields;
  if (typeof path !== "string" || path === link.path) return planChange(row, link);
  if (taken.has(path)) {
    return planRefusal("conflict", row, "Another link in the plan moves to the same path");
  }
  if ((known.byPath.has(path) && !left.has(path)) || known.byShort.has(path)) {
    return planRefusal("conflict", row, "The new path is already taken");
  }
  if (known.isPartial) return planRefusal("conflict", row, maybeUnread);
  left.add(link.path ?? "");
  const planned = planChange(row, link);
  if (planned.action === "update") taken.add(path);
  return planned;
}

function planChange(row: SettledRow, link: ReadLink): PlannedRow {
  const changed = listChanged(link, row);
  const unread = listUnknown(link).filter((field) => changed.includes(field));
  if (unread.length > 0) return planUnread(row, link, unread);
  const fields = pickChanged(row.fields, changed);
  // An unchanged row does not store the link or any fields.
  if (Object.keys(fields).length === 0) return planLink(row, link, { action: "unchanged" });
  return planLink(row, link, { action: "update", fields, before: link });
}

/**
 * Rejects a change to a field that could not be read. Its value could not be shown for approval,
 * and an undo could not restore it.
 */
function planUnread(row: Row, link: ReadLink, unread: readonly string[]): PlannedRow {
  const message = `The link's ${toSentence(unread)} could not be read`;
  return planLink(row, link, { action: "conflict", message });
}

function planDeletion(row: Row, link: ReadLink): PlannedRow {
  const unread = toSentence(listUnknown(link));
  const message = `The link's ${unread} could not be read, so the deletion cannot be undone`;
  const deletion = { action: "delete", before: link } as const;
  return planLink(row, link, { ...deletion, ...(unread !== "" && { message }) });
}

function planRefusal(action: "invalid" | "conflict", row: Row, message: string): PlannedRow {
  return { ...row, ...unwritten, action, message };
}

function planLink(
  row: Row,
  { id, path }: ReadLink,
  planned: Pick<PlannedRow, "action"> & Partial<PlannedRow>,
): PlannedRow {
  return { ...row, ...unwritten, link_id: id, path: path ?? null, ...planned };
}

/** Lists the fields that would change. A field without a known value counts as changed. */
function listChanged(
  link: ReadLink,
  {
    fields: { ios_app: _ios, android_app: _android, options: _options, ...plain },
    appIds,
  }: SettledRow,
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

/**
 * Selects the changed fields of a row. If one store token changes, both are selected, because the
 * API requires both.
 */
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

/** Lists the fields of a link that the server did not return. */
function listUnknown(link: ReadLink): readonly string[] {
  return linkFields.filter((field) => link[field] === undefined);
}

const linkFields = Object.keys(links.show.response.shape).filter((field) => field !== "clicks");
