import { listNamedScopes, readCause } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { normalizeId } from "../../contract/fields.ts";
import {
  isOwnField,
  ownLinkFilters,
  searchName,
  toPlainFilter,
  type Filter,
  type FilterFields,
  type FilterInput,
  type LinkSelection,
  type ListInput,
} from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { Problem } from "../../contract/problem.ts";
import { addressField, readSearch, searchFields } from "../../contract/rules/read-search.ts";
import { isBlank } from "../../contract/text.ts";
import type { ServerAccess } from "../owner.ts";
import { createMatcher, type Matcher } from "./match-filter.ts";
import { appKinds, appMembers, readApps, readIdentifier } from "./project-apps.ts";

/** Filters that only our own service has: asks for them, or applies them here. */

const isOwn = ({ field }: FilterInput) => isOwnField(links.index.list, field);

export function listOwn({ filters = [] }: LinkSelection): readonly FilterInput[] {
  return filters.filter(isOwn);
}

/** The filters that every deployment knows. */
export function listSpecified({ filters = [] }: LinkSelection): readonly FilterInput[] {
  return filters.filter((filter) => !isOwn(filter));
}

export function asksOwn(selection: LinkSelection): boolean {
  return nameOwn(selection).length > 0;
}

/**
 * The page that our own service answers. Undefined where the deployment ignores what is ours, or
 * refuses it: it has to say itself what it has applied, and its links must not show the contrary.
 */
export async function askOwn({ call, signal, linkHost }: ServerAccess, input: ListInput) {
  try {
    const page = await call(links.index, input, signal);
    const { applied } = page.meta;
    const isTold = nameOwn(input).every((name) => Array.isArray(applied) && applied.includes(name));
    if (!isTold) return undefined;
    // What was searched for may be an address that no link shows, such as a short one with a query.
    const matches = createOwnMatch({ filters: input.filters }, undefined, linkHost);
    return page.links.some((link) => matches(link) === false) ? undefined : page;
  } catch (error) {
    if (error instanceof Problem && refusals.has(error.status)) return undefined;
    throw error;
  }
}

/** What is not understood, and what is longer than an address may be there. */
const refusals: ReadonlySet<number> = new Set([400, 414, 422, 431]);

/** As the request names them. */
function nameOwn(selection: LinkSelection): readonly string[] {
  const own = listOwn(selection).map(toPlainFilter);
  const names = own.map(({ field, condition }) => `${field}_${condition}`);
  return selection.search === undefined ? names : [...names, searchName];
}

/** Our own filters, where a deployment does not know them: held against each link that is read. */

/** What the apps are called, by their ids; undefined where they were not read. */
type AppNameMap = ReadonlyMap<string, string> | undefined;

/** The verdict on a link is undefined where it does not show what is asked for. */
export function createOwnMatch(selection: LinkSelection, apps: AppNameMap, linkHost?: string) {
  const { search } = selection;
  const own = listOwn(selection);
  const matchers = own.map((filter) => createMatcher(ownLinkFilters, filter, compareBytes));
  const origins = linkHost === undefined ? undefined : [linkHost];
  if (search !== undefined) matchers.push(...readSearch(search, origins).map(matchAny));
  return (link: ReadLink) => judge(matchers, { ...link, ...nameApps(link, apps) }, false);
}

/** The apps' names, where a filter asks for them. A key that may not list the apps is refused. */
export async function readAppNames(
  asking: ServerAccess,
  { filters = [] }: LinkSelection,
): Promise<AppNameMap> {
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

/**
 * Adds the missing scope to a refusal that names none, because the caller asked for links, not
 * apps.
 */
async function readNamed<Apps>({ scope }: Endpoint, read: () => Promise<Apps>): Promise<Apps> {
  try {
    return await read();
  } catch (error) {
    const isNamed = !(error instanceof Problem) || listNamedScopes(error.message).length > 0;
    if (isNamed || readCause(error.message) !== "scope_missing") throw error;
    throw new Problem(error.status, `${error.message} (Reading the names of apps needs ${scope}.)`);
  }
}

/** Adds the names of a link's apps: null without an app, undefined if unknown. */
function nameApps(link: ReadLink, apps: AppNameMap): JsonObject {
  const name = (id: string | null | undefined) =>
    typeof id === "string" ? apps?.get(normalizeId(id)) : id;
  return { ios_app_name: name(link.ios_app_id), android_app_name: name(link.android_app_id) };
}

function matchAny({ tests }: Filter): Matcher {
  const matchers = tests.flatMap(({ field, condition, value }) => {
    const texts = [value].flat().filter((item) => typeof item === "string");
    const wanted = condition === "in" ? texts : (texts[0] ?? "");
    // Only two paths of a remote link are known.
    const fields = field === addressField ? ["path", "shortened_path"] : [field];
    return fields.map((each): FilterInput => ({ field: each, condition, value: wanted }));
  });
  const each = matchers.map((filter) => createMatcher(searched, filter));
  return (record) => judge(each, record, true);
}

/** One decisive verdict settles it; otherwise every matcher must give a verdict. */
function judge(matchers: readonly Matcher[], record: JsonObject, decisive: boolean) {
  const verdicts = new Set(matchers.map((matches) => matches(record)));
  if (verdicts.has(decisive)) return decisive;
  return verdicts.has(undefined) ? undefined : !decisive;
}

const searched: FilterFields = searchFields;

/** As our own store orders texts. */
function compareBytes(one: string | number, other: string | number): number {
  return Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));
}
