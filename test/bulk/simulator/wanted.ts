import type { PlanInput } from "../../../src/bulk/plan/make-plan.ts";
import type { Link, LinkFields } from "../../../src/contract/links.ts";
import type { PlanAction } from "../../../src/state/plans.ts";
import type { Chance } from "../../support/chance.ts";
import { missingId } from "./stage.ts";
import { isAsPlanned, type Apps, type Truth } from "./truth.ts";

/** Random bulk requests for a project, and the plan that each should get. */

type Rows = readonly (LinkFields & { readonly id?: string })[];

export type Goal =
  | { readonly operation: "upsert" | "update" | "delete"; readonly rows: Rows }
  | {
      readonly operation: "update" | "delete";
      readonly word: string;
      readonly changes: LinkFields;
    };

const mostRows = 25;
const words = ["spring", "autumn", "café"] as const;

/** Some fields of a link, each with one of few values, so that they are often equal. */
export function draftFields(chance: Chance): LinkFields {
  const isIn = () => chance.isLikely(0.4);
  return {
    ...(isIn() && { name: `${chance.pick(words)} ${chance.between(1, 3)}` }),
    ...(chance.isLikely(0.7) && { url: `https://x.example/${chance.between(1, 5)}` }),
    ...(isIn() && { social_title: chance.pick(["", "Look", "See"]) }),
    ...(isIn() && { enable_forced_redirect: chance.isLikely(0.5) }),
    ...(chance.isLikely(0.15) && { ios_app: draftIosApp(chance) }),
    ...(chance.isLikely(0.15) && { android_app: draftAndroidApp(chance) }),
  };
}

function draftIosApp(chance: Chance): LinkFields["ios_app"] {
  if (chance.isLikely(0.3)) return null;
  return { bundle_id: chance.pick(["com.example.one", "com.example.two"]), team_id: "TEAM000001" };
}

function draftAndroidApp(chance: Chance): LinkFields["android_app"] {
  if (chance.isLikely(0.3)) return null;
  return {
    package_name: chance.pick(["org.example.one", "org.example.two"]),
    fingerprints: ["AA:BB"],
  };
}

export function draftWish(chance: Chance, { links }: Truth): Goal {
  // Small plans are more likely, as most cases need only a few rows.
  const most = Math.min(chance.between(1, mostRows), chance.between(1, mostRows));
  const some = chance.shuffle([...links.values()]).slice(0, most);
  const operation = chance.pick(["upsert", "upsert", "update", "update", "delete"]);
  if (operation !== "upsert" && chance.isLikely(0.3)) {
    const changes = operation === "delete" ? {} : { ...draftFields(chance), social_title: "New" };
    return { operation, word: chance.pick(words), changes };
  }
  switch (operation) {
    case "upsert":
      return { operation, rows: draftUpserts(chance, some, most) };
    case "update":
      return { operation, rows: draftUpdates(chance, some) };
    default:
      return {
        operation,
        rows: addMissingLink(
          chance,
          some.map((link) => nameLink(chance, link)),
        ),
      };
  }
}

function draftUpserts(chance: Chance, known: readonly Link[], most: number): Rows {
  const kept = chance.choose(known, 0.5);
  const fresh = Array.from({ length: Math.max(1, most - kept.length) }, (_, index) =>
    // A row without a path gets one.
    chance.isLikely(0.15) ? {} : { path: `new-${index}` },
  );
  return chance
    .shuffle([...kept.map(({ path }) => ({ path })), ...fresh])
    .map((row) => ({ ...draftFields(chance), ...row }));
}

/** Some rows move a link, a few of them to a path that another row frees. */
function draftUpdates(chance: Chance, known: readonly Link[]): Rows {
  const movers = chance.choose(known, 0.3);
  const places = chance.shuffle([
    ...movers.map(({ path }) => path),
    ...movers.map((_, index) => `moved-${index}`),
  ]);
  const rows = known.map((link) => {
    const moved = movers.includes(link) ? places[movers.indexOf(link)] : undefined;
    if (moved === undefined || moved === null) {
      // By ID, as its path may be the target of another row, which would be a duplicate.
      return {
        ...draftFields(chance),
        ...(movers.length > 0 ? { id: link.id } : nameLink(chance, link)),
      };
    }
    return { ...draftFields(chance), id: link.id, path: moved };
  });
  return addMissingLink(chance, rows);
}

/** Makes sure that a list is not empty, and sometimes adds a link that does not exist. */
function addMissingLink(chance: Chance, rows: Rows): Rows {
  return chance.isLikely(0.1) || rows.length === 0 ? [...rows, { id: missingId }] : rows;
}

function nameLink(
  chance: Chance,
  { id, path }: Link,
): { readonly id: string } | { readonly path: string | null } {
  return chance.isLikely(0.5) ? { id } : { path };
}

export function toPlanWanted(wish: Goal): PlanInput {
  if ("rows" in wish) return { operation: wish.operation, source: { rows: wish.rows } };
  const filters = [{ field: "name", condition: "cont", value: wish.word }] as const;
  return { operation: wish.operation, filters, changes: wish.changes };
}

export type Forecast = { readonly action: PlanAction; readonly id: string | null };

export function foreseePlan(wish: Goal, { links, findAt }: Truth, apps: Apps): readonly Forecast[] {
  if ("word" in wish) {
    return [...links.values()]
      .filter(({ name }) => name?.includes(wish.word) === true)
      .map((link) => foreseeRow(wish.operation, wish.changes, link, apps));
  }
  const left = new Set<unknown>();
  return wish.rows.map(({ id, path, ...fields }) => {
    const link = id === undefined ? findAt(path ?? "") : links.get(id);
    if (link === undefined || id === undefined || (path ?? link.path) === link.path) {
      const foreseen = foreseeRow(wish.operation, fields, link, apps);
      return { ...foreseen, id: foreseen.id ?? id ?? null };
    }
    const isTaken = findAt(path ?? "") !== undefined && !left.has(path);
    if (isTaken) return { action: "conflict", id };
    left.add(link.path);
    return { action: "update", id };
  });
}

function foreseeRow(
  operation: Goal["operation"],
  fields: LinkFields,
  link: Link | undefined,
  apps: Apps,
): Forecast {
  const id = link?.id ?? null;
  if (link === undefined) return { action: operation === "upsert" ? "create" : "conflict", id };
  if (operation === "delete") return { action: "delete", id };
  return { action: isAsPlanned(link, fields, apps) ? "unchanged" : "update", id };
}
