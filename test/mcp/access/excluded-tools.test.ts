import { describe, expect, test } from "vitest";
import { sha256 } from "../../contract/sample-link.ts";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";

/** If WAYPOST_TOOLS excludes a tool, no other tool can do the same. */

const ios_app = { bundle_id: "com.example.shop", team_id: "ABCDE12345" };
const android_app = { package_name: "com.example.shop", fingerprints: [sha256] };
const open = (...selection: readonly string[]) => createAssistantWorld({ mode: "full", selection });

type ToolCaller = Pick<AssistantWorld, "callTool">;

async function call(on: ToolCaller, tool: string, args: Record<string, unknown>) {
  return (await on.callTool(tool, args)).structured;
}

function expectExcluded(answer: { error?: unknown }, act: string): void {
  expect(answer.error).toMatchObject({
    code: "scope_missing",
    message:
      `The operator's WAYPOST_TOOLS excludes ${act}, and this call would do what that tool ` +
      "does.",
    effect: "none",
    retry: "never",
    next: expect.stringContaining(`excludes ${act}. Do not try another way`),
  });
}

describe("a server that excludes delete_link", () => {
  test.each([["-delete_link"], ["-links"]])(
    "plan_links rejects a plan to delete links (WAYPOST_TOOLS=%s)",
    async (word) => {
      await using assistant = await open(word);
      await assistant.plant("link", { path: "a" });
      const wanted = { operation: "delete", rows: [{ path: "a" }] };
      expectExcluded(await call(assistant, "plan_links", wanted), "delete_link");
      expect(assistant.writes).toEqual([]);
    },
  );

  test("links cannot be deleted by another process's plan or by undoing a job", async () => {
    await using other = await open();
    const made = await call(other, "plan_links", { operation: "upsert", rows: [{ path: "a" }] });
    const { job } = await call(other, "apply_plan", { plan_id: made.plan.id });
    const wanted = { operation: "delete", rows: [{ path: "a" }] };
    const { plan } = await call(other, "plan_links", wanted);
    await using assistant = await createAssistantWorld({
      mode: "full",
      selection: ["-delete_link"],
      beside: other.world,
    });
    expectExcluded(await call(assistant, "apply_plan", { plan_id: plan.id }), "delete_link");
    expectExcluded(await call(assistant, "plan_links", { undo: job.id }), "delete_link");
    const update = { operation: "update", rows: [{ path: "a", name: "A" }] };
    const { plan: harmless } = await call(assistant, "plan_links", update);
    expect((await call(assistant, "apply_plan", { plan_id: harmless.id })).job.state).toBe("done");
  });
});

describe("a server that excludes register_ios_app", () => {
  test.each([["-register_ios_app"], ["-apps"]])(
    "no link write can register an iOS app (WAYPOST_TOOLS=%s)",
    async (word) => {
      await using assistant = await open(word);
      await assistant.plant("link", { path: "there" });
      const rows = [{ path: "a", ios_app }];
      for (const [tool, args] of [
        ["create_link", { path: "a", ios_app }],
        ["upsert_link", { path: "a", ios_app }],
        ["update_link", { id: "there", ios_app }],
        ["plan_links", { operation: "upsert", rows }],
      ] as const) {
        expectExcluded(await call(assistant, tool, args), "register_ios_app");
      }
      expect(assistant.writes).toEqual([]);
      // A link may still use an app that is already registered.
      await assistant.plant("ios_app", ios_app);
      expect((await call(assistant, "create_link", { path: "b", ios_app })).link.path).toBe("b");
      const { plan } = await call(assistant, "plan_links", { operation: "upsert", rows });
      expect(plan.counts).toMatchObject({ create: 1 });
    },
  );

  test("create_link can still register an Android app", async () => {
    await using assistant = await open("-register_ios_app");
    expect(
      (await call(assistant, "create_link", { path: "a", android_app })).error,
    ).toBeUndefined();
  });
});

test.each([["bulk"], ["plan_links,apply_plan"]])(
  "plans can delete links and register apps if WAYPOST_TOOLS is %s",
  async (words) => {
    await using assistant = await open(...words.split(","));
    await assistant.plant("link", { path: "a" });
    const rows = [{ path: "a", ios_app, name: "A" }];
    const { plan } = await call(assistant, "plan_links", { operation: "upsert", rows });
    const { job } = await call(assistant, "apply_plan", { plan_id: plan.id });
    expect(job.state).toBe("done");
    const wanted = { operation: "delete", rows: [{ path: "a" }] };
    expect((await call(assistant, "plan_links", wanted)).plan.counts).toMatchObject({ delete: 1 });
  },
);
