import * as z from "zod";
import { createAudit, type AuditResult } from "../../audit/audit-links.ts";
import { describeGroups, type FindingGroup } from "../../audit/describe-groups.ts";
import type { AuditWindow } from "../../audit/findings.ts";
import {
  appKinds,
  createProjectApps,
  type ProjectApp,
  type AppMember,
  type ProjectApps,
} from "../../lists/project-apps.ts";
import type { ServerAccess } from "../../client/client.ts";
import { listLinks, selectParts } from "../../lists/select-links.ts";
import { CallFailure } from "../../client/outcome.ts";
import type { FilterInput } from "../../contract/filters.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import { toSignal } from "../../contract/waiting.ts";
import type { ReadLink } from "../../contract/links.ts";
import { parseTime } from "../../contract/local-time.ts";
import type { KeyContext } from "../access/key-context.ts";
import { listFields, shownFilters, type ToolFields } from "../schemas/input-schema.ts";
import { makeTool, type Tool, type ToolCall } from "./tool.ts";

/** The tool that audits a project's links. It lists problems, worst first, with their fixes. */

const { links } = contract;
const name = "audit_links";
const idsPerPage = 10;

const toolCall = z.looseObject({ tool: z.unknown(), arguments: z.unknown() });

const audit = z.looseObject({
  checked: z.int(),
  /**
   * False if time ran out before all links were checked. In that case, `next` may contain the call
   * that continues the audit.
   */
  complete: z.boolean(),
  groups: z.array(
    z.looseObject({
      code: z.string(),
      field: z.string().optional(),
      count: z.int(),
      message: z.string(),
      ids: z.array(z.string()),
      fix: toolCall.optional(),
    }),
  ),
  not_checked: z.array(z.string()).optional(),
  next: toolCall.optional(),
});

/** Shows fixes only if `mayPlan` returns true, because each fix is a call to plan_links. */
export function createAuditLinks(mayPlan: (keyContext: KeyContext) => boolean): Tool {
  return makeTool({
    name,
    title: "Audit links",
    description: "Find problems in links and apps, with fixes.",
    group: "links",
    effect: "read",
    like: { what: "Filters", tool: links.index.tool },
    readAccess: (access) => access.read(links.index),
    fields: listOwnFields,
    result: () => ({ audit, meta: z.looseObject({ page: z.unknown() }).optional() }),
    run: async (args, call) => {
      const { filters = [], page = 1 } = args as AuditArguments;
      const { keyContext } = call;
      const takesFixes = mayPlan(keyContext) && keyContext.mayAsk(links.update);
      const inTime = limitTime(call);
      try {
        return await runAudit({ filters, page, takesFixes }, keyContext, inTime);
      } catch (error) {
        throw inTime.isTimeUp(error) ? failLate() : error;
      } finally {
        inTime.stop();
      }
    },
  });
}

type AuditArguments = {
  readonly filters?: readonly FilterInput[];
  readonly page?: number;
};

function listOwnFields(isTerse: boolean): ToolFields {
  const { filters } = listFields(links.index, { idText: "" });
  return {
    ...(filters && { filters: isTerse ? shownFilters() : filters }),
    page: z.int().min(1).optional(),
  };
}

type AuditRequest = Required<AuditArguments> & { readonly takesFixes: boolean };

async function runAudit(
  { filters, page, takesFixes }: AuditRequest,
  keyContext: KeyContext,
  inTime: LimitedAccess,
): Promise<JsonObject> {
  const { access, clock, known } = keyContext;
  const window = { from: (page - 1) * idsPerPage, limit: idsPerPage };
  const apps = createProjectApps(inTime, (index) => access.read(index).state !== "denied");
  const [ios, android] = await Promise.all([
    readApps("ios_app", apps),
    readApps("android_app", apps),
  ]);
  const started = createAudit({
    apps: {
      ios: typeof ios === "string" ? undefined : ios,
      android: typeof android === "string" ? undefined : android,
    },
    linkHost: known.linkHost,
    visits: { link_in_referrer: known.linkInReferrer, second_host: known.hasSecondHost },
    window,
  });
  // Both calls share one time limit. They run in parallel, because reading links can use up all of
  // it.
  const [reading, never] = await Promise.all([
    readWithin(filters, started.addLinks, keyContext, inTime),
    findNeverClicked(filters, page, clock.now(), inTime),
  ]);
  const end = started.finish();
  const groups = [
    ...describeGroups(end.findings, { among: filters, hasOwnFilters: known.facts !== undefined }),
    ...(typeof never === "object" ? [never] : []),
  ];
  const last = Math.max(1, ...groups.map(({ count }) => Math.ceil(count / idsPerPage)));
  const notChecked = [
    ...[ios, android].filter((apps) => typeof apps === "string"),
    ...listUnjudged(reading, end, known.linkHost),
    ...(typeof never === "string" ? [never] : []),
  ];
  return {
    audit: {
      checked: end.checked,
      complete: reading.isWhole,
      groups: showGroups(groups, window, takesFixes),
      ...(notChecked.length > 0 && { not_checked: notChecked }),
      ...(reading.reached !== undefined && { next: continueAt(filters, reading.reached) }),
    },
    meta: { page, limit: idsPerPage, last, ...(page < last && { next: page + 1 }) },
  };
}

