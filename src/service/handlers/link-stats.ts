import { readId } from "../../contract/fields.ts";
import type { linkStats, LinkStats } from "../../contract/link-stats.ts";
import { messages } from "../../contract/messages.ts";
import { notFound } from "../../contract/problem.ts";
import { writePeriod, type Period } from "../../stats/period.ts";
import { isStep, moveSteps, type Step } from "../../stats/steps.ts";
import { allLinks, matchLinks, type LinkScope } from "../../store/link-lists.ts";
import { findLink } from "../../store/links.ts";
import type { Tenant } from "../../store/tables.ts";
import { waitForClicks } from "../find-link.ts";
import type { GroupHandlers } from "../handler.ts";
import { readVisitSums } from "../link-stats.ts";
import { readSearched } from "../read-searched.ts";
import { readStatsQuery, type StatsQuery } from "../stats-query.ts";
import { countLooked, findBest, nameLink, showSum, tellRows } from "../stats-rows.ts";
import { writeSentence } from "../stats-sentence.ts";

export const linkStatsHandlers: GroupHandlers<typeof linkStats> = {
  show: async (call) => {
    const { services, caller, query: given, list, signal } = call;
    const { store, clock } = services;
    const now = clock.now();
    const query = readStatsQuery(given, now);
    const projectId = caller.project.id;
    const filters = [...list.filters, ...readSearched(call)];
    const id = given.id === undefined ? undefined : readId(given.id);
    await waitForClicks(call, id);
    const read = async (db: Tenant["db"]) => {
      const tenant = { db, projectId };
      const link = id === undefined ? undefined : await findLink(tenant, id);
      if (id !== undefined && link === undefined) throw notFound(messages.link_not_found);
      const isAll = id === undefined && filters.length === 0;
      const matching = isAll ? undefined : await matchLinks(tenant, filters, id);
      const subject =
        link === undefined
          ? nameSubject(matching?.count)
          : `The link ${nameLink(link.id, link.path)}`;
      return tellStats(tenant, query, { links: matching ?? allLinks, subject, now });
    };
    return { body: { stats: await store.readLong(read, { signal, line: projectId }) } };
  },
};

function nameSubject(count: number | undefined): string {
  if (count === undefined) return "All links";
  return count === 1 ? "The one link" : `The ${count.toLocaleString("en")} links`;
}

type Subject = { readonly links: LinkScope; readonly subject: string; readonly now: number };

async function tellStats(
  tenant: Tenant,
  query: StatsQuery,
  { links, subject, now }: Subject,
): Promise<LinkStats> {
  const { period, before, by, steps, zone, most } = query;
  const { found, earlier } = await readVisitSums(tenant, {
    links,
    by,
    asked: { period, steps },
    before: before && { period: before, steps: moveAll(query, before) },
    most: countLooked(by, most),
  });
  const rows = await tellRows(tenant, query, found, earlier);
  const ends = writePeriod(period, zone);
  const endsBefore = before && writePeriod(before, zone);
  const best = findBest(rows);
  const sentence = writeSentence({
    subject,
    total: found.total,
    when: writeWhen(ends),
    previous: earlier && endsBefore && { total: earlier.total, when: writeWhen(endsBefore) },
    most: best,
    isOver: period.to <= now,
  });
  return {
    ...ends,
    by,
    time_zone: zone.name,
    total: showSum(found.total),
    ...(earlier && endsBefore && { previous: { ...endsBefore, ...showSum(earlier.total) } }),
    rows,
    sentence,
  };
}

/** What is told beside each step, where it is told by time. */
function moveAll({ period, by, steps, zone }: StatsQuery, before: Period): readonly Step[] {
  return isStep(by) ? moveSteps(steps, by, { period, before, zone }) : [];
}

function writeWhen({ from, to }: { readonly from: string; readonly to: string }): string {
  return from === to ? `on ${from}` : `from ${from} to ${to}`;
}
