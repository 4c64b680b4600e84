import { describe, expect, test } from "vitest";
import { startBalancer, stickToSessions, connectTo, startTwo } from "./two-servers.ts";
import { run } from "../support/command.ts";
import { visit } from "../support/listening.ts";
import { approve, connectV1, connectV2 } from "../support/mcp-clients.ts";
import { decideOnPage, post, withSession, handshake } from "../support/mcp-http.ts";
import { waitUntil } from "../support/clock.ts";

/** Two `serve` processes with the same data: what happens at one must be valid at the other. */

const spring = { path: "spring", url: "https://example.com/spring" };
const listTools = { jsonrpc: "2.0", id: 2, method: "tools/list" };

describe("two servers with the same data", () => {
  test("add their visits to the same click counts", async () => {
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

  test("allow one call per approval, whichever server the approval was given on", async () => {
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

  test("notify clients when another process changes the list of tools", async () => {
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
});

describe("a session that uses an earlier MCP revision", () => {
  test("stays with one process behind a sticky proxy, even for forms and streams", async () => {
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

  test("gets a 404 from every process except the one that started the session", async () => {
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
