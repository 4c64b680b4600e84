import { readId } from "../../contract/fields.ts";
import {
  statsBy,
  type linkStats,
  type LinkStats,
  type StatsBy,
} from "../../contract/link-stats.ts";
import { openTimeZone, utc, type TimeZone } from "../../contract/local-time.ts";
import { messages } from "../../contract/messages.ts";
import { notFound, Problem } from "../../contract/problem.ts";
import {
  writePeriod,
  findPrevious,
  readPeriod,
  writeDate,
  isStep,
  moveSteps,
  listSteps,
  findStep,
  type Period,
  type Step,
} from "../../stats/period.ts";
import { addUp, isNone, noVisits, subtract, compareSums, type Sum } from "../../stats/sums.ts";
import { otherReferrers, pressSource, day_ms, type VisitFact } from "../../stats/visit.ts";
import { allLinks, matchLinks, chooseLinks, type LinkScope } from "../../store/link-lists.ts";
import { findLink, readPaths } from "../../store/links.ts";
import {
  readByHour,
  readByLink,
  readByValue,
  readTotal,
  type VisitScope,
} from "../../store/visit-counts.ts";
import type { Tenant } from "../../store/tables.ts";
import { findNearest } from "../../text/nearest-name.ts";
import { quote } from "../../text/show-hidden.ts";
import { explainTimeZone, isTimeZone } from "../../text/time-zone.ts";
import { readSearched } from "../find-link.ts";
import { waitForClicks, type GroupHandlers } from "../handler.ts";
import { readFlag } from "../read-query.ts";

