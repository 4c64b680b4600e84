import { expect } from "vitest";
import { listPaths } from "./finding.ts";
import type { Assistant, Difference, Result } from "./task.ts";

/** Selections of links by filters that only Waypost has. */

export const ownFilters: Difference = {
  more: 2,
  because: "the server lacks the filter, so the links are listed first and named by their paths",
};

/** `isMeant` selects the links if the server refuses the filters. */
export async function callWithOwn(
  { call }: Assistant,
  tool: string,
  { search, ...args }: Readonly<Record<string, unknown>>,
  isMeant: (link: Result) => boolean,
): Promise<Result> {
  const result = await call(tool, { ...args, ...(search !== undefined && { search }) });
  if (result.error === undefined) return result;
  expect(result.error.message).toContain("This server does not support");
  const { links } = await call("list_links");
  const value = listPaths({ links: links.filter(isMeant) });
  return call(tool, { ...args, filters: [{ field: "path", condition: "in", value }] });
}

export const goesTo =
  (host: string) =>
  ({ url, destination = url }: Result): boolean =>
    destination?.includes(host) === true;
