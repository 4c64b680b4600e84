import { readTimeZone } from "../app/process/time-zone.ts";
import { UsageFault } from "../config.ts";
import { contract } from "../contract/index.ts";
import type { LinkStats } from "../contract/link-stats.ts";
import { messages } from "../contract/messages.ts";
import { Problem } from "../contract/problem.ts";
import { readAnswer } from "../contract/server-answer.ts";
import { normalizeForSearch } from "../contract/rules/link-path.ts";
import { quote, showHidden } from "../text/show-hidden.ts";
import { isTimeZone } from "../text/time-zone.ts";
import { withBulk, type BulkSession } from "./bulk/bulk-session.ts";
import { readSelection } from "./bulk/read-filters.ts";
import { pickGiven, type Command, type Invocation } from "./terminal/command.ts";
import { print, printJson } from "./terminal/output.ts";

/** `waypost stats` prints how often links were clicked. */

const statsFlags = {
  "--from DATE": "the first day, such as `2026-11-16`, or a time (default: seven days up to today)",
  "--to DATE": "the last day, which is included (default: today)",
  "--by NAME": "group by hour, day, week, month, platform, referrer, country, source or link",
  "--compare": "compare with the previous period of the same length",
  "--filter NAME=VALUE": "same as for `export`",
  "--search TEXT": "same as for `export`",
  "--json": "print `{stats}`",
};

export const stats: Command<typeof statsFlags> = {
  usages: {
    "stats [PATH]": ["clicks on one link, on those that match filters, or on all links", run],
  },
  flags: statsFlags,
};

const { links, linkStats } = contract;

async function run(invocation: Invocation<typeof statsFlags>, path?: string): Promise<void> {
  const { config, flags } = invocation;
  const { from, to, by } = flags;
  const selection = readSelection(flags);
  const { name: zone } = readTimeZone(config);
  const { stats: counted } = await withBulk(invocation, async (session) => {
    const id = path === undefined ? undefined : await findId(path, session);
    const compare = flags.compare === true ? "true" : undefined;
    const time_zone = isTimeZone(zone) ? zone : undefined;
    const query = { ...selection, ...pickGiven({ id, from, to, by, compare, time_zone }) };
    return session.owner.call(linkStats.show, query).catch(refuseWithout);
  });
  if (flags.json === true) return printJson({ stats: counted });
  print([counted.sentence, "", ...drawRows(counted)].join("\n"));
}

async function findId(path: string, { owner }: BulkSession): Promise<string> {
  const value = normalizeForSearch(path);
  const filters = [{ field: "path", condition: "eq", value }] as const;
  const { links: found } = await owner.call(links.index, { filters, limit: 1 });
  const id = found[0]?.id;
  if (id !== undefined) return id;
  throw new UsageFault(`no link has the path ${quote(path, 200)}; waypost export lists all links`);
}

/** Statistics are not part of the API specification, so a remote server may not have them. */
function refuseWithout(error: unknown): never {
  if (!(error instanceof Problem) || error.status !== 404) throw error;
  if (readAnswer(error.message) === messages.link_not_found) throw error;
  throw new UsageFault(
    `this server has no statistics: only Waypost servers have GET ${linkStats.show.path}; set ` +
      "--base-url (WAYPOST_BASE_URL) to a Waypost server, or unset it to use the embedded one",
    { cause: error },
  );
}

const widest = 40;
const longestKey = 40;

/** Draws a bar for each row's clicks. Clicks of the previous period are shown only as a number. */
function drawRows({ rows }: LinkStats): readonly string[] {
  const most = Math.max(1, ...rows.map(({ clicks }) => clicks));
  const cells = rows.map(({ key, clicks, opens, installs, previous }) => {
    const apps = [
      opens > 0 && `${opens} ${opens === 1 ? "open" : "opens"}`,
      installs > 0 && `${installs} ${installs === 1 ? "install" : "installs"}`,
      previous !== undefined && `${previous.toLocaleString("en")} before`,
    ];
    const full = showHidden(key);
    const name = full.length > longestKey ? `${full.slice(0, longestKey - 1)}…` : full;
    const bar = "█".repeat(Math.round((clicks / most) * widest));
    const rest = [bar, apps.filter(Boolean).join(", ")];
    return { name, count: clicks.toLocaleString("en"), rest };
  });
  const names = Math.max(...cells.map(({ name }) => name.length));
  const counts = Math.max(...cells.map(({ count }) => count.length));
  return cells.map(({ name, count, rest }) =>
    [name.padEnd(names), count.padStart(counts), ...rest].join("  ").trimEnd(),
  );
}
