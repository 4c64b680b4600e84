import { inspect } from "node:util";
import { expect, test } from "vitest";
import { contract } from "../../src/contract/index.ts";
import { quoteAnswer } from "../../src/contract/server-answer.ts";
import { allFaults } from "../support/hostile.ts";
import { createWorld } from "../support/world.ts";
import { createExpedition, createTraveller, type Expedition } from "./traveller.ts";

/** A key goes to its deployment and nowhere else: not into what a failed call says of itself. */

const { links, iosApps, shortLinks } = contract;

test.each(allFaults.filter((fault) => fault !== "honest"))(
  "no failure after %s carries the key, wherever one looks in it",
  async (fault) => {
    await using at = await createExpedition();
    const failures = await collectFailures(at, fault);
    const told = failures.map((failure) => inspect(failure, { depth: Infinity, showHidden: true }));
    expect(told.join("\n")).not.toContain(at.world.key);
    expect(told.join("\n")).not.toContain(at.world.key.slice(-20));
    expect(at.hostile.strayed).toEqual([]);
  },
);

test("words that repeat the key are passed on without it", async () => {
  await using at = await createExpedition();
  at.hostile.plan({ reads: ["echo_401"] });
  await expect(at.client.call(links.index, {})).rejects.toMatchObject({
    status: 401,
    message: expect.stringMatching(/ answered: "Who are you, Token \[the key\]\?"$/),
  });
});

test("no part of the key stands where a long message is cut", async () => {
  await using world = await createWorld();
  const { key } = world;
  /** What is passed on of a message and of a problem, whichever letter of it is the last. */
  const longest = { message: 4000, problem: 500 };
  let said = { message: "", problem: "" };
  const { client } = createTraveller({
    world,
    fetch: () => {
      const problems = [{ field: "path", message: said.problem }];
      return Promise.resolve(Response.json({ error: said.message, problems }, { status: 422 }));
    },
  });
  for (let shown = 0; shown <= key.length; shown += 1) {
    const write = (most: number, name: string) => `${"-".repeat(most - shown)}${name} is unknown`;
    said = { message: write(longest.message, key), problem: write(longest.problem, key) };
    const message = write(longest.problem, "[the key]").slice(0, longest.problem);
    const words = write(longest.message, "[the key]").slice(0, longest.message);
    await expect(client.call(links.create, {})).rejects.toMatchObject({
      message: quoteAnswer("localhost:8787", words),
      problems: [{ field: "path", message }],
    });
  }
});

test("what needs no key is asked without one, on every try", async () => {
  await using at = await createExpedition();
  at.hostile.plan({ reads: ["reset", "busy", "stall"] });
  const url = "http://default.localhost:8787/x";
  await expect(at.client.call(shortLinks.resolve, { url })).rejects.toMatchObject({ status: 404 });
  expect(at.hostile.authorizations).toEqual(Array(4).fill(undefined));
});

async function collectFailures(
  { client, hostile }: Expedition,
  fault: (typeof allFaults)[number],
): Promise<readonly unknown[]> {
  const acts = [
    () => client.call(links.index, {}),
    () => client.call(links.create, { path: "spring" }),
    () => client.call(links.upsert, { path: "summer" }),
    () => client.call(iosApps.create, { bundle_id: "a.b", team_id: "TEAM000001" }),
    () => client.call(links.destroy, { id: "0190a000-0000-7000-8000-000000000000" }),
  ];
  const failures: unknown[] = [];
  for (const act of acts) {
    hostile.plan({ writes: Array(4).fill(fault), reads: Array(20).fill(fault) });
    await act().catch((error: unknown) => failures.push(error));
  }
  await hostile.settle();
  expect(failures.length).toBeGreaterThan(0);
  return failures;
}
