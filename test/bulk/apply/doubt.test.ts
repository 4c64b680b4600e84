import { describe, expect, test } from "vitest";
import type { Bulk } from "../../../src/bulk/bulk.ts";
import type { Owner } from "../../../src/bulk/owner.ts";
import type { PlanInput } from "../../../src/bulk/plan/make-plan.ts";
import { CallFailure } from "../../../src/client/outcome.ts";
import type { Client } from "../../../src/client/client.ts";
import { Problem } from "../../../src/contract/problem.ts";
import type { Job } from "../../../src/state/jobs.ts";
import type { Plan } from "../../../src/state/plans.ts";
import { createGate } from "../../support/clock.ts";
import { openForEach } from "../../support/open-for.ts";
import type { World } from "../../support/world.ts";
import { openBulk, type TimelessBulk } from "../timeless-bulk.ts";

/** Tests rows with an unknown result, whose links other callers may change. */

let world: World;
let timeless: TimelessBulk;
let bulk: Bulk;
let owner: Owner;
type Intercept = (tool: string, input: Input, go: () => Promise<unknown>) => Promise<unknown>;
type Input = { readonly id?: string; readonly path?: string };
const passOn: Intercept = (_tool, _input, go) => go();
let intercept: Intercept;

const lost = new CallFailure("outcome_unknown", "the result is unknown", {
  effect: "unknown",
  retry: "later",
});

const interceptEach = (call: Client["call"]) => {
  const met = (endpoint: { tool: string }, input: Input, signal?: AbortSignal) =>
    intercept(endpoint.tool, input, () => call(endpoint as never, input as never, signal));
  // The call is passed on with its own input, so its result has the expected type.
  return met as Client["call"];
};

openForEach(
  () => openBulk({ intercept: interceptEach }),
  (opened) => {
    intercept = passOn;
    timeless = opened;
    ({ world, bulk, owner } = timeless);
  },
);

async function make(path: string, name = "Old"): Promise<{ readonly id: string }> {
  return (await world.call("POST", "/links", { body: { path, name } })).body;
}

async function plan(wanted: PlanInput): Promise<Plan> {
  return await bulk.plan(wanted, owner);
}

const planRows = (operation: "upsert" | "update" | "delete", rows: readonly object[]) =>
  plan({ operation, source: { rows } });

function run(made: Plan): Promise<Job> {
  return timeless.untilRest(bulk.apply(made, owner));
}

const readName = async (id: string) => (await world.call("GET", `/links/${id}`)).body.name;

test("an undo skips a row whose result is unknown and reports it as a conflict", async () => {
  const [a, b] = [await make("a"), await make("b")];
  const rows = [a, b].map(({ id }) => ({ id, name: "New" }));
  const made = await planRows("update", rows);
  let isBlind = false;
  intercept = async (tool, input, go) => {
    if (input.id !== a.id) return go();
    if (isBlind) throw new CallFailure("timed_out", "no", { effect: "none", retry: "now" });
    const answer = await go();
    isBlind = tool === "update_link";
    if (isBlind) throw lost;
    return answer;
  };
  const job = await run(made);
  expect(job).toMatchObject({ state: "interrupted", counts: { done: 1, unknown: 1 } });
  intercept = passOn;
  const undoing = await plan({ undo: job });
  expect(undoing.counts).toMatchObject({ update: 1, conflict: 1 });
  const [first] = await bulk.listRows(undoing, { actions: ["conflict"], limit: 1 });
  expect(first).toMatchObject({
    link_id: a.id,
    message: expect.stringContaining("uncertain whether this row was applied"),
  });
  expect(await readName(a.id)).toBe("New");
});

test("an interrupted job cannot be resumed once it has been undone", async () => {
  for (let index = 0; index < 6; index += 1) await make(`p${index}`);
  const rows = Array.from({ length: 6 }, (_, index) => ({ path: `p${index}`, name: "New" }));
  const made = await planRows("upsert", rows);
  let writes = 0;
  intercept = (tool, _input, go) => {
    if (tool !== "update_link" || (writes += 1) <= 3) return go();
    throw new CallFailure("bad_response", "x", { effect: "none", retry: "never" });
  };
  const job = await run(made);
  expect(job).toMatchObject({ state: "interrupted", counts: { done: 3 } });
  intercept = passOn;
  expect(await run(await plan({ undo: job }))).toMatchObject({ counts: { done: 3 } });
  expect(await run(made)).toMatchObject({ state: "cancelled", counts: { done: 3 } });
  const { links } = (await world.call("GET", "/links")).body;
  expect(links.map(({ name }: { name: string }) => name)).toEqual(Array(6).fill("Old"));
});

test("a cancelled job stays locked while one of its requests is running", async () => {
  const { id } = await make("a");
  const made = await planRows("upsert", [{ path: "a", name: "New" }]);
  const [sent, gate] = [createGate(), createGate()];
  intercept = async (tool, _input, go) => {
    if (tool === "update_link") {
      sent.open();
      await gate.opened;
    }
    return go();
  };
  const job = await bulk.apply(made, owner);
  await sent.opened;
  const { time } = timeless;
  expect(await time.drive(bulk.cancel(job))).toMatchObject({ state: "cancelled", isHeld: true });
  gate.open();
  const release = async () => {
    while ((await bulk.findJob(job.id, owner))?.isHeld) await time.sleep(100);
  };
  await time.drive(release());
  expect(await bulk.findJob(job.id, owner)).toMatchObject({ counts: { done: 1 } });
  expect(await readName(id)).toBe("New");
});

