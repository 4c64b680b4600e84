import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createFolder, startServe, type Folder } from "../support/command.ts";
import { approve, connectV1, connectV2, callDone, callRefused } from "../support/mcp-clients.ts";
import { modernCall, post } from "../support/mcp-http.ts";
import { visit } from "../support/listening.ts";
import { measured, parseSeries, readSeries, scrape, token, type Series } from "./scrape.ts";
import { openForEach } from "../support/open-for.ts";

/** The metrics of `waypost serve`, which need a token. */

let folder: Folder;
openForEach(createFolder, (opened) => (folder = opened));

describe("GET /metrics", () => {
  test("returns 404 if no token is set", async () => {
    await using serving = await startServe(folder.path);
    for (const given of [null, token, serving.key]) {
      expect((await scrape(serving, given)).status).toBe(404);
    }
  });

  test("accepts only the metrics token, not an API key", async () => {
    await using serving = await startServe(folder.path, [], measured);
    for (const given of [null, "", "scraper-of-our", `${token}s`, serving.key]) {
      const { status, headers, text } = await scrape(serving, given);
      expect([given, status, headers["www-authenticate"]]).toEqual([given, 401, "Bearer"]);
      expect(text).not.toContain(token);
    }
    const { status, headers, text } = await scrape(serving);
    expect([status, headers["content-type"]]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
    ]);
    expect(text).toContain("process_resident_memory_bytes ");
    const { url } = serving.places;
    const posted = await post(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    expect(posted.status).toBe(405);
    // A link host has no metrics, but may have a link with that path.
    const { port } = new URL(url);
    expect(await visit(`http://default.localhost:${port}/metrics`)).toMatchObject({ status: 404 });
  });

  test("works on a gateway that reads its metrics token from a file", async () => {
    const file = `${folder.path}-token`;
    writeFileSync(file, `${token}\n`);
    const env = { WAYPOST_METRICS_TOKEN_FILE: file, WAYPOST_BASE_URL: "https://links.example" };
    await using serving = await startServe(folder.path, [], { env });
    const values = await readSeries(serving);
    expect(values.get('waypost_mcp_connections{kind="sessions"}')).toBe(0);
    const clicks = [...values.keys()].filter((name) => name.startsWith("waypost_clicks_total"));
    expect(clicks).toEqual([]);
  });
});

test("the metrics count requests by route and status, and 429s by rate limit", async () => {
  await using serving = await startServe(folder.path, [], measured);
  await serving.call("POST", "/links", { body: { path: "one", url: "https://example.com" } });
  await serving.call("POST", "/links", { body: { path: "one" } });
  await serving.call("GET", "/links/one");
  await serving.call("GET", "/links/two");
  for (const path of ["/nothing", "/links/one/two/three"]) await serving.call("GET", path);
  const resolve = "/short_links/resolve?url=https://example.com";
  for (let count = 0; count < 1201; count += 1) await serving.call("POST", resolve, { key: null });
  const { key, places } = serving;
  for (const shown of [key, "wrong", "none"]) {
    await post(places.mcp, modernCall(shown, 1, "list_links"));
  }
  const values = await readSeries(serving);
  expect(readAll(values, "waypost_mcp_requests_total")).toEqual({
    'status="2xx"': 1,
    'status="4xx"': 2,
  });
  expect(readAll(values, "waypost_requests_total")).toMatchObject({
    'route="POST /links",status="2xx"': 1,
    'route="POST /links",status="4xx"': 1,
    'route="GET /links/:id",status="4xx"': 2,
    'route="other",status="4xx"': 2,
  });
  expect(values.get('waypost_request_seconds_count{route="POST /links"}')).toBe(2);
  expect(values.get('waypost_budget_refusals_total{budget="address"}')).toBe(1);
  expect(values.get('waypost_store_commits_total{store="links"}')).toBeGreaterThan(1);
});

