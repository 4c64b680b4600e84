import { sql } from "kysely";
import { dayHours, type LinkVisits, type VisitEvent } from "../stats/visit.ts";
import { addClicks } from "./clicks.ts";
import { addToKnown, limitLinkHosts, limitProjectHosts } from "./limit-hosts.ts";
import { queueClickEvents } from "./events.ts";
import { prepareBatches } from "./prepared-query.ts";
import { findTally } from "./project-tallies.ts";
import type { VisitCountTable } from "./tables.ts";
import type { Db } from "./tenant.ts";

/** Counts visits in the caller's transaction, together with the clicks that links show. */
export async function countVisits(
  db: Db,
  visits: readonly LinkVisits[],
  now: number,
): Promise<void> {
  const projects = [...new Set(visits.map(({ projectId }) => projectId))].toSorted();
  for (const projectId of projects) {
    const tenant = { db, projectId };
    const own = visits.filter((visit) => visit.projectId === projectId);
    const tally = await findTally(tenant);
    // A deleted project's last visits: no chore would remove them.
    if (tally === undefined) continue;
    await queueClickEvents(tenant, tally, own, now);
    await addCounters(db, listCounters(projectId, await limitLinkHosts(tenant, own)));
    await limitProjectHosts(tenant, own);
  }
  const clicked = visits.filter(({ clicks }) => clicks > 0);
  // In one order, as the counters: two processes that write at once must not deadlock.
  const sorted = clicked.toSorted((one, other) => (one.linkId < other.linkId ? -1 : 1));
  if (sorted.length > 0) await addClicks(db, sorted);
}

type Counter = Omit<VisitCountTable, CountColumn> & Record<CountColumn, number>;
type CountColumn = "clicks" | "opens" | "installs";

const columns = {
  click: "clicks",
  open: "opens",
  install: "installs",
} as const satisfies Record<VisitEvent, CountColumn>;

/** Each of a link and of its whole project, in the order of the table's key. */
function listCounters(project_id: string, visits: readonly LinkVisits[]): readonly Counter[] {
  const counters = new Map<string, Counter>();
  for (const { linkId, kinds } of visits) {
    for (const { kind, count } of kinds) {
      const day = kind.hour - (kind.hour % dayHours);
      for (const link_id of [linkId, ""]) {
        for (const [unit, hour] of [["hour", kind.hour] as const, ["day", day] as const]) {
          for (const [dimension, value] of kind.values) {
            const key = `${unit} ${dimension} ${hour} ${link_id} ${value}`;
            let counter = counters.get(key);
            if (counter === undefined) {
              const none = { clicks: 0, opens: 0, installs: 0 };
              counter = { project_id, unit, dimension, hour, link_id, value, ...none };
              counters.set(key, counter);
            }
            counter[columns[kind.what]] += count;
          }
        }
      }
    }
  }
  const sorted = [...counters].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([, counter]) => counter);
}

function addCounters(db: Db, counters: readonly Counter[]): Promise<unknown> {
  const rows = counters.map((row) => {
    const { project_id, unit, dimension, hour, link_id, value, clicks, opens, installs } = row;
    return [project_id, unit, dimension, hour, link_id, value, clicks, opens, installs];
  });
  return upsert(db, rows);
}

const upsert = prepareBatches<never>(
  [200, 20, 1],
  ["", "", "", 0, "", "", 0, 0, 0],
  (rows) => sql`
    insert into visit_counts
      (project_id, unit, dimension, hour, link_id, value, clicks, opens, installs)
    values ${rows} ${addToKnown}
  `,
);