test("a row that reuses a moved link's path waits for the result of the move", async () => {
  const [a, b] = [await make("a"), await make("b")];
  const made = await planRows("update", [
    { id: a.id, path: "c" },
    { id: b.id, path: "a" },
  ]);
  let isLost = false;
  intercept = async (tool, input, go) => {
    if (tool !== "update_link" || input.id !== a.id || isLost) return go();
    isLost = true;
    throw lost;
  };
  expect(await run(made)).toMatchObject({ state: "done", counts: { done: 2, rejected: 0 } });
});

test("a 403 response interrupts a job without marking its rows as rejected", async () => {
  const rows = Array.from({ length: 30 }, (_, index) => ({ path: `p${index}` }));
  const made = await planRows("upsert", rows);
  let writes = 0;
  intercept = (tool, _input, go) => {
    if (tool !== "upsert_link" || (writes += 1) < 5) return go();
    throw new Problem(403, "Forbidden");
  };
  const job = await run(made);
  expect(job).toMatchObject({ state: "interrupted", message: "Forbidden" });
  expect(job.counts.rejected).toBe(0);
  intercept = passOn;
  expect(await run(made)).toMatchObject({ state: "done", counts: { done: 30 } });
});

test("when several rows contain the same new app, the first of these rows runs alone", async () => {
  const ios_app = { bundle_id: "com.example.new", team_id: "ABCDE12345" };
  const rows = Array.from({ length: 12 }, (_, index) => ({ path: `p${index}`, ios_app }));
  const made = await planRows("upsert", rows);
  const { time } = timeless;
  /** For each finished request, how many were running at the same time. */
  const beside: number[] = [];
  let underWay = 0;
  intercept = async (tool, _input, go) => {
    if (tool !== "upsert_link") return go();
    underWay += 1;
    // Time passes once all requests that may start have started.
    await time.sleep(1000);
    beside.push(underWay);
    underWay -= 1;
    return go();
  };
  expect(await run(made)).toMatchObject({ counts: { done: 12 } });
  const [first, ...others] = beside;
  expect(first).toBe(1);
  expect(Math.max(...others)).toBeGreaterThan(1);
});

test("a job updates the remaining links if others were deleted after planning", async () => {
  const made = [];
  for (let index = 0; index < 30; index += 1) made.push(await make(`p${index}`));
  const filters = [{ field: "name", condition: "eq", value: "Old" }] as const;
  const wanted = await plan({ operation: "update", filters, changes: { name: "New" } });
  for (const { id } of made.slice(0, 10)) await world.call("DELETE", `/links/${id}`);
  expect(await run(wanted)).toMatchObject({ state: "done", counts: { done: 20, rejected: 10 } });
});

test("an undo of a deletion skips a link if another link has taken its path", async () => {
  await make("a");
  const job = await run(await planRows("delete", [{ path: "a" }]));
  await make("a", "Somebody else's");
  const undoing = await plan({ undo: job });
  expect(undoing.counts).toMatchObject({ create: 0, conflict: 1 });
});

test("an undo of a deletion warns that a link's short path is not restored", async () => {
  const body = { path: "s", options: { shorten: true } };
  await world.call("POST", "/links", { body });
  const job = await run(await planRows("delete", [{ path: "s" }]));
  const undoing = await plan({ undo: job });
  const [row] = await bulk.listRows(undoing, { limit: 1 });
  expect(row?.message).toContain("without its short path");
});

const rejectedForNow = new CallFailure("rate_limited", "too many requests", {
  effect: "none",
  retry: "later",
  retry_after_s: 1,
});
const notSent = new CallFailure("bad_response", "no response", { effect: "none", retry: "never" });

async function runBeside(made: Plan, tool: string, write: () => Promise<unknown>): Promise<Job> {
  let isFirst = true;
  intercept = async (called, _input, go) => {
    if (called !== tool || !isFirst) return go();
    isFirst = false;
    await write();
    throw rejectedForNow;
  };
  return run(made);
}

/** Sends only the first writes to the service, and replaces their response. */
function endAfter(most: number, tool: string, respond = (body: unknown) => body): void {
  let count = 0;
  intercept = async (called, _input, go) => {
    if (called !== tool) return go();
    if ((count += 1) > most) throw notSent;
    return respond(await go());
  };
}

const listPaths = (count: number) => Array.from({ length: count }, (_, n) => ({ path: `p${n}` }));

describe("a job that waits to retry a rejected request", () => {
  test("does not count a link created by another caller as created", async () => {
    const made = await planRows("upsert", [{ path: "a" }]);
    const job = await runBeside(made, "upsert_link", () => make("a"));
    expect(job.counts).toMatchObject({ done: 0, rejected: 1 });
    const undo = await plan({ undo: job });
    expect(undo.counts.delete).toBe(0);
  });

  test("does not count a link deleted by another caller as deleted", async () => {
    const { id } = await make("a");
    const made = await planRows("delete", [{ path: "a" }]);
    const write = () => world.call("DELETE", `/links/${id}`);
    const job = await runBeside(made, "delete_link", write);
    expect(job.counts).toMatchObject({ done: 0, rejected: 1 });
  });
});

describe("a resumed job", () => {
  test("continues even if the responses for its created links contained no ID", async () => {
    const made = await planRows("upsert", listPaths(20));
    endAfter(5, "upsert_link", () => ({}));
    expect((await run(made)).state).toBe("interrupted");
    intercept = passOn;
    expect(await run(made)).toMatchObject({ state: "done", counts: { done: 20 } });
  });
});
