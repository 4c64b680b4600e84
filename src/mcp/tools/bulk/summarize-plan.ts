import type { Bulk } from "../../../bulk/bulk.ts";
import type { CallerSignal } from "../../../contract/waiting.ts";
import type { Job } from "../../../state/jobs.ts";
import { isJsonObject, type JsonObject } from "../../../contract/json.ts";
import { bringsNewApp } from "../../../contract/rules/app-rules.ts";
import { readDestinationHost } from "../../../contract/rules/store-address.ts";
import type { Plan, PlanRow } from "../../../state/plans.ts";
import type { NamedApp } from "../../../text/unregistered-app.ts";
import type { Owner } from "../../../bulk/owner.ts";
import type { ServerAccess } from "../../../client/client.ts";
import {
  appKinds,
  appMembers,
  createProjectApps,
  describeApp,
  findApp,
  type AppMember,
  type ProjectApps,
} from "../../../lists/project-apps.ts";
import { describeRow } from "../../../bulk/present.ts";

/**
 * Summarizes a whole plan for a user who cannot read all of its rows. Reads every row, in batches.
 */

export type PlanSummary = Awaited<ReturnType<typeof summarizeRows>>;

const mostRows = 60;

/** For a job, summarizes only its unfinished rows. */
export function summarizePlan(
  bulk: Bulk,
  plan: Plan,
  owner: Owner,
  { job, signal }: { readonly job?: Job | undefined; readonly signal?: CallerSignal } = {},
) {
  return bulk.runQueued(owner, signal, (combined) =>
    summarizeRows({ call: owner.call, signal: combined }, bulk.readWrites(plan, job)),
  );
}

async function summarizeRows(asking: ServerAccess, rows: AsyncIterable<PlanRow>) {
  const tally = createTally();
  for await (const row of rows) countRow(tally, row);
  const { hosts, counts, clicksLost } = tally;
  const counted = [...hosts].map(([host, links]) => ({ host, links }));
  const fields = [...tally.fields].map(([field, { links, values }]) => {
    const [value] = values.values();
    return { field, links, to: values.size === 1 ? { value } : undefined };
  });
  const isShared = fields.every(({ links, to }) => links === counts.update && to !== undefined);
  const shared = fields.map(({ field, to }) => [field, to?.value] as const);
  return {
    ...counts,
    clicksLost,
    hosts: counted.toSorted((one, other) => other.links - one.links),
    fields: fields.toSorted((one, other) => other.links - one.links),
    /** The new values if all links change in the same way; otherwise undefined. */
    shared: isShared && counts.update > 0 ? Object.fromEntries(shared) : undefined,
    /** The most important rows: existing links by clicks, then new ones. */
    rows: [...sortRows(tally.existing), ...tally.made].slice(0, mostRows),
    /**
     * The apps that the plan may register. Includes an existing app if a row contains its
     * details: if the app is deleted before the plan is applied, that row registers it again.
     */
    registrations: [...tally.registrations.values()],
    apps: await nameApps(createProjectApps(asking), tally.apps),
  };
}

type PlanTally = ReturnType<typeof createTally>;

function createTally() {
  return {
    counts: { create: 0, update: 0, delete: 0 },
    hosts: new Map<string, number>(),
    /**
     * For each field, counts the links that change it and keeps up to two new values, keyed by
     * JSON.
     */
    fields: new Map<string, { links: number; readonly values: Map<string, unknown> }>(),
    existing: [] as PlanRow[],
    made: [] as PlanRow[],
    registrations: new Map<string, { kind: AppMember; name: string; fields: JsonObject }>(),
    apps: { ios_app: new Set<string>(), android_app: new Set<string>() },
    clicksLost: 0,
  };
}

function countRow(tally: PlanTally, row: PlanRow): void {
  const { action } = row;
  if (action !== "create" && action !== "update" && action !== "delete") return;
  tally.counts[action] += 1;
  if (action === "delete") tally.clicksLost += readClicks(row);
  keepRow(tally, row);
  const { changes } = describeRow(row);
  const wanted = Object.fromEntries(Object.entries(changes).map(([name, { to }]) => [name, to]));
  for (const host of listHosts(wanted)) tally.hosts.set(host, (tally.hosts.get(host) ?? 0) + 1);
  countApps(tally, row.fields ?? {}, changes);
  if (action !== "update") return;
  for (const [field, value] of Object.entries(wanted)) {
    const count = tally.fields.get(field) ?? { links: 0, values: new Map<string, unknown>() };
    tally.fields.set(field, count);
    count.links += 1;
    if (count.values.size < 2) count.values.set(JSON.stringify(value), value);
  }
}

/** Lists the distinct hosts of a link's destinations, normalized as in browsers. */
function listHosts(link: JsonObject): ReadonlySet<string> {
  const addresses = [link["url"], link["ios_fallback_url"], link["android_fallback_url"]];
  const texts = addresses.filter((address) => typeof address === "string");
  return new Set(texts.flatMap((address) => readDestinationHost(address) ?? []));
}

/** Adds a row. Drops the less important rows from time to time, to save memory. */
function keepRow(tally: PlanTally, row: PlanRow): void {
  if (row.action !== "create") tally.existing.push(row);
  else if (tally.made.length < mostRows) tally.made.push(row);
  if (tally.existing.length < 2 * mostRows) return;
  tally.existing = sortRows(tally.existing).slice(0, mostRows);
}

function sortRows(rows: readonly PlanRow[]): PlanRow[] {
  return rows.toSorted((one, other) => readClicks(other) - readClicks(one));
}

function readClicks({ before }: PlanRow): number {
  const clicks = before?.["clicks"];
  return typeof clicks === "number" ? clicks : 0;
}

function countApps(
  { registrations, apps }: PlanTally,
  fields: JsonObject,
  changes: ReturnType<typeof describeRow>["changes"],
): void {
  for (const member of appMembers) {
    const key = appKinds[member].key ?? "";
    const { from, to } = changes[member] ?? {};
    const chosen = isJsonObject(to) ? [to["id"], to[key]] : [];
    for (const id of [from, ...chosen]) {
      if (typeof id === "string" && id !== "") apps[member].add(id);
    }
    const choice = fields[member];
    if (!isJsonObject(choice) || !bringsNewApp(choice)) continue;
    const name = choice[key];
    if (typeof name !== "string" || registrations.has(`${member} ${name}`)) continue;
    registrations.set(`${member} ${name}`, { kind: member, name, fields: choice });
  }
}

/**
 * Maps the IDs and identifiers of apps in the rows to the apps. An app is undefined if it is not
 * registered yet or the key cannot read it.
 */
async function nameApps(
  apps: ProjectApps,
  wanted: PlanTally["apps"],
): Promise<ReadonlyMap<string, NamedApp | undefined>> {
  const named = new Map<string, NamedApp | undefined>();
  for (const member of appMembers) {
    const texts = wanted[member];
    const list = texts.size === 0 ? undefined : await apps.list(member);
    for (const text of texts) {
      const app = findApp(list?.rows ?? [], text);
      named.set(text, app && describeApp(app));
    }
  }
  return named;
}
