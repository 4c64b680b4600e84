import { createFigures, type SeedCounts } from "./simulator/figures.ts";
import type { Outcome } from "./simulator/play-seed.ts";
import { describeOutcome, playSeeds } from "./simulator/play-seeds.ts";

/** `npm run simulate -- [seeds] [first]` plays jobs and prints the first seed that failed. */

const seedsPerLine = 500;

await simulate();

async function simulate(): Promise<void> {
  const [count, first] = readNumbers();
  const figures = createFigures();
  const started = performance.now();
  const wrong = await playSeeds({ first, count }, figures, (outcome) => {
    if (outcome.complaints.length > 0) say(nameOutcome(outcome));
    if (figures.read("seeds") % seedsPerLine === 0) say(describeProgress(figures, count, started));
  });
  say(`\n${listFigures(figures)}`);
  const [worst] = wrong;
  say(`\n${figures.read("seeds")} seeds, ${wrong.length} of them went wrong.`);
  if (worst === undefined) return;
  say(describeOutcome(worst));
  process.exitCode = 1;
}

function readNumbers(): readonly [number, number] {
  const [count = 10_000, first = 1] = process.argv.slice(2).map(Number);
  const isSound = [count, first].every((number) => Number.isSafeInteger(number) && number >= 1);
  if (!isSound) throw new RangeError("npm run simulate -- [seeds] [first], both from 1 on");
  return [count, first];
}

function nameOutcome({ seed, complaints }: Outcome): string {
  return `seed ${seed}: ${complaints.map((complaint) => complaint.split("\n")[0]).join("; ")}`;
}

function describeProgress(figures: SeedCounts, count: number, started: number): string {
  const seconds = Math.round((performance.now() - started) / 1000);
  const hours = Math.round(figures.read("virtual seconds") / 3600);
  return `${figures.read("seeds")} of ${count} seeds, ${hours} virtual hours in ${seconds} s`;
}

function listFigures(figures: SeedCounts): string {
  return figures
    .list("")
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, count]) => `${String(count).padStart(9)} ${name}`)
    .join("\n");
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
