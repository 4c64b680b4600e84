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
import { withKnownBulk, type BulkSession, type BulkSessionOptions } from "./bulk/bulk-session.ts";
import { readFilters, readSearchText } from "./bulk/read-filters.ts";
import type { FlagsOf } from "./terminal/command-list.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { print, printJson } from "./terminal/output.ts";

type StatsFlags = FlagValues<FlagsOf<"stats">>;

const { links, linkStats } = contract;

/** `waypost stats`: how often links were visited, as bars for whoever looks at them. */
export async function runStats(
  options: BulkSessionOptions,
  positionals: readonly string[],
  flags: StatsFlags,
): Promise<void> {
  const [path, ...more] = positionals;
  if (more.length > 0) throw new UsageFault("stats takes one path, or none for all links");
  const filters = readFilters(flags.filter ?? []);
  const search = readSearchText(flags.search);
  const { name: zone } = readTimeZone(options.config);
  const stats = await withKnownBulk(options, async (session) => {
    const id = path === undefined ? undefined : await findId(path, session);
    const asked = {
      filters,
      search,
      ...(id !== undefined && { id }),
      ...(flags.from !== undefined && { from: flags.from }),
      ...(flags.to !== undefined && { to: flags.to }),
      ...(flags.by !== undefined && { by: flags.by }),
      ...(flags.compare === true && { compare: "true" }),
      ...(isTimeZone(zone) && { time_zone: zone }),
    };
    const body = await session.owner.call(linkStats.show, asked).catch(refuseWithout);
    return body.stats;
  });
  if (flags.json === true) return printJson({ stats });
  print([stats.sentence, "", ...drawRows(stats)].join("\n"));
}

/** By its path, as the list finds it. */
async function findId(path: string, { owner }: BulkSession): Promise<string> {
  const value = normalizeForSearch(path);
  const filters = [{ field: "path", condition: "eq", value }] as const;
  const { links: found } = await owner.call(links.index, { filters, limit: 1 });
  const id = found[0]?.id;
  if (id !== undefined) return id;
  throw new UsageFault(`no link has the path ${quote(path, 200)}; waypost export lists all links`);
}

/** The specification has no statistics: where there are none, nothing is wrong. */
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
/** An eighth of a place, two of them, and so on. */
const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Each with a bar beside its number; what was before is a number alone. */
function drawRows({ rows }: LinkStats): readonly string[] {
  const most = Math.max(1, ...rows.map(({ clicks }) => clicks));
  const cells = rows.map(({ key, clicks, opens, installs, previous }) => {
    const apps = [
      ...(opens > 0 ? [`${opens} ${opens === 1 ? "open" : "opens"}`] : []),
      ...(installs > 0 ? [`${installs} ${installs === 1 ? "install" : "installs"}`] : []),
      ...(previous === undefined ? [] : [`${previous.toLocaleString("en")} before`]),
    ];
    const name = showHidden(key);
    return {
      name: name.length > longestKey ? `${name.slice(0, longestKey - 1)}…` : name,
      count: clicks.toLocaleString("en"),
      bar: drawBar(clicks / most),
      apps: apps.join(", "),
    };
  });
  const names = Math.max(...cells.map(({ name }) => name.length));
  const counts = Math.max(...cells.map(({ count }) => count.length));
  return cells.map(({ name, count, bar, apps }) => {
    const parts = [name.padEnd(names), count.padStart(counts), bar, apps];
    return parts.join("  ").trimEnd();
  });
}

function drawBar(share: number): string {
  const parts = Math.round(share * widest * 8);
  return "█".repeat(Math.floor(parts / 8)) + (eighths[parts % 8] ?? "");
}
