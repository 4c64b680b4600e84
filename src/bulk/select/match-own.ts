import {
  isOwnField,
  ownLinkFilters,
  type Filter,
  type FilterFields,
  type FilterInput,
  type LinkSelection,
} from "../../contract/filters.ts";
import { listNamedScopes, readCause } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { normalizeId } from "../../contract/fields.ts";
import type { JsonObject } from "../../contract/json.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { Problem } from "../../contract/problem.ts";
import { addressField, readSearch, searchFields } from "../../contract/rules/read-search.ts";
import { isBlank } from "../../contract/text.ts";
import type { Asking } from "../owner.ts";
import { createMatcher, type Matcher } from "./match-filter.ts";
import { appKinds, appMembers, readApps, readIdentifier } from "./project-apps.ts";

/** Our own filters, where a deployment does not know them: held against each link that is read. */

/** Undefined where the link does not tell. */
type OwnMatch = (link: ReadLink) => boolean | undefined;

/** What the apps are called, by their ids; undefined where they were not read. */
type AppNames = ReadonlyMap<string, string> | undefined;

type Known = { readonly apps: AppNames; readonly linkHost: string | undefined };

export function createOwnMatch({ filters = [], search }: LinkSelection, known: Known): OwnMatch {
  const matchers: Matcher[] = filters
    .filter(({ field }) => isOwnField(links.index.list, field))
    .map((filter) => createMatcher(ownLinkFilters, filter, compareBytes));
  const origins = known.linkHost === undefined ? undefined : [known.linkHost];
  if (search !== undefined) matchers.push(...readSearch(search, origins).map(matchAny));
  return (link) => {
    const record = { ...link, ...nameApps(link, known.apps) };
    let isSure = true;
    for (const matches of matchers) {
      const verdict = matches(record);
      if (verdict === false) return false;
      if (verdict === undefined) isSure = false;
    }
    return isSure || undefined;
  };
}

/** The apps' names, where a filter asks for them. A key that may not list the apps is refused. */
export async function readAppNames(
  asking: Asking,
  { filters = [] }: LinkSelection,
): Promise<AppNames> {
  const names = new Map<string, string>();
  for (const member of appMembers) {
    if (!filters.some(({ field }) => field === `${member}_name`)) continue;
    const { rows } = await readNamed(appKinds[member].index, () => readApps(member, asking));
    for (const app of rows) {
      const name = [app.name, readIdentifier(app)].find((text) => !isBlank(text));
      if (typeof name === "string") names.set(normalizeId(app.id), name);
    }
  }
  return names;
}

/** Whoever asked for links is told which scope was missing, where the refusal names none. */
async function readNamed<Apps>({ scope }: Endpoint, read: () => Promise<Apps>): Promise<Apps> {
  try {
    return await read();
  } catch (error) {
    const isNamed = !(error instanceof Problem) || listNamedScopes(error.message).length > 0;
    if (isNamed || readCause(error.message) !== "scope_missing") throw error;
    throw new Problem(error.status, `${error.message} (Reading the names of apps needs ${scope}.)`);
  }
}

/** Each with its app's name, null without an app; one that nobody knows is not told. */
function nameApps(link: ReadLink, apps: AppNames): JsonObject {
  const name = (id: string | null | undefined) =>
    typeof id === "string" ? apps?.get(normalizeId(id)) : id;
  return { ios_app_name: name(link.ios_app_id), android_app_name: name(link.android_app_id) };
}

function matchAny({ tests }: Filter): Matcher {
  const matchers = tests.flatMap(({ field, condition, value }) => {
    const texts = [value].flat().filter((item) => typeof item === "string");
    const wanted = condition === "in" ? texts : (texts[0] ?? "");
    // Of a link elsewhere no other addresses are known than its two paths.
    const fields = field === addressField ? ["path", "shortened_path"] : [field];
    return fields.map((each): FilterInput => ({ field: each, condition, value: wanted }));
  });
  const each = matchers.map((filter) => createMatcher(searched, filter));
  return (record) => {
    const verdicts = new Set(each.map((matches) => matches(record)));
    if (verdicts.has(true)) return true;
    return verdicts.has(undefined) ? undefined : false;
  };
}

const searched: FilterFields = searchFields;

/** As our own store orders texts. */
function compareBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