/** Returns the apps by id, or the reason why they could not be read. */
async function readApps(
  member: AppMember,
  apps: ProjectApps,
): Promise<ReadonlyMap<string, ProjectApp> | string> {
  const list = await apps.list(member);
  const { label } = appKinds[member];
  if (list === undefined) return `${label}s: this key cannot read them.`;
  if (list.unread > 0) return `${label}s: not all of them could be read.`;
  return new Map(list.rows.map((app) => [app.id, app]));
}

/** After the first page, omits each group whose link IDs are all on earlier pages. */
function showGroups(
  groups: readonly FindingGroup[],
  { from }: AuditWindow,
  takesFixes: boolean,
): readonly FindingGroup[] {
  const shown = from === 0 ? groups : groups.filter(({ count }) => count > from);
  return takesFixes ? shown : shown.map(({ fix: _fix, ...group }) => group);
}

function listUnjudged(
  { unread, isWhole, reached }: LinkReading,
  { checked, unjudged }: AuditResult,
  linkHost: string | undefined,
): readonly string[] {
  const onward = reached === undefined ? "select fewer with filters" : "make the call in `next`";
  return [
    ...(isWhole ? [] : [`Links after the first ${checked}: time ran out; ${onward}.`]),
    ...(unread === 0 ? [] : [`${unread} of the links could not be read.`]),
    ...(unjudged === 0 ? [] : [`${unjudged} of the links were checked only in part.`]),
    ...(linkHost === undefined ? ["Loops: the link host is unknown."] : []),
  ];
}

/**
 * Returns the call that audits the remaining links. It does not compare them with the links that
 * this audit has read.
 */
function continueAt(filters: readonly FilterInput[], reached: string) {
  const others = filters.filter(
    ({ field, condition }) => field !== "created_at" || condition !== "gteq",
  );
  const since = { field: "created_at", condition: "gteq", value: reached } as const;
  return { tool: name, arguments: { filters: [...others, since] } };
}

const unusedDays = 90;
const day_ms = 24 * 60 * 60_000;

/** Finds links without visits. Returns an explanation if the server did not respond in time. */
async function findNeverClicked(
  given: readonly FilterInput[],
  page: number,
  now: number,
  inTime: LimitedAccess,
): Promise<FindingGroup | string | undefined> {
  const value = new Date(now - unusedDays * day_ms).toISOString();
  const own: readonly FilterInput[] = [
    { field: "clicks", condition: "eq", value: 0 },
    { field: "created_at", condition: "lt", value },
  ];
  // The API accepts only one filter per field and condition, so a conflicting filter of the caller
  // prevents this search.
  const isTaken = given.some((filter) =>
    own.some(({ field, condition }) => filter.field === field && filter.condition === condition),
  );
  if (isTaken) return undefined;
  const filters = [...given, ...own];
  const sort = { field: "created_at", direction: "asc" } as const;
  const reading = listLinks(inTime, { filters, sort, page, limit: idsPerPage });
  const found = await untilTimeIsUp(reading, inTime);
  if (found === undefined) return "Links never visited: the server did not answer in time.";
  const { links: rows, meta } = found;
  const count = meta.count ?? rows.length;
  // A server that ignores filters also returns visited links.
  if (count === 0 || rows.some(({ clicks }) => clicks !== 0)) return undefined;
  const message =
    `Created more than ${unusedDays} days ago and never visited. If the links are no longer ` +
    "needed, a plan with these filters can delete them.";
  return { code: "never_clicked", count, message, filters, ids: rows.map(({ id }) => id) };
}

