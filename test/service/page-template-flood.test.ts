import { setImmediate, setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { createWorld, type Reply, type World } from "../support/world.ts";

/** Tests that slow template checks of a project do not block other projects. */

const body = "<p>x</p>{% store_buttons %}";
/** A valid template of the maximum size. */
const heavy = {
  body:
    '<p class="a b c" title="a title">some &amp; text</p>'.repeat(800) +
    "<b>{{ link.name | upcase }}</b>".repeat(400) +
    "{% store_buttons %}",
  css: Array.from({ length: 750 }, (_, turn) => `.c${turn}{color:rgb(1,2,3);top:${turn}px}`).join(
    "",
  ),
};

const preview = (world: World, fields: object, key = world.key) =>
  world.call("POST", "/page_template/preview", { key, body: fields });

test("60 previews in one project do not delay a save in another project", async () => {
  await using world = await createWorld();
  const other = await world.addKey({ project: await world.addProject() });
  let answered = 0;
  const flood = Array.from({ length: 60 }, async () => {
    const { status } = await preview(world, heavy);
    answered += 1;
    return status;
  });
  // Each preview takes many steps, so all other previews are queued when the first is done.
  await Promise.race(flood);
  const before = answered;
  const saved = await world.call("PATCH", "/page_template", { key: other, body: { body } });
  expect([saved.status, saved.body.error]).toEqual([201, undefined]);
  // The queue alternates between the projects, and a save needs only a few steps.
  expect(answered - before).toBeLessThan(10);
  world.advance(10_000);
  const statuses = await Promise.all(flood);
  // Previews finish one after another, so that some finish in time.
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect((await preview(world, { body })).status).toBe(429);
  // Previews whose callers disconnected are skipped, so the project's next request is fast.
  const colleague = await world.addKey();
  const turns = await countTurns(world, () => preview(world, { body }, colleague));
  // Each of the 60 previews would take about ten steps, and this preview takes nine.
  expect(turns).toBeLessThan(flood.length / 2);
  expect(world.reported).toEqual([]);
});

/** Counts rounds of the event loop, which do not depend on the machine's speed. */
async function countTurns(world: World, ask: () => Promise<Reply>): Promise<number> {
  let isOver = false;
  const asked = ask().finally(() => (isOver = true));
  let turns = 0;
  while (!isOver) {
    await (world.isBusy() ? setTimeout(1) : setImmediate());
    if (!world.isBusy()) turns += 1;
  }
  expect((await asked).status).toBe(200);
  return turns;
}
