import { expect, test } from "vitest";
import { contract } from "../../src/contract/index.ts";
import { budgets } from "../../src/contract/budgets.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type World } from "../support/world.ts";
import { createTraveller } from "./traveller.ts";

/** A question that is asked once: what comes of it, and that nothing follows it. */

let world: World;

openForEach(createWorld, (opened) => (world = opened));

const { links, pageTemplate } = contract;
const input = { id: "f0000000-0000-4000-8000-000000000000" };

/** A client of a deployment that answers this, and what it was sent. */
function ask(answer: (request: Request) => Promise<Response>, key: string | undefined = world.key) {
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
])(
  "a write that is answered %d is not repeated, and nothing is looked for",
  async (status, end) => {
    const { client, asked, waits } = ask(async () => Response.json({ error: "No." }, { status }));
    expect(await client.tryOnce(links.update, { input })).toMatchObject(end);
    expect([asked.length, waits]).toEqual([1, []]);
  },
);

test("what the service says of it comes back as it is", async () => {
  const { client } = ask(world.fetch);
  const refused = await client.tryOnce(links.update, { input });
  expect(refused).toMatchObject({ kind: "refused", problem: { status: 404 } });
  expect(await client.tryOnce(links.index, { input: { limit: 1 } })).toMatchObject({
    kind: "answered",
    body: { links: [] },
  });
});

test("a key that no header can carry is refused without being said", async () => {
  const { client, asked } = ask(world.fetch, "a key");
  const end = await client.tryOnce(links.index, { input: {} });
  expect(end).toMatchObject({ kind: "refused", problem: { status: 401 } });
  expect(JSON.stringify(end)).not.toContain("a key");
  expect(asked).toEqual([]);
});

test("it takes a place in the budget, and does not wait for one that comes late", async () => {
  const { client, asked } = ask(world.fetch);
  for (let turn = 0; turn < budgets.page_template_writes.limit; turn += 1) {
    await client.tryOnce(pageTemplate.save, { input: {} });
  }
  expect(await client.tryOnce(pageTemplate.save, { input: {} })).toEqual({
    kind: "limited",
  });
  expect(asked).toHaveLength(budgets.page_template_writes.limit);
});