type LinkReading = {
  readonly unread: number;
  readonly isWhole: boolean;
  /**
   * The audit has read all links created before this time. Undefined if no such time was found
   * within the time limit.
   */
  readonly reached: string | undefined;
};

type LimitedAccess = ReturnType<typeof limitTime>;

const most_ms = 20_000;
const mostReading_ms = 12_000;

async function readWithin(
  filters: readonly FilterInput[],
  take: (links: readonly ReadLink[]) => void,
  { bulk, ...owner }: KeyContext,
  inTime: LimitedAccess,
): Promise<LinkReading> {
  let count = 0;
  let unread = 0;
  const reading = bulk.runQueued(owner, inTime.signal, async (signal) => {
    for await (const { rows, unread: lost } of selectParts({ ...inTime, signal }, filters)) {
      take(rows);
      unread += lost;
      count += rows.length + lost;
      if (inTime.isLate()) return false;
    }
    return true;
  });
  // If time runs out after some links were read, the result is partial. Other errors are rethrown.
  const isWhole = await reading.catch((error: unknown) => {
    if (count === 0 || !inTime.isTimeUp(error)) throw error;
    return false;
  });
  if (isWhole) return { unread, isWhole, reached: undefined };
  const reached = await untilTimeIsUp(findMoment(inTime, filters, count), inTime);
  return { unread, isWhole, reached };
}

/** The initial bounds of the binary search in `findMoment`. */
const anyTime = { gteq: Date.UTC(2010, 0), lt: Date.UTC(2040, 0) } as const;

/**
 * Finds a time such that between `most` / 2 and `most` links were created before it. The API does
 * not return creation times, but can count links by them.
 */
async function findMoment(
  asking: ServerAccess,
  filters: readonly FilterInput[],
  most: number,
): Promise<string | undefined> {
  const readBound = (condition: "gteq" | "lt") => {
    const bound = filters.find((filter) => isBound(filter, condition));
    return bound ? (parseTime(String(bound.value)) ?? Number.NaN) : anyTime[condition];
  };
  let from = readBound("gteq");
  let to = readBound("lt");
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2);
    const value = new Date(middle).toISOString();
    // The API accepts only one filter per field and condition, so this limit replaces the caller's.
    const others = filters.filter((filter) => !isBound(filter, "lt"));
    const before = [...others, { field: "created_at", condition: "lt", value } as const];
    const { meta } = await listLinks(asking, { limit: 1, filters: before });
    const count = meta.count ?? 0;
    if (count > most) to = middle;
    else if (count * 2 >= most) return value;
    else from = middle;
  }
  return undefined;
}

function isBound({ field, condition }: FilterInput, wanted: string): boolean {
  return field === "created_at" && condition === wanted;
}

/** Cancels all calls when the time limit is reached. `stop` ends the timer. */
function limitTime({ keyContext, signal }: Pick<ToolCall, "keyContext" | "signal">) {
  const { call, clock, sleep } = keyContext;
  const begun = clock.monotonic();
  const over = new AbortController();
  const stopped = new AbortController();
  sleep(most_ms, stopped.signal).then(
    () => over.abort(),
    () => undefined,
  );
  return {
    call,
    signal: AbortSignal.any([toSignal(signal), over.signal]),
    /** Whether reading must stop, to leave time to find where the next audit continues. */
    isLate: () => clock.monotonic() - begun >= mostReading_ms,
    isTimeUp: (error: unknown) =>
      over.signal.aborted &&
      !signal.aborted &&
      error instanceof CallFailure &&
      error.code === "cancelled",
    stop: () => stopped.abort(),
  };
}

function failLate(): CallFailure {
  const message =
    `The server did not respond within ${most_ms / 1000} s, and no link was read. ` +
    "Narrower filters on name, path, clicks or created_at may help.";
  return new CallFailure("timed_out", message, { effect: "none", retry: "later" });
}

async function untilTimeIsUp<Result>(
  work: Promise<Result>,
  { isTimeUp }: LimitedAccess,
): Promise<Result | undefined> {
  return work.catch((error: unknown) => {
    if (isTimeUp(error)) return undefined;
    throw error;
  });
}
