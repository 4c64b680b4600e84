import { parseArgs } from "node:util";
import { endAllAtExit } from "../bench/leftovers.ts";
import type { Check } from "./check.ts";
import { engines, type Engine, type Fault } from "./fault.ts";
import { faults } from "./faults.ts";
import { openSoak } from "./stage.ts";

/** `npm run soak` runs every fault on every engine and prints a table of the results. */

await soak();

type Flags = {
  readonly wanted: readonly Fault[];
  readonly engines: readonly Engine[];
  readonly seed: number;
  readonly isShort: boolean;
};

async function soak(): Promise<void> {
  const flags = readFlags();
  if (flags === undefined) return;
  endAllAtExit();
  const { seed, isShort, wanted } = flags;
  say(`Seed ${seed}: npm run soak -- --seed ${seed} plays the same again.`);
  await using run = openSoak({ seed, isShort });
  const rows: Row[] = [];
  for (const fault of wanted) {
    for (const engine of fault.engines.filter((one) => flags.engines.includes(one))) {
      const started = performance.now();
      say(`\n${fault.name}, ${engine}: ${fault.what} …`);
      const checks = await run.play(fault, engine).catch(describeFailure);
      for (const check of checks) say(`  ${check.what}: ${check.seen}${tellVerdict(check)}`);
      say(`  (${((performance.now() - started) / 1000).toFixed(1)} s)`);
      rows.push(...checks.map((check) => ({ fault: fault.name, engine, ...check })));
    }
  }
  say(`\n${writeTable(rows)}`);
  const wrong = rows.filter(({ isRight }) => isRight === false).length;
  say(wrong === 0 ? "\nEverything held." : `\n${wrong} of them did not hold.`);
  if (wrong > 0) process.exitCode = 1;
}

type Row = Check & { readonly fault: string; readonly engine: Engine };

/** The other faults still run. */
function describeFailure(error: unknown): readonly Check[] {
  const seen = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return [{ what: "played to its end", seen, isRight: false }];
}

function tellVerdict({ isRight }: Check): string {
  if (isRight === undefined) return "";
  return isRight ? "; held" : "; DID NOT HOLD";
}

function writeTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => {
    const { fault, engine, what, seen } = row;
    const verdict = row.isRight === undefined ? "" : row.isRight ? "yes" : "NO";
    return [fault, engine, what, (seen.split("\n")[0] ?? "").slice(0, 90), verdict];
  });
  const all = [["fault", "engine", "what", "seen", "held"], ...cells];
  const widths = all[0]?.map((_, column) => {
    return Math.max(...all.map((line) => line[column]?.length ?? 0));
  });
  return all
    .map((line) => line.map((cell, column) => cell.padEnd(widths?.[column] ?? 0)).join("  "))
    .join("\n");
}

function readFlags(): Flags | undefined {
  const { values } = parseArgs({
    options: {
      only: { type: "string", multiple: true, default: [] },
      engine: { type: "string", multiple: true, default: [] },
      seed: { type: "string" },
      short: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    say(describeUsage());
    return undefined;
  }
  const names = faults.map(({ name }) => name);
  const only = readChosen("--only", values.only, names);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
  if (!Number.isSafeInteger(seed) || seed < 0) throw new RangeError("--seed is a whole number");
  return {
    wanted: faults.filter(({ name }) => only.length === 0 || only.includes(name)),
    engines: values.engine.length === 0 ? engines : readChosen("--engine", values.engine, engines),
    seed,
    isShort: values.short,
  };
}

function readChosen<Name extends string>(
  flag: string,
  given: readonly string[],
  known: readonly Name[],
): readonly Name[] {
  return given
    .flatMap((words) => words.split(","))
    .map((word) => {
      const found = known.find((name) => name === word);
      if (found === undefined) throw new RangeError(`${flag} is one of ${known.join(", ")}`);
      return found;
    });
}

function describeUsage(): string {
  const lines = faults.map(({ name, what, engines: on }) => {
    return `  ${name.padEnd(18)} ${what} (${on.join(", ")})`;
  });
  return `npm run soak -- [--only NAME] [--engine sqlite|postgres] [--seed N] [--short]

Causes faults in the built command, only on this machine, and reports the results. It stops all
processes that it has started. The exit code is 1 if a check failed.

${lines.join("\n")}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
