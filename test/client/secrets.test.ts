import { inspect } from "node:util";
import { expect, test } from "vitest";
import { contract } from "../../src/contract/index.ts";
import { quoteAnswer } from "../../src/contract/server-answer.ts";
import { allFaults } from "../support/hostile.ts";
import { createWorld } from "../support/world.ts";
import { createClientWithFaults, createTimedClient, type ClientWithFaults } from "./clients.ts";

/** The key is sent only to its server and never appears in an error. */

const { links, iosApps } = contract;

test.each(allFaults.filter((fault) => fault !== "honest"))(
  'no property of an error caused by "%s" contains the API key',
  async (fault) => {
    await using at = await createClientWithFaults();
    const failures = await collectFailures(at, fault);
    const shown = failures.map((failure) =>
      inspect(failure, { depth: Infinity, showHidden: true }),
    );
    expect(shown.join("\n")).not.toContain(at.world.key);
    expect(shown.join("\n")).not.toContain(at.world.key.slice(-20));
    expect(at.hostile.strayed).toEqual([]);
  },
);

test("a truncated message never contains a part of the API key", async () => {
  await using world = await createWorld();
  const { key } = world;
  const longest = { message: 4000, problem: 500 };
  let said = { message: "", problem: "" };
  const { client } = createTimedClient({
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

async function collectFailures(
  { client, hostile }: ClientWithFaults,
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
