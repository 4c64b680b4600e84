import { expect, test } from "vitest";
import { openStateForEach } from "../support/state-folder.ts";

/** How many wrong sign-ins an address has in an hour. */

const at = openStateForEach();
const hour = 60 * 60_000;
const limit = 20;

/** Takes tries one after another, and returns how many of them were allowed. */
async function takeMany(count: number, address: string): Promise<number> {
  const { signInTries } = await at.open();
  let allowed = 0;
  for (let turn = 0; turn < count; turn += 1) {
    const taken = await signInTries.take("key", address);
    if (taken !== undefined) allowed += 1;
  }
  return allowed;
}

test("wrong sign-ins from one address leave another address its own", async () => {
  expect(await takeMany(25, "203.0.113.1")).toBe(limit);
  expect(await takeMany(25, "203.0.113.2")).toBe(limit);
});

test("wrong keys leave an address its tries of the PIN", async () => {
  expect(await takeMany(25, "203.0.113.1")).toBe(limit);
  const { signInTries } = await at.open();
  expect(await signInTries.take("pin", "203.0.113.1")).toBeDefined();
});

test("an address has tries again an hour after its wrong ones, and not before", async () => {
  expect(await takeMany(25, "203.0.113.1")).toBe(limit);
  at.now += hour - 1;
  expect(await takeMany(1, "203.0.113.1")).toBe(0);
  at.now += 1;
  expect(await takeMany(25, "203.0.113.1")).toBe(limit);
});

test("many sign-ins at once get no more tries than one after another", async () => {
  const [one, two] = [await at.open(), await at.open()];
  const taken = await Promise.all(
    Array.from({ length: 40 }, (_, turn) =>
      (turn % 2 === 0 ? one : two).signInTries.take("key", "203.0.113.1"),
    ),
  );
  expect(taken.filter((each) => each !== undefined)).toHaveLength(limit);
});

test("a try that was given back can be taken again, and the other tries stay used", async () => {
  const { signInTries } = await at.open();
  for (let turn = 0; turn < limit - 1; turn += 1) await signInTries.take("pin", "203.0.113.1");
  const last = await signInTries.take("pin", "203.0.113.1");
  expect(await signInTries.take("pin", "203.0.113.1")).toBeUndefined();
  await last?.giveBack();
  expect(await signInTries.take("pin", "203.0.113.1")).toBeDefined();
  expect(await signInTries.take("pin", "203.0.113.1")).toBeUndefined();
});
