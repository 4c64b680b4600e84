import type { LinkFields, ReadLink } from "../../contract/links.ts";
import { toSentence } from "../../contract/problem.ts";
import { placeHere } from "../../contract/rules/named-link.ts";
import type { PlanOperation, PlanProblem, PlanRow } from "../../state/plans.ts";
import { describeForeignHost } from "../../text/foreign-host.ts";
import { quote } from "../../text/show-hidden.ts";
import type { Asking, Owner } from "../owner.ts";
import { placeProblem, type CheckedRow } from "../rows/check-rows.ts";
import {
  batchRows,
  findLinks,
  findThere,
  pickMeant,
  type Known,
  type Taken,
} from "../select/find-links.ts";
import type { ProjectApps } from "../select/project-apps.ts";
import { listChanged, listUnknown, pickChanged } from "./compare-link.ts";
import {
  createAppComparison,
  noApps,
  readKnownApps,
  settleApps,
  type KnownApps,
} from "./known-apps.ts";

/** What many rows would do, row by row: everything is read, and nothing is written. */

/** A row that the plan has yet to number, with all of its problems. */
export type UnnumberedRow = Omit<PlanRow, "position"> & {
  readonly problems?: readonly PlanProblem[];
};

export type Planning = Asking &
  Pick<Owner, "requireRight"> & {
    readonly operation: PlanOperation;
    /** Whether ids may be others than UUIDs. */
    readonly takesAnyId: boolean;
    /** A new link's path, where a row has none: so that its creation may be repeated safely. */
    readonly createPath: () => string;
    readonly apps: ProjectApps;
    /** Whether rows may name apps in every way that a person does. */
    readonly takesNames: boolean;
  };

export async function* planRows(
  planning: Planning,
  rows: AsyncIterable<CheckedRow>,
): AsyncGenerator<UnnumberedRow> {
  const isDeletion = planning.operation === "delete";
  const findDispute = createAppComparison();
  const earlier: Earlier = { rowsById: new Map(), left: new Set(), findDispute };
  for await (const batch of batchRows(rows)) {
    const known = await findLinks(planning, batch);
    for (const given of batch) {
      const apps = isDeletion ? noApps : await readKnownApps(planning.apps, given.fields);
      const { fields, problems: found, fault } = settleApps(given.fields, apps, planning);
      const problems = [...given.problems, ...found.map((each) => placeProblem(given.row, each))];
      const message = problems.map((problem) => problem.message).join("; ");
      if (message !== "") yield { ...planRefusal("invalid", given, message), problems };
      else if (fault !== undefined) yield planRefusal("conflict", given, fault);
      else yield planRow(planning, { ...given, fields }, { known, apps, earlier });
    }
  }
}

/** Paths that the links of earlier rows have moved away from. */
type Left = Set<string>;

/** What earlier rows of the same plan do. */
type Earlier = {
  readonly rowsById: Map<string, number>;
  readonly left: Left;
  /** What they said of a new app that this row says otherwise. */
  readonly findDispute: ReturnType<typeof createAppComparison>;
};

/** A row about a link that is there, or of links that filters name, which are not numbered. */
type RowOfLink = Pick<CheckedRow, "id" | "path" | "fields"> & { readonly row: number | null };

type Context = { readonly known: Known; readonly apps: KnownApps; readonly earlier: Earlier };

function planRow(planning: Planning, row: CheckedRow, context: Context): UnnumberedRow {
  const dispute = context.earlier.findDispute(row.row, row.fields);
  if (dispute !== undefined) return planRefusal("invalid", row, dispute);
  if (planning.operation === "upsert") return planUpsert(planning, row, context);
  const meant = pickMeant(row, context.known);
  const [link] = meant;
  if (link === undefined || meant.length > 1) {
    const message = link ? describeSeveral(meant) : explainMissing(row, context.known, planning);
    return planRefusal("conflict", row, message);
  }
  const first = context.earlier.rowsById.get(link.id);
  if (first !== undefined) {
    const message = `This is the same link as in row ${first}; keep one of them`;
    return planRefusal("invalid", row, message);
  }
  context.earlier.rowsById.set(link.id, row.row);
  const { left } = context.earlier;
  if (planning.operation === "update") {
    return planUpdate({ ...row, id: link.id }, link, { ...context, left });
  }
  const isNamed = row.named?.by === "path";
  const isElsewhere = !isNamed && row.path !== undefined && link.path !== row.path;
  const message = "The link with this ID now has another path";
  return isElsewhere ? planRefusal("conflict", row, message) : planDeletion(row.row, link);
}

