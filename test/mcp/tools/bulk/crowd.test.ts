import { describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";
import { waitUntil } from "../../../support/clock.ts";

/** Tests how many rows a plan may have, and how many plans one key may make at the same time. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

async function plan(
  args: Record<string, unknown>,
  on: Pick<AssistantWorld, "callTool"> = assistant,
) {
  return (await on.callTool("plan_links", { operation: "upsert", ...args })).structured;
}

const most = 10_000;
const makeRows = (count: number) =>
  Array.from({ length: count }, (_, row) => ({ path: `p${row}` }));
const writeTable = (count: number, cell = "name") =>
  ["path,name", ...makeRows(count).map(({ path }) => `${path},${cell}`), ""].join("\n");

describe("a plan", () => {
  test.each([
    ["rows", { rows: makeRows(most + 1) }],
    ["csv", { csv: writeTable(most + 1) }],
    ["rows", { rows: makeRows(4001).map((row) => ({ ...row, name: "é".repeat(500) })) }],
    ["csv", { csv: writeTable(4001, "é".repeat(500)) }],
  ])(
    "is rejected if its argument `%s` has more than 10,000 rows or 4 MB",
    async (field, source) => {
      const { error } = await plan(source);
      expect(error).toMatchObject({ code: "invalid_arguments", effect: "none" });
      expect(error.problems).toEqual([{ field, message: error.message, fix: expect.any(String) }]);
      expect(error.message).toBe(`${field} has more than 10,000 rows or 4 MB`);
      expect(error.problems[0].fix).toContain("waypost import");
      expect(assistant.countAsked()).toBe(0);
    },
  );

  test("can have 10,000 rows, even with line breaks in their cells", async () => {
    // Invalid rows send no requests, which keeps this test fast.
    const faulty = '"two\nlines",ftp://a.example';
    const csv = writeTable(most, faulty).replace("name", "name,url");
    expect((await plan({ csv })).plan.counts).toMatchObject({ invalid: most });
  });
});

describe("plans and exports of one key", () => {
  test("wait in the same queue as approval previews of plans", async () => {
    await assistant.plant("link", { path: "p0" });
    const { id } = (await plan({ rows: [{ path: "p0", name: "New" }] })).plan;
    const calls = Array.from({ length: 40 }, () =>
      assistant.callTool("apply_plan", { plan_id: id }),
    );
    const codes = (await Promise.all(calls)).map(({ structured }) => structured.error.code);
    expect(new Set(codes)).toEqual(new Set(["approval_required", "overloaded"]));
  });

  test("wait in a queue, and are rejected with a retry time if the queue is full", async () => {
    const neighbour = await assistant.connect({ key: await assistant.world.addKey({}) });
    let planned = 0;
    const answers = Array.from({ length: 25 }, async (_, turn) => {
      const { structured } =
        turn % 2 === 0
          ? { structured: await plan({ rows: makeRows(200) }) }
          : await assistant.callTool("export_links");
      planned += structured.error === undefined ? 1 : 0;
      return structured;
    });
    expect((await plan({ rows: makeRows(1) }, neighbour)).plan.counts.create).toBe(1);
    // The other key's plan did not wait behind these calls.
    expect(planned).toBeLessThan(22);
    const refused = (await Promise.all(answers)).flatMap(({ error }) => error ?? []);
    expect(refused).toHaveLength(3);
    for (const error of refused) {
      expect(error).toMatchObject({ code: "overloaded", effect: "none", retry: "later" });
      expect(error.retry_after_s).toBe(30);
    }
    await waitUntil(() => planned === 22);
  });
});
