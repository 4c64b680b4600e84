import * as z from "zod";
import { asRead, type Endpoint } from "./endpoint.ts";
import { linkFilters, ownLinkFilters } from "./filters.ts";

/** The endpoint for statistics about link visits. Only Waypost has it. */

export const statsBy = [
  "hour",
  "day",
  "week",
  "month",
  "platform",
  "referrer",
  "country",
  "source",
  "link",
] as const;
export type StatsBy = (typeof statsBy)[number];

const count = z.int();
const counts = { clicks: count, opens: count, installs: count };

const row = z.looseObject({
  /** The group's key: a month; the start of an hour, day or week; a name; or a link's `/path`. */
  key: z.string(),
  /** The link's id, if each row is a link. Omitted if the link was deleted. */
  id: z.string().optional(),
  ...counts,
  /** The clicks in the preceding period of the same length. */
  previous: count.optional(),
});

const stats = z.looseObject({
  /** `from` and `to` are dates, or times if the request used times. */
  from: z.string(),
  to: z.string(),
  by: z.enum(statsBy),
  time_zone: z.string(),
  total: z.looseObject(counts),
  previous: z.looseObject({ from: z.string(), to: z.string(), ...counts }).optional(),
  rows: z.array(row),
  sentence: z.string(),
});
export type LinkStats = z.output<typeof stats>;

const word = z.string().optional();

export const linkStats = {
  show: {
    ...asRead,
    path: "/link_stats",
    documented: false,
    ours: true,
    hidden: true,
    tool: "link_stats",
    title: "Link statistics",
    summary: "Clicks, opens and installs of links between two dates.",
    auth: "project",
    scope: "links.index",
    query: z.object({
      id: word,
      from: word,
      to: word,
      by: word,
      compare: word,
      time_zone: word,
      rows: word,
    }),
    may_miss: true,
    selects: { filters: linkFilters, own: ownLinkFilters },
    response: z.looseObject({ stats }),
  },
} as const satisfies Record<string, Endpoint>;
