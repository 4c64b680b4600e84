import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import { paging } from "../../src/contract/limits.ts";
import { receiptsPerPage } from "../../src/mcp/tools/bulk/show-job.ts";
import type { Connected, ToolResult } from "./mcp-clients.ts";
import type { WriteLog } from "./write-log.ts";

/** Where jobs are run by one process after another, and killed; and what must come of it. */
export type Site = {
  /** Another process on the same data folder, with a client at its end. */
  readonly start: () => Promise<Connected>;
  /** What the service did, whoever has lived to know it. */
  readonly log: WriteLog;
};

export type Named = { readonly path: string; readonly name: string; readonly url: string };

/** Whole numbers from `low` to `high`, both among them. */
type Chance = { readonly between: (low: number, high: number) => number };

export function listNamed(name: string, count: number): readonly Named[] {
  return Array.from({ length: count }, (_, index) => {
    return { path: `p${index}`, name: `${name} ${index}`, url: `https://x.example/${name}` };
  });
}

export async function withProcess<Result>(
  { start }: Site,
  act: (client: Connected) => Promise<Result>,
): Promise<Result> {
  await using client = await start();
  return await act(client);
}

/** Answers the plan's id. */
export async function plan(
  { callTool }: Connected,
  args: Record<string, unknown>,
): Promise<string> {
  const { structured } = await callTool("plan_links", args);
  expect(structured).toMatchObject({ plan: { counts: { invalid: 0, conflict: 0 } } });
  return structured.plan.id;
}

/**
 * Applies the plan in a process that is killed after so many writes at most, and so much time
 * after that. Answers what it said, if it was done before.
 */
export async function applyKilled(
  site: Site,
  plan_id: string,
  chance: Chance,
  most: { readonly writes: number; readonly pause_ms: number },
): Promise<ToolResult | undefined> {
  const client = await site.start();
  const wanted = (await site.log.count()) + chance.between(0, most.writes);
  const pause_ms = chance.between(0, most.pause_ms);
  const over = new AbortController();
  const waitForMoment = async () => {
    while (!over.signal.aborted && (await site.log.count()) < wanted) await setTimeout(10);
    await setTimeout(pause_ms);
    return undefined;
  };
  // Only its death leaves a call without an answer.
  const applying = client.callTool("apply_plan", { plan_id }).catch(() => undefined);
  const answer = await Promise.race([applying, waitForMoment()]);
  over.abort();
  await kill(client);
  return answer;
}

async function kill({ process: spoken, close }: Connected): Promise<void> {
  process.kill(spoken?.pid ?? 0, "SIGKILL");
  expect(await spoken?.ended).toBeNull();
  // What it was about to say may end in the middle of a line.
  await close().catch(() => undefined);
}

/** Goes on with the plan to its end, and answers the job's id. */
export async function finish({ callTool }: Connected, plan_id: string): Promise<string> {
  for (;;) {
    const { structured } = await callTool("apply_plan", { plan_id });
    expect(structured).toMatchObject({ job: { plan_id } });
    // A call waits for some time only, and a paced job may take longer.
    if (structured.job.state === "running") continue;
    expect(structured.job).toMatchObject({ state: "done" });
    return structured.job.id;
  }
}

// Tests read replies as freely as a client in any language would.
// oxlint-disable-next-line typescript/no-explicit-any
type Told = any;

/** Every receipt is done, every link is as it was wanted, and the service did each row once. */
export async function expectDone(
  { callTool }: Connected,
  job_id: string,
  wanted: readonly Named[],
  {
    written,
    planned,
  }: { readonly written: readonly string[]; readonly planned: readonly string[] },
): Promise<void> {
  expect(written.toSorted()).toEqual(planned.toSorted());
  const receipts = await readPages(receiptsPerPage, async (page): Promise<readonly Told[]> => {
    return (await callTool("get_job", { job_id, page })).structured.job.receipts;
  });
  expect(receipts).toHaveLength(planned.length);
  expect(new Set(receipts.map(({ path }) => path)).size).toBe(planned.length);
  expect(new Set(receipts.map(({ outcome }) => outcome))).toEqual(new Set(["done"]));
  const sort = { field: "path", direction: "asc" };
  const limit = paging.max_limit;
  const links = await readPages(limit, async (page): Promise<readonly Told[]> => {
    return (await callTool("list_links", { page, limit, sort })).structured.links;
  });
  const found = links.map(({ path, name, destination: url }) => ({ path, name, url }));
  expect(found.toSorted(byPath)).toEqual(wanted.toSorted(byPath));
}

function byPath(one: Named, other: Named): number {
  return one.path < other.path ? -1 : 1;
}

/** All items, page by page; a page that is not full is the last one. */
export async function readPages<Item>(
  most: number,
  read: (page: number) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (let page = 1; ; page += 1) {
    const found = await read(page);
    all.push(...found);
    if (found.length < most) return all;
  }
}
