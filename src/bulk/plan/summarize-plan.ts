import { setImmediate as nextTurn } from "node:timers/promises";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { bringsNewApp } from "../../contract/rules/app-rules.ts";
import type { Plan, PlanRow } from "../../state/plans.ts";
import type { NamedApp } from "../../text/unregistered-app.ts";
import {
  appMembers,
  createProjectApps,
  findApp,
  readIdentifier,
  type ProjectApps,
} from "../select/project-apps.ts";
import { describeRow } from "./describe-row.ts";
import { findUnseenHosts, listHosts, type Looked, type Looking } from "./seen-hosts.ts";

/**
 * What a whole plan would do, for a person who cannot read all of its rows: every row is looked at,
 * one batch after another, and of what differs from row to row only so much is kept.
 */

export type PlanSummary = {
  readonly create: number;
  readonly update: number;
  readonly delete: number;
  /** Where links would lead that lead elsewhere now: new hosts first, then by their links. */
  readonly hosts: readonly HostCount[];
  /** Links that lead to still other hosts, which were not counted one by one. */
  readonly otherHosts: number;
  /** How many links of the project were looked at for hosts, and whether these were all. */
  readonly looked: Looked;
  readonly fields: readonly FieldCount[];
  /** Links that are changed all alike; undefined where they are not. */
  readonly shared: Readonly<Record<string, unknown>> | undefined;
  /** The rows that matter most: links that are there by their clicks, then new ones. */
  readonly rows: readonly PlanRow[];
  /**
   * Apps that rows tell more of than the name. Those that are registered already count as well: one
   * that is deleted before its row is done would be registered by it.
   */
  readonly registrations: readonly Registration[];
  /** The clicks of the links that would be deleted. */
  readonly clicksLost: number;
  /**
   * The apps that links get or lose, by what rows name them by: undefined where the key may not
   * read one, or where it is yet to be registered.
   */
  readonly apps: ReadonlyMap<string, NamedApp | undefined>;
};

export type HostCount = { readonly host: string; readonly links: number; readonly isNew: boolean };
/** `to` stands where all links get the same. */
type FieldCount = {
  readonly field: string;
  readonly links: number;
  readonly to?: { readonly value: unknown };
};
type Registration = {
  readonly kind: "ios_app" | "android_app";
  readonly name: string;
  readonly fields: JsonObject;
};

/** Of hosts and apps so many are told apart. */
const mostKept = 1000;
/** Of the links that lead to a host already. */
const mostPaths = 3;
const mostRows = 60;
const appKinds = [
  { kind: "ios_app", key: "bundle_id" },
  { kind: "android_app", key: "package_name" },
] as const;

export async function summarizePlan(
  asking: Looking,
  { undoes }: Pick<Plan, "undoes">,
  batches: AsyncIterable<readonly PlanRow[]>,
): Promise<PlanSummary> {
  const tally = createTally();
  for await (const batch of batches) {
    for (const row of batch) countRow(tally, row);
    // Rows of a file are there at once, and other work needs the event loop as well.
    await nextTurn();
  }
  const { hosts, before, fields, counts } = tally;
  // What an undo puts back are the hosts that the undone change has replaced.
  const judged = undoes === null ? [...hosts.keys()] : [];
  const candidates = new Map(judged.map((host) => [host, before.get(host) ?? []]));
  const { unseen, looked } = await findUnseenHosts(asking, candidates);
  const counted = [...hosts].map(([host, links]) => ({ host, links, isNew: unseen.has(host) }));
  const changed = [...fields].map(([field, { links, to }]) => ({
    field,
    links,
    ...(to && { to }),
  }));
  const isShared = changed.every(({ links, to }) => links === counts.update && to !== undefined);
  return {
    ...counts,
    hosts: counted.toSorted((one, other) => order(one, other)),
    otherHosts: tally.otherHosts,
    looked,
    fields: changed.toSorted((one, other) => other.links - one.links),
    shared: isShared && counts.update > 0 ? readShared(changed) : undefined,
    rows: [...tally.best, ...tally.made].slice(0, mostRows),
    registrations: [...tally.apps.values()],
    clicksLost: tally.clicksLost,
    apps: await nameApps(createProjectApps(asking), tally.appIds),
  };
}

type Tally = ReturnType<typeof createTally>;

