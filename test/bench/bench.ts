import { parseArgs } from "node:util";
import { readTally } from "../../src/store/project-tallies.ts";
import { measureAgainst } from "./against.ts";
import { measureBulk } from "./bulk.ts";
import { measureCrowd } from "./bulk-crowd.ts";
import { measureCreates } from "./creates.ts";
import { formatFindings, isExceeded } from "./finding.ts";
import { prepareGround } from "./ground.ts";
import { startServer } from "./http.ts";
import { measureIndexBuild } from "./index-build.ts";
import { measureLists, measureScan } from "./lists.ts";
import { measureMcp } from "./mcp.ts";
import { measureSingleLink } from "./single-link.ts";
import { formatRows, isMet, type Row } from "./table.ts";
import { measureTemplates } from "./templates.ts";
import { measureVisits } from "./visits.ts";

/**
 * `npm run bench -- [--only PART] [--links 50000] [--seconds 1] [--visits 100000]`: what the built
 * command costs, each part on a data folder of its own: `api` is the service and the link host over
 * HTTP, `templates` hostile templates beside visits, `mcp` the server over stdio, `bulk` many links
 * at once, `crowd` many large plans at once. The numbers to reach are those of the issues.
 * `--against DIR` measures this checkout beside another one that was built, and nothing else.
 */

const parts = ["api", "templates", "mcp", "bulk", "crowd"] as const;
type Part = (typeof parts)[number];

type Flags = {
  readonly only: Part | undefined;
  readonly against: string | undefined;
  readonly links: number;
  readonly seconds: number;
  readonly visits: number;
};

await bench();

async function bench(): Promise<void> {
  const { only, against, ...extent } = readFlags();
  const isWanted = (part: Part) => against === undefined && (only === undefined || only === part);
  const rows = [
    ...(against === undefined ? [] : await measureAgainst(against, say)),
    ...(isWanted("api") ? await measureApi(extent) : []),
    ...(isWanted("templates") ? await measureTemplates(say) : []),
    ...(isWanted("mcp") ? await measureMcp(say) : []),
  ];
  const findings = [
    ...(isWanted("bulk") ? await measureBulk(say) : []),
    ...(isWanted("crowd") ? await measureCrowd(say) : []),
  ];
  const missed =
    rows.filter((row) => isMet(row) === false).length + findings.filter(isExceeded).length;
  say(`\nNode ${process.versions.node}\n`);
  if (rows.length > 0) say(`${formatRows(rows)}\n`);
  if (findings.length > 0) say(formatFindings(findings));
  say(missed === 0 ? "\nEvery target is met." : `\n${missed} targets are missed.`);
}

async function measureApi({
  links,
  seconds,
  visits,
}: Omit<Flags, "only" | "against">): Promise<readonly Row[]> {
  say(`seeding ${format(links)} links …`);
  await using ground = await prepareGround(links);
  const { store, large, folder } = ground;
  say(`${format(ground.file_mb)} MB after ${format(ground.seedSeconds)} s`);
  const command = ["dist/waypost.js", "serve", "--data", folder, "--port", "0", "--json"];
  await using waypost = await startServer([...command, "--log", "error"]);

  say("one link …");
  const rows = [...(await measureSingleLink(waypost, ground, seconds))];
  say("visits …");
  rows.push(...(await measureVisits(waypost, ground, { seconds, visits })));
  say("cont without an index …");
  const scan = await measureScan(waypost, ground);
  say("building the index …");
  const index = await measureIndexBuild(waypost, ground);
  say("lists …");
  const tally = await readTally({ db: store.db, projectId: large.projectId });
  rows.push(...(await measureLists(waypost, ground, tally.links)), ...scan);
  say("creates …");
  rows.push(...(await measureCreates(waypost, ground, seconds)));
  say(`The index of ${format(links)} links took ${format(index.seconds)} s. Meanwhile:`);
  say(`  a GET waited ${describeWait(index.reads)}`);
  say(`  a POST waited ${describeWait(index.writes)}`);
  return rows;
}

function readFlags(): Flags {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      against: { type: "string" },
      links: { type: "string", default: "1000000" },
      seconds: { type: "string", default: "3" },
      visits: { type: "string", default: "1000000" },
    },
  });
  const { only, against } = values;
  const links = Number(values.links);
  const seconds = Number(values.seconds);
  const visits = Number(values.visits);
  if (only !== undefined && !isPart(only)) throw new RangeError(`--only ${parts.join(", ")}`);
  if (!(links >= 20_000) || !(seconds >= 1) || !(visits >= 1000)) {
    throw new RangeError("--links from 20000 on, --seconds from 1 on, --visits from 1000 on");
  }
  return { only, against, links, seconds, visits };
}

function isPart(word: string): word is Part {
  return parts.some((part) => part === word);
}

function describeWait(figures: { p50_ms: number; p99_ms: number; worst_ms: number }): string {
  const { p50_ms, p99_ms, worst_ms } = figures;
  return `${format(p50_ms)} ms p50, ${format(p99_ms)} ms p99, ${format(worst_ms)} ms at worst`;
}

function format(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 1 });
}

function say(text: string): void {
  console.log(text);
}
