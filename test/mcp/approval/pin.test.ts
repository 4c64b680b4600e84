import { describe, expect, test } from "vitest";
import {
  createAssistantWorld,
  eras,
  readToken,
  type AssistantWorld,
} from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";

/** The operator's PIN protects the page from an assistant that can press buttons. */

describe("an approval page that asks for a PIN", () => {
  const pin = "271828";
  let assistant: AssistantWorld;
  let checked: string[];

  const check = (given: string) => {
    checked.push(given);
    return Promise.resolve(given === pin);
  };

  openForEach(
    () => createAssistantWorld({ pin: check }),
    async (opened) => {
      [assistant, checked] = [opened, []];
      for (const path of ["a", "b", "c", "d", "e"]) await assistant.plant("link", { path });
    },
  );

  const call = async (id: string) => await assistant.call("delete_link", { id });
  const ask = async (id: string): Promise<string> => (await call(id)).error.approval.url;

  /** Types a wrong PIN this many times, and returns the URL of the page. */
  async function guessWrong(id: string, times: number): Promise<string> {
    const url = await ask(id);
    for (let guess = 0; guess < times; guess += 1) await assistant.press(url, "approve", "000000");
    return url;
  }

  test("approves the call if the right PIN is entered", async () => {
    const url = await ask("a");
    const { html } = await assistant.visit(url);
    expect(html).toMatch(/<input id="pin" type="password" name="pin" autocomplete="off" required /);
    expect((await assistant.press(url, "approve", pin)).html).toContain("<h1>Approved");
    expect((await call("a")).deleted).toBeDefined();
  });

  test("does not approve the call if the PIN is wrong or missing", async () => {
    const url = await ask("a");
    const wrong = await assistant.press(url, "approve", "314159");
    expect([wrong.status, wrong.html]).toEqual([403, expect.stringContaining("The PIN is wrong.")]);
    expect(wrong.html).not.toContain("314159");
    for (const none of [undefined, "", "  "]) {
      const page = await assistant.press(url, "approve", none);
      expect([page.status, page.html]).toEqual([403, expect.stringContaining("Type the PIN")]);
    }
    expect(checked).toEqual(["314159"]);
    expect(await ask("a")).toBe(url);
    expect(assistant.writes).toEqual([]);
  });

  test("rejects the sixth attempt, even with the right PIN", async () => {
    const url = await ask("a");
    expect((await assistant.visit(url)).html).toContain("5 tries are left");
    const lefts = ["4 tries are left", "3 tries are left", "2 tries are left", "One try is left"];
    for (const left of [...lefts, "You can only decline this"]) {
      const page = await assistant.press(url, "approve", "000000");
      expect(page.html).toContain("The PIN is wrong.");
      expect(page.html).toContain(left);
    }
    const page = await assistant.press(url, "approve", pin);
    expect(page.html).toContain("Too many wrong PINs were entered");
    expect(page.html).not.toContain('name="pin"');
    expect(page.html).not.toContain('name="decision" value="approve"');
    expect(checked).toHaveLength(5);
    expect(await ask("a")).toBe(url);
    expect((await assistant.press(url, "decline")).html).toContain("<h1>Declined");
    expect(assistant.writes).toEqual([]);
  });

  test("counts concurrent attempts toward the limit", async () => {
    const url = await ask("a");
    const guesses = Array.from({ length: 30 }, (_, guess) => String(100_000 + guess));
    await Promise.all(guesses.map((guess) => assistant.press(url, "approve", guess)));
    expect(checked).toHaveLength(5);
    await assistant.press(url, "approve", pin);
    expect(checked).toHaveLength(5);
    expect((await call("a")).error.code).toBe("approval_required");
  });

  test("limits the hourly attempts for an API key across all its approval pages", async () => {
    // Only the first five attempts on a page are checked and count toward the limit.
    for (const path of ["a", "b", "c", "d"]) await guessWrong(path, 7);
    expect(checked).toHaveLength(20);
    await assistant.press(await ask("e"), "approve", pin);
    expect(checked).toHaveLength(20);

    assistant.advance(60 * 60_000);
    await assistant.press(await ask("e"), "approve", pin);
    expect((await call("e")).deleted).toBeDefined();
  });

  test("does not reset the count of wrong PINs after a right PIN", async () => {
    for (const path of ["a", "b", "c", "d"]) {
      const url = await guessWrong(path, 4);
      expect((await assistant.press(url, "approve", pin)).html).toContain("<h1>Approved");
    }
    const url = await guessWrong("e", 4);
    const page = await assistant.press(url, "approve", pin);
    expect(page.html).toContain("Too many wrong PINs were entered for this API key");
    expect(page.html).toContain("enter a PIN again in 60 minutes");
    expect(checked).toHaveLength(24);
    expect((await assistant.press(url, "decline")).html).toContain("<h1>Declined");
  });

  test("does not unblock a key if the right PIN is entered for another key's call", async () => {
    await assistant.plant("link", { path: "f" });
    for (const path of ["a", "b", "c", "d"]) await guessWrong(path, 5);
    const { callTool } = await assistant.connect({ key: await assistant.world.addKey() });
    // The attempts of both keys have the same timestamp.
    const { url } = (await callTool("delete_link", { id: "e" })).structured.error.approval;
    expect((await assistant.press(url, "approve", pin)).html).toContain("<h1>Approved");
    expect((await assistant.visit(await ask("f"))).html).toContain("can only decline");
    expect(checked).toHaveLength(21);
  });

  test("does not count an attempt if the typed number of links is wrong", async () => {
    for (let row = 0; row < 51; row += 1) await assistant.plant("link", { path: `row-${row}` });
    const filters = [{ field: "path", condition: "start", value: "row-" }];
    const wanted = { operation: "update", filters, changes: { name: "New" } };
    const { plan } = await assistant.call("plan_links", wanted);
    const apply = async () => await assistant.call("apply_plan", { plan_id: plan.id });
    const { url } = (await apply()).error.approval;
    const token = readToken((await assistant.visit(url)).html);
    const press = (more: Record<string, string>) =>
      assistant.visit(url, { token, decision: "approve", ...more });
    for (let guess = 0; guess < 6; guess += 1) {
      expect((await press({ pin: "000000", count: "50" })).html).toContain("type the number");
    }
    expect(checked).toEqual([]);
    expect((await press({ count: "51" })).html).toContain("Type the PIN");
    expect((await press({ pin, count: "51" })).html).toContain("<h1>Approved");
    expect((await apply()).job).toMatchObject({ state: "done", counts: { done: 51 } });
  });

  test("does not count an attempt that lacks the page's token", async () => {
    const url = await ask("a");
    for (let guess = 0; guess < 6; guess += 1) {
      await assistant.visit(url, { token: "x", decision: "approve", pin: "000000" });
    }
    expect(checked).toEqual([]);
    expect((await assistant.press(url, "approve", pin)).html).toContain("<h1>Approved");
  });
});

