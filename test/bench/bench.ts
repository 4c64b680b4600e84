import { parseArgs } from "node:util";
import { describeCommit, describeMachine, describeVersions, readLoad } from "./subject.ts";
import { openBenchFolder, type BenchFolder } from "./data/bench-folder.ts";
import { makeDataFile } from "./data/data-file.ts";
import { makePostgresStore } from "./data/postgres-store.ts";
import { endAllAtExit } from "./leftovers.ts";
import { gatherRows, isMet, type Finding, type ResultRow } from "./results/finding.ts";
import { formatNumber, keepResults } from "./results/results-file.ts";
import type { Extent, Scenario, Subject } from "./scenarios/scenario.ts";
import { measureClients } from "./scenarios/clients.ts";
import { measureCreates } from "./scenarios/creates.ts";
import { measureHttp } from "./scenarios/http.ts";
import { measureJobs } from "./scenarios/jobs.ts";
import { measureKills } from "./scenarios/kills.ts";
import { measureLatency } from "./scenarios/latency.ts";
import { measureLists } from "./scenarios/lists.ts";
import { measureLongWork } from "./scenarios/long-work.ts";
import { measureRedirects } from "./scenarios/redirects.ts";
import { measureRest } from "./scenarios/rest.ts";
import { measureScale } from "./scenarios/scale.ts";
import { measureStart } from "./scenarios/start.ts";
import { measureStatistics } from "./scenarios/statistics.ts";
import { measureStdio } from "./scenarios/stdio.ts";

/**
 * `npm run bench -- [NAME…]` measures the built command; `--try` leaves RESULTS.md unchanged. With
 * `--postgres`, it measures the scenarios that otherwise use SQLite.
 */

const scenarios: readonly Scenario[] = [
  { name: "creates", rounds: 10, measure: measureCreates },
  { name: "latency", rounds: 10, measure: measureLatency },
  { name: "long-work", rounds: 5, measure: measureLongWork },
  { name: "stdio", rounds: 10, measure: measureStdio },
  { name: "http", rounds: 5, measure: measureHttp },
  { name: "start", rounds: 20, measure: measureStart },
  { name: "rest", rounds: 10, measure: measureRest },
  { name: "redirects", rounds: 10, measure: measureRedirects },
  { name: "jobs", rounds: 5, measure: measureJobs },
  { name: "clients", rounds: 3, measure: measureClients },
  // It builds an index in the shared data folder. The scenarios above must run without one.
  { name: "lists", rounds: 1, measure: measureLists },
  { name: "statistics", rounds: 1, measure: measureStatistics },
  { name: "kills", rounds: 1, measure: measureKills },
  { name: "scale", rounds: 1, measure: measureScale },
];
const names = scenarios.map(({ name }) => name);
/** The scenarios that `--postgres` measures. */
const onEitherEngine = new Set([
  "creates",
  "latency",
  "long-work",
  "rest",
  "redirects",
  "jobs",
  "lists",
]);
/** The section about an earlier commit is written manually. */
const sections = [...names.flatMap((name) => [name, nameOnPostgres(name)]), "Before"];

await bench();

async function bench(): Promise<void> {
  const flags = readFlags();
  endAllAtExit();
  let opening: Promise<BenchFolder> | undefined;
  const { extent, isPostgres } = flags;
  const makeStore = isPostgres ? makePostgresStore : makeDataFile;
  const openFolder = async () => openBenchFolder(await makeStore(), extent.links);
  const findBenchFolder = () => (opening ??= openFolder());
  let missed = 0;
  for (const scenario of flags.wanted) {
    console.log(`\n${scenario.name} …`);
    try {
      const rows = await measure(scenario, flags, { findBenchFolder, makeStore, extent });
      for (const row of rows) console.log(describeRow(row));
      missed += rows.filter((row) => isMet(row) === false).length;
    } catch (error) {
      // The other scenarios are still measured, and this one's rows stay as they were.
      console.error(error);
      process.exitCode = 1;
    }
  }
  await (await opening)?.[Symbol.asyncDispose]();
  console.log(missed === 0 ? "\nAll targets are met." : `\n${missed} targets are missed.`);
}

function nameOnPostgres(name: string): string {
  return `${name} on PostgreSQL`;
}

type Flags = ReturnType<typeof readFlags>;

async function measure(
  scenario: Scenario,
  { isKept, isPostgres, rounds = scenario.rounds }: Flags,
  subject: Subject,
): Promise<readonly ResultRow[]> {
  const started = performance.now();
  const loadBefore = readLoad();
  const count = Math.min(rounds, scenario.rounds);
  const taken: (readonly Finding[])[] = [];
  for await (const findings of scenario.measure(subject)) {
    if (taken.push(findings) === count) break;
  }
  const gathered = gatherRows(taken);
  const rows = isPostgres ? gathered.map(withoutTarget) : gathered;
  const minutes = (performance.now() - started) / 60_000;
  if (isKept) {
    const when = `${new Date().toISOString().slice(0, 16)}Z, ${minutes.toFixed(1)} min`;
    const load = `load ${loadBefore} to ${readLoad()}`;
    const parts = [
      describeCommit(),
      `${count} rounds`,
      describeMachine(),
      describeVersions(),
      load,
    ];
    const run = `${[...parts, when].join("; ")}.`;
    const section = isPostgres ? nameOnPostgres(scenario.name) : scenario.name;
    await keepResults({ scenario: section, rows, run }, sections);
  }
  return rows;
}

function readFlags() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: "string" },
      try: { type: "boolean", default: false },
      postgres: { type: "boolean", default: false },
      links: { type: "string", default: "1000000" },
      seconds: { type: "string", default: "3" },
      warming: { type: "string", default: "8000" },
      clients: { type: "string", default: "1000" },
      calls: { type: "string", default: "1000000" },
      kills: { type: "string", default: "200" },
    },
  });
  const unknown = positionals.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw new RangeError(`No scenario is named ${unknown.join()}. Choose from ${names.join()}.`);
  }
  const read = (name: keyof Extent | "rounds", least: number, most: number) => {
    const value = Number(values[name]);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new RangeError(`--${name} is a whole number from ${least} to ${most}.`);
  };
  return {
    wanted: scenarios.filter(({ name }) => {
      const isNamed = positionals.length === 0 || positionals.includes(name);
      return isNamed && (!values.postgres || onEitherEngine.has(name));
    }),
    rounds: values.rounds === undefined ? undefined : read("rounds", 1, 100),
    isKept: !values.try,
    isPostgres: values.postgres,
    extent: {
      links: read("links", 20_000, 10_000_000),
      seconds: read("seconds", 1, 5),
      warming: read("warming", 100, 100_000),
      clients: read("clients", 20, 10_000),
      calls: read("calls", 1000, 10_000_000),
      kills: read("kills", 1, 1000),
    },
  };
}

/** The targets of the scenarios that `--postgres` repeats are for SQLite. */
function withoutTarget({ what, unit, value, range }: ResultRow): ResultRow {
  return { what, unit, value, range };
}

function describeRow(row: ResultRow): string {
  const { what, unit, value } = row;
  const met = isMet(row);
  const verdict = met === undefined ? "" : met ? "; met" : "; MISSED";
  return `  ${what}: ${formatNumber(value)} ${unit}${verdict}`;
}
