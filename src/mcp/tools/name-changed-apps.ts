import { contract } from "../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { paging } from "../../contract/limits.ts";
import { findKind, type ResourceKind } from "../../contract/resource-kind.ts";
import { fold, isBlank } from "../../contract/text.ts";
import { readListRows } from "../results/present-body.ts";
import type { Call } from "./tool.ts";

/**
 * Results tell of a link's apps by ids, where something changed: a person knows them by their
 * names. `{from, to}` of the apps are named wherever a result tells of changes.
 */

const kinds = [contract.iosApps.show, contract.androidApps.show].map(findKind);

type Asking = Pick<Call, "ask" | "keyContext">;
type Changed = { readonly from?: unknown; readonly to?: unknown };
/** What apps are called, by their ids and by their identifiers. */
type Names = ReadonlyMap<string, string>;

export async function nameChangedApps(result: JsonObject, call: Asking): Promise<JsonObject> {
  const found = listFields(result);
  if (found.length === 0) return result;
  const all: Record<string, Names> = {};
  for (const kind of kinds) {
    const changes = found.flatMap((fields) => findChanges(fields, kind));
    const isNamed = changes.some(({ from, to }) => [from, to].some((app) => !isBlank(app)));
    if (isNamed) all[kind.name] = await readNames(kind, call);
  }
  if (Object.keys(all).length === 0) return result;
  return mapFields(result, (fields) => kinds.reduce((told, kind) => tell(told, kind, all), fields));
}

/** The name is only told of one that no other has; what can't be read goes by its id. */
async function readNames(kind: ResourceKind, { ask, keyContext }: Asking): Promise<Names> {
  const { index, key = "" } = kind;
  if (keyContext.access.read(index).state === "denied") return new Map();
  // The change is done, or shown: what its apps are called is only told besides.
  const page: unknown = await ask(index, { limit: paging.max_limit }).catch(() => undefined);
  const rows = isJsonObject(page) ? readListRows(index, page) : [];
  const called = rows.map((row) => fold(readText(row["name"])));
  const named = rows.flatMap((row) => {
    const [name, identifier] = [readText(row["name"]), readText(row[key])];
    const isAlone = called.filter((other) => other === fold(name)).length === 1;
    const text = name === "" ? identifier : isAlone ? name : `${name} (${identifier})`;
    return [readText(row["id"]), identifier].map((by) => [by, text] as const);
  });
  return new Map(named.filter(([by, text]) => by !== "" && text !== ""));
}

function readText(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

function tell(fields: JsonObject, kind: ResourceKind, all: Record<string, Names>): JsonObject {
  const names = all[kind.name];
  if (names === undefined) return fields;
  const members = Object.entries(fields).map(([field, change]) => {
    if (!isOf(field, kind) || !isJsonObject(change)) return [field, change];
    const told = Object.entries(change).map(([side, app]) => [side, nameApp(app, kind, names)]);
    const isNamed = told.every(([, app]) => app !== undefined);
    return isNamed ? [kind.name, Object.fromEntries(told)] : [field, change];
  });
  return Object.fromEntries(members) as JsonObject;
}

/** Undefined for an app that is not among those that were read. */
function nameApp(app: unknown, { key = "" }: ResourceKind, names: Names): unknown {
  if (isBlank(app)) return null;
  if (typeof app === "string") return names.get(app);
  if (!isJsonObject(app)) return undefined;
  const { id, [key]: identifier } = app;
  if (!isBlank(id)) return names.get(String(id).toLowerCase()) ?? names.get(String(id));
  if (isBlank(identifier)) return null;
  // One that the change registers has no name yet.
  return names.get(String(identifier)) ?? identifier;
}

function isOf(field: string, { name }: ResourceKind): boolean {
  return field === name || field === `${name}_id`;
}

function findChanges(fields: JsonObject, kind: ResourceKind): readonly Changed[] {
  const found = Object.entries(fields).filter(([field]) => isOf(field, kind));
  return found.flatMap(([, change]) => (isJsonObject(change) ? [change] : []));
}

function listFields(result: JsonObject): readonly JsonObject[] {
  const found: JsonObject[] = [];
  mapFields(result, (fields) => {
    found.push(fields);
    return fields;
  });
  return found;
}

/** The fields of each change: of writes, of the history, of a plan's sample and rows. */
function mapFields(result: JsonObject, map: (fields: JsonObject) => JsonObject): JsonObject {
  const mapChange = (change: unknown): unknown => {
    if (!isJsonObject(change)) return change;
    const { fields, changes, also } = change;
    return {
      ...change,
      ...(isJsonObject(fields) && { fields: map(fields) }),
      ...(isJsonObject(changes) && { changes: map(changes) }),
      ...(Array.isArray(also) && { also: also.map(mapChange) }),
    };
  };
  const { change, changes, plan, rows } = result;
  const sample: unknown = isJsonObject(plan) ? plan["sample"] : undefined;
  return {
    ...result,
    ...(change !== undefined && { change: mapChange(change) }),
    ...(Array.isArray(changes) && { changes: changes.map(mapChange) }),
    ...(Array.isArray(rows) && { rows: rows.map(mapChange) }),
    ...(isJsonObject(plan) &&
      Array.isArray(sample) && { plan: { ...plan, sample: sample.map(mapChange) } }),
  };
}
