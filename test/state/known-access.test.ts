import { beforeEach, describe, expect, test } from "vitest";
import type { KnownTool } from "../../src/state/known-access.ts";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/state-folder.ts";

/** What was learned of a key, as the processes of one data folder remember it. */

const at = openStateForEach();
/** Two processes. */
let one: State;
let two: State;

beforeEach(async () => {
  one = await at.open();
  two = await at.open();
});

const day_ms = 24 * 60 * 60_000;
const here = { key_print: "print", origin: "https://one.example" };

function learned(tool: string, state: KnownTool["state"], more: Partial<KnownTool> = {}) {
  const until = at.now + day_ms;
  return { tool, state, reason: null, shows_kind: false, at: at.now, until, ...more };
}

const recall = async ({ knownAccess }: State, place = here) =>
  (await knownAccess.recall(place)).map(({ tool, state }) => `${tool} ${state}`).toSorted();

test("what one process has learned, the others know", async () => {
  const known = learned("list_links", "denied", { reason: "No.", shows_kind: true });
  await one.knownAccess.remember(here, [known, learned("get_link", "granted")]);
  expect(await two.knownAccess.recall(here)).toContainEqual(known);
  expect(await recall(two)).toEqual(["get_link granted", "list_links denied"]);
});

describe("it is of one key at one deployment", () => {
  test.each([
    ["another key", { ...here, key_print: "other" }],
    ["another deployment", { ...here, origin: "https://two.example" }],
  ])("and nothing is known of %s", async (_, place) => {
    await one.knownAccess.remember(here, [learned("list_links", "denied")]);
    expect(await recall(one, place)).toEqual([]);
  });
});

describe("it is forgotten", () => {
  test("when its time is over, and leaves the file with the next that is learned", async () => {
    await one.knownAccess.remember(here, [learned("list_links", "denied")]);
    at.now += 1000;
    await one.knownAccess.remember(here, [learned("create_link", "denied")]);
    at.now += day_ms - 1001;
    expect(await recall(two)).toHaveLength(2);
    at.now += 1;
    expect(await recall(two)).toEqual(["create_link denied"]);
    await one.knownAccess.remember(here, []);
    at.now -= 1;
    expect(await recall(two)).toEqual(["create_link denied"]);
  });

  test("where the clock was set back: it was learned in what is the future now", async () => {
    await one.knownAccess.remember(here, [learned("list_links", "denied")]);
    at.now -= 1;
    expect(await recall(two)).toEqual([]);
  });
});

describe("of one tool", () => {
  test("what was learned later counts, whichever process writes first", async () => {
    const earlier = learned("list_links", "denied");
    at.now += 1000;
    const later = learned("list_links", "granted");
    await one.knownAccess.remember(here, [later]);
    await two.knownAccess.remember(here, [earlier]);
    expect(await recall(two)).toEqual(["list_links granted"]);
    at.now += 1000;
    await two.knownAccess.remember(here, [learned("list_links", "denied")]);
    expect(await recall(one)).toEqual(["list_links denied"]);
  });

  test("what two processes learn at once is one of the two", async () => {
    const states = ["granted", "denied"] as const;
    await Promise.all(
      [one, two].map(({ knownAccess }, index) =>
        knownAccess.remember(here, [learned("list_links", states[index] ?? "unknown")]),
      ),
    );
    expect(await recall(one)).toHaveLength(1);
    expect(await recall(two)).toEqual(await recall(one));
  });
});
