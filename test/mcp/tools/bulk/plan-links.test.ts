import { beforeEach, describe, expect, test } from "vitest";
import {
  createAssistantWorld,
  eras,
  type AssistantWorld,
} from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Tests plans for many links: planning, approving, applying and undoing. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

const call: AssistantWorld["call"] = (...asked) => assistant.call(...asked);

async function applyApproved(plan_id: string) {
  return (await assistant.approve("apply_plan", { plan_id })).job;
}

describe("a plan for links that match a filter", () => {
  const filters = [{ field: "name", condition: "cont", value: "spring" }];
  const wanted = { operation: "update", filters, changes: { url: "https://x.example/new" } };

  beforeEach(async () => {
    for (let turn = 0; turn < 12; turn += 1) {
      const name = turn < 8 ? `Spring ${turn}` : `Autumn ${turn}`;
      await assistant.plant("link", { path: `p${turn}`, name, url: "https://x.example/old" });
    }
  });

  test("changes exactly the matching links after an approval", async () => {
    const { plan } = await call("plan_links", wanted);
    expect(plan.counts).toMatchObject({ update: 8, create: 0, delete: 0, invalid: 0 });
    expect(plan.sample[0].changes).toEqual({
      url: { from: "https://x.example/old", to: "https://x.example/new" },
    });
    const { error } = await call("apply_plan", { plan_id: plan.id });
    expect(error).toMatchObject({ code: "approval_required" });
    expect(error.approval.preview).toMatch(/^Point 8 links to "x\.example\/new"\n/);
    await assistant.press(error.approval.url, "approve");
    const { job } = await call("apply_plan", { plan_id: plan.id });
    expect(job).toMatchObject({ state: "done", counts: { done: 8, left: 0 } });
    const { links } = await call("list_links", { limit: 50 });
    const changed = links.filter(
      ({ destination: url }: { destination: string }) => url === "https://x.example/new",
    );
    expect(changed).toHaveLength(8);
    expect((await call("get_job", { job_id: job.id, page: 1 })).job.receipts).toHaveLength(8);
    expect((await call("list_jobs")).jobs).toMatchObject([{ id: job.id, state: "done" }]);
  });

  test("can be undone, except for links that were edited later", async () => {
    const { plan } = await call("plan_links", wanted);
    const job = await applyApproved(plan.id);
    await call("update_link", { id: "p0", url: "https://x.example/mine" });
    const undoing = (await call("plan_links", { undo: job.id })).plan;
    expect(undoing.counts).toMatchObject({ update: 7, conflict: 1 });
    expect(await applyApproved(undoing.id)).toMatchObject({ state: "done", counts: { done: 7 } });
    const { links } = await call("list_links", { limit: 50, filters });
    const urls = links.map(({ destination }: { destination: string }) => destination).toSorted();
    expect(urls).toEqual(["https://x.example/mine", ...Array(7).fill("https://x.example/old")]);
  });

  test("can be read as a resource only with the key that created the plan", async () => {
    const { plan } = await call("plan_links", wanted);
    const { contents } = await assistant.readResource(`waypost://plans/${plan.id}`);
    const { rows, next } = JSON.parse(contents[0]?.text ?? "");
    expect(rows).toHaveLength(8);
    expect(next).toBeUndefined();
    const paths = rows.map(({ path }: { path: string }) => path).toSorted();
    expect(paths).toEqual(["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"]);
    const stranger = await assistant.connect({ key: await assistant.world.addKey({}) });
    const reading = stranger.readResource(`waypost://plans/${plan.id}`);
    await expect(reading).rejects.toThrow(/resource does not exist/);
  });

  test("does not change a link that was edited after planning", async () => {
    const { plan } = await call("plan_links", wanted);
    await call("update_link", { id: "p5", name: "Spring, but mine" });
    const job = await applyApproved(plan.id);
    expect(job.counts).toEqual({ done: 7, rejected: 1, unknown: 0, left: 0 });
    const message = expect.stringMatching(/^plan_changed: name/);
    expect(job.failures).toMatchObject([{ path: "p5", outcome: "rejected", message }]);
    const paged = await call("get_job", { job_id: job.id, page: 1 });
    expect(paged.job.receipts).toHaveLength(8);
    const { link } = await call("get_link", { id: "p5" });
    expect(link.url).toBe("https://x.example/old");
  });
});

describe("an approval to change many existing links", () => {
  const filters = [{ field: "path", condition: "start", value: "p" }];
  const changes = { name: "New" };
  let elicited: { readonly message: string }[];

  async function plan(count: number) {
    for (let turn = 0; turn < count; turn += 1) {
      await assistant.plant("link", { path: `p${turn}` });
      assistant.advance(150);
    }
    return (await call("plan_links", { operation: "update", filters, changes })).plan;
  }

  test.each(eras)(
    "requires a %s client's user to type the number of links in the form",
    async (era) => {
      const { id } = await plan(51);
      elicited = [];
      let typed: number | undefined;
      const client = await assistant.connect({
        era,
        elicit: (message) => {
          elicited.push({ message });
          const content = { approve: true, ...(typed !== undefined && { count: typed }) };
          return { action: "accept", content };
        },
      });
      for (const wrong of [undefined, 50, 0]) {
        typed = wrong;
        const { error } = (await client.callTool("apply_plan", { plan_id: id })).structured;
        expect(error).toMatchObject({ code: "approval_declined" });
      }
      expect(elicited[0]?.message).toMatch(/^Change 51 links\n/);
      typed = 51;
      const { job } = (await client.callTool("apply_plan", { plan_id: id })).structured;
      expect(job).toMatchObject({ state: "done", counts: { done: 51 } });
    },
  );

  test("can be confirmed without typing the number of links if there are exactly 50", async () => {
    const { id } = await plan(50);
    const { error } = await call("apply_plan", { plan_id: id });
    const { html } = await assistant.press(error.approval.url, "approve");
    expect(html).toContain("<h1>Approved");
    const { job } = await call("apply_plan", { plan_id: id });
    expect(job).toMatchObject({ state: "done", counts: { done: 50 } });
  });

  test("requires the user to type the number of links on the approval page", async () => {
    const { id } = await plan(51);
    const { error } = await call("apply_plan", { plan_id: id });
    const { html } = await assistant.press(error.approval.url, "approve");
    expect(html).toContain("To approve, type the number of links: 51.");
    expect((await call("apply_plan", { plan_id: id })).error).toMatchObject({
      code: "approval_required",
    });
  });
});

async function deleteByPlan(paths: readonly string[]): Promise<string> {
  const rows = paths.map((path) => ({ path }));
  const { plan } = await call("plan_links", { operation: "delete", rows });
  const job = await applyApproved(plan.id);
  expect(job.counts).toMatchObject({ done: paths.length });
  return job.id;
}

const byPath = { sort: { field: "path", direction: "asc" } };

test("undoing a deletion job restores IDs, clicks and short paths", async () => {
  const shortened = { options: { shorten: true } };
  for (const path of ["a", "b"]) await assistant.plant("link", { path, name: path, ...shortened });
  await assistant.world.store.write((db) => db.updateTable("links").set({ clicks: 7 }).execute());
  const before = await call("list_links", byPath);
  const job = await deleteByPlan(["a", "b"]);
  expect((await call("list_links", {})).links).toEqual([]);

  const { plan } = await call("plan_links", { undo: job });
  expect(plan.sample[0].message).toBe("The link is restored with its ID, clicks and short path");
  const undone = await call("apply_plan", { plan_id: plan.id });

  expect(undone.job.counts).toMatchObject({ done: 2 });
  expect(await call("list_links", byPath)).toEqual(before);
});
