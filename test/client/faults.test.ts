import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CallFailure } from "../../src/client/outcome.ts";
import { contract } from "../../src/contract/index.ts";
import { type CallAnswer, listUnread } from "../../src/contract/endpoint.ts";
import type { ReadLink } from "../../src/contract/links.ts";
import { Problem } from "../../src/contract/problem.ts";
import { allFaults, falseResponses, type Fault } from "../support/hostile.ts";
import { createClientWithFaults, type ClientWithFaults } from "./clients.ts";

/** Compares the effect that the client reports after random faults with the stored records. */

const { links } = contract;
const paths = ["a", "b", "c"] as const;
const names = ["one", "two"] as const;
const unknownId = "0190a000-0000-7000-8000-000000000000";
const runs = 80;

type LinkAction =
  | { readonly kind: "create"; readonly path?: string | undefined; readonly name: string }
  | { readonly kind: "upsert"; readonly path: string; readonly name: string }
  | { readonly kind: "update"; readonly row: number; readonly path: string; readonly name: string }
  | { readonly kind: "delete"; readonly row: number };

type Step = {
  readonly act: LinkAction;
  readonly writes: readonly Fault[];
  readonly reads: readonly Fault[];
};

// These faults send nine megabytes each, which would take most of the time.
const isTested = (fault: Fault) => !falseResponses.has(fault) && !fault.startsWith("huge");
const fault = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Fault>("honest") },
  { weight: 5, arbitrary: fc.constantFrom(...allFaults.filter(isTested)) },
);

const path = fc.constantFrom(...paths);
const name = fc.constantFrom(...names);
const row = fc.nat(3);
const act: fc.Arbitrary<LinkAction> = fc.oneof(
  fc.record({ kind: fc.constant("create"), path: fc.option(path, { nil: undefined }), name }),
  fc.record({ kind: fc.constant("upsert"), path, name }),
  fc.record({ kind: fc.constant("update"), row, path, name }),
  fc.record({ kind: fc.constant("delete"), row }),
);
const step: fc.Arbitrary<Step> = fc.record({
  act,
  writes: fc.array(fault, { maxLength: 4 }),
  reads: fc.array(fault, { maxLength: 3 }),
});

test("under random faults, no create runs twice and every reported effect is true", async () => {
  const seen = { done: 0, untouched: 0, unknown: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      await using at = await createClientWithFaults();
      for (const each of steps) seen[await play(at, each)] += 1;
    }),
    { numRuns: runs, seed: 20_260_115 },
  );
  // Without this check, a client that always reports "unknown" would pass.
  expect(seen.done).toBeGreaterThan(runs);
  expect(seen.untouched).toBeGreaterThan(runs / 10);
  expect(seen.unknown).toBeGreaterThan(runs / 10);
});

async function play(at: ClientWithFaults, { act, writes, reads }: Step) {
  // Start no two calls in the same millisecond, so that records older than a call are certain.
  at.advance(1);
  const before = await readLinks(at);
  const target = "row" in act ? before[act.row] : undefined;
  const from = at.hostile.received.length;
  at.hostile.plan({ writes, reads });
  const result = await perform(at, act, target?.id ?? unknownId).then(
    (body) => ({ body }),
    (error: unknown) => ({ error }),
  );
  await at.hostile.settle();
  at.hostile.plan({});
  const after = await readLinks(at);

  const creates = at.hostile.received.slice(from).filter((line) => line === "POST /links");
  const limited = writes.filter((planned) => planned === "limited");
  expect(creates.length).toBeLessThanOrEqual(1 + limited.length);
  const wanted = predictLinks(before, act, target);
  if ("body" in result) {
    expect(strip(after)).toEqual(strip(wanted));
    const { body } = result;
    // The client may know only a part of the fields of a record that it looked up.
    if (body !== null && listUnread(body).length === 0) expect(after).toContainEqual(body);
    return "done";
  }
  const { error } = result;
  if (error instanceof Problem || readEffect(error) === "none") {
    expect(after).toEqual(before);
    return "untouched";
  }
  expect(readEffect(error)).toBe("unknown");
  expect([strip(before), strip(wanted)]).toContainEqual(strip(after));
  return "unknown";
}

function perform(
  { client }: ClientWithFaults,
  act: LinkAction,
  id: string,
): Promise<CallAnswer<typeof links.update> | null> {
  switch (act.kind) {
    case "create":
      return client.call(links.create, { path: act.path, name: act.name });
    case "upsert":
      return client.call(links.upsert, { path: act.path, name: act.name });
    case "update":
      return client.call(links.update, { id, path: act.path, name: act.name });
    case "delete":
      return client.call(links.destroy, { id });
  }
}

type Row = Pick<ReadLink, "path" | "name">;

function predictLinks(
  before: readonly ReadLink[],
  act: LinkAction,
  target: ReadLink | undefined,
): readonly Row[] {
  switch (act.kind) {
    case "create":
      return [...before, { path: act.path ?? "made up", name: act.name }];
    case "upsert":
      return [
        ...before.filter((link) => link.path !== act.path),
        { path: act.path, name: act.name },
      ];
    case "update":
      return before.map((link) =>
        link.id === target?.id ? { path: act.path, name: act.name } : link,
      );
    case "delete":
      return before.filter((link) => link.id !== target?.id);
  }
}

/** Returns the path and name of each row in a fixed order. Generated paths become equal. */
function strip(rows: readonly Row[]): readonly string[] {
  const known: readonly (string | null)[] = paths;
  return rows
    .map(({ path = null, name }) => `${known.includes(path) ? path : "made up"} ${name}`)
    .toSorted();
}

async function readLinks({ world }: ClientWithFaults): Promise<readonly ReadLink[]> {
  const { body } = await world.call("GET", "/links", { query: "limit=100&q[s]=created_at+asc" });
  return body.links;
}

function readEffect(error: unknown): unknown {
  if (error instanceof CallFailure) return error.facts.effect;
  throw error;
}