/** Handles calls for link statistics: rows, totals and a one-sentence summary. */
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
  const { by, asked, before, most, zone } = query;
  // Read extra links, because all deleted links are combined in one row.
  const read = { links, by, asked, before, most: by === "link" ? most + spareLinks : most };
  const { found, earlier } = await readVisitSums(tenant, read);
  const rows = await listRows(tenant, query, found, earlier);
  const ends = writePeriod(asked.period, zone);
  const endsBefore = before && writePeriod(before.period, zone);
  const sentence = writeSentence({
    subject,
    total: found.total,
    when: writeWhen(ends),
    previous: earlier && endsBefore && { total: earlier.total, when: writeWhen(endsBefore) },
    most: findBest(rows),
    isOver: asked.period.to <= now,
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

type LinkStatsRow = LinkStats["rows"][number];

/** A row of the statistics: a single link, host or other value, or several of them combined. */
type StatsGroup = {
  readonly key: string;
  /** The link's id; undefined if the row is not a single link. */
  readonly id?: string;
  /** The links or values that the row combines. */
  readonly keys: readonly string[];
};

/** The keys of rows that combine several links or values. No path or host can equal them. */
const othersKey = otherReferrers;
const deletedKey = "deleted links";

/** How many extra links are read to replace the deleted ones. */
const spareLinks = 100;

type StatsRowOptions = { readonly by: StatsBy; readonly most: number };

/** Lists the rows. They always add up to the totals of both periods. */
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
    const row = writeRow(key, sumKeys(keys, found), earlier && sumKeys(keys, earlier));
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

function listKeys(
  { by }: StatsRowOptions,
  found: VisitSums,
  earlier: VisitSums | undefined,
): readonly string[] {
  const keys = found.rows.map(([key]) => key);
  // If the list was truncated, links of the previous period may have visits in this one too.
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

/** Adds a slash, because a bare path could read like a word: "The link named had 0 clicks". */
function nameLink(id: string, path: string | null): string {
  return path === null ? id : `/${path}`;
}

/** Keys of rows that combine several sources. Such a row is never reported as the best one. */
const neverBest: ReadonlySet<string> = new Set([othersKey, deletedKey, pressSource]);

/** Finds the row with the most clicks. Returns undefined if there is only one row. */
function findBest(rows: readonly LinkStatsRow[]): LinkStatsRow | undefined {
  if (rows.length < 2) return undefined;
  const ranked = rows.filter(({ key }) => !neverBest.has(key));
  return ranked.toSorted((one, other) => other.clicks - one.clicks)[0];
}

function sumKeys(keys: readonly string[], { find }: VisitSums): Sum {
  return addUp(keys.map((key) => find(key) ?? noVisits));
}

function findRest(listed: readonly string[], found: VisitSums): Sum {
  return subtract(found.all, sumKeys(listed, found));
}

function showSum({ click, open, install }: Sum) {
  return { clicks: click, opens: open, installs: install };
}

type SentenceFacts = {
  /** For example, `The link spring` or `All links`. */
  readonly subject: string;
  readonly total: Sum;
  /** For example, `from 2026-11-16 to 2026-11-22`. */
  readonly when: string;
  readonly previous?: { readonly total: Sum; readonly when: string } | undefined;
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

type StatsQuery = Omit<SumsQuery, "links"> & { readonly zone: TimeZone };

type StatsParameters = Readonly<
  Partial<
    Record<"id" | "from" | "to" | "by" | "compare" | "time_zone" | "rows", string | undefined>
  >
>;

const usualRows = 10;
const mostRows = 100;
/** The maximum number of rows of statistics by time. */
const mostSteps = 400;
/** A period of at most this many days defaults to one row per day. */
const mostUsualDays = 31;
const mostUsualWeeks = 26;

function readStatsQuery(given: StatsParameters, now: number): StatsQuery {
  if (given.id === "") throw refuse(messages.stats_id);
  const zone = readZone(given.time_zone);
  const today = writeDate(now, zone);
  const period = readPeriod(given, zone, now);
  if (period === "from" || period === "to") {
    throw refuse(messages.stats_date(period, quote(given[period] ?? ""), today));
  }
  if (period === "order") throw refuse(messages.stats_order(today));
  if (period === "length") throw refuse(messages.stats_length);
  const isCompared = readCompare(given.compare);
  const by = readBy(given.by) ?? chooseStep(period);
  const steps = isStep(by) ? listSteps(period, by, zone, mostSteps + 1) : [];
  if (steps.length > mostSteps) throw refuse(messages.stats_steps(by, mostSteps));
  const before = isCompared ? findPrevious(period, zone) : undefined;
  const moved = before && isStep(by) ? moveSteps(steps, by, { period, before, zone }) : [];
  return {
    by,
    asked: { period, steps },
    before: before && { period: before, steps: moved },
    most: readRows(given.rows),
    zone,
  };
}

function readZone(name: string | undefined): TimeZone {
  if (name === undefined || name === "UTC") return utc;
  if (isTimeZone(name)) return openTimeZone(name);
  throw refuse(`time_zone ${explainTimeZone(name)}`);
}

function readBy(text: string | undefined): StatsBy | undefined {
  if (text === undefined) return undefined;
  const by = statsBy.find((known) => known === text);
  if (by !== undefined) return by;
  const nearest = findNearest(text, statsBy);
  throw refuse(messages.stats_by(quote(text), statsBy.join(", "), nearest));
}

function chooseStep({ from, to, days }: Period): StatsBy {
  const length = days ?? (to - from) / day_ms;
  if (length <= 1) return "hour";
  if (length <= mostUsualDays) return "day";
  return length <= mostUsualWeeks * 7 ? "week" : "month";
}

function readCompare(text: string | undefined): boolean {
  if (text === undefined) return false;
  const flag = readFlag(text);
  if (flag === undefined) throw refuse(messages.stats_compare);
  return flag;
}

function readRows(text: string | undefined): number {
  if (text === undefined) return usualRows;
  const rows = Number(text);
  if (Number.isInteger(rows) && rows >= 1 && rows <= mostRows) return rows;
  throw refuse(messages.stats_rows(mostRows));
}

function refuse(message: string): Problem {
  return new Problem(422, message);
}

export type SumsQuery = {
  readonly links: LinkScope;
  readonly by: StatsBy;
  readonly asked: StatsWindow;
  readonly before?: StatsWindow | undefined;
  /** The maximum number of rows. Statistics by time have their own limit. */
  readonly most: number;
};

type StatsWindow = {
  readonly period: Period;
  /** The time intervals of statistics by time, one for each row. Empty for other statistics. */
  readonly steps: readonly Step[];
};

type VisitSums = {
  readonly total: Sum;
  /** In order of time if the keys are times, otherwise by clicks, most clicks first. */
  readonly rows: readonly (readonly [string, Sum])[];
  /** True if some keys have no row because of the limit. */
  readonly isCut: boolean;
  /** The sum of all keys. Unlike `total`, it includes button presses. */
  readonly all: Sum;
  /** Finds a key's sum. Finds a link only if it has a row in at least one of the two periods. */
  readonly find: (key: string) => Sum | undefined;
};

type ComparedSums = { readonly found: VisitSums; readonly earlier: VisitSums | undefined };

/** Sums the visits of one or two periods by time, by link, or by another property. */
export async function readVisitSums(tenant: Tenant, query: SumsQuery): Promise<ComparedSums> {
  const { by, asked, before } = query;
  if (by === "link") return readLinksOfBoth(tenant, query);
  const read = (window: StatsWindow) =>
    isStep(by) ? readSteps(tenant, query, window) : readValues(tenant, query, by, window);
  const found = await read(asked);
  return { found, earlier: before && (await read(before)) };
}

async function readSteps(
  tenant: Tenant,
  { links }: SumsQuery,
  { period, steps }: StatsWindow,
): Promise<VisitSums> {
  const byKey = new Map<string, Sum>(steps.map(({ key }) => [key, noVisits]));
  for (const [at, sum] of await readByHour(tenant, { period, links })) {
    const key = findStep(steps, at)?.key ?? "";
    byKey.set(key, addUp([byKey.get(key) ?? noVisits, sum]));
  }
  const total = addUp(byKey.values());
  const rows = steps.map(({ key }) => [key, byKey.get(key) ?? noVisits] as const);
  return { total, rows, isCut: false, all: total, find: (key) => byKey.get(key) };
}

async function readValues(
  tenant: Tenant,
  { links, most }: SumsQuery,
  fact: VisitFact,
  { period }: StatsWindow,
): Promise<VisitSums> {
  const scope = { period, links };
  const total = await readTotal(tenant, scope);
  const byValue = await readByValue(tenant, fact, scope, total);
  const named = [...byValue].filter(([value]) => value !== otherReferrers).toSorted(compareSums);
  return {
    total,
    rows: named.slice(0, most),
    isCut: named.length > most,
    all: addUp(byValue.values()),
    find: (value) => byValue.get(value),
  };
}

/** Reads both periods. If a link has a row in only one, its sum in the other is looked up by id. */
async function readLinksOfBoth(
  tenant: Tenant,
  { links, asked, before, most }: SumsQuery,
): Promise<ComparedSums> {
  const scope = { period: asked.period, links };
  const scopeBefore = before && { period: before.period, links };
  const rows = await readByLink(tenant, scope, most);
  const rowsBefore = scopeBefore && (await readByLink(tenant, scopeBefore, most));

  async function addOthers({ period }: VisitScope, own: LinkRows, others: LinkRows) {
    const total = await readTotal(tenant, { period, links });
    const known = new Map(own);
    const ids = others.map(([id]) => id).filter((id) => !known.has(id));
    const more = await readByLink(tenant, { period, links: chooseLinks(ids) }, most);
    const all = new Map([...own, ...more]);
    const isCut = own.length >= most;
    return { total, rows: own, isCut, all: total, find: (id: string) => all.get(id) };
  }

  const found = await addOthers(scope, rows, rowsBefore ?? []);
  const earlier = scopeBefore && rowsBefore && (await addOthers(scopeBefore, rowsBefore, rows));
  return { found, earlier };
}

type LinkRows = VisitSums["rows"];
