import { expect, test } from "vitest";
import { contract } from "../../src/contract/index.ts";
import { budgets } from "../../src/contract/limits.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type World } from "../support/world.ts";
import { createTraveller } from "./traveller.ts";

/** `tryOnce` sends one request and reports the outcome without any retry. */

let world: World;

openForEach(createWorld, (opened) => (world = opened));

const { links, pageTemplate } = contract;
const input = { id: "f0000000-0000-4000-8000-000000000000" };

/** Creates a client whose server responds in this way, and records its requests. */
function createTestClient(
  answer: (request: Request) => Promise<Response>,
  key: string | undefined = world.key,
) {
  const asked: Request[] = [];
  const traveller = createTraveller({
    world,
    key,
    fetch: (request) => {
      asked.push(request.clone());
      return answer(request);
    },
  });
  return { ...traveller, asked };
}

test.each([
  [429, { kind: "limited" }],
  [503, { kind: "doubtful", reason: "failing", wait_ms: 1000 }],
  [500, { kind: "doubtful", reason: "failing" }],
])("tryOnce does not repeat or look up a write that got %d", async (status, end) => {
  const { client, asked, waits } = createTestClient(async () =>
    Response.json({ error: "No." }, { status }),
  );
  expect(await client.tryOnce(links.update, { input })).toMatchObject(end);
  expect([asked.length, waits]).toEqual([1, []]);
});

test("tryOnce returns the service's response unchanged", async () => {
  const { client } = createTestClient(world.fetch);
  const refused = await client.tryOnce(links.update, { input });
  expect(refused).toMatchObject({ kind: "refused", problem: { status: 404 } });
  expect(await client.tryOnce(links.index, { input: { limit: 1 } })).toMatchObject({
    kind: "answered",
    body: { links: [] },
  });
});

test("tryOnce rejects a key that is not a valid header value, without showing it", async () => {
  const { client, asked } = createTestClient(world.fetch, "a key");
  const end = await client.tryOnce(links.index, { input: {} });
  expect(end).toMatchObject({ kind: "refused", problem: { status: 401 } });
  expect(JSON.stringify(end)).not.toContain("a key");
  expect(asked).toEqual([]);
});

test("tryOnce counts toward the rate limit and does not wait", async () => {
  const { client, asked } = createTestClient(world.fetch);
  for (let turn = 0; turn < budgets.page_template_writes.limit; turn += 1) {
    await client.tryOnce(pageTemplate.save, { input: {} });
  }
  expect(await client.tryOnce(pageTemplate.save, { input: {} })).toEqual({
    kind: "limited",
  });
  expect(asked).toHaveLength(budgets.page_template_writes.limit);
});
