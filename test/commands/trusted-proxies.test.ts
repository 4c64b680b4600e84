import { once } from "node:events";
import { get } from "node:http";
import { describe, expect, test } from "vitest";
import { readToken } from "../support/assistant-world.ts";
import {
  createFolder,
  run,
  runJson,
  startServe,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { startDnsServer } from "./dns-server.ts";
import { signInAt } from "../support/console.ts";
import { startSession } from "../support/listening.ts";
import { connectV1 } from "../support/mcp-clients.ts";
import { findFreePort } from "../support/ports.ts";
import { openForEach } from "../support/open-for.ts";

/** The addresses of clients behind a proxy, with `waypost serve`. */

let folder: Folder;
openForEach(createFolder, (opened) => (folder = opened));

/** Sends a call without a client key. Such calls are limited to 60 a minute per address. */
async function match({ call }: Serving, headers: Record<string, string>): Promise<number> {
  return (await call("POST", "/fingerprints/match", { key: null, headers, body: {} })).status;
}

async function spend(serving: Serving, headers: Record<string, string>): Promise<void> {
  const calls = Array.from({ length: 60 }, () => match(serving, headers));
  expect(new Set(await Promise.all(calls))).toEqual(new Set([401]));
}

test("X-Forwarded-For is read only up to the first untrusted proxy", async () => {
  await using serving = await startServe(folder.path, ["--trusted-proxies", "loopback"]);
  await spend(serving, { "x-forwarded-for": "203.0.113.9" });
  // Entries that the client wrote are further left.
  const forged = { "x-forwarded-for": "203.0.113.10, 203.0.113.9" };
  expect(await match(serving, forged)).toBe(429);
  expect(await match(serving, { "x-forwarded-for": "203.0.113.10" })).toBe(401);
  expect(await match(serving, {})).toBe(401);
});

test("without trusted proxies, the client's IP address is that of the connection", async () => {
  await using serving = await startServe(folder.path);
  await spend(serving, { "x-forwarded-for": "203.0.113.9" });
  expect(await match(serving, { "x-forwarded-for": "203.0.113.10" })).toBe(429);
});

test("approvals and rejections are logged with the user's IP address but no secrets", async () => {
  await using serving = await startServe(folder.path, ["--trusted-proxies", "1"]);
  const headers = { "x-forwarded-for": "203.0.113.9" };
  const never = `${serving.places.url}/approve/canary-3f9a`;
  const press = async (page: string, form: Record<string, string>) => {
    const body = new URLSearchParams(form);
    await (await fetch(page, { method: "POST", headers, body })).text();
  };
  await (await fetch(never, { headers })).text();
  await press(never, { decision: "approve" });

  await serving.call("POST", "/links", { body: { path: "spring", url: "https://example.com" } });
  const { places, key } = serving;
  await using client = await connectV1({ transport: "http", url: places.mcp, token: key });
  const asked = await client.callTool("delete_link", { id: "spring" });
  const page = asked.structured.error.approval.url;
  const token = readToken(await (await fetch(page, { headers })).text());
  await press(page, { decision: "approve", token: "canary-7b21" });
  await press(page, { decision: "decline", token });

  const { stderr } = await serving.stop();
  const address = "203.0.113.9";
  const lines = stderr.split("\n").filter((line) => line.includes("approval page"));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { address, msg: "approval page refused an answer", reason: "This approval has expired." },
    {
      address,
      msg: "approval page refused an answer",
      reason: "The answer did not come from this page. Press one of its buttons.",
    },
    { address, msg: "approval page answered", decision: "declined" },
  ]);
  for (const secret of ["canary", token, new URL(page).pathname.split("/").at(-1)]) {
    expect(stderr).not.toContain(secret);
  }
});

const namesNone = "WAYPOST_TRUSTED_PROXIES is not set";

async function doctor({ path }: Folder, words: readonly string[] = [], env = {}) {
  const { code, stdout } = await run(["doctor", "--data", path, ...words], { env });
  return { code, stdout, warned: stdout.split("\n").filter((line) => /^WARN +proxies/.test(line)) };
}

async function visit({ places }: Serving, headers: Record<string, string> = {}): Promise<void> {
  const host = `default.localhost:${new URL(places.url).port}`;
  const asked = get(`${places.url}/nothing`, { agent: false, headers: { host, ...headers } });
  const [response] = await once(asked, "response");
  response.resume();
  await once(response, "end");
}

describe("doctor's warning about an untrusted proxy", () => {
  test("appears if the link origin or public URL uses https", async () => {
    const origin = ["--link-origin", "https://{subdomain}.a.example"];
    for (const words of [origin, ["--public-url", "https://waypost.a.example"]]) {
      const { code, warned } = await doctor(folder, words);
      expect([code, warned]).toEqual([0, [expect.stringContaining(namesNone)]]);
    }
    expect((await doctor(folder)).warned).toEqual([]);
    expect((await doctor(folder, [...origin, "--trusted-proxies", "loopback"])).warned).toEqual([]);
  });

  test("appears if a project has a verified domain, because its links use https", async () => {
    await using dns = await startDnsServer();
    await runJson(["keys", "create", "--data", folder.path]);
    const update = ["projects", "update", "default", "--data", folder.path];
    await runJson([...update, "--custom-domain", "go.example"]);
    expect((await doctor(folder, [], dns.env)).warned).toEqual([]);
    await runJson([...update, "--assume-verified"]);
    const { code, stdout, warned } = await doctor(folder, [], dns.env);
    expect([code, warned]).toEqual([0, [expect.stringContaining(namesNone)]]);
    expect(stdout).toMatch(
      /^WARN +proxies +go\.example uses https, .*Set WAYPOST_TRUSTED_PROXIES/m,
    );
    const trusting = await doctor(folder, ["--trusted-proxies", "loopback"], dns.env);
    expect(trusting.warned).toEqual([]);
  });

  test("appears after serve receives a request from an untrusted proxy", async () => {
    const elsewhere = ["--trusted-proxies", "192.168.0.0/16"];
    await using serving = await startServe(folder.path, elsewhere);
    await visit(serving);
    expect((await doctor(folder, elsewhere)).warned).toEqual([]);
    await visit(serving, { "x-forwarded-for": "203.0.113.9" });
    const { code, stdout, warned } = await doctor(folder, elsewhere);
    expect([code, warned.length]).toEqual([0, 1]);
    expect(stdout).toMatch(/^WARN +proxies +.*WAYPOST_TRUSTED_PROXIES does not name/m);
    expect(stdout).not.toContain("203.0.113.9");
    const { text } = await (await signInAt(serving)).open("/settings");
    expect(text).toContain("WAYPOST_TRUSTED_PROXIES does not name");
    await serving.stop();

    // A trusted proxy is no reason for a warning.
    const words = ["--trusted-proxies", "loopback"];
    await using trusting = await startServe(folder.path, words);
    await visit(trusting, { "x-forwarded-for": "203.0.113.9" });
    expect((await doctor(folder, words)).warned).toEqual([]);
  });

  test("does not appear while only a stdio session serves the links", async () => {
    const env = { WAYPOST_LINK_ORIGIN: "https://{subdomain}.a.example" };
    const port = await findFreePort();
    const session = await startSession({ data: folder.path, port, env });
    // A session that returns an address is already listening.
    await session.askAddress();
    expect((await doctor(folder, ["--port", `${port}`], env)).warned).toEqual([]);
    await session.stop();
    expect((await doctor(folder, [], env)).warned).toEqual([expect.stringContaining(namesNone)]);
  });
});
