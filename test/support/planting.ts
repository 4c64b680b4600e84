import { expect } from "vitest";
import type { World } from "./world.ts";

/** Use this for many different links, and to compute which of them a filter should select. */

export const day = 86_400_000;

export type Seed = {
  readonly name: string | null;
  readonly path: string;
  readonly isShortened?: boolean;
  readonly clicks?: number;
  readonly created_via?: "api" | "console";
  readonly ios_app_bundle_id?: string | null | undefined;
  readonly android_app_package_name?: string | null | undefined;
  /** Fields for which the specification has no filters. */
  readonly more?: Readonly<Record<string, string | null>>;
  /** The time since the previous link was created, by default a day. */
  readonly pause?: number;
};

/** Creates links through the API, and sets the other fields in the database. */
export async function plantLinks(world: World, seeds: readonly Seed[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const seed of seeds) {
    const { clicks = 0, created_via = "api", pause = day, isShortened = false } = seed;
    const { ios_app_bundle_id = null, android_app_package_name = null } = seed;
    world.advance(pause);
    const reply = await world.call("POST", "/links", {
      body: {
        name: seed.name,
        path: seed.path,
        ...seed.more,
        options: { shorten: isShortened },
        ...(ios_app_bundle_id !== null && {
          ios_app: { bundle_id: ios_app_bundle_id, team_id: "TEAM000001" },
        }),
        ...(android_app_package_name !== null && {
          android_app: { package_name: android_app_package_name, fingerprints: ["AA:BB"] },
        }),
      },
    });
    expect(reply.status, reply.text).toBe(201);
    const { id, name, path, shortened_path } = reply.body;
    await world.store.write((db) =>
      db.updateTable("links").set({ clicks, created_via }).where("id", "=", id).execute(),
    );
    const created_at = await readCreation(world, "links", id);
    const apps = { ios_app_bundle_id, android_app_package_name };
    const told = { id, name, path, shortened_path, clicks, created_at, created_via };
    rows.push({ ...told, ...apps, ...seed.more });
  }
  return rows;
}

/** The creation time, which lists filter and sort by but no response contains. */
export async function readCreation(
  world: World,
  table: "links" | "ios_apps" | "android_apps",
  id: string,
): Promise<number> {
  const { created_at } = await world.store.db
    .selectFrom(table)
    .select("created_at")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return created_at;
}

/** The expected IDs of a list, computed without the code of the engine under test. */

export type Kind = "text" | "path" | "integer" | "time";
export type Kinds = Readonly<Record<string, Kind>>;
type Value = string | number | null;
export type Row = { readonly id: string; readonly [field: string]: Value };
/** `["q[name_eq]", "Spring"]`: a parameter before it is percent-encoded. */
export type Pair = readonly [name: string, value: string];

export function selectIds(
  rows: readonly Row[],
  kinds: Kinds,
  query: readonly Pair[],
): string[] | undefined {
  const given = collect(query);
  if ([...given.keys()].some((name) => isRefused(name, kinds))) return undefined;
  const filters = [...given].flatMap(([name, texts]) => readFilter(name, texts, kinds) ?? []);
  const sorts = (given.get("s") ?? []).map((text) => text.split(/\s+(.*)/s));
  const known = sorts.filter(([field = ""]) => Object.hasOwn(kinds, field));
  return rows
    .filter((row) => filters.every((isKept) => isKept(row)))
    .toSorted(orderBy(known.length > 0 ? known : [["created_at", "desc"]]))
    .map((row) => row.id);
}

function collect(query: readonly Pair[]): ReadonlyMap<string, readonly string[]> {
  const all = new Map<string, string[]>();
  for (const [parameter, value] of query) {
    const name = parameter.replace(/^q\[(.*?)\](\[\])?$/, "$1");
    const before = parameter.endsWith("[]") ? (all.get(name) ?? []) : [];
    all.set(name, [...before, value.trim()].filter(Boolean));
  }
  return new Map([...all].filter(([, texts]) => texts.length > 0));
}

/** A listed field with a condition that it does not support, unless another field has that name. */
function isRefused(name: string, kinds: Kinds): boolean {
  const last = name.replace(/^.*_(?:and|or)_/, "");
  const field = Object.keys(kinds).find((known) => new RegExp(`^${known}(_|$)`).test(last));
  const asked = field === undefined ? "eq" : last.slice(field.length + 1);
  const isAnOther = /_(?:eq|cont|start|in|gteq|gt|lteq|lt|null|present)$/.test(asked);
  const isOne = /^(?:(?:not_)?eq|cont|start|in|gteq|gt|lteq|lt|null|present)$/.test(asked);
  const isStrange = !isOne && (!isAnOther || /^(?:not|i|does_not)_/.test(asked));
  return isStrange && name !== "s";
}

