import { describe, expect, test } from "vitest";
import { decideInTab, openTab } from "../../support/browser.ts";
import { createGate } from "../../support/clock.ts";
import { connectV1, connectV2, type ClientSetup, type Verdict } from "../../support/mcp-clients.ts";
import { openTestServer, type TestServer, type Tenant } from "../../support/mcp-http.ts";
import { openForAll } from "../../support/open-for.ts";

/** Tests the built command with official clients that open the page in a real browser. */

let testServer: TestServer;
openForAll(openTestServer, (opened) => (testServer = opened));

const clients = {
  "the 1.x client": connectV1,
  "the 2.x client": (given: ClientSetup) => connectV2({ ...given, era: "modern" }),
};
// Object.keys returns strings, but these are exactly the keys above.
const names = Object.keys(clients) as (keyof typeof clients)[];

const ways = {
  stdio: ({ key }: Tenant) => ({
    transport: "stdio" as const,
    data: testServer.data,
    env: { WAYPOST_API_KEY: key },
  }),
  HTTP: ({ key }: Tenant) => ({
    transport: "http" as const,
    url: testServer.serving.places.mcp,
    token: key,
  }),
};

async function decide(url: string, decision: "approve" | "decline"): Promise<void> {
  const tab = await openTab();
  expect(await decideInTab(tab, url, decision)).toContain('Delete the link "spring"');
}

describe.each(["stdio", "HTTP"] as const)("an approval page opened over %s", (way) => {
  test.each(names)(
    "a call from %s continues once the user answers on the approval page",
    async (name) => {
      const tenant = await testServer.addTenant();
      const decisions = ["decline", "approve"] as const;
      const opened: string[] = [];
      const pressed: Promise<void>[] = [];
      const open = (url: string): Verdict => {
        const decision = decisions[opened.length] ?? "decline";
        opened.push(url);
        // The client replies while the user is still reading.
        pressed.push(decide(url, decision));
        return { action: "accept" };
      };
      await using client = await clients[name]({ ...ways[way](tenant), open });
      await client.callTool("create_link", { path: "spring" });

      const declined = await client.callTool("delete_link", { id: "spring" });
      expect(declined.structured.error).toMatchObject({ code: "approval_declined" });
      const deleted = await client.callTool("delete_link", { id: "spring" });
      expect(deleted.structured.deleted).toMatchObject({ path: "spring" });

      await Promise.all(pressed);
      expect(new Set(opened).size).toBe(2);
    },
  );

  test.each(names)("%s can disconnect while a call waits for approval", async (name) => {
    const tenant = await testServer.addTenant();
    const opened = createGate();
    const open = (): Verdict => {
      opened.open();
      return { action: "accept" };
    };
    await using client = await clients[name]({ ...ways[way](tenant), open });
    await client.callTool("create_link", { path: "spring" });
    const left = expect(client.callTool("delete_link", { id: "spring" })).rejects.toThrow();
    await opened.opened;
    // Over stdio, closing the client also ends the process.
    await client.close();
    await left;
  });
});
