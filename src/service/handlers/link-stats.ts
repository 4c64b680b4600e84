import { readId } from "../../contract/fields.ts";
import type { linkStats, LinkStats, StatsBy } from "../../contract/link-stats.ts";
import { messages } from "../../contract/messages.ts";
import { notFound } from "../../contract/problem.ts";
import { writePeriod, type Period } from "../../stats/period.ts";
import { isStep, moveSteps, type Step } from "../../stats/steps.ts";
import { addUp, isNone, noVisits, subtract, type Sum } from "../../stats/sums.ts";
import { otherReferrers, pressSource } from "../../stats/visit.ts";
import { allLinks, matchLinks, type LinkScope } from "../../store/link-lists.ts";
import { findLink, readPaths } from "../../store/links.ts";
import type { Tenant } from "../../store/tables.ts";
import { waitForClicks } from "../find-link.ts";
import type { GroupHandlers } from "../handler.ts";
import { readVisitSums, type VisitSums } from "../link-stats.ts";
import { readSearched } from "../read-searched.ts";
import { readStatsQuery, type StatsQuery } from "../stats-query.ts";

/** Handles calls for link statistics: rows, totals and one sentence that sums them up. */
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
      return describeStats(tenant, query, { links: matching ?? allLinks, subject, now });
    };
    return { body: { stats: await store.readLong(read, { signal, line: projectId }) } };
  },
};

function nameSubject(count: number | undefined): string {
  if (count === undefined) return "All links";
  return count === 1 ? "The one link" : `The ${count.toLocaleString("en")} links`;
}

type StatsSubject = { readonly links: LinkScope; readonly subject: string; readonly now: number };

