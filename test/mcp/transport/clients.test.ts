import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { connectV1, connectV2, type ClientSetup } from "../../support/mcp-clients.ts";
import {
  addLimitedTenant,
  createPerson,
  expectFailure,
  runAcceptance,
  runOnce,
} from "./mcp-flow.ts";
import { openTestServer, type TestServer, type Tenant } from "../../support/mcp-http.ts";
import { connectAiSdk, connectThroughBridge, openInspector } from "./mcp-other-clients.ts";
import { openForAll } from "../../support/open-for.ts";

/** Runs the acceptance test with every client over stdio and HTTP. */

let testServer: TestServer;
openForAll(openTestServer, (opened) => (testServer = opened));

const clients = {
  "the 1.x client": connectV1,
  "the 2.x client in 2026-07-28": (given: ClientSetup) => connectV2({ ...given, era: "modern" }),
  "the 2.x client that negotiates": (given: ClientSetup) => connectV2({ ...given, era: "auto" }),
  "the 2.x client in an earlier revision": (given: ClientSetup) =>
    connectV2({ ...given, era: "legacy" }),
  "the AI SDK's client": connectAiSdk,
};
const overHttp = {
  ...clients,
  "the 1.x client behind mcp-remote": (given: ClientSetup) =>
    // The mcp-remote bridge connects only over HTTP.
    connectThroughBridge(given as Parameters<typeof connectThroughBridge>[0]),
};
type Name = keyof typeof overHttp;

const describeStdio = ({ key }: Tenant) => ({
  transport: "stdio" as const,
  data: testServer.data,
  env: { WAYPOST_API_KEY: key },
});
const describeHttp = ({ key }: Tenant) => ({
  transport: "http" as const,
  url: testServer.serving.places.mcp,
  token: key,
});

describe.concurrent.each([
  ["stdio", describeStdio, Object.keys(clients)],
  ["HTTP", describeHttp, Object.keys(overHttp)],
] as const)("the MCP server over %s", (transport, describeWay, names) => {
  if (transport === "HTTP") {
    // This test is the slowest, so start it first.
    test("the MCP Inspector passes the acceptance test with approval pages", async () => {
      const tenant = await addLimitedTenant(testServer);
      const client = openInspector(describeHttp(tenant));
      await runOnce(client, tenant, createPerson({ hasForm: false }));
    });

    test("a client that never finishes sending its headers is disconnected", async () => {
      const socket = connect(Number(new URL(testServer.serving.places.mcp).port), "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
      const dribble = setInterval(() => socket.write("X-More: 1\r\n"), 500);
      await once(socket.resume(), "close");
      clearInterval(dribble);
    });
  }

  // Object.keys returns strings, but these are exactly the keys of the objects above.
  test.each(names as Name[])("%s passes the acceptance test with approval forms", async (name) => {
    await expectAcceptance(name, true);
  });

  const formless: Name = transport === "stdio" ? "the 1.x client" : "the 2.x client in 2026-07-28";
  test(`${formless} passes the acceptance test with approval pages instead of forms`, async () => {
    await expectAcceptance(formless, false);
  });

  async function expectAcceptance(name: Name, hasForm: boolean): Promise<void> {
    const tenant = await addLimitedTenant(testServer);
    const person = createPerson({ hasForm });
    const elicit = person.elicit && { elicit: person.elicit };
    await using client = await overHttp[name]({ ...describeWay(tenant), ...elicit });
    await runAcceptance(client, tenant, person);
    await tenant.revoke();
    if (transport === "HTTP") {
      // Over HTTP, the revoked key is also the token of the connection.
      await expect(client.callTool("list_links")).rejects.toThrow();
    } else {
      await expectFailure(client, "list_links", {}, "key_invalid", { status: 401 });
      expect((await client.callTool("explain_access")).isError).toBe(false);
    }
  }
});
