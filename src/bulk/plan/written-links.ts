import { setImmediate as nextTurn } from "node:timers/promises";
import type { Change, History } from "../../state/history.ts";
import type { Jobs } from "../../state/jobs.ts";

type Past = { readonly history: History; readonly jobs: Jobs };

const rowsTogether = 500;

/**
 * Ids and paths of the links that Waypost has written since a time, one by one or by jobs.
 * Undefined where the history had to drop changes since then.
 */
export async function listWrittenLinks(
  { history, jobs }: Past,
  realm: string | undefined,
  since: number,
): Promise<ReadonlySet<string> | undefined> {
  const names: (string | null)[] = [];
  if (realm === undefined) return new Set();
  const ofLinks = listChanges(history, { realm, kind: "link", since });
  for await (const { target_id, target_key } of ofLinks) names.push(target_id, target_key);
  const ofJobs = listChanges(history, { realm, kind: "job", since });
  for await (const { target_id } of ofJobs) {
    await noteWrittenBy(jobs, target_id ?? "", names);
  }
  // Asked last, because changes may be dropped while they are listed.
  if (!(await history.isWhole(realm, since))) return undefined;
  return new Set(names.filter((name) => name !== null));
}

type Wanted = { readonly realm: string; readonly kind: string; readonly since: number };

async function* listChanges(
  history: History,
  { realm, kind, since }: Wanted,
): AsyncGenerator<Change> {
  for (let from = 0; ; from += rowsTogether) {
    const page = await history.list({ realm }, { kind, from, limit: rowsTogether });
    const recent = page.filter(({ at }) => at >= since);
    yield* recent;
    if (recent.length < rowsTogether) return;
  }
}

async function noteWrittenBy(jobs: Jobs, id: string, names: (string | null)[]): Promise<void> {
  for (let from = 0; ;) {
    const rows = await jobs.listReceipts({ id }, { from, limit: rowsTogether });
    for (const { link_id, planned } of rows) names.push(link_id, planned.path);
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsTogether) return;
    from = last.planned.position + 1;
    // Other work of the process needs the event loop as well.
    await nextTurn();
  }
}
