import { expect, test } from "vitest";
import { createFolder, startServe, type Serving } from "../support/command.ts";

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
  const page = `${serving.places.url}/approve/canary-3f9a`;
  await (await fetch(page, { headers })).text();
  await (await fetch(page, { method: "POST", headers, body: "decision=approve" })).text();
  const { stderr } = await serving.stop();
  const lines = stderr.split("\n").filter((line) => line.includes("approval page answered"));
  expect(lines.map((line) => JSON.parse(line).address)).toEqual(["203.0.113.9"]);
  expect(stderr).not.toContain("canary-3f9a");
});
