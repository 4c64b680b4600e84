import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { lease_ms } from "../../src/state/job-runs.ts";
import { setClockAhead } from "../support/clock.ts";
import { createUsedFolder } from "../support/command.ts";
import { connectV2, type ToolClient, type Verdict } from "../support/mcp-clients.ts";
import { plantEmbedded } from "./plant-embedded.ts";

/** Changes every link with "spring" in its name, in a project of five thousand links. */

const count = 5000;
/** More links than can be approved without typing their number. */
const springs = 51;
const oldUrl = "https://shop.example/spring-24";
const newUrl = "https://shop.example/spring-25";
const filters = [{ field: "name", condition: "cont", value: "spring" }];
const wanted = { operation: "update", filters, changes: { url: newUrl } };

const links = Array.from({ length: count }, (_, index) => {
  const isSpring = index % Math.floor(count / springs) === 0;
  const name = isSpring ? `The SPRING sale ${index}` : `Link ${index}`;
  return { path: `l/${index}`, name, url: isSpring ? oldUrl : "https://shop.example/" };
});
const named = links.filter(({ name }) => name.includes("SPRING")).length;

test("a bulk change can be rejected, approved, resumed after a kill, and undone", async () => {
  await using folder = await createUsedFolder();
  await plantEmbedded(folder.path, links);
  const asked: string[] = [];
  let reply: Verdict = { action: "decline" };
  const elicit = async (message: string) => {
    asked.push(message);
    // A reply without a delay would count as not shown to the user.
    await setTimeout(400);
    return reply;
  };
  const open = (env = {}) =>
    connectV2({ transport: "stdio", data: folder.path, env, elicit, era: "modern" });

  const first = await open();
  const call = async (tool: string, args: Record<string, unknown>) =>
    (await first.callTool(tool, args)).structured;

  // A filter with a typo is refused before anything is read.
  const typo = [{ field: "nmae", condition: "cont", value: "spring" }];
  expect((await call("plan_links", { ...wanted, filters: typo })).error).toMatchObject({
    code: "invalid_arguments",
    effect: "none",
    problems: [{ message: expect.stringContaining("name") }],
  });

  const declined = (await call("plan_links", wanted)).plan;
  expect(declined.counts).toMatchObject({ update: named, create: 0, delete: 0, invalid: 0 });
  expect((await call("apply_plan", { plan_id: declined.id })).error).toMatchObject({
    code: "approval_declined",
    effect: "none",
  });
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatch(new RegExp(`^Point ${named} links to `));

  const { plan } = await call("plan_links", wanted);
  expect(plan.counts).toMatchObject({ update: named });
  reply = { action: "accept", content: { approve: true, count: named } };
  const told: { readonly progress: number; readonly total?: number | undefined }[] = [];
  const applying = first.callTool("apply_plan", { plan_id: plan.id }, (progress) => {
    told.push(progress);
    // A client also reports its own rounds, which have no total.
    const isHalfWay = progress.total !== undefined && progress.progress > 0;
    if (isHalfWay) process.kill(first.process?.pid ?? 0, "SIGKILL");
  });
  await expect(applying).rejects.toThrow();
  expect(told.at(-1)).toMatchObject({ total: named });
  await first.close();

  await using second = await open(setClockAhead(lease_ms));
  expect(second.client.getInstructions()).toContain("unfinished job");
  const before = asked.length;
  const [job] = (await second.callTool("list_jobs")).structured.jobs;
  expect(job.counts.done).toBeGreaterThan(0);
  expect(job.counts.done).toBeLessThan(named);
  const resumed = (await second.callTool("apply_plan", { plan_id: plan.id })).structured.job;
  expect(resumed).toMatchObject({
    id: job.id,
    state: "done",
    counts: { done: named, rejected: 0, unknown: 0, left: 0 },
  });
  expect(asked).toHaveLength(before);
  expect(await countUrls(second)).toEqual({ old: 0, new: named });

  const undoing = (await second.callTool("plan_links", { undo: job.id })).structured.plan;
  expect(undoing.counts).toMatchObject({ update: named, conflict: 0 });
  const undone = (await second.callTool("apply_plan", { plan_id: undoing.id })).structured.job;
  expect(undone).toMatchObject({ state: "done", counts: { done: named, left: 0 } });
  expect(await countUrls(second)).toEqual({ old: named, new: 0 });
  const { meta } = (await second.callTool("list_links", { limit: 1 })).structured;
  expect(meta.count).toBe(count);
});

async function countUrls({ callTool }: Pick<ToolClient, "callTool">) {
  const { links: found } = (await callTool("list_links", { filters, limit: 100 })).structured;
  const count = (url: string) =>
    found.filter((link: { destination: string }) => link.destination === url).length;
  return { old: count(oldUrl), new: count(newUrl) };
}
