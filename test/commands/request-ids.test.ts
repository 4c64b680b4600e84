import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import { createFolder, createServed, startServe } from "../support/command.ts";
import { visitAt } from "../support/link-host.ts";
import { answerEmpty, startDeployment } from "../support/mcp-deployment.ts";
import { modernCall, post, type Posting } from "../support/mcp-post.ts";

/** One id from a request to its answer, its lines in the log, and the deployment behind. */

const header = "x-request-id";

test("an answer has the id that its request came with, or one of its own", async () => {
  await using served = await createServed();
  const { places, key } = served.serving;
  const json = { "content-type": "application/json" };
  const asked: readonly (readonly [string, Posting])[] = [
    [`${places.api}/links`, { method: "GET" }],
    [`${places.api}/links`, { headers: json, body: '{"path":"a","url":"https://a.example"}' }],
    [`${places.api}/nothing`, { method: "GET" }],
    [places.mcp, modernCall(key, 1, "list_links")],
    [places.mcp, { body: "{}" }],
  ];
  const made: unknown[] = [];
  for (const [url, { headers, ...given }] of asked) {
    const authorized = { authorization: `Bearer ${key}`, ...headers };
    const named = await post(url, {
      ...given,
      headers: { ...authorized, [header]: "mine:1-a.b_c" },
    });
    expect(named.headers[header]).toBe("mine:1-a.b_c");
    for (const hostile of ["", "short", "a".repeat(65), 'quo"te-and-space in it', "näme-of-mine"]) {
      const value = Buffer.from(hostile).toString("latin1");
      const answer = await post(url, { ...given, headers: { ...authorized, [header]: value } });
      made.push(answer.headers[header]);
    }
    made.push((await post(url, { ...given, headers: authorized })).headers[header]);
  }
  for (const id of made) expect(id).toMatch(/^[\w-]{12}-[\da-z]+$/);
  expect(new Set(made).size).toBe(made.length);
});

test("the log tells of which request a fault was, over REST and through a tool", async () => {
  await using served = await createServed();
  const { folder, serving } = served;
  const { places, key } = serving;
  const database = openDatabase(join(folder.path, "waypost.db"));
  database.exec("ALTER TABLE links RENAME TO elsewhere");
  const id = "00000000-0000-7000-8000-000000000000";
  const rest = await post(`${places.api}/links/${id}`, {
    method: "GET",
    headers: { authorization: `Token ${key}`, [header]: "over-rest" },
  });
  expect(rest.status).toBe(500);
  const call = modernCall(key, 1, "get_link", { id });
  // The second goes past the SDK, which has let the first through.
  for (const named of ["by-a-tool-1", "by-a-tool-2"]) {
    await post(places.mcp, { ...call, headers: { ...call.headers, [header]: named } });
  }
  database.exec("ALTER TABLE elsewhere RENAME TO links");
  database.close();
  const { stderr } = await serving.stop();
  const lines = stderr.split("\n").filter((line) => line.startsWith("{"));
  const logged = lines.map((line): Record<string, unknown> => JSON.parse(line));
  const requests = logged.map(({ msg, request }) => [msg, request]);
  expect(requests).toContainEqual(["unexpected error", "over-rest"]);
  expect(requests).toContainEqual(["unexpected error", "by-a-tool-1"]);
  expect(requests).toContainEqual(["unexpected error", "by-a-tool-2"]);
});