function explainMissing(row: CheckedRow, known: Known, { linkHost }: Planning): string {
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

function planUpsert(
  { createPath }: Planning,
  row: CheckedRow,
  { known, apps }: Context,
): UnnumberedRow {
  const { id, path = createPath(), fields } = row;
  const named = known.byId.get(id ?? "");
  const link = known.byPath.get(path) ?? (named?.path === path ? named : undefined);
  if (id !== undefined && link?.id !== id) {
    return planRefusal("conflict", row, row.path === undefined ? pathless : mismatch);
  }
  if (known.byShort.has(path)) {
    return planRefusal("conflict", row, "The path is already another link's short path");
  }
  if (link === undefined && known.isPartial) return planRefusal("conflict", row, maybeUnread);
  if (link !== undefined) return planChange(row.row, link, fields, apps);
  return { ...nothing, row: row.row, action: "create", path, fields: { ...fields, path } };
}

const pathless = "An upsert needs a path; to write by ID, use the operation update";
const mismatch =
  "No link has both this ID and this path; to change the path, use the operation update; " +
  "to write by path, remove the ID";

export function planUpdate(
  row: RowOfLink,
  link: ReadLink,
  { known, apps, left }: { readonly known: Taken; readonly apps: KnownApps; readonly left: Left },
): UnnumberedRow {
  const { path } = row.fields;
  const isMoved = typeof path === "string" && path !== link.path;
  if (isMoved) {
    const isLinks = known.byPath.has(path) && !left.has(path);
    if (isLinks || known.byShort.has(path)) {
      return planRefusal("conflict", row, "The new path is already taken");
    }
    if (known.isPartial) return planRefusal("conflict", row, maybeUnread);
  }
  if (isMoved) left.add(link.path ?? "");
  return planChange(row.row, link, row.fields, apps);
}

export function planChange(
  row: number | null,
  link: ReadLink,
  given: LinkFields,
  apps: KnownApps,
): UnnumberedRow {
  const changed = listChanged(link, given, apps);
  const unread = listUnknown(link).filter((field) => changed.includes(field));
  if (unread.length > 0) return planUnread(row, link, unread);
  const fields = pickChanged(given, changed);
  // Of what stays as it is nothing has to be remembered.
  if (Object.keys(fields).length === 0) return planLink(row, link, { action: "unchanged" });
  return planLink(row, link, { action: "update", fields, before: link });
}

/** What cannot be read cannot be put back, and nobody was shown what would be overwritten. */
export function planUnread(
  row: number | null,
  link: ReadLink,
  unread: readonly string[],
): UnnumberedRow {
  const message = `The link's ${toSentence(unread)} could not be read`;
  return planLink(row, link, { action: "conflict", message });
}

export function planDeletion(row: number | null, link: ReadLink): UnnumberedRow {
  const unread = toSentence(listUnknown(link));
  const message = `The link's ${unread} could not be read, so the deletion cannot be undone`;
  const deletion = { action: "delete", before: link } as const;
  return planLink(row, link, { ...deletion, ...(unread !== "" && { message }) });
}

export function planRefusal(
  action: "invalid" | "conflict",
  { row, id, path }: Pick<RowOfLink, "row" | "id" | "path">,
  message: string,
): UnnumberedRow {
  return { ...nothing, row, action, link_id: id ?? null, path: path ?? null, message };
}

/** What every row has that does nothing and says nothing. */
const nothing = {
  row: null,
  link_id: null,
  path: null,
  fields: null,
  before: null,
  message: null,
} as const;

type Planned = Pick<PlanRow, "action"> & Partial<Pick<PlanRow, "fields" | "before" | "message">>;

function planLink(row: number | null, { id, path }: ReadLink, planned: Planned): UnnumberedRow {
  return { ...nothing, row, link_id: id, path: path ?? null, ...planned };
}
