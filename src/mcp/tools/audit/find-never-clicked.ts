import type { Group } from "../../../audit/describe-groups.ts";
import { untilTimeIsUp } from "../../../bulk/select/limit-time.ts";
import { askOwn, asksOwn } from "../../../bulk/select/own-filters.ts";
import type { FilterInput } from "../../../contract/filters.ts";
import { contract } from "../../../contract/index.ts";
import type { Call } from "../tool.ts";

/** Links that nobody has ever visited, counted by the deployment itself. */

const { links } = contract;
const days = 90;
const day_ms = 24 * 60 * 60_000;

/** What was found beside the links themselves, and what could not be looked at. */
type Looked = {
  readonly groups: readonly Group[];
  readonly notChecked: readonly string[];
};

const nothing: Looked = { groups: [], notChecked: [] };
const uncounted = "Links never visited: this server cannot count links by these filters.";

const late = "Links never visited: the server did not answer in time.";

export async function findNeverClicked(
  given: readonly FilterInput[],
  paging: Paging,
  call: Call,
): Promise<Looked> {
  const found = await untilTimeIsUp(findByFilters(given, paging, call));
  return found ?? { groups: [], notChecked: [late] };
}

type Paging = { readonly page: number; readonly limit: number };

async function findByFilters(
  given: readonly FilterInput[],
  paging: Paging,
  { ask, keyContext, signal }: Call,
): Promise<Looked> {
  const value = new Date(keyContext.clock.now() - days * day_ms).toISOString();
  const own: readonly FilterInput[] = [
    { field: "clicks", condition: "eq", value: 0 },
    { field: "created_at", condition: "lt", value },
  ];
  const isOwn = (filter: FilterInput) =>
    own.some(({ field, condition }) => filter.field === field && filter.condition === condition);
  // The API takes one filter of each field and condition: the caller's own would be lost.
  if (given.some(isOwn)) return nothing;
  const filters = [...given, ...own];
  const sort = { field: "created_at", direction: "asc" } as const;
  const asked = { filters, sort, ...paging };
  const { call, known } = keyContext;
  const page = asksOwn(asked)
    ? await askOwn({ call, signal, linkHost: known.linkHost }, asked)
    : await ask(links.index, asked);
  if (page === undefined) return { groups: [], notChecked: [uncounted] };
  const { links: rows, meta } = page;
  const count = meta.count ?? rows.length;
  // A deployment that ignores filters answers with links that were visited.
  if (count === 0 || rows.some(({ clicks }) => clicks !== 0)) return nothing;
  const message =
    `Created more than ${days} days ago and never visited. If the links are no longer needed, ` +
    "a plan with these filters can delete them.";
  const ids = rows.map(({ id }) => id);
  return { groups: [{ code: "never_clicked", count, message, filters, ids }], notChecked: [] };
}
