import { readdirSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createHttpServer } from "../../../src/app/http/http-server.ts";
import { untilSeen } from "../../support/command.ts";
import { connectV1 } from "../../support/mcp-clients.ts";
import {
  openTestServer,
  type TestServer,
  type Tenant,
  modernCall,
  post,
} from "../../support/mcp-http.ts";
import { openForAll } from "../../support/open-for.ts";

/** Tests which requests `/mcp` accepts. */

let testServer: TestServer;
let tenant: Tenant;
openForAll(openTestServer, async (opened) => {
  testServer = opened;
  tenant = await testServer.addTenant();
});

describe("/mcp", () => {
  // Pairs of a value and whether it is allowed. `*` represents the port.
  const hosts = [
    ["127.0.0.1:*", true],
    ["localhost:*", true],
    ["LOCALHOST", true],
    ["[::1]:*", true],
    ["evil.example", false],
    ["127.0.0.1.evil.example:*", false],
    ["localhost.evil.example", false],
    ["evil.example@localhost", false],
    ["10.0.0.1:*", false],
  ] as const;
  const origins = [
    [undefined, true],
    ["http://127.0.0.1:*", true],
    ["http://localhost:3000", true],
    ["null", false],
    ["http://evil.example", false],
    ["https://localhost.evil.example", false],
    ["http://default.localhost:*", false],
    ["file://", false],
    ["chrome-extension://localhost.evil", false],
  ] as const;
  const types = [
    ["application/json", true],
    ["application/json; charset=utf-8", true],
    ["text/plain", false],
    ["application/x-www-form-urlencoded", false],
    ["multipart/form-data; boundary=application/json", false],
    [undefined, false],
  ] as const;
  const tokens = [
    ["Bearer KEY", true],
    ["bearer  KEY", true],
    [undefined, false],
    ["Token KEY", false],
    ["Bearer KEY, KEY", false],
    ["Bearer waypost_0000000000000000000000000000000000000000", false],
    ["Basic KEY", false],
    ["KEY", false],
  ] as const;
  const cells = hosts.flatMap((host) =>
    origins.flatMap((origin) =>
      types.flatMap((type) => tokens.map((token) => [host, origin, type, token] as const)),
    ),
  );

  test("accepts only the allowed hosts, origins, content types and tokens", async () => {
    const { mcp } = testServer.serving.places;
    const { port } = new URL(mcp);
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const wrong: unknown[] = [];
    const admitted: string[] = [];
    expect(cells.length).toBeGreaterThan(200);
    await Promise.all(
      cells.map(async ([host, origin, type, token], index) => {
        const path = `cell-${index}`;
        const { headers, body } = modernCall(tenant.key, 1, "create_link", { path });
        const given = [
          ["host", host[0].replace("*", port)],
          ["origin", origin[0]?.replace("*", port)],
          ["content-type", type[0]],
          ["authorization", token[0]?.replaceAll("KEY", tenant.key)],
        ].filter(([, value]) => value !== undefined);
        const { authorization: _, "content-type": __, ...rest } = headers;
        const all = { ...rest, ...Object.fromEntries(given) };
        // A key in the query must never be accepted as a token.
        const url = `${mcp}?api_key=${tenant.key}`;
        const { status, text } = await post(url, { headers: all, body, agent });
        const isNear = host[1] && origin[1];
        const wanted = !isNear ? 403 : !token[1] ? 401 : type[1] ? 200 : 415;
        // A Host header with more than a name and a port is malformed.
        const isAsWanted = status === wanted || (host[0].includes("@") && status === 400);
        if (!isAsWanted) wrong.push({ status, wanted, all });
        if (wanted !== 200) expect(text).not.toContain(tenant.key);
        if (status === 200) admitted.push(path);
      }),
    );
    agent.destroy();
    expect(wrong).toEqual([]);
    expect(admitted).toHaveLength(4 * 3 * 2 * 2);
    // The rejected requests must not have changed anything.
    await using client = await connectV1({ transport: "http", url: mcp, token: tenant.key });
    const { structured } = await client.callTool("list_links", { limit: 1 });
    expect(structured.meta.count).toBe(admitted.length);
  });

  test("is not available on a host that serves links", async () => {
    const { headers, body } = modernCall(tenant.key, 1, "list_links");
    const host = `default.localhost:${new URL(testServer.serving.places.mcp).port}`;
    const answer = await post(testServer.serving.places.mcp, {
      headers: { ...headers, host },
      body,
    });
    // A host that serves links allows only reading methods.
    expect(answer.status).toBe(405);
  });

  test.each(["OPTIONS", "PUT", "HEAD", "PATCH"])("rejects the method %s", async (method) => {
    const { headers } = modernCall(tenant.key, 1, "list_links");
    const { authorization: _, ...stranger } = headers;
    const { mcp } = testServer.serving.places;
    const origin = new URL(mcp).origin;
    const unknown = await post(mcp, { method, headers: { ...stranger, origin } });
    expect([unknown.status, unknown.headers["access-control-allow-origin"]]).toEqual([
      401,
      undefined,
    ]);
    expect((await post(mcp, { method, headers })).status).toBe(405);
  });

  test("returns different errors for a missing token and a wrong token", async () => {
    const { headers, body } = modernCall("wrong", 1, "list_links");
    const { mcp } = testServer.serving.places;
    const wrong = await post(mcp, { headers, body });
    expect(wrong.headers["www-authenticate"]).toBe('Bearer error="invalid_token"');
    const { authorization: _, ...none } = headers;
    const missing = await post(mcp, { headers: none, body });
    expect(missing.headers["www-authenticate"]).toBe("Bearer");
    expect(JSON.parse(missing.text).error.message).toContain("Authorization: Bearer <token>");
  });

  test("rejects a client key with the same message as the REST API", async () => {
    const { headers, body } = modernCall(`waypost_client_${"2".repeat(40)}`, 1, "list_links");
    const { mcp, api } = testServer.serving.places;
    const rest = await post(`${api}/links`, { method: "GET", headers });
    const refused = await post(mcp, { headers, body });
    expect([rest.status, refused.status]).toEqual([401, 401]);
    const { message } = JSON.parse(refused.text).error;
    expect(message).toBe(JSON.parse(rest.text).error);
    expect(message).toContain("a client key works only for");
    expect(refused.headers["www-authenticate"]).toBe('Bearer error="invalid_token"');
  });
});

