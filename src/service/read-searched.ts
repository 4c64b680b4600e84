import type { Filter } from "../contract/filters.ts";
import { fillLinkOrigin, fillSubdomain } from "../contract/rules/link-address.ts";
import { readSearch } from "../contract/rules/read-search.ts";
import type { WriteCall } from "./handler.ts";

type SearchCall = Pick<WriteCall, "services" | "caller"> & {
  readonly list: { readonly search: string | undefined };
};

/**
 * Converts the search text of a list of links to filters. It recognizes URLs on all of the
 * project's hosts.
 */
export function readSearched({
  services,
  caller: { project },
  list,
}: SearchCall): readonly Filter[] {
  if (list.search === undefined) return [];
  const { readLinkOrigin, secondOrigin } = services;
  const linkOrigin = readLinkOrigin();
  return readSearch(list.search, [
    fillLinkOrigin(linkOrigin, project),
    fillSubdomain(linkOrigin, project),
    ...(secondOrigin === undefined ? [] : [fillSubdomain(secondOrigin, project)]),
  ]);
}
