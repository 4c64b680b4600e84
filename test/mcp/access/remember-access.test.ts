import { beforeEach, expect, test } from "vitest";
import type { Access } from "../../../src/mcp/access/key-access.ts";
import { createAccessMemory } from "../../../src/mcp/access/remember-access.ts";
import type { KnownTool } from "../../../src/mcp/access/learned-access.ts";
import type { KeptValues } from "../../../src/state/kept-values.ts";
import { openStateForEach } from "../../support/state-folder.ts";

/** What was learned of a key at a remote server, as the processes of one folder remember it. */

const at = openStateForEach();
const day_ms = 24 * 60 * 60_000;
const here = { key_print: "print", origin: "https://one.example" };
let one: KeptValues;
let other: KeptValues;

beforeEach(async () => {
  one = (await at.open()).kept;
  other = (await at.open()).kept;
});

function learned(tool: string, state: KnownTool["state"], more: Partial<KnownTool> = {}) {
  const until = at.now + day_ms;
  return { tool, state, reason: null, shows_kind: false, at: at.now, until, ...more };
}

const openMemory = (kept: KeptValues, place = here) =>
  createAccessMemory({
    ...place,
    openMemory: () => Promise.resolve(kept),
    report: (error) => {
      throw error;
    },
  });

async function remember(kept: KeptValues, ...known: readonly KnownTool[]): Promise<void> {
  const memory = openMemory(kept);
  for (const each of known) memory.note(each);
  await memory.write();
}

async function recall(kept: KeptValues, place = here): Promise<readonly KnownTool[]> {
  let recalled: readonly KnownTool[] = [];
  const access: Pick<Access, "recall"> = { recall: (known) => void (recalled = known) };
  await openMemory(kept, place).recall(access as Access);
  return recalled;
}

const name = (known: readonly KnownTool[]) =>
  known.map(({ tool, state }) => `${tool} ${state}`).toSorted();

test("one process learns it, and the others know it", async () => {
  const known = learned("list_links", "denied", { reason: "No.", shows_kind: true });
  await remember(one, known, learned("get_link", "granted"));
  expect(await recall(other)).toContainEqual(known);
  expect(name(await recall(other))).toEqual(["get_link granted", "list_links denied"]);
});

test("it says nothing of another key or another server", async () => {
  await remember(one, learned("list_links", "denied"));
  expect(await recall(one, { ...here, key_print: "other" })).toEqual([]);
  expect(await recall(one, { ...here, origin: "https://two.example" })).toEqual([]);
});

test("each tool is forgotten a day after it was learned", async () => {
  await remember(one, learned("list_links", "denied"));
  at.now += 1000;
  await remember(one, learned("create_link", "denied"));
  at.now += day_ms - 1001;
  expect(await recall(other)).toHaveLength(2);
  at.now += 1;
  expect(name(await recall(other))).toEqual(["create_link denied"]);
});

test("what is learned again replaces what was known of the tool", async () => {
  await remember(one, learned("list_links", "granted"));
  at.now += 1000;
  await remember(other, learned("list_links", "denied"));
  expect(name(await recall(one))).toEqual(["list_links denied"]);
  await remember(other, learned("list_links", "unknown", { until: at.now }));
  expect(await recall(one)).toEqual([]);
});

test("tools that two processes learn at the same time are all known", async () => {
  await Promise.all([
    remember(one, learned("list_links", "granted")),
    remember(other, learned("get_link", "denied")),
  ]);
  expect(name(await recall(one))).toEqual(["get_link denied", "list_links granted"]);
});
