import { expect, test } from "vitest";
import { description } from "../support/api-description.ts";
import { createWorld } from "../support/world.ts";

/** Tests the OpenAPI document that the API serves. */

test("GET /openapi.json needs no key and can be read cross-origin", async () => {
  await using world = await createWorld();
  const reply = await world.call("GET", "/openapi.json", { key: null });
  expect(reply.status).toBe(200);
  expect(reply.body).toEqual(JSON.parse(JSON.stringify(description)));
  expect(reply.headers.get("content-type")).toBe("application/json");
  expect(reply.headers.get("access-control-allow-origin")).toBe("*");
});

test("HEAD /openapi.json returns no body, and POST returns 405", async () => {
  await using world = await createWorld();
  const head = await world.call("HEAD", "/openapi.json", { key: null });
  expect([head.status, head.text]).toEqual([200, ""]);
  const post = await world.call("POST", "/openapi.json", { key: null, body: {} });
  expect(post.status).toBe(405);
  expect(post.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
});
