import { expect, test } from "vitest";
import { contract } from "../../src/contract/index.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type World } from "../support/world.ts";
import { createTimedClient } from "./clients.ts";

/** A probe is a call that is sent once, and whose effect is not looked up. */

let world: World;

openForEach(createWorld, (opened) => (world = opened));

const { links, pageTemplate } = contract;
const input = { id: "f0000000-0000-4000-8000-000000000000" };

/** A client whose server responds like this, and the requests it has sent. */
function createTestClient(answer: (request: Request) => Promise<Response>) {
  const asked: Request[] = [];
  const { client, waits } = createTimedClient({
    world,
    fetch: (request) => {
      asked.push(request.clone());
      return answer(request);
    },
  });
  const probe: typeof client.call = (endpoint, given) =>
    client.call(endpoint, given, undefined, { isProbe: true });
  return { probe, asked, waits };
}

test.each([
  [429, { code: "rate_limited" }],
  [503, { code: "overloaded", facts: { effect: "none", retry_after_s: 1 } }],
  [500, { code: "overloaded", facts: { effect: "none" } }],
])("a permission probe that gets a %d sends no second request", async (status, failure) => {
  const { probe, asked, waits } = createTestClient(async () =>
    Response.json({ error: "No." }, { status }),
  );
  await expect(probe(links.update, input)).rejects.toMatchObject(failure);
  expect([asked.length, waits]).toEqual([1, []]);
});

test("a permission probe counts toward the rate limit and never waits", async () => {
  const { probe, asked, waits } = createTestClient(world.fetch);
  const count = 60;
  for (let turn = 0; turn < count; turn += 1) await probe(pageTemplate.save, {});
  await expect(probe(pageTemplate.save, {})).rejects.toMatchObject({ code: "rate_limited" });
  expect([asked.length, waits]).toEqual([count, []]);
});
