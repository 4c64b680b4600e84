import { beforeEach, expect, test } from "vitest";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/state-folder.ts";

/** Files of links that were asked for: whose they are, and for how long. */

const minute = 60_000;
const at = openStateForEach();
let state: State;

beforeEach(async () => {
  state = await at.open();
});

/** Each file is a moment younger than the one before it. */
async function save(keyPrint: string, texts: readonly string[] = ["text"]): Promise<string> {
  at.now += 1;
  async function* pages() {
    yield* texts;
  }
  return (await state.exports.save(keyPrint, "text/csv", pages())).id;
}

async function isKept(keyPrint: string, id: string): Promise<boolean> {
  return (await state.exports.findPage(keyPrint, id, 1)) !== undefined;
}

test("a file is read page by page, and by its own key alone", async () => {
  const id = await save("one", ["first", "second"]);
  expect(id).toMatch(/^export_[\w-]{22}$/);
  const pages = [1, 2, 3].map((page) => state.exports.findPage("one", id, page));
  expect(await Promise.all(pages)).toEqual([
    { type: "text/csv", text: "first" },
    { type: "text/csv", text: "second" },
    undefined,
  ]);
  expect(await isKept("another", id)).toBe(false);
});

test("a file is there for an hour, and after that it is dropped with the next one", async () => {
  const id = await save("one");
  at.now += 60 * minute - 1;
  expect(await isKept("one", id)).toBe(true);
  at.now += 1;
  expect(await isKept("one", id)).toBe(false);
  await save("another");
  // Even with the clock set back it does not come again.
  at.now -= 60 * minute;
  expect(await isKept("one", id)).toBe(false);
});

test("what is over is removed though no other file follows", async () => {
  const id = await save("one");
  at.now += 60 * minute;
  await state.exports.removeEnded();
  at.now -= 60 * minute;
  expect(await isKept("one", id)).toBe(false);
});

test("of a key's files the ten newest are there, and other keys have their own", async () => {
  const other = await save("another");
  const ids: string[] = [];
  for (let files = 0; files < 11; files += 1) ids.push(await save("one"));
  const kept = await Promise.all(ids.map((id) => isKept("one", id)));
  expect(kept).toEqual([false, ...Array(10).fill(true)]);
  expect(await isKept("another", other)).toBe(true);
});

test("of a file that could not be written to its end nothing is kept", async () => {
  const saving = state.exports.save("one", "text/csv", breakOff());
  await expect(saving).rejects.toThrow("the deployment has gone");
  // What had been written would count as one of the ten.
  const ids: string[] = [];
  for (let files = 0; files < 10; files += 1) ids.push(await save("one"));
  expect(await Promise.all(ids.map((id) => isKept("one", id)))).toEqual(Array(10).fill(true));
});

async function* breakOff() {
  yield "first";
  throw new Error("the deployment has gone");
}
