import { expect, test } from "vitest";
import { addLink } from "../support/rows.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type World } from "../support/world.ts";

/** Paths with a question mark or a hash sign, which links could get once. */

let world: World;
let id: string;
openForEach(createWorld, async (opened) => {
  world = opened;
  const projectId = world.project.id;
  id = await world.store.write((db) => addLink({ db, projectId }, "a?b#c"));
});

const send = (method: string, path: string, body: object) => world.call(method, path, { body });

test("they match in an upsert, and their links can be changed", async () => {
  const upserted = await send("POST", "/links/upsert", { path: "a?b#c", name: "New" });
  expect([upserted.status, upserted.body]).toMatchObject([200, { id, name: "New" }]);
  const encoded = await send("POST", "/links/upsert", { path: "/a%3Fb%23c", name: "Newer" });
  expect([encoded.status, encoded.body]).toMatchObject([200, { id, name: "Newer" }]);
  const changed = await send("PATCH", `/links/${id}`, { path: "a?b#c", name: "Newest" });
  expect([changed.status, changed.body.name]).toEqual([200, "Newest"]);
});

test("they are found and shortened as before", async () => {
  const url = "http://default.localhost:8787/a%3Fb%23c";
  expect((await send("POST", "/short_links/resolve", { url })).body.id).toBe(id);
  expect((await send("POST", "/short_links", { url })).body).toMatchObject({
    id,
    shortened_path: expect.any(String),
  });
  expect((await send("POST", "/short_links", { url: `${url}?d=1` })).status).toBe(201);
});

test("they come back from the bin, and no link gets one anew", async () => {
  await world.call("DELETE", `/links/${id}`);
  const refused = await send("POST", "/links/upsert", { path: "a?b#c" });
  expect(refused.status).toBe(422);
  expect((await world.call("POST", `/links/${id}/restore`)).body.path).toBe("a?b#c");
  const moved = await send("PATCH", `/links/${id}`, { path: "a?b" });
  expect([moved.status, moved.body.error]).toEqual([
    422,
    "Path can't contain a question mark or a hash sign: parameters go behind the link's address",
  ]);
  expect((await send("PATCH", `/links/${id}`, { path: "plain" })).body.path).toBe("plain");
});