function readFilter(name: string, texts: readonly string[], kinds: Kinds) {
  const pattern = /^(.+?)_(not_eq|eq|cont|start|in|gteq|gt|lteq|lt|null|present)$/;
  const [, subject = "", condition = ""] = pattern.exec(name) ?? [];
  const parts = subject.split(/_and_|_or_/).map((field) => {
    const kind = Object.hasOwn(kinds, field) ? kinds[field] : undefined;
    const holds = kind === undefined ? undefined : readCondition(kind, condition, texts);
    return holds && ((row: Row) => holds(row[field] ?? null));
  });
  if (parts.includes(undefined)) return undefined;
  return /_(and|or)_/.exec(subject)?.[1] === "or"
    ? (row: Row) => parts.some((holds) => holds?.(row))
    : (row: Row) => parts.every((holds) => holds?.(row));
}

function readCondition(kind: Kind, condition: string, texts: readonly string[]) {
  const [text = ""] = texts;
  if (condition === "null" || condition === "present") {
    const word = /^(?:([1tT]|true|TRUE)|[0fF]|false|FALSE)$/.exec(text);
    const lacks = (value: Value) => value === null || (condition === "present" && value === "");
    const isLack = (condition === "null") === (word?.[1] !== undefined);
    return word ? (value: Value) => lacks(value) === isLack : undefined;
  }
  if (condition === "cont" || condition === "start") {
    const part = fold(kind === "path" && condition === "start" ? decode(text) : text);
    const has = condition === "cont" ? "includes" : "startsWith";
    return (value: Value) => value !== null && fold(print(value, kind))[has](part);
  }
  const wanted = (condition === "in" ? texts : [text]).map((item) => cast(item, kind));
  return (value: Value) => value !== null && wanted.some((item) => stands(value, condition, item));
}

function print(value: string | number, kind: Kind): string {
  return kind === "time" ? new Date(value).toISOString() : String(value);
}

/** An unreadable value is null: it equals no value, and differs from all values that exist. */
function stands(value: Value, condition: string, wanted: Value): boolean {
  if (wanted === null) return condition === "not_eq";
  const order = compare(value, wanted);
  if (condition === "not_eq") return order !== 0;
  if (order === 0) return condition === "in" || condition.endsWith("eq");
  return condition.startsWith(order > 0 ? "gt" : "lt");
}

function cast(text: string, kind: Kind): Value {
  if (kind === "integer") {
    return Number((/^[+-]?\d+(_\d+)*/.exec(text)?.[0] ?? "0").replaceAll("_", ""));
  }
  if (kind === "path") return decode(text).replace(/\/+$/, "");
  if (kind === "text") return text;
  const pattern = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?))?(Z|[+-]\d\d:\d\d)?$/;
  const [, day = "", clock = "00:00", zone = "Z"] = pattern.exec(text) ?? [];
  const time = Date.parse(`${day}T${clock}${zone}`);
  // Some engines take the 30th of February for the 2nd of March.
  const isReal = !Number.isNaN(time) && new Date(day).toISOString().startsWith(day);
  return isReal ? time : null;
}

/** Paths are stored decoded, in NFC, without the slash. Undecodable paths stay unchanged. */
function decode(text: string): string {
  const path = text.replace(/^\//, "");
  try {
    return decodeURIComponent(path).normalize("NFC");
  } catch {
    return text.normalize("NFC");
  }
}

function fold(text: string): string {
  return text.toLowerCase().normalize("NFC").replaceAll("ς", "σ");
}

/** Null is last in ascending order. Equal rows are sorted by id, in the last key's direction. */
function orderBy(sorts: readonly (readonly string[])[]) {
  const keys = [...sorts, ["id", sorts.at(-1)?.[1]]];
  return (one: Row, other: Row): number => {
    for (const [field = "", direction = ""] of keys) {
      const order = compare(one[field] ?? null, other[field] ?? null, fold);
      if (order !== 0) return direction.toLowerCase() === "desc" ? -order : order;
    }
    return 0;
  };
}

/** Null is greater than any value. Texts are sorted by code point, as in UTF-8. */
function compare(one: Value, other: Value, read = (text: string) => text): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  if (typeof one === "number" && typeof other === "number") return Math.sign(one - other);
  return Buffer.compare(Buffer.from(read(String(one))), Buffer.from(read(String(other))));
}
