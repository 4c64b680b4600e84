import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { mutations } from "./all.ts";
import { listFaults } from "./check-mutations.ts";
import type { Mutation } from "./mutation.ts";
import { build, runTests, type Verdict } from "./run-tests.ts";
import { openScratch } from "./scratch.ts";
import { usesBundle } from "./uses-bundle.ts";

/**
 * `npm run mutate -- [--check] [--copies 1] [ids]`: makes one small mistake after another in a copy
 * of the checkout, and runs the tests that should notice it. A test that fails without any mistake
 * makes all of this meaningless: run `npm test` first. `--check` only looks whether each mistake
 * can still be made.
 */

/** More would only take the tests' time away from each other. */
const mostCopies = 2;
const order = ["caught", "hung", "survived", "broken", "stale"] as const;
type Ending = (typeof order)[number];

await mutate();

async function mutate(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { check: { type: "boolean" }, copies: { type: "string", default: "2" } },
    allowPositionals: true,
  });
  const chosen = choose(positionals);
  const endings = new Map<string, Ending>();
  const tell = ({ id, what }: Mutation, ending: Ending, said: string) => {
    endings.set(id, ending);
    const isWell = ending === "caught" || ending === "hung";
    const word = (isWell ? ending : ending.toUpperCase()).padEnd(8);
    say(`${id.padEnd(4)} ${word} ${what} — ${said}`);
  };
  const faults = listFaults(chosen);
  const sound = chosen.filter((mutation) => {
    const own = faults.filter(({ id }) => id === mutation.id).map(({ fault }) => fault);
    if (own.length > 0) tell(mutation, "stale", own.join("; "));
    return own.length === 0;
  });
  if (values.check !== true) await tryAll(sound, readCopies(values.copies), tell);
  else say(`${sound.length} of ${chosen.length} mutations can be made.`);
  if (endings.size > 0) say(`\n${summarize(endings)}`);
  const isWell = [...endings.values()].every((end) => end === "caught" || end === "hung");
  if (!isWell) process.exitCode = 1;
}

function choose(ids: readonly string[]): readonly Mutation[] {
  const unknown = ids.filter((id) => !mutations.some((mutation) => mutation.id === id));
  if (unknown.length > 0) throw new RangeError(`there is no mutation ${unknown.join(", ")}`);
  return ids.length === 0 ? mutations : mutations.filter(({ id }) => ids.includes(id));
}

function readCopies(text: string): number {
  const copies = Number(text);
  if (Number.isInteger(copies) && copies >= 1 && copies <= mostCopies) return copies;
  throw new RangeError(`--copies takes a number from 1 to ${mostCopies}`);
}

/** Each copy takes the next one, as long as there are any and nobody has stopped us. */
async function tryAll(
  chosen: readonly Mutation[],
  copies: number,
  tell: (mutation: Mutation, ending: Ending, said: string) => void,
): Promise<void> {
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  const waiting = chosen.values();
  await Promise.all(
    Array.from({ length: Math.min(copies, chosen.length) }, async () => {
      await using scratch = await openScratch();
      for (const mutation of waiting) {
        const verdict = await tryOne(scratch.folder, mutation, stopped.signal);
        tell(mutation, verdict.kind, explain(mutation, verdict));
        if (stopped.signal.aborted) return;
      }
    }),
  );
}

async function tryOne(folder: string, mutation: Mutation, signal: AbortSignal): Promise<Verdict> {
  const { file, find, replace, tests } = mutation;
  const path = join(folder, file);
  const source = await readFile(path, "utf8");
  await writeFile(
    path,
    source.replace(find, () => replace),
  );
  try {
    if (tests.some((test) => usesBundle(test))) {
      const fault = await build(folder, signal);
      if (fault !== undefined) return { kind: "broken", why: fault };
    }
    return await runTests(folder, tests, signal);
  } finally {
    await writeFile(path, source);
  }
}

function explain({ file, tests }: Mutation, verdict: Verdict): string {
  switch (verdict.kind) {
    case "caught":
    case "hung":
      return verdict.by;
    case "broken":
      return verdict.why;
    case "survived":
      return `${file} can be so, and ${tests.join(", ")} pass`;
  }
}

function summarize(endings: ReadonlyMap<string, Ending>): string {
  return order
    .map((ending) => {
      const ids = [...endings].flatMap(([id, other]) => (other === ending ? [id] : []));
      const named = ending === "caught" || ids.length === 0 ? "" : `: ${ids.join(", ")}`;
      return `${ids.length} ${ending}${named}`;
    })
    .join("\n");
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
