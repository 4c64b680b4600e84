import { afterEach, describe, expect, test, vi } from "vitest";
import { messages } from "../../../src/contract/messages.ts";
import { OutcomeUnknown, StoreBusy, StoreUnusable } from "../../../src/sql/faults.ts";
import {
  createAssistantWorld,
  readToken,
  type AssistantWorld,
} from "../../support/assistant-world.ts";
import { createGate } from "../../support/clock.ts";
import { openForEach } from "../../support/open-for.ts";

/** While the database does not respond, every interface reports that. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, async (opened) => {
  assistant = opened;
  await assistant.plant("link", { path: "spring", name: "Spring", url: "https://a.example" });
});

afterEach(() => {
  vi.restoreAllMocks();
});

const unreachable = new StoreBusy("connect ECONNREFUSED 10.0.0.7:5432", { outage: "away" });
const busy = new StoreBusy("the store is busy");
const silent = "The database is not responding. Try again in a moment.";
const none = { code: "overloaded", effect: "none", retry: "later", retry_after_s: 1 };

describe("a call", () => {
  test.each<[string, Error, string]>([
    ["does not respond", unreachable, silent],
    ["cannot be opened", new StoreUnusable("at", { cause: unreachable }), silent],
    ["is busy", busy, "Request took too long. Try again."],
    [
      "is locked by another process",
      new StoreBusy("lock", { outage: "locked" }),
      messages.store_locked,
    ],
  ])("is rejected with a retry time while the database %s", async (_, fault, said) => {
    vi.spyOn(assistant.state.history, "list").mockRejectedValueOnce(fault);
    const { isError, structured } = await assistant.callTool("list_changes");
    const next = "Wait a moment, then call list_changes again.";
    expect([isError, structured]).toEqual([true, { error: { ...none, message: said, next } }]);
    expect((await assistant.callTool("list_changes")).isError).toBe(false);
  });

  test.each([unreachable, new OutcomeUnknown("lost")])(
    "changes nothing if its approval request cannot be stored (%s)",
    async (fault) => {
      vi.spyOn(assistant.state.approvals, "askPage").mockRejectedValueOnce(fault);
      const { structured } = await assistant.callTool("delete_link", { id: "spring" });
      expect(structured.error).toMatchObject({ ...none, message: silent });
      expect(assistant.writes).toEqual([]);
    },
  );

  test("reports an unknown outcome if its result cannot be saved", async () => {
    await assistant.callTool("update_link", { id: "spring", name: "Summer" });
    const { note } = assistant.state.history;
    vi.spyOn(assistant.state.history, "note").mockImplementation((id, ended) =>
      ended.state === "done" ? Promise.reject(unreachable) : note(id, ended),
    );
    const { structured } = await assistant.callTool("undo");
    expect(structured.error).toEqual({
      code: "outcome_unknown",
      message:
        "The database stopped responding, and it is unknown how much of this was done. Check " +
        "before you try again.",
      effect: "unknown",
      retry: "never",
      next: expect.stringContaining("First check whether the call took effect"),
    });
  });

  test("to apply_plan can be repeated after an unknown outcome", async () => {
    const plan_id = await plan();
    const lost = new OutcomeUnknown("the answer to a commit was lost");
    vi.spyOn(assistant.state.jobs, "open").mockRejectedValueOnce(lost);
    const first = await assistant.call("apply_plan", { plan_id });
    expect(first.error).toMatchObject({
      code: "outcome_unknown",
      effect: "unknown",
      retry: "later",
      next: "Call apply_plan again later; repeating it does no harm.",
    });
    const again = await assistant.callTool("apply_plan", { plan_id });
    expect(again.structured.job).toMatchObject({ state: "done", counts: { done: 1 } });
  });

  test("to tasks/cancel can be repeated after an unknown outcome", async () => {
    const plan_id = await plan();
    const { job } = await assistant.call("apply_plan", { plan_id });
    const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    const cancelling = { method: "tasks/cancel", taskId: job.id, capabilities };
    const { jobs } = assistant.state;
    vi.spyOn(jobs, "find").mockRejectedValueOnce(unreachable);
    const unfound = await assistant.callRaw(cancelling);
    expect(unfound.protocolError?.data).toEqual({ error: expect.objectContaining(none) });
    const { cancel } = jobs;
    vi.spyOn(jobs, "cancel").mockImplementationOnce(async (id) => {
      await cancel(id);
      throw new OutcomeUnknown("the answer to a commit was lost");
    });
    const { protocolError } = await assistant.callRaw(cancelling);
    expect(protocolError?.data).toEqual({
      error: {
        code: "outcome_unknown",
        message: expect.stringContaining("it is unknown how much of this was done"),
        effect: "unknown",
        retry: "later",
        next: "Call tasks/cancel again later; repeating it does no harm.",
      },
    });
    expect((await assistant.callRaw(cancelling)).protocolError).toBeUndefined();
  });

  test("changes nothing if it waits too long for the write lock", async () => {
    const { store, advance } = assistant.world;
    const [asked, over] = [createGate(), createGate()];
    const earlier = store.write(() => over.opened);
    const { write } = store;
    const hold: typeof write = (work, options) => {
      const written = write(work, options);
      asked.open();
      return written;
    };
    Object.assign(store, { write: hold });
    const called = assistant.callTool("update_link", { id: "spring", name: "Late" });
    await asked.opened;
    advance(10_000);
    const { structured } = await called;
    const next = "Wait a moment, then call update_link again.";
    expect(structured.error).toEqual({
      ...none,
      message: messages.not_begun,
      next,
    });
    over.open();
    await earlier;
    const { link } = await assistant.call("get_link", { id: "spring" });
    expect(link.name).toBe("Spring");
    expect(assistant.writes).toHaveLength(1);
  });

  test("to read a resource fails during an outage with the error that tools return", async () => {
    const uri = `waypost://plans/${await plan()}/1`;
    vi.spyOn(assistant.state.plans, "find").mockRejectedValueOnce(unreachable);
    const refused = assistant.readResource(uri);
    await expect(refused).rejects.toMatchObject({ message: expect.stringContaining(silent) });
    await expect(refused).rejects.toMatchObject({ data: { error: { ...none, message: silent } } });
    expect((await assistant.readResource(uri)).contents).toHaveLength(1);
  });
});

describe("an outage of the database", () => {
  test("the approval page returns 503 and works again afterwards", async () => {
    const url = await ask();
    vi.spyOn(assistant.state.approvals, "findPage").mockRejectedValueOnce(unreachable);
    const page = await assistant.visit(url);
    expect([page.status, readHeading(page.html)]).toEqual([503, "The database is not responding"]);
    expect(page.headers.get("retry-after")).toBe("1");
    expect(page.html).toContain("Nothing was decided. Open the address again in a moment.");
    expect(page.html).toContain("(overloaded)");
    expect(page.html).not.toContain("10.0.0.7");
    expect((await assistant.visit(url)).status).toBe(200);
  });

  test("the approval page says so if it is unknown whether the decision was saved", async () => {
    const url = await ask();
    const { approvals } = assistant.state;
    const { decidePage } = approvals;
    vi.spyOn(approvals, "decidePage").mockImplementationOnce(async (id, decision) => {
      await decidePage(id, decision);
      throw new OutcomeUnknown("the answer to a commit was lost");
    });
    const page = await assistant.press(url, "approve");
    expect([page.status, readHeading(page.html)]).toEqual([
      500,
      "Your answer may not have been saved",
    ]);
    expect(page.html).toContain("(outcome_unknown)");
    expect(page.html).not.toContain("Nothing was decided");
    expect(readHeading((await assistant.visit(url)).html)).toBe("Approved");
  });

  test("the approval page confirms a decision that was saved just before the outage", async () => {
    const url = await ask();
    const { approvals } = assistant.state;
    const token = readToken((await assistant.visit(url)).html);
    const { findPage } = approvals;
    vi.spyOn(approvals, "findPage").mockImplementationOnce(findPage).mockRejectedValue(unreachable);
    const page = await assistant.visit(url, { token, decision: "approve" });
    expect([page.status, readHeading(page.html)]).toEqual([200, "Approved"]);
  });

  test("the page of a template preview returns 503 and works again afterwards", async () => {
    const { preview_url } = await assistant.call("preview_template");
    vi.spyOn(assistant.state.kept, "find").mockRejectedValueOnce(busy);
    const page = await assistant.visit(preview_url);
    expect([page.status, readHeading(page.html)]).toEqual([503, "The database is busy"]);
    expect((await assistant.visit(preview_url)).status).toBe(200);
  });
});

async function plan(): Promise<string> {
  const rows = [{ path: "one", url: "https://a.example" }];
  const { structured } = await assistant.callTool("plan_links", { operation: "upsert", rows });
  return structured.plan.id;
}

async function ask(): Promise<string> {
  const { structured } = await assistant.callTool("delete_link", { id: "spring" });
  return structured.error.approval.url;
}

function readHeading(html: string): string | undefined {
  return /<h1>(.*?)<\/h1>/.exec(html)?.[1];
}
