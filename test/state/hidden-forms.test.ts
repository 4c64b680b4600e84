import { beforeEach, expect, test } from "vitest";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/state-folder.ts";

/** Clients that declare forms and show none, as the processes of one data folder remember them. */

const day_ms = 24 * 60 * 60_000;
const at = openStateForEach();
let state: State;

beforeEach(async () => {
  state = await at.open();
});

const one = { key_print: "one key", client: "a client" };

async function countRows(): Promise<number> {
  const { db } = await at.openSql();
  return (await db.selectFrom("hidden_forms").selectAll().execute()).length;
}

test("another process knows for a day that a key's client shows no forms", async () => {
  await state.hiddenForms.note(one);
  const other = await at.open();
  expect(await other.hiddenForms.has(one)).toBe(true);
  expect(await other.hiddenForms.has({ ...one, key_print: "another key" })).toBe(false);
  expect(await other.hiddenForms.has({ ...one, client: "another client" })).toBe(false);
  at.now += day_ms;
  expect(await other.hiddenForms.has(one)).toBe(true);
  at.now += 1;
  expect(await other.hiddenForms.has(one)).toBe(false);
});

test("a client that shows no form again is remembered for a day from then on", async () => {
  await state.hiddenForms.note(one);
  at.now += day_ms;
  await state.hiddenForms.note(one);
  at.now += day_ms;
  expect(await state.hiddenForms.has(one)).toBe(true);
});

test("a client noted before the clock was set back gets a form again", async () => {
  await state.hiddenForms.note(one);
  at.now -= 1;
  expect(await state.hiddenForms.has(one)).toBe(false);
});

test("the row of a client is removed once its day is over", async () => {
  await state.hiddenForms.note(one);
  at.now += day_ms;
  await state.hiddenForms.removeEnded();
  expect(await countRows()).toBe(1);
  at.now += 1;
  await state.hiddenForms.removeEnded();
  expect(await countRows()).toBe(0);

  await state.hiddenForms.note(one);
  at.now += day_ms + 1;
  await state.hiddenForms.note({ ...one, client: "another client" });
  expect(await countRows()).toBe(1);
});

test("the hundred newest clients of a key are kept, and those of other keys stay", async () => {
  const other = { key_print: "another key", client: "a client" };
  await state.hiddenForms.note(other);
  const clients = Array.from({ length: 101 }, (_, index) => ({ ...one, client: `${index}` }));
  for (const client of clients) {
    at.now += 1;
    await state.hiddenForms.note(client);
  }
  const known = await Promise.all(clients.map((client) => state.hiddenForms.has(client)));
  expect(known).toEqual([false, ...Array(100).fill(true)]);
  expect(await state.hiddenForms.has(other)).toBe(true);
});
