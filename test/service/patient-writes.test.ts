import { expect, test } from "vitest";
import { apiPrefix } from "../../src/contract/index.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, origin, type World } from "../support/world.ts";

/** The order of writes with low and normal priority. */

let world: World;

openForEach(createWorld, (opened) => (world = opened));

test.each([
  [
    "a low-priority write, as sent by bulk jobs, finishes after a later normal write",
    true,
    ["later", "first"],
  ],
  ["a normal write finishes before a later normal write", false, ["first", "later"]],
] as const)("%s", async (_, isPatient, order) => {
  const done: string[] = [];
  const create = async (path: string, own: { readonly isPatient?: boolean }) => {
    const { status } = await world.answer({
      method: "POST",
      url: `${origin}${apiPrefix}/links`,
      headers: { authorization: `Bearer ${world.key}`, "content-type": "application/json" },
      body: JSON.stringify({ path }),
      ...own,
    });
    expect(status).toBe(201);
    done.push(path);
  };
  await Promise.all([create("first", { isPatient }), create("later", {})]);
  expect(done).toEqual(order);
});
