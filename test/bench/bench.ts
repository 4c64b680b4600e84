import { parseArgs } from "node:util";
import { readTally } from "../../src/store/tallies.ts";
import { measureCreates } from "./creates.ts";
import { prepareGround } from "./ground.ts";
import { startServer } from "./http.ts";
import { measureIndexBuild } from "./index-build.ts";
import { measureLists, measureScan } from "./lists.ts";
import { measureSingleLink } from "./single-link.ts";
import { formatRows, isMet } from "./table.ts";

/**
 * `npm run bench -- [--links 50000] [--seconds 1]`: what the built service costs, measured over
 * HTTP on a data folder of its own. The numbers to reach are those of the issue.
 */

await bench();

async function bench(): Promise<void> {
  const { links, seconds } = readFlags();
  say(`seeding ${format(links)} links …`);
  await using ground = await prepareGround(links);
  const { store, large, folder } = ground;
  say(`${format(ground.file_mb)} MB after ${format(ground.seedSeconds)} s`);
  const command = ["dist/waypost.js", "serve", "--data", folder, "--port", "0", "--json"];
  await using waypost = await startServer([...command, "--log", "error"]);

  say("one link …");
  const rows = [...(await measureSingleLink(waypost, ground, seconds))];
  say("cont without an index …");
  const scan = await measureScan(waypost, ground);
  say("building the index …");
  const index = await measureIndexBuild(waypost, ground);
  say("lists …");
  const tally = await readTally({ db: store.db, projectId: large.projectId });
  rows.push(...(await measureLists(waypost, ground, tally.links)), ...scan);
  say("creates …");
  rows.push(...(await measureCreates(waypost, ground, seconds)));

  const missed = rows.filter((row) => isMet(row) === false).length;
  const { node } = process.versions;
  say(`\nNode ${node}, ${format(links)} links in one project\n`);
  console.log(formatRows(rows));
  say(`\nThe index took ${format(index.seconds)} s. Meanwhile:`);
  say(`  a GET waited ${describeWait(index.reads)}`);
  say(`  a POST waited ${describeWait(index.writes)}`);
  say(missed === 0 ? "Every target is met." : `${missed} targets are missed.`);
}

function readFlags(): { readonly links: number; readonly seconds: number } {
  const { values } = parseArgs({
    options: {
      links: { type: "string", default: "1000000" },
      seconds: { type: "string", default: "3" },
    },
  });
  const [links, seconds] = [Number(values.links), Number(values.seconds)];
  if (!(links >= 20_000) || !(seconds >= 1)) {
    throw new RangeError("--links from 20000 on, --seconds from 1 on");
  }
  return { links, seconds };
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