test("at the level of debug the log follows a call down to each statement", async () => {
  await using folder = await createFolder();
  await using serving = await startServe(folder.path, ["--log", "debug"]);
  const { places, key } = serving;
  const link = { path: "one", url: "https://secret.example/of-a-stranger" };
  const call = modernCall(key, 1, "create_link", link);
  for (const named of ["makes-it-1", "makes-it-2"]) {
    await post(places.mcp, { ...call, headers: { ...call.headers, [header]: named } });
  }
  const rest = { method: "GET", headers: { authorization: `Token ${key}`, [header]: "over-rest" } };
  await post(`${places.api}/links`, rest);
  const { port } = new URL(places.url);
  for (const path of ["/one", "/one"]) {
    await visitAt(Number(port), path, { host: `default.localhost:${port}` });
  }
  const database = openDatabase(join(folder.path, "waypost.db"));
  database.exec("ALTER TABLE links RENAME TO elsewhere");
  const headers = { ...rest.headers, [header]: "has-failed" };
  expect((await post(`${places.api}/links`, { ...rest, headers })).status).toBe(500);
  database.close();
  const { stderr } = await serving.stop();
  const lines = stderr.split("\n").filter((line) => line.startsWith("{"));
  const logged = lines.map((line): Record<string, unknown> => JSON.parse(line));
  const ofRequest = (id: string) => logged.filter(({ request }) => request === id);
  const told = ofRequest("makes-it-1");
  expect(told).toContainEqual(
    expect.objectContaining({ msg: "request", method: "POST", route: "/links", status: 201 }),
  );
  expect(told).toContainEqual(
    expect.objectContaining({
      msg: "statement",
      sql: expect.stringMatching(/^insert into "links"/),
    }),
  );
  const { ms } = told.find(({ msg }) => msg === "tool call") ?? {};
  expect(ms).toBeGreaterThan(0);
  expect(told.slice(-2)).toMatchObject([
    { msg: "tool call", tool: "create_link", end: "ok" },
    { msg: "message to /mcp", status: 200 },
  ]);
  expect(ofRequest("makes-it-2")).toContainEqual(
    expect.objectContaining({ msg: "tool call", end: "validation_failed" }),
  );
  const overRest = ofRequest("over-rest").map(({ msg }) => msg);
  expect(new Set(overRest)).toEqual(new Set(["statement", "request"]));
  expect(overRest.at(-1)).toBe("request");
  expect(ofRequest("has-failed")).toContainEqual(
    expect.objectContaining({ msg: "statement", failed: true }),
  );
  const [first, second, ...more] = logged.filter(({ msg }) => msg === "visit");
  expect([first, second, more]).toMatchObject([{ status: 302 }, { status: 302 }, []]);
  expect(second?.["request"]).not.toBe(first?.["request"]);
  expect(ofRequest(String(first?.["request"])).map(({ msg }) => msg)).toContain("statement");
  expect(stderr).not.toContain("secret.example");
  expect(stderr).not.toContain(key);
});

test("a row of a job is known as the call that applied it, down to the service", async () => {
  await using folder = await createFolder();
  await using serving = await startServe(folder.path, ["--log", "debug"]);
  const { places, key } = serving;
  const rows = [{ path: "one", url: "https://a.example" }];
  const planned = await post(
    places.mcp,
    modernCall(key, 1, "plan_links", { operation: "upsert", rows }),
  );
  const { plan } = JSON.parse(planned.text).result.structuredContent;
  const call = modernCall(key, 2, "apply_plan", { plan_id: plan.id });
  await post(places.mcp, { ...call, headers: { ...call.headers, [header]: "of-the-job" } });
  const { stderr } = await serving.stop();
  const lines = stderr.split("\n").filter((line) => line.startsWith("{"));
  const logged = lines.map((line): Record<string, unknown> => JSON.parse(line));
  const named = { msg: "request", request: "of-the-job", method: "POST", route: "/links/upsert" };
  expect(logged).toContainEqual(expect.objectContaining({ ...named, status: 201 }));
});

test("a deployment elsewhere is told the id of the call of a tool", async () => {
  const seen: unknown[] = [];
  await using deployment = await startDeployment((request, response) => {
    seen.push(request.headers[header]);
    return answerEmpty(request, response);
  });
  await using folder = await createFolder();
  const env = {
    WAYPOST_BASE_URL: deployment.url,
    WAYPOST_API_KEY: "its-own-key",
    WAYPOST_PROBE: "off",
  };
  await using serving = await startServe(folder.path, [], { env });
  const call = modernCall(serving.key, 1, "list_links");
  await post(serving.places.mcp, { ...call, headers: { ...call.headers, [header]: "through-us" } });
  expect(seen).toContain("through-us");
});
