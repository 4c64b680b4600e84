import { describe, expect, test } from "vitest";
import { startBalancer, stickToSessions, connectTo, makeKey, startTwo } from "./two-servers.ts";
import { run } from "../support/command.ts";
import { visit } from "../support/listening.ts";
import { approve, connectV1, connectV2 } from "../support/mcp-clients.ts";
import { decideOnPage, post, withSession, handshake } from "../support/mcp-http.ts";
import { isOnPostgres } from "../support/store-place.ts";
import { waitUntil } from "../support/clock.ts";

/**
 * Two `serve` processes with the same data, and clients that switch between them. What happens at
 * one process must be valid at the other.
 */

const spring = { path: "spring", url: "https://example.com/spring" };
const listTools = { jsonrpc: "2.0", id: 2, method: "tools/list" };

/** On PostgreSQL, postgres-switching.test.ts covers these cases. */
const isCovered = isOnPostgres;

describe("two servers with the same data", () => {
  test.skipIf(isCovered)("serve a client that switches servers with every call", async () => {
    await using two = await startTwo();
    await using client = await two.connect();
    expect((await client.callTool("create_link", spring)).isError).toBe(false);
    for (let times = 0; times < 4; times += 1) {
      const { structured } = await client.callTool("get_link", { id: "spring" });
      expect(structured.link.url).toBe(spring.url);
    }
    const changes = await client.callTool("list_changes");
    expect(changes.structured.changes).toHaveLength(1);
  });

  test("add up the visits to both servers", async () => {
    await using two = await startTwo();
    await using client = await connectTo(two.one);
    const { structured } = await client.callTool("create_link", spring);
    for (const { places } of [two.one, two.other]) {
      const address = new URL(structured.link.address);
      address.port = new URL(places.url).port;
      await waitUntil(async () => (await visit(address.href))?.status === 302);
    }
    await waitUntil(async () => {
      const { structured: got } = await client.callTool("get_link", { id: "spring" });
      return got.link.clicks === 2;
    });
  });

  test("accept an approval from the other server's page, but only once", async () => {
    await using two = await startTwo();
    await using here = await connectTo(two.one);
    await using there = await connectTo(two.other);
    await here.callTool("create_link", spring);
    const asked = await here.callTool("delete_link", { id: "spring" });
    const page = new URL(asked.structured.error.approval.url);
    page.port = new URL(two.other.places.url).port;
    await decideOnPage(page.href, "approve");
    const both = await Promise.all(
      [here, there].map((client) => client.callTool("delete_link", { id: "spring" })),
    );
    expect(both.filter(({ isError }) => !isError)).toHaveLength(1);
    expect((await here.callTool("get_link", { id: "spring" })).isError).toBe(true);
  });

  test("notify clients that the list of tools has changed, whichever server changed it", async () => {
    await using two = await startTwo();
    const { places, key } = two.one;
    const listening = { transport: "http", url: places.mcp, token: key, watches: true } as const;
    await using modern = await connectV2(listening);
    await using earlier = await connectV1(listening);
    expect(await modern.listNames()).toContain("save_template");
    await earlier.listNames();
    const words = ["projects", "update", "default", "--templates", "off", "--data", two.data];
    expect(await run(words, { env: two.env })).toMatchObject({ code: 0 });
    await Promise.all([modern.untilChanged(), earlier.untilChanged()]);
    expect(await modern.listNames()).not.toContain("save_template");
  });

  test.skipIf(isCovered)("can undo a change that was made through the other server", async () => {
    await using two = await startTwo();
    await using here = await connectTo(two.one);
    await using there = await connectTo(two.other);
    await here.callTool("create_link", { ...spring, name: "before" });
    await here.callTool("update_link", { id: "spring", name: "after" });
    expect((await there.callTool("undo")).isError).toBe(false);
    const { structured } = await here.callTool("get_link", { id: "spring" });
    expect(structured.link.name).toBe("before");
  });

  test.skipIf(isCovered)(
    "resume a killed server's job when apply_plan is called again",
    async () => {
      await using two = await startTwo();
      const key = await makeKey(two, ["--project", "default"]);
      await using here = await connectTo({ ...two.one, key });
      const rows = Array.from({ length: 60 }, (_, row) => ({
        path: `row-${row}`,
        url: `https://example.com/${row}`,
      }));
      const planned = await here.callTool("plan_links", { operation: "upsert", rows });
      const { id: plan_id } = planned.structured.plan;
      const applying = here.callTool("apply_plan", { plan_id }).catch(() => undefined);
      const { call } = two.other;
      const asOwner = { key: two.one.key };
      const count = async () => (await call("GET", "/links?limit=1", asOwner)).body.meta.count;
      await waitUntil(async () => (await count()) > 2);
      await two.one.stop("SIGKILL");
      await applying;
      expect(await count()).toBeLessThan(60);
      await using there = await connectTo({ ...two.other, key });
      const apply = async () => (await there.callTool("apply_plan", { plan_id })).structured.job;
      // The call first waits for the lease of the killed process.
      await waitUntil(async () => (await apply()).state === "done");
      const counts = { done: 60, rejected: 0, unknown: 0, left: 0 };
      expect(await apply()).toMatchObject({ plan_id, counts });
      const { structured: listed } = await there.callTool("list_links", { limit: 100 });
      expect(listed.links).toHaveLength(60);
    },
  );
});

describe("a session that uses an earlier MCP revision", () => {
  test("stays with its process behind a sticky proxy, even for forms and streams", async () => {
    await using two = await startTwo();
    const targets = [two.one.places.url, two.other.places.url];
    await using proxy = await startBalancer(stickToSessions(targets));
    // The proxy opens the first session at one process and the second one at the other.
    for (const path of ["spring", "summer"]) {
      const asked: string[] = [];
      const elicit = (message: string) => {
        asked.push(message);
        return approve();
      };
      const url = `${proxy.url}/mcp`;
      await using client = await connectV1({ transport: "http", url, token: two.one.key, elicit });
      expect((await client.listNames()).length).toBeGreaterThan(20);
      await client.callTool("create_link", { ...spring, path });
      expect((await client.callTool("delete_link", { id: path })).isError).toBe(false);
      expect(asked).toHaveLength(1);
    }
  });

  test("is unknown to every other process, so the client initializes a new session", async () => {
    await using two = await startTwo();
    const { one, other } = two;
    const opened = await post(one.places.mcp, withSession(one.key, undefined, handshake[0]));
    const id = String(opened.headers["mcp-session-id"]);
    expect((await post(one.places.mcp, withSession(one.key, id, listTools))).status).toBe(200);
    const elsewhere = await post(other.places.mcp, withSession(one.key, id, listTools));
    expect(elsewhere.status).toBe(404);
    // The 404 did not end the session.
    expect((await post(one.places.mcp, withSession(one.key, id, listTools))).status).toBe(200);

    await one.stop("SIGKILL");
    expect((await post(other.places.mcp, withSession(one.key, id, listTools))).status).toBe(404);
    const again = await post(other.places.mcp, withSession(one.key, undefined, handshake[0]));
    const next = String(again.headers["mcp-session-id"]);
    expect((await post(other.places.mcp, withSession(one.key, next, listTools))).status).toBe(200);
  });
});
