import { readId } from "../../contract/fields.ts";
import type { linkStats, LinkStats } from "../../contract/link-stats.ts";
import { messages } from "../../contract/messages.ts";
import { notFound } from "../../contract/problem.ts";
import { packId, readIdWords } from "../../stats/link-ids.ts";
import { createLinkSet, type LinkSet } from "../../stats/link-set.ts";
import { findPrevious, writePeriod } from "../../stats/period.ts";
import { writeSentence } from "../../stats/sentence.ts";
import type { Sum } from "../../stats/sums.ts";
import { foldVisits } from "../../store/fold-visits.ts";
import { findLink } from "../../store/links.ts";
import { findMatching, readPaths } from "../../store/link-ids.ts";
import type { Tenant } from "../../store/tenant.ts";
import { readTenant, type GroupHandlers } from "../handler.ts";
import { addUpVisits, isStep, type Found, type Wanted } from "../link-stats.ts";
import { readSearched } from "../read-searched.ts";
import { readStatsQuery, type StatsQuery } from "../stats-query.ts";

/** Of keys that are no row of their own. */
const othersKey = "other";
const deletedKey = "deleted links";

export const linkStatsHandlers: GroupHandlers<typeof linkStats> = {
  show: async (call) => {
    const { services, caller, query: given, list, signal } = call;
    const { store, clock } = services;
    const query = readStatsQuery(given, clock.now());
    const projectId = caller.project.id;
    await (services.foldVisits?.(projectId) ?? foldVisits(store, projectId, { isPatient: false }));
    const filters = [...list.filters, ...readSearched(call)];
    const link =
      given.id === undefined ? undefined : await findLink(readTenant(call), readId(given.id));
    if (given.id !== undefined && link === undefined) throw notFound(messages.link_not_found);
    const isQuick = link === undefined && filters.length === 0 && query.by !== "link";
    const work = async (tenant: Tenant) => {
      const matching = filters.length === 0 ? undefined : await findMatching(tenant, filters);
      const links = link === undefined ? matching : await chooseLink(matching, link.id);
      const subject = link === undefined ? nameSubject(matching) : nameLink(link);
      return tellStats(tenant, { ...query, links, subject, now: clock.now() });
    };
    const stats = isQuick
      ? await work(readTenant(call))
      : await store.readLong((db) => work({ db, projectId }), { signal, line: projectId });
    return { body: { stats } };
  },
};

/** The one link, unless the filters leave it out. */
function chooseLink(matching: LinkSet | undefined, id: string): Promise<LinkSet> {
  const isLeftOut = matching?.has(readIdWords(packId(id)), 0) === false;
  return createLinkSet(packId(isLeftOut ? "" : id), isLeftOut ? undefined : [id, id]);
}

/** A path alone reads like a word of the sentence: "the link named had 0 clicks". */
function nameLink({ path, id }: { readonly path: string | null; readonly id: string }): string {
  return `The link ${path === null ? id : `/${path}`}`;
}

function nameSubject(matching: LinkSet | undefined): string {
  if (matching === undefined) return "All links";
  return matching.size === 1 ? "The one link" : `The ${matching.size.toLocaleString("en")} links`;
}

type Telling = StatsQuery & Wanted & { readonly subject: string; readonly now: number };

async function tellStats(tenant: Tenant, telling: Telling): Promise<LinkStats> {
  const { period, by, zone, isCompared, most, subject, now } = telling;
  const found = await addUpVisits(tenant, telling, period, { most });
  const before = isCompared ? findPrevious(period, zone) : undefined;
  const named = found.rows.map(([key]) => key);
  const earlier = before && (await addUpVisits(tenant, telling, before, { most, named }));
  const rows = await tellRows(tenant, by, found, earlier);
  const ends = writePeriod(period, zone);
  const endsBefore = before && writePeriod(before, zone);
  const [best] = rows.toSorted((one, other) => other.clicks - one.clicks);
  const sentence = writeSentence({
    subject,
    total: found.total,
    when: writeWhen(ends),
    previous: earlier && endsBefore && { total: earlier.total, when: writeWhen(endsBefore) },
    most: best && rows.length > 1 ? { key: best.key, clicks: best.clicks } : undefined,
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

function writeWhen({ from, to }: { readonly from: string; readonly to: string }): string {
  return from === to ? `on ${from}` : `from ${from} to ${to}`;
}

type Row = LinkStats["rows"][number];

async function tellRows(
  tenant: Tenant,
  by: StatsQuery["by"],
  { rows, others }: Found,
  earlier: Found | undefined,
): Promise<Row[]> {
  const tell = (key: string, sum: Sum, previous: Sum | undefined): Row => {
    return { key, ...showSum(sum), ...(earlier && { previous: previous?.click ?? 0 }) };
  };
  const rest = others === undefined ? [] : [tell(othersKey, others, findRest(rows, earlier))];
  if (isStep(by)) {
    // The first of this period stands beside the first of the one before.
    return rows.map(([key, sum], place) => tell(key, sum, earlier?.rows[place]?.[1]));
  }
  if (by !== "link") {
    return [...rows.map(([key, sum]) => tell(key, sum, earlier?.find(key))), ...rest];
  }
  const paths = await readPaths(
    tenant,
    rows.map(([id]) => id),
  );
  const told = rows.map(([id, sum]): Row => {
    const path = paths.get(id);
    const row = tell(path ?? deletedKey, sum, earlier?.find(id));
    return path === undefined ? row : { ...row, id };
  });
  return [...told, ...rest];
}

/** What the others had before: all that those that are told apart had not. */
function findRest(rows: Found["rows"], earlier: Found | undefined): Sum | undefined {
  if (earlier === undefined) return undefined;
  const rest = { ...earlier.total };
  for (const [key] of rows) rest.click -= earlier.find(key)?.click ?? 0;
  return rest;
}

function showSum({ click, open, install }: Sum) {
  return { clicks: click, opens: open, installs: install };
}