function createTally() {
  return {
    counts: { create: 0, update: 0, delete: 0 },
    hosts: new Map<string, number>(),
    otherHosts: 0,
    /** Hosts that links of the plan lead to already, with the paths of some of these. */
    before: new Map<string, string[]>(),
    /** Of links that are there; what new ones are given is told by their hosts. */
    fields: new Map<string, { links: number; to: { readonly value: unknown } | undefined }>(),
    /** The most clicked first. */
    best: [] as PlanRow[],
    made: [] as PlanRow[],
    apps: new Map<string, Registration>(),
    appIds: { ios_app: new Set<string>(), android_app: new Set<string>() },
    clicksLost: 0,
  };
}

function countRow(tally: Tally, row: PlanRow): void {
  const { action, before } = row;
  if (action !== "create" && action !== "update" && action !== "delete") return;
  tally.counts[action] += 1;
  for (const host of listHosts(before ?? {})) keepPath(tally.before, host, before?.["path"]);
  if (action === "delete") tally.clicksLost += readClicks(row);
  keepRow(tally, row);
  const { changes } = describeRow(row);
  const wanted = Object.fromEntries(Object.entries(changes).map(([name, { to }]) => [name, to]));
  for (const host of listHosts(wanted)) {
    const known = tally.hosts.get(host);
    if (known === undefined && tally.hosts.size >= mostKept) tally.otherHosts += 1;
    else tally.hosts.set(host, (known ?? 0) + 1);
  }
  noteApps(tally, row.fields ?? {});
  for (const { kind, key } of appKinds) {
    const { from, to } = changes[kind] ?? {};
    for (const id of [from, readMember(to, "id"), readMember(to, key)]) {
      if (typeof id === "string" && id !== "") keep(tally.appIds[kind], id);
    }
  }
  if (action !== "update") return;
  for (const [name, to] of Object.entries(wanted)) countField(tally, name, to);
}

/** Of an app as a row names it; another value than an object has none. */
function readMember(choice: unknown, name: string): unknown {
  return isJsonObject(choice) ? choice[name] : undefined;
}

function keep(kept: Set<string>, item: string): void {
  if (kept.size < mostKept) kept.add(item);
}

function keepPath(kept: Tally["before"], host: string, path: unknown): void {
  if (typeof path !== "string") return;
  const paths = kept.get(host);
  if (paths === undefined && kept.size < mostKept) kept.set(host, [path]);
  else if (paths !== undefined && paths.length < mostPaths) paths.push(path);
}

function keepRow({ best, made }: Tally, row: PlanRow): void {
  if (row.action === "create") {
    if (made.length < mostRows) made.push(row);
    return;
  }
  const clicks = readClicks(row);
  if (best.length === mostRows && clicks <= readClicks(best.at(-1))) return;
  const place = best.findIndex((other) => readClicks(other) < clicks);
  best.splice(place < 0 ? best.length : place, 0, row);
  best.length = Math.min(best.length, mostRows);
}

function readClicks(row: PlanRow | undefined): number {
  const clicks = row?.before?.["clicks"];
  return typeof clicks === "number" ? clicks : 0;
}

function countField({ fields }: Tally, field: string, value: unknown): void {
  const known = fields.get(field);
  if (known === undefined) {
    fields.set(field, { links: 1, to: { value } });
    return;
  }
  known.links += 1;
  const isSame = JSON.stringify(known.to?.value) === JSON.stringify(value);
  if (known.to !== undefined && !isSame) known.to = undefined;
}

function readShared(changed: readonly FieldCount[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(changed.map(({ field, to }) => [field, to?.value]));
}

function noteApps({ apps }: Tally, fields: JsonObject): void {
  for (const { kind, key } of appKinds) {
    // The rows were checked by the schema of a link's fields, in which this is an object.
    const choice = (fields[kind] ?? {}) as JsonObject;
    const name = choice[key];
    if (typeof name !== "string" || !bringsNewApp(choice)) continue;
    const id = `${kind} ${name}`;
    if (apps.size < mostKept && !apps.has(id)) apps.set(id, { kind, name, fields: choice });
  }
}

function order(one: HostCount, other: HostCount): number {
  return Number(other.isNew) - Number(one.isNew) || other.links - one.links;
}

/** Every app that rows name, where one was found. */
async function nameApps(
  apps: ProjectApps,
  wanted: Tally["appIds"],
): Promise<ReadonlyMap<string, NamedApp | undefined>> {
  const named = new Map<string, NamedApp | undefined>();
  for (const member of appMembers) {
    const texts = wanted[member];
    const list = texts.size === 0 ? undefined : await apps.list(member);
    for (const text of texts) {
      const app = findApp(list?.rows ?? [], text);
      named.set(text, app && { name: app.name, identifier: readIdentifier(app) });
    }
  }
  return named;
}
