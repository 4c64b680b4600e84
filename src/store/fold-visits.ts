import { setImmediate } from "node:timers/promises";
import { writeCells, type Cells } from "../stats/cells.ts";
import { addClicks } from "./clicks.ts";
import type { Sql } from "../sql/sql.ts";
import { workOnEach, type Sweep } from "./sweep-projects.ts";
import type { Flag, Tables } from "./tables.ts";
import type { Tenant } from "./tenant.ts";
import { collectBatches, insertBatch, listWaitingProjects, takeBatches } from "./visit-batches.ts";
import { createKindReader, mergeDay, splitDays, type KindReader } from "./visit-days.ts";
import { mergeTotals } from "./visit-totals.ts";

/** So many links are brought up to date in one transaction. */
const linksAtOnce = 500;

type FoldOptions = { readonly isPatient: boolean };
export type Folding = Pick<Sql<Tables>, "db" | "write">;

/**
 * Puts together what was written down of a project's visits: adds clicks to their links, and all
 * else to their days. What is of many links is sorted first, and written down again in parts, each
 * of which is one short transaction. A process that is killed leaves the parts for the next one.
 */
export async function foldVisits(
  store: Folding,
  projectId: string,
  options: FoldOptions,
  signal?: AbortSignal,
): Promise<void> {
  for (const owes of [1, 0] as const) {
    while (signal?.aborted !== true && (await foldSome(store, projectId, owes, options)));
  }
}

/** Of every project of which something waits. */
export function foldWaiting(
  store: Folding,
  { signal, onError }: Pick<Sweep, "signal" | "onError">,
): Promise<void> {
  return workOnEach(store.db, {
    find: (projects) => listWaitingProjects(store.db, projects),
    work: (projectId) => foldVisits(store, projectId, { isPatient: true }, signal),
    signal,
    onError,
  });
}

/** Another process folds the same; what it leaves is looked for again. */
class TakenBefore extends Error {
  override readonly name = "TakenBefore";
}

/** Answers whether there was more than that. What comes meanwhile waits for the next time. */
async function foldSome(
  { db, write }: Folding,
  projectId: string,
  owes: Flag,
  options: FoldOptions,
): Promise<boolean> {
  const { ids, cells, isCut } = await collectBatches({ db, projectId }, owes);
  if (ids.length === 0) return false;
  const parts = await part(cells);
  try {
    const kept = await write(async (own) => {
      const tenant = { db: own, projectId };
      if (!(await takeBatches(tenant, ids))) throw new TakenBefore("others fold the same");
      const waiting: string[] = [];
      if (parts.length === 1) await applyPart(tenant, owes, cells);
      else for (const one of parts) waiting.push(await insertBatch(tenant, owes, writeCells(one)));
      return waiting;
    }, options);
    for (const [place, id] of kept.entries()) {
      await write(async (own) => {
        const tenant = { db: own, projectId };
        // It was folded by another process.
        if (!(await takeBatches(tenant, [id]))) return;
        await applyPart(tenant, owes, parts[place] ?? new Map());
      }, options);
    }
  } catch (error) {
    if (!(error instanceof TakenBefore)) throw error;
    return true;
  }
  return isCut;
}

/** Neighbours by id are together: they share pages. */
async function part(cells: Cells): Promise<readonly Cells[]> {
  const ids = [...cells.keys()].toSorted();
  const parts: Cells[] = [];
  for (let start = 0; start < ids.length; start += linksAtOnce) {
    const own = ids.slice(start, start + linksAtOnce);
    parts.push(new Map(own.map((id) => [id, cells.get(id) ?? new Map()])));
    await setImmediate();
  }
  return parts;
}

async function applyPart(tenant: Tenant, owes: Flag, cells: Cells): Promise<void> {
  const read = createKindReader();
  if (owes === 1) await addOwed(tenant, cells, read);
  for (const [day, own] of splitDays(cells, read)) {
    const told = await mergeDay(tenant, day, own, read);
    await mergeTotals(tenant, day, told, read);
  }
}

async function addOwed({ db, projectId }: Tenant, cells: Cells, read: KindReader): Promise<void> {
  const clicks = [...cells].map(([linkId, counts]) => {
    const own = [...counts].filter(([kind]) => read(kind).isClick);
    return { projectId, linkId, count: own.reduce((sum, [, count]) => sum + count, 0) };
  });
  const clicked = clicks.filter(({ count }) => count > 0);
  if (clicked.length > 0) await addClicks(db, clicked);
}
