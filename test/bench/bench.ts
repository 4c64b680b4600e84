import { parseArgs } from "node:util";
import { buildCommit, describeHere, type Build } from "./builds.ts";
import { shareGrounds, type Grounds } from "./ground/ground.ts";
import { endAllAtExit } from "./leftovers.ts";
import { gatherRows, isMet, type Finding, type Row } from "./results/finding.ts";
import { describeMachine, describeVersions, readLoad } from "./results/machine.ts";
import { formatNumber, keepResults } from "./results/results-file.ts";
import type { Extent, Rounds, Scenario, Subject } from "./scenarios/scenario.ts";
import { scenarios } from "./scenarios/scenarios.ts";
import { takeBoth } from "./take-both.ts";

/**
 * `npm run bench -- [NAME…] [--against COMMIT]` (or `--only NAME`) measures the built command,
 * all scenarios or some, and beside it the command of an earlier commit, in turns. It writes
 * RESULTS.md: each scenario as soon as it is done. What is measured less (`--rounds 1 --seconds 1
 * --links 20000`) is for trying it out, best with `--try`, which writes nothing.
 */

await bench();

type Flags = {
  readonly wanted: readonly Scenario[];
  readonly against: string | undefined;
  readonly rounds: number | undefined;
  readonly isKept: boolean;
  readonly extent: Extent;
};

async function bench(): Promise<void> {
  const flags = readFlags();
  endAllAtExit();
  using before = flags.against === undefined ? undefined : buildCommit(flags.against);
  await using grounds = shareGrounds(flags.extent.links);
  const here = openSide(describeHere(), grounds);
  const there = before && openSide(before, grounds);
  let missed = 0;
  for (const scenario of flags.wanted) {
    say(`\n${scenario.name} …`);
    try {
      const rows = await measure(scenario, flags, { here, there });
      for (const row of rows) say(describeRow(row));
      missed += rows.filter((row) => isMet(row) === false).length;
    } catch (error) {
      // The others are measured all the same, and its rows stay as they were.
      console.error(error);
      process.exitCode = 1;
    }
  }
  say(missed === 0 ? "\nNo target is missed." : `\n${missed} targets are missed.`);
}

/** A build, and the large data folder that all of its scenarios share. */
type Side = Pick<Subject, "build" | "findGround">;
type Sides = { readonly here: Side; readonly there: Side | undefined };

function openSide(build: Build, grounds: Grounds): Side {
  return { build, findGround: () => grounds.find(build) };
}

async function measure(
  scenario: Scenario,
  { extent, isKept, rounds = scenario.rounds }: Flags,
  { here, there }: Sides,
): Promise<readonly Row[]> {
  const other = scenario.isAlone === true ? undefined : there;
  const started = performance.now();
  const loadBefore = readLoad();
  const open = (side: Side): Rounds => scenario.measure({ ...side, extent });
  const count = Math.min(rounds, scenario.rounds);
  const [ours, theirs] = await takeTurns(open(here), other && open(other), count);
  const rows = gatherRows(ours, theirs);
  const minutes = (performance.now() - started) / 60_000;
  if (isKept) {
    const run = {
      this: here.build.commit,
      before: other?.build.commit ?? "–",
      rounds: String(count),
      machine: describeMachine(),
      versions: describeVersions(),
      load: `${loadBefore} to ${readLoad()}`,
      when: `${new Date().toISOString().slice(0, 16)}Z, ${minutes.toFixed(1)} min`,
    };
    const order = scenarios.map(({ name }) => name);
    await keepResults({ scenario: scenario.name, rows, run }, order);
  }
  return rows;
}

type Taken = readonly (readonly Finding[])[];

async function takeTurns(
  ours: Rounds,
  theirs: Rounds | undefined,
  count: number,
): Promise<readonly [ours: Taken, theirs: Taken]> {
  const here = { rounds: ours, taken: [] as (readonly Finding[])[] };
  const there = { rounds: theirs, taken: [] as (readonly Finding[])[] };
  const take = async ({ rounds, taken }: typeof here | typeof there) => {
    const next = await rounds?.next();
    if (next?.value !== undefined) taken.push(next.value);
  };
  const tryThere = () =>
    take(there).catch((error: unknown) => {
      console.error("The earlier commit cannot:", error);
    });
  try {
    for (let round = 0; round < count; round += 1) {
      await takeBoth(round, () => take(here), tryThere);
    }
  } finally {
    await ours.return();
    await theirs?.return();
  }
  return [here.taken, there.taken];
}

function readFlags(): Flags {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: "string", multiple: true, default: [] },
      against: { type: "string" },
      rounds: { type: "string" },
      try: { type: "boolean", default: false },
      links: { type: "string", default: "1000000" },
      seconds: { type: "string", default: "3" },
      warming: { type: "string", default: "8000" },
      visits: { type: "string", default: "300000" },
      calls: { type: "string", default: "1000000" },
      kills: { type: "string", default: "200" },
      rows: { type: "string", default: "1500" },
      nodes: { type: "string", default: "" },
    },
  });
  const names = scenarios.map(({ name }) => name);
  const named = [...positionals, ...values.only.flatMap((words) => words.split(","))];
  const unknown = named.filter((one) => !names.some((name) => isOf(one, name)));
  if (unknown.length > 0) throw new RangeError(`no ${unknown.join()}; there are ${names.join()}`);
  type Counted = Exclude<keyof Extent, "nodes"> | "rounds";
  const read = (name: Counted, least: number, most: number) => {
    const value = Number(values[name]);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new RangeError(`--${name} is a whole number from ${least} to ${most}`);
  };
  const nodes = values.nodes === "" ? [] : values.nodes.split(",");
  const unclear = nodes.filter((version) => !/^\d+\.\d+\.\d+$/.test(version));
  if (unclear.length > 0) throw new RangeError("--nodes are versions such as 22.23.3,24.21.0");
  return {
    wanted: scenarios.filter(
      ({ name }) => named.length === 0 || named.some((one) => isOf(one, name)),
    ),
    against: values.against,
    rounds: values.rounds === undefined ? undefined : read("rounds", 1, 100),
    isKept: !values.try,
    extent: {
      links: read("links", 20_000, 10_000_000),
      seconds: read("seconds", 1, 5),
      warming: read("warming", 100, 100_000),
      visits: read("visits", 1000, 10_000_000),
      calls: read("calls", 1000, 10_000_000),
      kills: read("kills", 1, 1000),
      rows: read("rows", 10, 10_000),
      nodes,
    },
  };
}

/** A name may stand for several scenarios, each with its own rows: scale. */
function isOf(named: string, name: string): boolean {
  return name === named || name.startsWith(`${named}-`);
}

function describeRow(row: Row): string {
  const { what, unit, value, before } = row;
  const met = isMet(row);
  const verdict = met === undefined ? "" : met ? "; met" : "; MISSED";
  const beside = before === undefined ? "" : `, before ${formatNumber(before)}`;
  return `  ${what}: ${formatNumber(value)} ${unit}${beside}${verdict}`;
}

function say(text: string): void {
  console.log(text);
}
