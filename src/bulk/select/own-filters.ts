import {
  isOwnField,
  searchName,
  toPlainFilter,
  type FilterInput,
  type LinkSelection,
  type ListInput,
} from "../../contract/filters.ts";
import type { ReadMeta } from "../../contract/fields.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { Problem } from "../../contract/problem.ts";
import type { Asking } from "../owner.ts";
import { createOwnMatch } from "./match-own.ts";

/** What is ours alone of a question for links: whether a deployment understands it. */

type Page = { readonly links: readonly ReadLink[]; readonly meta: ReadMeta };

/** The filters that every deployment knows. */
export function listSpecified({ filters = [] }: LinkSelection): readonly FilterInput[] {
  return filters.filter(({ field }) => !isOwnField(links.index.list, field));
}

export function asksOwn(selection: LinkSelection): boolean {
  return nameOwn(selection).length > 0;
}

/**
 * The page that our own service answers. Undefined where the deployment ignores what is ours, or
 * refuses it: it has to say itself what it has applied, and its links must not show the contrary.
 */
export async function askOwn(
  { call, signal, linkHost }: Asking,
  input: ListInput,
): Promise<Page | undefined> {
  try {
    const page = await call(links.index, input, signal);
    const { applied } = page.meta;
    const isTold = nameOwn(input).every((name) => Array.isArray(applied) && applied.includes(name));
    if (!isTold) return undefined;
    // What was searched for may be an address that no link shows, such as a short one with a query.
    const { filters } = input;
    const matches = createOwnMatch({ filters }, { apps: undefined, linkHost });
    return page.links.some((link) => matches(link) === false) ? undefined : page;
  } catch (error) {
    if (error instanceof Problem && refusals.has(error.status)) return undefined;
    throw error;
  }
}

/** What is not understood, and what is longer than an address may be there. */
const refusals: ReadonlySet<number> = new Set([400, 414, 422, 431]);

/** As the request names them. */
function nameOwn({ filters = [], search }: LinkSelection): readonly string[] {
  const own = filters.filter(({ field }) => isOwnField(links.index.list, field));
  const names = own.map(toPlainFilter).map(({ field, condition }) => `${field}_${condition}`);
  return search === undefined ? names : [...names, searchName];
}