describe.concurrent("a request body", () => {
  const mebibyte = 1024 * 1024;

  test.each<[what: string, body: string | readonly string[], status: number]>([
    ["of more than 4 MiB with a Content-Length", " ".repeat(4 * mebibyte + 1), 413],
    ["of more than 4 MiB without a Content-Length", Array(5).fill(" ".repeat(mebibyte)), 413],
    ["that is not JSON", "{", 400],
    ["that is empty", "", 400],
    ["that is null", "null", 400],
    ["that is an empty list", "[]", 400],
    ["that is JSON, but not JSON-RPC", '{"hello":"world"}', 400],
  ])("%s is rejected", async (_, body, status) => {
    const { headers } = modernCall(tenant.key, 1, "list_links");
    // Without the headers of 2026-07-28, because the server would check these before the body.
    const { authorization, "content-type": type, accept } = headers;
    const plain = { authorization, "content-type": type, accept };
    const answer = await post(testServer.serving.places.mcp, { headers: plain, body });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      status,
      expect.objectContaining({ jsonrpc: "2.0", error: expect.anything() }),
    ]);
  });

  test("of almost 4 MiB is accepted", async () => {
    const { headers, body } = modernCall(tenant.key, 1, "list_links");
    const padded = body + " ".repeat(4 * mebibyte - body.length);
    const answer = await post(testServer.serving.places.mcp, { headers, body: padded });
    expect(answer.status).toBe(200);
  });
});

test("the HTTP server times out slow requests and keeps idle connections open", () => {
  const { headersTimeout, requestTimeout, keepAliveTimeout } = createHttpServer();
  expect([headersTimeout, requestTimeout]).toEqual([10_000, 30_000]);
  // Proxies keep idle connections open for a minute.
  expect(keepAliveTimeout).toBeGreaterThan(60_000);
});

test("/mcp returns only a reference ID after an internal error", async () => {
  await using other = await openTestServer();
  const { places, key } = other.serving;
  for (const name of readdirSync(other.data).filter((name) => name.startsWith("waypost.db"))) {
    writeFileSync(join(other.data, name), "Dear diary,\n".repeat(10_000));
  }
  await untilSeen();
  const { headers, body } = modernCall(key, 1, "list_links");
  const { status, text } = await post(places.mcp, { headers, body });
  expect(status).toBe(500);
  const { message } = JSON.parse(text).error;
  const [, reference = ""] =
    /^Something went wrong inside Waypost \(reference (\w+)\)\.$/.exec(message) ?? [];
  expect((await other.serving.stop("SIGKILL")).stderr).toContain(`"reference":"${reference}"`);
});