describe("an approval page that requires a PIN", () => {
  test("asks for the PIN in every process, and counts attempts across processes", async () => {
    await using assistant = await createAssistantWorld({ pin: "correct horse" });
    await assistant.plant("link", { path: "a" });
    const call = async () => await assistant.call("delete_link", { id: "a" });
    const { url } = (await call()).error.approval;
    // Another process of the same data folder runs without a PIN.
    await using bare = await createAssistantWorld({ beside: assistant.world });

    expect((await bare.press(url, "approve")).html).toContain("Type the PIN");
    expect((await bare.press(url, "approve", "wrong horse")).html).toContain("4 tries are left");
    expect((await assistant.press(url, "approve", "other horse")).html).toContain(
      "3 tries are left",
    );
    expect((await bare.press(url, "approve", "correct horse")).html).toContain("<h1>Approved");
    expect((await call()).deleted).toBeDefined();
  });

  test("cannot be bypassed by approving in a process that requires no PIN", async () => {
    await using assistant = await createAssistantWorld({ pin: "correct horse" });
    await assistant.plant("link", { path: "a" });
    await using bare = await createAssistantWorld({ beside: assistant.world });
    const remove = ["delete_link", { id: "a" }] as const;
    const asked = await bare.call(...remove);
    expect((await assistant.visit(asked.error.approval.url)).html).not.toContain('name="pin"');
    await bare.press(asked.error.approval.url, "approve");

    const { error } = await assistant.call(...remove);
    expect(error.approval.url).not.toBe(asked.error.approval.url);
    expect(assistant.writes).toEqual([]);
  });
});

test.each(eras)(
  "a %s client gets the approval page instead of a form when a PIN is set",
  async (era) => {
    let questions = 0;
    const elicit = () => {
      questions += 1;
      return { action: "accept", content: { approve: true } } as const;
    };
    await using assistant = await createAssistantWorld({ pin: "correct horse", era, elicit });
    await assistant.plant("link", { path: "a" });
    const { structured } = await assistant.callTool("delete_link", { id: "a" });
    expect(structured.error).toMatchObject({ code: "approval_required" });
    expect(structured.error.approval.url).toMatch(/\/approve\//);
    expect(questions).toBe(0);
    expect(assistant.writes).toEqual([]);
  },
);

test("a form sent by a process without a PIN cannot approve a call that needs a PIN", async () => {
  const remove = { name: "delete_link", arguments: { id: "a" } };
  const yes = { action: "accept", content: { approve: true } };
  await using assistant = await createAssistantWorld({ pin: "correct horse" });
  await assistant.plant("link", { path: "a" });
  // Another process of the same data folder runs without a PIN.
  await using open = await createAssistantWorld({ beside: assistant.world });
  const { requestState } = await open.callRaw(remove);
  expect(requestState).toMatch(/^[\w-]{27}$/);

  const answer = { inputResponses: { approval: yes }, requestState };
  const { structuredContent } = await assistant.callRaw({ ...remove, ...answer });
  expect(structuredContent.error).toMatchObject({ code: "approval_required", effect: "none" });
  expect(structuredContent.error.approval.url).toMatch(/\/approve\//);
  expect(assistant.writes).toEqual([]);

  // The next call waits only for the page, so the PIN is enough.
  await assistant.press(structuredContent.error.approval.url, "approve", "correct horse");
  expect((await assistant.callRaw(remove)).structuredContent.deleted).toBeDefined();
});