test("the metrics count tool calls, approvals, jobs, clicks and sessions", async () => {
  await using serving = await startServe(folder.path, [], measured);
  const url = serving.places.mcp;
  const way = { transport: "http", url, token: serving.key } as const;
  const person = await connectV2({ ...way, elicit: approve });
  const alone = await connectV1(way);
  const { link } = await callDone(person, "create_link", { path: "one", url: "https://a.example" });
  await callDone(person, "get_link", { id: "one" });
  await callRefused(person, "get_link", { id: "two" });
  await callRefused(person, "get_link", { colour: "red" });
  const { port } = new URL(serving.places.url);
  await visit(`http://default.localhost:${port}/one`);
  const rows = [{ path: "two", url: "https://a.example" }];
  const { plan } = await callDone(person, "plan_links", { operation: "upsert", rows });
  await callDone(person, "apply_plan", { plan_id: plan.id });
  await callRefused(alone, "delete_link", { id: link.id });
  await callDone(person, "delete_link", { id: link.id });
  const values = await readSeries(serving);
  expect(readAll(values, "waypost_tool_calls_total")).toMatchObject({
    'tool="create_link",outcome="ok"': 1,
    'tool="get_link",outcome="ok"': 1,
    'tool="get_link",outcome="not_found"': 1,
    'tool="get_link",outcome="invalid_arguments"': 1,
    'tool="delete_link",outcome="approval_required"': 1,
    'tool="delete_link",outcome="asked"': 1,
    'tool="delete_link",outcome="ok"': 1,
  });
  expect(values.get('waypost_tool_call_seconds_count{tool="get_link"}')).toBe(3);
  expect(readAll(values, "waypost_approvals_total")).toEqual({
    'outcome="asked"': 2,
    'outcome="given"': 1,
    'outcome="refused"': 0,
    'outcome="expired"': 0,
  });
  expect(readAll(values, "waypost_jobs_ended_total")).toMatchObject({ 'state="done"': 1 });
  expect(values.get('waypost_clicks_total{state="counted"}')).toBe(1);
  expect(values.get('waypost_visits_total{status="3xx"}')).toBe(1);
  expect(values.get('waypost_mcp_connections{kind="sessions"}')).toBe(1);
  expect(values.get('waypost_store_commits_total{store="state"}')).toBeGreaterThan(1);
  await alone.close();
  await person.close();
});

test("the metrics contain no secrets and no labels taken from requests", async () => {
  await using serving = await startServe(folder.path, [], measured);
  const { places, key } = serving;
  const { port } = new URL(places.url);
  const ask = async (mark: string) => {
    await post(places.mcp, modernCall(key, 1, `tool_${mark}`, { [mark]: mark }));
    await post(places.mcp, modernCall(key, 2, "get_link", { id: mark }));
    await serving.call("GET", `/links/${mark}`);
    await fetch(`${places.url}/${mark}`, { method: "PROPFIND", headers: { [mark]: mark } });
    await visit(`http://default.localhost:${port}/${mark}`);
    await visit(`http://${mark}.localhost:${port}/`);
  };
  await ask("stranger-0");
  const before = listOwn(await readSeries(serving));
  for (let count = 1; count < 20; count += 1) await ask(`stranger-${count}`);
  const { text } = await scrape(serving);
  expect(listOwn(parseSeries(text))).toEqual(before);
  expect(before).toContain('waypost_tool_calls_total{tool="other",outcome="not_offered"}');
  for (const secret of ["stranger", token, key, folder.path]) expect(text).not.toContain(secret);
});

function listOwn(values: Series): readonly string[] {
  return [...values.keys()].filter((name) => name.startsWith("waypost_"));
}

function readAll(values: Series, name: string): Record<string, number> {
  const own = [...values].filter(([series]) => series.startsWith(`${name}{`));
  return Object.fromEntries(
    own.map(([series, value]) => [series.slice(name.length + 1, -1), value]),
  );
}
