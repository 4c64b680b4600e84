import { expect, test } from "vitest";
import { listEndpoints } from "../../src/contract/index.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, origin, type World } from "../support/world.ts";

/** Tests that pages of other sites may only resolve short links. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const path = "/short_links/resolve";
const url = "http://default.localhost:8787/spring";
const page = { origin: "https://shop.example" };
const preflight = {
  ...page,
  "access-control-request-method": "POST",
  "access-control-request-headers": "content-type",
};

const listCors = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith("access-control-")));

test("a preflight request for /short_links/resolve needs no key", async () => {
  const reply = await world.call("OPTIONS", path, { key: null, headers: preflight });
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expect(listCors(reply.headers)).toEqual({
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "content-type",
    "access-control-max-age": "3600",
  });
});

test("/short_links/resolve lets pages of other origins read every response", async () => {
  await world.call("POST", "/links", { body: { path: "spring" } });
  const given = { key: null, headers: page };
  const replies = [
    await world.call("POST", path, { ...given, body: { url } }),
    await world.call("POST", path, { ...given, body: { url: `${url}/unknown` } }),
    await world.call("POST", path, { ...given, body: { url: "spring" } }),
    await world.call("POST", path, { ...given, body: {} }),
    await world.call("POST", path, {
      ...given,
      headers: { "content-type": "text/plain" },
      body: "",
    }),
    await world.call("GET", path, given),
  ];
  expect(replies.slice(0, 5).map(({ status }) => status)).toEqual([200, 404, 422, 400, 400]);
  expect(replies[5]?.status).toBeGreaterThanOrEqual(404);
  for (const { headers } of replies) {
    expect(listCors(headers)).toEqual({ "access-control-allow-origin": "*" });
  }
});

const send = (method: string) =>
  world.answer({
    method,
    url: `${origin}/api/v1${path}`,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ url }),
    address: "203.0.113.9",
  });

test("the rate limit ignores preflights, and its 429 can be read cross-origin", async () => {
  for (let turn = 0; turn < 1200; turn += 1) {
    expect((await send("OPTIONS")).status).toBe(204);
    expect((await send("POST")).status).toBe(404);
  }
  const late = await send("POST");
  expect([late.status, late.body]).toEqual([
    429,
    { error: "Rate limit exceeded. Too many requests." },
  ]);
  expect(late.headers["access-control-allow-origin"]).toBe("*");
});

test("among the API endpoints, only /short_links/resolve sends CORS headers", async () => {
  for (const { method, path: other } of listEndpoints()) {
    if (other === path) continue;
    const place = other.replace(":id", "0190a000-0000-7000-8000-000000000000");
    for (const name of ["OPTIONS", method]) {
      const given = { key: world.key, headers: preflight };
      const body = method === "GET" || method === "DELETE" ? undefined : {};
      const reply = await world.call(name, place, { ...given, ...(body && { body }) });
      expect([name, other, listCors(reply.headers)]).toEqual([name, other, {}]);
    }
  }
});
