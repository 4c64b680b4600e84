import { listUnreadRows } from "../../../contract/unread.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import type { Effect } from "../../../state/history.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import type { Reading } from "../targets.ts";
import { appFilters } from "../endpoints/act.ts";

/**
 * The links that an app's deletion takes the app away from. Our own service puts it back on them by
 * itself; elsewhere the app is registered anew, and each link has to be given it again.
 */

type Detached = { readonly detached: readonly Effect[]; readonly note?: string };

const { links } = contract;
/** As many as one page of a list holds, the most clicked ones. */
const most = 100;

export async function listDetached(
  endpoint: Endpoint,
  app: Reading,
  id: string | null,
  { ask, keyContext }: Pick<Call, "ask" | "keyContext">,
): Promise<Detached> {
  const kind = findKind(endpoint);
  const filter = endpoint.method === "DELETE" ? appFilters[kind.name] : undefined;
  if (filter === undefined || keyContext.known.binDays !== undefined) return { detached: [] };
  const value = app?.[kind.key ?? ""];
  if (typeof value !== "string") return { detached: [], note: noneNoted };
  const filters = [{ field: filter, condition: "eq", value } as const];
  const sort = { field: "clicks", direction: "desc" } as const;
  const page = await ask(links.index, { filters, sort, limit: most }).catch((error: unknown) => {
    // An app can be deleted although its links cannot be read.
    if (error instanceof ToolFailure) return undefined;
    throw error;
  });
  if (page === undefined) return { detached: [], note: noneNoted };
  // A deployment that ignores filters answers with all, so that the rows are compared here too.
  const field = `${kind.name}_id`;
  const own = page.links.filter((link) => link[field] === id);
  const detached = own.map((link) => ({
    kind: "link",
    id: link.id,
    before: { [field]: id },
    after: { [field]: null },
  }));
  const isRead =
    listUnreadRows(page).length === 0 && page.links.every((link) => link[field] !== undefined);
  const { count, next } = page.meta;
  if (isRead && typeof next !== "number") return { detached };
  if (!isRead || typeof count !== "number") return { detached, note: someNoted };
  return {
    detached,
    note: `${count} links opened this app. Undo adds the app back to ${most} of them.`,
  };
}

const someNoted =
  "Not all links that opened this app could be read. Undo adds the app back only to some of them.";
const noneNoted =
  "The links that opened this app could not be read. Undo does not add the app back to them.";
