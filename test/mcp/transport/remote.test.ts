import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createUsedFolder, startServe } from "../../support/command.ts";
import { connectV1, connectV2, type ToolClient } from "../../support/mcp-clients.ts";
import { answerEmpty, startDeployment } from "../../support/remote.ts";
import {
  addLimitedTenant,
  approveIfOnPage,
  createPerson,
  expectFailure,
  type Person,
  runAcceptance,
} from "./mcp-flow.ts";
import {
  openTestServer,
  type TestServer,
  modernCall,
  post,
  type Tenant,
} from "../../support/mcp-http.ts";
import { openForAll } from "../../support/open-for.ts";

/** Tests that another Waypost can be the remote server, and that its key stays secret. */

let testServer: TestServer;
openForAll(openTestServer, (opened) => (testServer = opened));

const scopes = "links.index,links.show,links.create,links.destroy,ios_apps.index,ios_apps.create";

describe.concurrent("another Waypost as the remote server", () => {
  test("a 1.x SDK client passes the acceptance test over stdio, with approval forms", async () => {
    await using folder = await createUsedFolder();
    const tenant = await addLimitedTenant(testServer);
    const person = createPerson({ hasForm: true });
    const elicit = person.elicit && { elicit: person.elicit };
    const env = { ...aim(tenant.key), WAYPOST_SCOPES: scopes };
    const given = { transport: "stdio", data: folder.path, env, ...elicit } as const;
    await using client = await connectV1(given);
    await expectAcceptance(client, tenant, person);
  });

  test("a tool is hidden once a call to the tool is rejected for a missing scope", async () => {
    await using folder = await createUsedFolder();
    const { key } = await testServer.addTenant({ scopes: ["links.index", "links.show"] });
    await using gateway = await openGateway(aim(key));
    const { places, key: token } = gateway.serving;
    for (const open of [
      () => connectV1({ transport: "stdio", data: folder.path, env: aim(key), watches: true }),
      () => connectV2({ transport: "http", url: places.mcp, token, watches: true }),
    ]) {
      await using client: ToolClient = await open();
      expect(await client.listNames()).toContain("create_link");
      // No probe creates a link, so only a call reveals the missing scope.
      await expectFailure(client, "create_link", {}, "scope_missing", { status: 401 });
      await client.untilChanged(1);
      const names = await client.listNames();
      expect(names).not.toContain("create_link");
      expect(names).toContain("list_links");
    }
  });
});

