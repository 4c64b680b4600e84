import { statsBy, type StatsBy } from "../contract/link-stats.ts";
import { openTimeZone, utc, type TimeZone } from "../contract/local-time.ts";
import { messages } from "../contract/messages.ts";
import { Problem } from "../contract/problem.ts";
import { findPrevious, readPeriod, writeDate, type Period } from "../stats/period.ts";
import { isStep, listSteps, type Step } from "../stats/steps.ts";
import { day_ms } from "../stats/visit.ts";
import { findNearest } from "../text/nearest-name.ts";
import { quote } from "../text/show-hidden.ts";
import { explainTimeZone, isTimeZone } from "../text/time-zone.ts";
import { readFlag } from "./read-flag.ts";

/** The parsed query for statistics. Errors list the accepted values. */
export type StatsQuery = {
  readonly period: Period;
  /** The period to compare with. */
  readonly before: Period | undefined;
  readonly by: StatsBy;
  readonly steps: readonly Step[];
  readonly zone: TimeZone;
  /** The maximum number of rows, unless rows are steps of time. */
  readonly most: number;
};

type StatsParameters = Readonly<
  Partial<
    Record<"id" | "from" | "to" | "by" | "compare" | "time_zone" | "rows", string | undefined>
  >
>;

const usualRows = 10;
const mostRows = 100;
/** The maximum number of steps in a period. No person reads more rows than this. */
const mostSteps = 400;
/** The longest periods that are shown by day and by week, unless the call chooses otherwise. */
const mostUsualDays = 31;
const mostUsualWeeks = 26;

export function readStatsQuery(given: StatsParameters, now: number): StatsQuery {
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
  return { period, before, by, steps, zone, most: readRows(given.rows) };
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
