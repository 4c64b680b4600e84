import * as z from "zod";
import { createAudit, type AuditEnd } from "../../../audit/audit-links.ts";
import { describeGroups, type Group } from "../../../audit/describe-groups.ts";
import type { Window } from "../../../audit/findings.ts";
import { limitTime, type InTime } from "../../../bulk/select/limit-time.ts";
import { appKinds, type App, type AppMember } from "../../../bulk/select/project-apps.ts";
import type { ReadWithin } from "../../../bulk/select/read-within.ts";
import type { FilterInput } from "../../../contract/filters.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { listFields, shownFilters, type Fields } from "../../schemas/input-schema.ts";
import { makeBulkTool } from "../bulk/bulk-tool.ts";
import type { Call, Tool } from "../tool.ts";
import { findNeverClicked } from "./find-never-clicked.ts";

/** One look at a whole project: what is wrong with it, the worst first, and what mends it. */

const { links } = contract;
const name = "audit_links";
const idsPerPage = 10;

/** A fix is a call of plan_links, so `mayPlan` says whether a key can make that call. */
export function createAuditLinks(mayPlan: (keyContext: Call["keyContext"]) => boolean): Tool {
  return makeBulkTool({
    name,
    title: "Audit links",
    description: "Find problems in links and apps, with fixes.",
    group: "links",
    effect: "read",
    like: { what: "Filters", tool: links.index.tool },
    readAccess: (access) => access.read(links.index),
    fields: () => listOwnFields(false),
    shown: listOwnFields,
    result: { audit, meta: z.looseObject({ page: z.unknown() }).optional() },
    run: async (args, call) => {
      // The arguments were checked by the schema that names these types.
      const { filters = [], page = 1 } = args as AuditArguments;
      const { keyContext } = call;
      const takesFixes = mayPlan(keyContext) && keyContext.mayAsk(links.update);
      return lookInTime({ filters, page, takesFixes }, call);
    },
  });
}

type AuditArguments = {
  readonly filters?: readonly FilterInput[];
  readonly page?: number;
};

const toolCall = z.looseObject({ tool: z.unknown(), arguments: z.unknown() });

const audit = z.looseObject({
  checked: z.int(),
  /** Where it is false, `next` goes on, unless that would come no further. */
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

function listOwnFields(isTerse: boolean): Fields {
  const { filters } = listFields(links.index, { idText: "" });
  return {
    ...(filters && { filters: isTerse ? shownFilters() : filters }),
    page: z.int().min(1).optional(),
  };
}

type Wanted = {
  readonly filters: readonly FilterInput[];
  readonly page: number;
  readonly takesFixes: boolean;
};

async function lookInTime(wanted: Wanted, call: Call): Promise<JsonObject> {
  const { keyContext, signal } = call;
  const { stop, ...inTime } = limitTime({ ...keyContext, signal });
  try {
    return await runAudit(wanted, call.sendBy(inTime.call), inTime);
  } finally {
    stop();
  }
}

async function runAudit(
  { filters, page, takesFixes }: Wanted,
  call: Call,
  inTime: InTime,
): Promise<JsonObject> {
  const { keyContext } = call;
  const { bulk, known } = keyContext;
  const window = { from: (page - 1) * idsPerPage, limit: idsPerPage };
  const ios = await readApps("ios_app", call);
  const android = await readApps("android_app", call);
  const notChecked = [...ios.notChecked, ...android.notChecked];
  const started = createAudit({
    apps: { ios: ios.byId, android: android.byId },
    linkHost: known.linkHost,
    visits: { link_in_referrer: known.linkInReferrer, second_host: known.hasSecondHost },
    window,
  });
  // Of a long list the reading may take all of the time, and the others need little of it.
  const [reading, never] = await Promise.all([
    bulk.readLinks(filters, started.addLinks, keyContext, inTime),
    findNeverClicked(filters, { page, limit: idsPerPage }, call),
  ]);
  const end = started.finish();
  const groups = [...describeGroups(end.findings, filters), ...never.groups];
  const pages = groups.map(({ count }) => Math.ceil(count / idsPerPage));
  const last = Math.max(1, ...pages);
  return {
    audit: {
      checked: end.checked,
      complete: reading.isWhole,
      groups: showGroups(groups, window, takesFixes),
      ...tellUnchecked([
        ...notChecked,
        ...listUnjudged(reading, end, known.linkHost),
        ...never.notChecked,
      ]),
      ...(reading.reached !== undefined && { next: goOn(filters, reading.reached) }),
    },
    meta: { page, limit: idsPerPage, last, ...(page < last && { next: page + 1 }) },
  };
}

type AuditedApps = {
  /** Undefined where not all of them could be read: one of them may be the app of a link. */
  readonly byId: ReadonlyMap<string, App> | undefined;
  readonly notChecked: readonly string[];
};

async function readApps(member: AppMember, { apps }: Call): Promise<AuditedApps> {
  const list = await apps.list(member);
  const { label } = appKinds[member];
  if (list === undefined) {
    return { byId: undefined, notChecked: [`${label}s: this key cannot read them.`] };
  }
  if (list.unread > 0) {
    return { byId: undefined, notChecked: [`${label}s: not all of them could be read.`] };
  }
  return { byId: new Map(list.rows.map((app) => [app.id, app])), notChecked: [] };
}

/** A later page has the groups that have more ids. */
function showGroups(
  groups: readonly Group[],
  { from }: Window,
  takesFixes: boolean,
): readonly Group[] {
  const shown = from === 0 ? groups : groups.filter(({ count }) => count > from);
  return takesFixes ? shown : shown.map(({ fix: _fix, ...group }) => group);
}

function listUnjudged(
  { unread, isWhole, reached }: ReadWithin,
  { checked, unjudged }: AuditEnd,
  linkHost: string | undefined,
): readonly string[] {
  const lost = unread + unjudged;
  const onward = reached === undefined ? "select fewer with filters" : "make the call in `next`";
  return [
    ...(isWhole ? [] : [`Links after the first ${checked}: time ran out; ${onward}.`]),
    ...(lost === 0 ? [] : [`${lost} of the links could not be read.`]),
    ...(linkHost === undefined ? ["Loops: the link host is unknown."] : []),
  ];
}

function tellUnchecked(notChecked: readonly string[]): JsonObject {
  return notChecked.length === 0 ? {} : { not_checked: notChecked };
}

/** The links that were made since; groups that look at many links together start anew there. */
function goOn(filters: readonly FilterInput[], reached: string) {
  const others = filters.filter((filter) => !isStart(filter));
  const since = { field: "created_at", condition: "gteq", value: reached } as const;
  return { tool: name, arguments: { filters: [...others, since] } };
}

function isStart({ field, condition }: FilterInput): boolean {
  return field === "created_at" && condition === "gteq";
}