async function describeStats(
  tenant: Tenant,
  query: StatsQuery,
  { links, subject, now }: StatsSubject,
): Promise<LinkStats> {
  const { period, before, by, steps, zone, most } = query;
  const { found, earlier } = await readVisitSums(tenant, {
    links,
    by,
    asked: { period, steps },
    before: before && { period: before, steps: moveAll(query, before) },
    most: countLooked(by, most),
  });
  const rows = await listRows(tenant, query, found, earlier);
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

/** Returns the steps of the previous period, if the rows are steps of time. */
function moveAll({ period, by, steps, zone }: StatsQuery, before: Period): readonly Step[] {
  return isStep(by) ? moveSteps(steps, by, { period, before, zone }) : [];
}

function writeWhen({ from, to }: { readonly from: string; readonly to: string }): string {
  return from === to ? `on ${from}` : `from ${from} to ${to}`;
}

type LinkStatsRow = LinkStats["rows"][number];

/** The group of visits in one row. */
type StatsGroup = {
  readonly key: string;
  /** The id of an existing link. */
  readonly id?: string;
  /** The keys whose sums the row adds up. */
  readonly keys: readonly string[];
};

/**
 * The keys of rows that add up several keys. Paths start with a slash, and no host has this name.
 */
const othersKey = otherReferrers;
const deletedKey = "deleted links";

/** The number of links to read in addition, because all deleted links share one row. */
const spareLinks = 100;

function countLooked(by: StatsBy, most: number): number {
  return by === "link" ? most + spareLinks : most;
}

type StatsRowOptions = { readonly by: StatsBy; readonly most: number };

/** Lists rows that add up to the totals, also for the previous period. */
async function listRows(
  tenant: Tenant,
  options: StatsRowOptions,
  found: VisitSums,
  earlier: VisitSums | undefined,
): Promise<LinkStatsRow[]> {
  if (isStep(options.by)) {
    return found.rows.map(([key, sum]) => writeRow(key, sum, earlier?.find(key)));
  }
  const groups = await groupKeys(tenant, listKeys(options, found, earlier), options);
  const rows = groups.map(({ key, id, keys }): LinkStatsRow => {
    const row = writeRow(key, addUpKeys(keys, found), earlier && addUpKeys(keys, earlier));
    return id === undefined ? row : { ...row, id };
  });
  const listed = groups.flatMap(({ keys }) => keys);
  const rest = findRest(listed, found);
  const restBefore = earlier && findRest(listed, earlier);
  if (isNone(rest) && isNone(restBefore ?? noVisits)) return rows;
  return [...rows, writeRow(othersKey, rest, restBefore)];
}

function writeRow(key: string, sum: Sum, previous: Sum | undefined): LinkStatsRow {
  return { key, ...showSum(sum), ...(previous && { previous: previous.click }) };
}

/** Lists the keys of the period, then those that only the previous period has. */
function listKeys(
  { by }: StatsRowOptions,
  found: VisitSums,
  earlier: VisitSums | undefined,
): readonly string[] {
  const keys = found.rows.map(([key]) => key);
  // If not all links were read, a link of the previous period may also have visits in this one.
  const isCut = by === "link" && found.isCut;
  if (earlier === undefined || isCut) return keys;
  return [...new Set([...keys, ...earlier.rows.map(([key]) => key)])];
}

async function groupKeys(
  tenant: Tenant,
  keys: readonly string[],
  { by, most }: StatsRowOptions,
): Promise<readonly StatsGroup[]> {
  if (by !== "link") return keys.slice(0, most).map((key) => ({ key, keys: [key] }));
  const paths = await readPaths(tenant, keys);
  const links: StatsGroup[] = [];
  const deleted: string[] = [];
  for (const id of keys) {
    if (links.length === most) break;
    const path = paths.get(id);
    if (path === undefined) deleted.push(id);
    else links.push({ key: nameLink(id, path), id, keys: [id] });
  }
  return deleted.length === 0 ? links : [...links, { key: deletedKey, keys: deleted }];
}

/**
 * Formats a path with its slash, because a plain one would read like a word: "the link named had 0
 * clicks".
 */
function nameLink(id: string, path: string | null): string {
  return path === null ? id : `/${path}`;
}

/** Keys that add up several keys, or that do not count clicks. */
const neverBest: ReadonlySet<string> = new Set([othersKey, deletedKey, pressSource]);

/** Finds the row with the most clicks. Returns undefined if there is only one row. */
function findBest(rows: readonly LinkStatsRow[]): LinkStatsRow | undefined {
  if (rows.length < 2) return undefined;
  const apart = rows.filter(({ key }) => !neverBest.has(key));
  return apart.toSorted((one, other) => other.clicks - one.clicks)[0];
}

function addUpKeys(keys: readonly string[], { find }: VisitSums): Sum {
  return addUp(keys.map((key) => find(key) ?? noVisits));
}

/** Returns the totals without the rows of these keys. */
function findRest(listed: readonly string[], found: VisitSums): Sum {
  return subtract(found.all, addUpKeys(listed, found));
}

function showSum({ click, open, install }: Sum) {
  return { clicks: click, opens: open, installs: install };
}

type SentenceFacts = {
  /** `The link spring` or `All links`. */
  readonly subject: string;
  readonly total: Sum;
  /** `from 2026-11-16 to 2026-11-22`. */
  readonly when: string;
  readonly previous?: { readonly total: Sum; readonly when: string } | undefined;
  /** The key with the most clicks, if there are several. */
  readonly most?: { readonly key: string; readonly clicks: number } | undefined;
  readonly isOver: boolean;
};

function writeSentence(facts: SentenceFacts): string {
  const { most, total } = facts;
  const isWorth = most !== undefined && most.clicks > 0 && most.clicks < total.click;
  return [
    writeTotal(facts),
    ...(isWorth ? [`Most clicks: ${most.key} (${most.clicks.toLocaleString("en")}).`] : []),
  ].join(" ");
}

function writeTotal({ subject, total, when, previous, isOver }: SentenceFacts): string {
  const soFar = isOver ? "" : " (so far)";
  const apps = [
    ...(total.open > 0 ? [countOf(total.open, "app open")] : []),
    ...(total.install > 0 ? [countOf(total.install, "install")] : []),
  ];
  const also = apps.length === 0 ? "" : `, ${apps.join(" and ")}`;
  const compared = previous === undefined ? "" : `, ${compare(total.click, previous)}`;
  const had = `${subject} had ${countOf(total.click, "click")}${also}`;
  return `${had} ${when}${soFar}${compared}.`;
}

function countOf(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

function compare(clicks: number, previous: NonNullable<SentenceFacts["previous"]>): string {
  const { total, when } = previous;
  const before = `${total.click.toLocaleString("en")} ${when}`;
  if (clicks === total.click) return `as many as ${when}`;
  if (total.click === 0) return `compared with none ${when}`;
  const percent = Math.round((Math.abs(clicks - total.click) / total.click) * 100);
  const word = clicks > total.click ? "more" : "fewer";
  // Omit a percentage that rounds to 0%.
  return percent === 0 ? `${word} than the ${before}` : `${percent}% ${word} than the ${before}`;
}
