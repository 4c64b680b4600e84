import type { Filter } from "../contract/filters.ts";
import { fillLinkOrigin, fillSubdomain } from "../contract/rules/link-address.ts";
import { readSearch } from "../contract/rules/read-search.ts";
import type { WriteCall } from "./handler.ts";

type Searching = Pick<WriteCall, "services" | "caller"> & {
  readonly list: { readonly search: string | undefined };
};

/** What a list of links is searched for, as filters, at every host where they are visited. */
export function readSearched({
  services,
  caller: { project },
  list,
}: Searching): readonly Filter[] {
  if (list.search === undefined) return [];
  const { readLinkOrigin, secondOrigin } = services;
  const linkOrigin = readLinkOrigin();
  return readSearch(list.search, [
    fillLinkOrigin(linkOrigin, project),
    fillSubdomain(linkOrigin, project),
    ...(secondOrigin === undefined ? [] : [fillSubdomain(secondOrigin, project)]),
  ]);
}
