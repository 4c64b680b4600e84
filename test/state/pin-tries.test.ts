import { beforeEach, expect, test } from "vitest";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/state-folder.ts";

/** How often a PIN may be guessed: for one approval, for one key, and for how long. */

const at = openStateForEach();
const minute = 60_000;
let state: State;

beforeEach(async () => {
  state = await at.open();
});

let count = 0;

async function ask(key_print = "one key"): Promise<string> {
  count += 1;
  const wanted = { digest: `act ${count}`, preview: "{}", key_print };
  const asked = await state.approvals.askPage(wanted);
  if (!("waits" in asked)) throw new Error(`it was ${asked.said} before it was asked`);
  return asked.waits.id;
}

/** Guesses a wrong PIN so often, five times for each of several approvals. */
async function guess(times: number): Promise<void> {
  let id = "";
  for (let turn = 0; turn < times; turn += 1) {
    if (turn % 5 === 0) id = await ask();
    expect(await state.pinTries.take(id)).toBeDefined();
  }
}

test("a right PIN gives its try back to the approval", async () => {
  const id = await ask();
  const taken = await state.pinTries.take(id);
  expect((await state.pinTries.read(id)).left).toBe(4);
  await taken?.giveBack();
  expect((await state.pinTries.read(id)).left).toBe(5);
});

test("wrong PINs for one approval leave the tries of another key's approval", async () => {
  const other = await ask("another key");
  await guess(5);
  expect((await state.pinTries.read(other)).left).toBe(5);
});

test("a key is blocked until the first of its twenty wrong PINs is an hour old", async () => {
  const begun = at.now;
  await guess(1);
  at.now += 10 * minute;
  // A right PIN forgives only itself, and no earlier try.
  await (await state.pinTries.take(await ask()))?.giveBack();
  await guess(19);
  const blocked = await ask();
  const blocked_until = begun + 60 * minute;
  expect(await state.pinTries.read(blocked)).toEqual({ left: 0, blocked_until });
  expect(await state.pinTries.take(blocked)).toBeUndefined();
  at.now = blocked_until;
  expect(await state.pinTries.read(await ask())).toEqual({ left: 1, blocked_until: undefined });
  at.now = begun + 70 * minute;
  expect(await state.pinTries.read(await ask())).toEqual({ left: 5, blocked_until: undefined });
});
