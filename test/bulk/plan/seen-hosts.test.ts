import { expect, test } from "vitest";
import { findUnseenHosts } from "../../../src/bulk/plan/seen-hosts.ts";
import type { Client } from "../../../src/client/client.ts";
import { createTestClock } from "../../support/clock.ts";

/** Which links of a remote server show that their host is already in use. */

const clock = createTestClock();
const day_ms = 24 * 60 * 60_000;
const host = "shop.example";

async function isSeen(link: object, written: readonly string[] = []): Promise<boolean> {
  const readWritten = () => Promise.resolve(new Set(written));
  const links = [{ id: "1", url: `https://${host}/`, ...link }];
  // Only lists are requested, and a remote link may have more fields.
  const call = (() => Promise.resolve({ links, meta: {} })) as unknown as Client["call"];
  const asking = { call, clock, readWritten, signal: new AbortController().signal };
  const { unseen } = await findUnseenHosts(asking, new Map([[host, []]]));
  return !unseen.has(host);
}

const writeTime = (age_ms: number) => new Date(clock.now() - age_ms).toISOString();

test("a remote link that changed within a day does not make its host known", async () => {
  expect(await isSeen({ updated_at: writeTime(day_ms) })).toBe(false);
});

test("a remote link that Waypost wrote within a day does not make its host known", async () => {
  const link = { path: "spring" };
  expect(await isSeen(link, ["1"])).toBe(false);
  expect(await isSeen(link, ["spring"])).toBe(false);
  expect(await isSeen(link, ["2", "summer"])).toBe(true);
});

test("a remote link without changes for a day makes its host known", async () => {
  expect(await isSeen({ updated_at: writeTime(day_ms + 1) })).toBe(true);
  expect(await isSeen({ updated_at: "long ago" })).toBe(true);
  expect(await isSeen({})).toBe(true);
});
