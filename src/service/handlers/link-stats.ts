import { readId } from "../../contract/fields.ts";
import type { linkStats, LinkStats } from "../../contract/link-stats.ts";
import { messages } from "../../contract/messages.ts";
import { notFound } from "../../contract/problem.ts";
import { packId, readIdWords } from "../../stats/link-ids.ts";
import { createLinkSet, type LinkSet } from "../../stats/link-set.ts";
import { writePeriod, type Period } from "../../stats/period.ts";
import { writeSentence } from "../../stats/sentence.ts";
import { isStep, moveSteps, type Step } from "../../stats/steps.ts";
import { foldForReader } from "../../store/fold-for-reader.ts";
import { findLink } from "../../store/links.ts";
import { findMatching } from "../../store/link-ids.ts";
import { FoldedMeanwhile } from "../../store/read-totals.ts";
import type { Tenant } from "../../store/tenant.ts";
import { isMuchWaiting } from "../../store/visit-batches.ts";
import { readTenant, type GroupHandlers } from "../handler.ts";
import { addUpVisits, type Wanted } from "../link-stats.ts";
import { readSearched } from "../read-searched.ts";
import { readStatsQuery, type StatsQuery } from "../stats-query.ts";
import { countLooked, findBest, nameLink, showSum, tellRows } from "../stats-rows.ts";

export const linkStatsHandlers: GroupHandlers<typeof linkStats> = {
  show: async (call) => {
    const { services, caller, query: given, list, signal } = call;
    const { store, clock } = services;
    const query = readStatsQuery(given, clock.now());
    const projectId = caller.project.id;
    const filters = [...list.filters, ...readSearched(call)];
    const isQuick = given.id === undefined && filters.length === 0 && query.by !== "link";
    await services.writeVisits?.(projectId);
    if (!isQuick || (await isMuchWaiting(readTenant(call)))) {
      await foldForReader(store, projectId);
    }
    const link =
      given.id === undefined ? undefined : await findLink(readTenant(call), readId(given.id));
    if (given.id !== undefined && link === undefined) throw notFound(messages.link_not_found);
    const work = async (tenant: Tenant) => {
      const matching = filters.length === 0 ? undefined : await findMatching(tenant, filters);
      const links = link === undefined ? matching : await chooseLink(matching, link.id);
      const subject =
        link === undefined ? nameSubject(matching) : `The link ${nameLink(link.id, link.path)}`;
      return tellStats(tenant, { ...query, links, subject, now: clock.now() });
    };
    const readLong = () =>
      store.readLong((db) => work({ db, projectId }), { signal, line: projectId });
    if (!isQuick) return { body: { stats: await readLong() } };
    const stats = await work(readTenant(call)).catch((error: unknown) => {
      if (error instanceof FoldedMeanwhile) return readLong();
      throw error;
    });
    return { body: { stats } };
  },
};

/** The one link, unless the filters leave it out. */
function chooseLink(matching: LinkSet | undefined, id: string): Promise<LinkSet> {
  const isLeftOut = matching?.has(readIdWords(packId(id)), 0) === false;
  return createLinkSet(packId(isLeftOut ? "" : id), isLeftOut ? undefined : [id, id]);
}

function nameSubject(matching: LinkSet | undefined): string {
  if (matching === undefined) return "All links";
  return matching.size === 1 ? "The one link" : `The ${matching.size.toLocaleString("en")} links`;
}

type Telling = StatsQuery &
  Pick<Wanted, "links"> & { readonly subject: string; readonly now: number };

async function tellStats(tenant: Tenant, telling: Telling): Promise<LinkStats> {
  const { links, period, before, by, steps, zone, most, subject, now } = telling;
  const { found, earlier } = await addUpVisits(tenant, {
    links,
    by,
    asked: { period, steps },
    before: before && { period: before, steps: moveAll(telling, before) },
    most: countLooked(by, most),
  });
  const rows = await tellRows(tenant, telling, found, earlier);
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
    hoursFrom: telling.hoursFrom,
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
