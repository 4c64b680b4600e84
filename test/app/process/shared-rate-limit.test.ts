import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { shareBudgets } from "../../../src/app/process/open-client.ts";
import { budgets } from "../../../src/contract/limits.ts";
import { openStateFile, type State } from "../../../src/state/state.ts";
import { createFolder } from "../../support/command.ts";
import { openForEach } from "../../support/open-for.ts";

/** The rate limit that processes of one machine share, also when the clock jumps. */

const { limit } = budgets.page_template_writes;

let state: State;
let now: number;
let monotonic: number;
let reported: unknown[];
const clock = { now: () => now, monotonic: () => monotonic };

openForEach(createFolder, async ({ path }, keep) => {
  now = Date.UTC(2026, 0, 15, 12);
  monotonic = 0;
  reported = [];
  await mkdir(path);
  const random = { bytes: (count: number) => randomBytes(count) };
  state = keep(await openStateFile(join(path, "state.db"), { clock, random }));
});

function share(openIt: () => Promise<State> = () => Promise.resolve(state)) {
  return shareBudgets(clock, "key", { openState: openIt, report });
}

function report(error: unknown): string {
  return `reference-${reported.push(error)}`;
}

async function spend(ledger: ReturnType<typeof share>): Promise<number> {
  const place = ledger.queue("page_template_writes");
  const wait_ms = await place.readWait_ms();
  await place.leave(wait_ms === 0);
  return wait_ms;
}

test("requests to two processes count toward one shared rate limit", async () => {
  const [one, other] = [share(), share()];
  for (let turn = 0; turn < limit; turn += 1) {
    expect(await spend(turn % 2 === 0 ? one : other)).toBe(0);
  }
  expect(await spend(one)).toBeGreaterThan(0);
  expect(await spend(other)).toBeGreaterThan(0);
});

test.each([120_000, -3_600_000])(
  "a clock that jumps by %d ms does not reset the rate limit",
  async (jump) => {
    const ledger = share();
    for (let turn = 0; turn < limit; turn += 1) await spend(ledger);
    now += jump;
    expect(await spend(ledger)).toBeGreaterThan(0);
    monotonic += 61_000;
    now += 61_000;
    expect(await spend(ledger)).toBe(0);
  },
);

test("each process still applies the rate limit if the state database is unavailable", async () => {
  const ledger = share(() => Promise.reject(new Error("a full disk")));
  for (let turn = 0; turn < limit; turn += 1) expect(await spend(ledger)).toBe(0);
  expect(reported.length).toBeGreaterThan(0);
  expect(await spend(ledger)).toBeGreaterThan(0);
});
