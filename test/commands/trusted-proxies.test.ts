import { expect, test } from "vitest";
import { readToken } from "../support/assistant-world.ts";
import { createFolder, startServe, type Serving } from "../support/command.ts";
import { connectV1 } from "../support/mcp-clients.ts";

/** Clients behind a proxy, as `waypost serve` tells them apart. */

async function resolve({ places }: Serving, headers: Record<string, string>): Promise<number> {
  const response = await fetch(`${places.api}/short_links/resolve`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ url: "http://default.localhost/nothing" }),
  });
  await response.text();
  return response.status;
}

async function spend(serving: Serving, headers: Record<string, string>): Promise<void> {
  const calls = Array.from({ length: 60 }, () => resolve(serving, headers));
  expect(new Set(await Promise.all(calls))).toEqual(new Set([404]));
}

test("a forwarded address counts where the proxy is trusted, and nowhere else", async () => {
  await using folder = await createFolder();
  await using serving = await startServe(folder.path, ["--trusted-proxies", "loopback"]);
  await spend(serving, { "x-forwarded-for": "203.0.113.9" });
  // What a client writes itself stands further left.
  const forged = { "x-forwarded-for": "203.0.113.10, 203.0.113.9" };
  expect(await resolve(serving, forged)).toBe(429);
  expect(await resolve(serving, { forwarded: "for=203.0.113.9" })).toBe(429);
  expect(await resolve(serving, { "x-forwarded-for": "203.0.113.10" })).toBe(404);
  expect(await resolve(serving, {})).toBe(404);
});

test("without the setting every client is the one that is connected", async () => {
  await using folder = await createFolder();
  await using serving = await startServe(folder.path);
  await spend(serving, { "x-forwarded-for": "203.0.113.9" });
  expect(await resolve(serving, { "x-forwarded-for": "203.0.113.10" })).toBe(429);
  expect(await resolve(serving, { forwarded: "for=203.0.113.11" })).toBe(429);
});

test("the log says from which address an approval page was answered, and no more", async () => {
  await using folder = await createFolder();
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
    { address, msg: "approval page refused an answer", reason: "This approval is over." },
    {
      address,
      msg: "approval page refused an answer",
      reason: "That did not come from this page. Press one of its buttons.",
    },
    { address, msg: "approval page answered", decision: "declined" },
  ]);
  for (const secret of ["canary", token, new URL(page).pathname.split("/").at(-1)]) {
    expect(stderr).not.toContain(secret);
  }
});