describe.concurrent("the gateway's token", () => {
  test("is created in a private file on first start, and local clients must send it", async () => {
    const { key } = await testServer.addTenant();
    await using gateway = await openGateway(aim(key));
    const { places, key: token } = gateway.serving;
    const file = join(gateway.data, "http.token");
    expect(readFileSync(file, "utf8")).toBe(`${token}\n`);
    expect([statSync(file).mode & 0o777, statSync(gateway.data).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
    const ask = async (shown: string) => {
      const { headers, body } = modernCall(shown, 1, "list_links");
      return post(places.mcp, { headers, body });
    };
    expect((await ask(token)).status).toBe(200);
    // The operator's own key is not accepted either.
    for (const wrong of [key, `${token}x`, token.slice(0, -1), token.toUpperCase()]) {
      expect((await ask(wrong)).status).toBe(401);
    }
    const { headers, body } = modernCall(token, 1, "list_links");
    const { authorization: _, ...none } = headers;
    expect((await post(places.mcp, { headers: none, body })).status).toBe(401);
    await gateway.serving.stop();
    await using again = await startServe(gateway.data, [], { env: aim(key) });
    expect(again.key).toBe(token);
  });

  test.each(["a variable", "a file"])("is not generated if %s provides a token", async (by) => {
    await using folder = await createUsedFolder();
    const file = `${folder.path}.token`;
    writeFileSync(file, "a-token-of-our-own\n");
    const given =
      by === "a file"
        ? { WAYPOST_HTTP_TOKEN_FILE: file }
        : { WAYPOST_HTTP_TOKEN: "a-token-of-our-own" };
    const { key } = await testServer.addTenant();
    const env = { ...aim(key), ...given };
    await using serving = await startServe(folder.path, [], { env });
    expect(readdirSync(folder.path)).not.toContain("http.token");
    const { headers, body } = modernCall("a-token-of-our-own", 1, "list_links");
    expect((await post(serving.places.mcp, { headers, body })).status).toBe(200);
  });

  test("gives no access to a REST API, because a gateway has none", async () => {
    const { key } = await testServer.addTenant();
    await using gateway = await openGateway(aim(key));
    const { places, key: token } = gateway.serving;
    expect(places.api).toBe(`${testServer.serving.places.url}/api/v1`);
    for (const path of ["/api/v1/links", "/", "/spring"]) {
      const headers = { authorization: `Token ${token}` };
      expect((await fetch(places.url + path, { headers })).status).toBe(404);
    }
    expect((await fetch(`${places.url}/healthz`)).status).toBe(200);
  });
});

describe.concurrent("the operator's key", () => {
  test("never appears in results or logs, even if the remote server returns it", async () => {
    const key = "canary-1234567890";
    await using parrot = await startDeployment((request, response) => {
      response.writeHead(401, { "content-type": "application/json", "x-key": key });
      response.end(JSON.stringify({ error: `${request.headers.authorization} is invalid` }));
    });
    const env = { WAYPOST_BASE_URL: parrot.url, WAYPOST_API_KEY: key, WAYPOST_LOG: "debug" };
    await using gateway = await openGateway(env);
    const { places, key: token, stop } = gateway.serving;
    await using client = await connectV2({ transport: "http", url: places.mcp, token });
    for (const name of ["list_links", "explain_access", "list_ios_apps", "create_link"]) {
      expect((await client.callTool(name)).text).not.toContain(key);
    }
    expect(parrot.requests[0]?.headers.authorization).toBe(`Token ${key}`);
    const { stdout, stderr } = await stop();
    expect(stdout + stderr).not.toContain(key);
  });

  test("is never read from owner.key in the data folder", async () => {
    await using folder = await createUsedFolder();
    const file = join(folder.path, "owner.key");
    writeFileSync(file, `waypost_${"a".repeat(40)}\n`);
    chmodSync(file, 0o600);
    await using deployment = await startDeployment(answerEmpty);
    const env = { WAYPOST_BASE_URL: deployment.url };
    const short = { url: "https://go.example/x" };
    await using client = await connectV1({ transport: "stdio", data: folder.path, env });
    await client.callTool("resolve_short_link", short);
    await expectFailure(client, "list_links", {}, "key_missing");
    await using serving = await startServe(folder.path, [], { env });
    const { mcp: url } = serving.places;
    await using caller = await connectV1({ transport: "http", url, token: serving.key });
    await caller.callTool("resolve_short_link", short);
    await expectFailure(caller, "list_links", {}, "key_missing");
    expect(deployment.requests.length).toBeGreaterThan(1);
    for (const { headers } of deployment.requests) expect(headers.authorization).toBeUndefined();
  });
});

test("if probes are turned off, the remote server gets no request before a tool call", async () => {
  await using folder = await createUsedFolder();
  await using deployment = await startDeployment(answerEmpty);
  const remote = { WAYPOST_BASE_URL: deployment.url, WAYPOST_API_KEY: "some-key" };
  const env = { ...remote, WAYPOST_PROBE: "off" };
  await using gateway = await openGateway(env);
  const { places, key: token } = gateway.serving;
  const stdio = await connectV1({ transport: "stdio", data: folder.path, env });
  const http = await connectV2({ transport: "http", url: places.mcp, token, watches: true });
  const clients: readonly (ToolClient & { client: object })[] = [stdio, http];
  for (const { client } of [stdio, http]) {
    await client.listTools();
    await client.listPrompts();
    await client.listResources();
    await client.listResourceTemplates();
    await client.readResource({ uri: "ui://waypost/page-template" });
  }
  expect(deployment.connections()).toBe(0);
  for (const client of clients) await client.callTool("list_links");
  expect(deployment.connections()).toBeGreaterThanOrEqual(2);
  for (const client of clients) await client.close();
});

async function expectAcceptance(client: ToolClient, tenant: Tenant, person: Person) {
  // Waits for the reads that show what the key may do, or they would see the role of a viewer.
  await client.callTool("explain_access");
  await tenant.setRole("viewer");
  await learnRole(client, person);
  await tenant.setRole("manager");
  await runAcceptance(client, tenant, person);
  await tenant.revoke();
  await expectFailure(client, "list_links", {}, "key_invalid", { status: 401 });
}

/** Makes a call that is rejected, because only this shows that a role is missing. */
async function learnRole(client: ToolClient, person: Person): Promise<void> {
  const app = { bundle_id: "com.example.app", team_id: "ABCDE12345" };
  await approveIfOnPage(client, person, "register_ios_app", app);
  await expectFailure(client, "register_ios_app", app, "role_required");
  person.asked.length = 0;
}

function aim(key: string): Record<string, string> {
  return { WAYPOST_BASE_URL: testServer.serving.places.url, WAYPOST_API_KEY: key };
}

async function openGateway(env: Readonly<Record<string, string>>) {
  const folder = await createUsedFolder();
  const serving = await startServe(folder.path, [], { env });
  return {
    data: folder.path,
    serving,
    [Symbol.asyncDispose]: async () => {
      await serving.stop("SIGKILL");
      await folder[Symbol.asyncDispose]();
    },
  };
}
