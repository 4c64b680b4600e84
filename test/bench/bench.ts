import { parseArgs } from "node:util";
import { readTally } from "../../src/store/tallies.ts";
import { measureCreates } from "./creates.ts";
import { prepareGround, type Ground } from "./ground.ts";
import { startServer } from "./http.ts";
import { measureIndexBuild } from "./index-build.ts";
import { measureLists, measureScan } from "./lists.ts";
import { measureMcp } from "./mcp.ts";
import { measureSingleLink } from "./single-link.ts";
import { formatRows, isMet, type Row } from "./table.ts";

/**
 * `npm run bench -- [--links 50000] [--seconds 1] [--only mcp]`: what the built service costs,
 * measured over HTTP on a data folder of its own, and what the MCP server costs over stdio. The
 * numbers to reach are those of the issues.
 */

type Flags = {
  readonly links: number;
  readonly seconds: number;
  readonly only: string | undefined;
};

await bench();

async function bench(): Promise<void> {
  const { links, seconds, only } = readFlags();
  say(`seeding ${format(links)} links …`);
  await using ground = await prepareGround(links);
  say(`${format(ground.file_mb)} MB after ${format(ground.seedSeconds)} s`);
  const rows = only === "mcp" ? [] : await measureService(ground, seconds);
  say("MCP over stdio …");
  rows.push(...(await measureMcp(ground)));

  say(`The index of ${format(links)} links took ${format(index.seconds)} s. Meanwhile:`);
  say(`  a GET waited ${describeWait(index.reads)}`);
  say(`  a POST waited ${describeWait(index.writes)}`);
  return rows;
}

type Flags = {
  readonly only: string | undefined;
  readonly links: number;
  readonly seconds: number;
};

function readFlags(): Flags {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      links: { type: "string", default: "1000000" },
      seconds: { type: "string", default: "3" },
    },
  });
  const { only } = values;
  const [links, seconds] = [Number(values.links), Number(values.seconds)];
  if (only !== undefined && only !== "api" && only !== "mcp") {
    throw new RangeError("--only api or --only mcp");
  }
  if (!(links >= 20_000) || !(seconds >= 1)) {
    throw new RangeError("--links from 20000 on, --seconds from 1 on");
  }
  return { only, links, seconds };
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
