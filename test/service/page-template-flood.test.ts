import { setImmediate, setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { createWorld, type Reply, type World } from "../support/world.ts";

/** Looking a template over is heavy, and one project's calls must not be all that is done. */

const body = "<p>x</p>{% store_buttons %}";
/** As much as a template may have, and nothing that is wrong with it. */
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

test("a flood of one project's previews leaves another project its turn", async () => {
  await using world = await createWorld();
  const other = await world.addKey({ project: await world.addProject() });
  let answered = 0;
  const flood = Array.from({ length: 60 }, async () => {
    const { status } = await preview(world, heavy);
    answered += 1;
    return status;
  });
  // Each of them takes many turns: once one is answered, all the others have their places.
  await Promise.race(flood);
  const before = answered;
  const saved = await world.call("PATCH", "/page_template", { key: other, body: { body } });
  expect([saved.status, saved.body.error]).toEqual([201, undefined]);
  // Between two turns of the one there is a turn of the other: a save takes a handful of them.
  expect(answered - before).toBeLessThan(10);
  world.advance(10_000);
  const statuses = await Promise.all(flood);
  // Who is served is served whole, instead of all of them by halves until nobody waits any more.
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect((await preview(world, { body })).status).toBe(429);
  // What waits for nobody is not done: the flood's own project goes on at once, as others do.
  const colleague = await world.addKey();
  const turns = await countTurns(world, () => preview(world, { body }, colleague));
  // Each of the flood would take some ten of them, the preview itself takes nine.
  expect(turns).toBeLessThan(flood.length / 2);
  expect(world.reported).toEqual([]);
});

/**
 * Turns of the event loop until it is answered, each of them a step of whatever is done then. How
 * long a database takes to answer is up to the machine, and does not count.
 */
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
