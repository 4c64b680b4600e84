import { describe, expect, test } from "vitest";
import {
  createAssistantWorld,
  eras,
  legacyEras,
  type AssistantClient,
  type AssistantWorld,
  type Era,
} from "../../support/assistant-world.ts";
import type { Elicit, Verdict, ToolResult } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";
import type { RawCall, RawResult } from "../../support/mcp-http.ts";

/** The capabilities of a client that can open the approval page for the user. */
const opensPages = { elicitation: { url: {} } };
const agree: Verdict = { action: "accept" };
const page_check_ms = 250;
const longest_wait_ms = 50_000;

let assistant: AssistantWorld;
let id: string;
let pages: string[];

openForEach(createAssistantWorld, async (opened) => {
  assistant = opened;
  pages = [];
  ({ id } = await assistant.plant("link", { path: "spring", name: "Spring" }));
});

/** Connects a client whose user takes a second to answer whether to open the page. */
function connect(era: Era, answer: Elicit = () => agree, capabilities: object = opensPages) {
  const elicit: Elicit = (message, address) => {
    pages.push(address.url ?? "no page");
    assistant.advance(1000);
    return answer(message, address);
  };
  return assistant.connect({ era, capabilities: { ...capabilities }, elicit });
}

function deleteLink({ callTool }: AssistantClient): Promise<ToolResult> {
  return callTool("delete_link", { id });
}

/** Presses a button while the call waits, then advances the clock so that the call notices. */
async function decide(decision: "approve" | "decline"): Promise<void> {
  await assistant.untilAsleep();
  await assistant.press(pages.at(-1) ?? "", decision);
  assistant.advance(page_check_ms);
}

async function expectUntouched(): Promise<void> {
  expect(assistant.writes).toEqual([]);
  expect((await assistant.world.call("GET", `/links/${id}`)).status).toBe(200);
}

async function rename(name: string): Promise<void> {
  const reply = await assistant.world.call("PATCH", `/links/${id}`, { body: { name } });
  expect(reply.status).toBe(200);
}

describe.each(eras)("a %s client that can open URLs", (era) => {
  test("a call waits until the user approves it on the page, and then continues", async () => {
    const asked: unknown[] = [];
    const client = await connect(era, (message, { url = "", elicitationId }) => {
      asked.push(message.split("\n")[0], new URL(url).pathname, elicitationId);
      return agree;
    });
    const call = deleteLink(client);
    await assistant.untilAsleep();
    await expectUntouched();

    await decide("approve");

    expect((await call).structured.deleted.id).toBe(id);
    expect(assistant.writes).toEqual([`DELETE /api/v1/links/${id}`]);
    const [, approval] = /\/([\w-]{27})$/.exec(pages[0] ?? "") ?? [];
    // The 2026 protocol revision has neither the ID nor the completion notice.
    const named = era === "modern" ? undefined : approval;
    expect(asked).toEqual(['Delete the link "Spring"', `/approve/${approval}`, named]);
    expect(client.completed).toEqual(named === undefined ? [] : [named]);
  });

  test("a call declined on its page fails, and repeating the call opens a new page", async () => {
    const client = await connect(era);
    const call = deleteLink(client);
    await decide("decline");
    expect((await call).structured.error).toMatchObject({ code: "approval_declined" });

    const next = deleteLink(client);
    await assistant.untilAsleep();
    expect(new Set(pages).size).toBe(2);
    await decide("decline");
    expect((await next).structured.error.code).toBe("approval_declined");
    await expectUntouched();
  });

  test("an approval is valid even before the client confirms that it opened the page", async () => {
    const client = await connect(era, async (_, { url = "" }) => {
      await assistant.press(url, "approve");
      return agree;
    });
    expect((await deleteLink(client)).structured.deleted.id).toBe(id);
  });

  test("a new page asks for approval if the target changes while the page is open", async () => {
    const client = await connect(era);
    const call = deleteLink(client);
    await assistant.untilAsleep();
    await rename("Summer");
    await decide("approve");
    await assistant.untilAsleep();
    await expectUntouched();
    expect(new Set(pages).size).toBe(2);
    await decide("approve");
    expect((await call).structured.deleted.id).toBe(id);
    expect(assistant.writes).toHaveLength(1);
  });

  test("two identical calls that wait for one page perform the action only once", async () => {
    const client = await connect(era);
    const calls = [deleteLink(client), deleteLink(client)];
    // Both calls share one check of the page.
    await assistant.untilAsleep();
    expect(new Set(pages).size).toBe(1);
    await decide("approve");
    const results = await Promise.all(calls);
    const codes = results.map(({ structured }) => structured.error?.code);
    expect(codes.filter((code) => code === undefined)).toHaveLength(1);
    // The other call finds that the approval is already used, or that the link is deleted.
    expect(codes.join("")).toMatch(/^(approval_declined|not_found)$/);
    expect(assistant.writes).toHaveLength(1);
    expect(new Set(pages).size).toBe(1);
  });

  test("a cancelled call can still be approved, and repeating it uses the approval", async () => {
    const client = await connect(era);
    const leaving = new AbortController();
    const call = client.callTool("delete_link", { id }, {}, { signal: leaving.signal });
    await assistant.untilAsleep();
    leaving.abort();
    await expect(call).rejects.toThrow();
    await assistant.untilAsleep(0);

    await assistant.press(pages[0] ?? "", "approve");
    assistant.advance(page_check_ms);
    await expectUntouched();
    // Repeating the same call uses the approval.
    expect((await deleteLink(client)).structured.deleted.id).toBe(id);
    expect(pages).toHaveLength(1);
  });

  test.each<[string, Verdict, string]>([
    ["declines to open the page", { action: "decline" }, "approval_declined"],
    ["closes the prompt", { action: "cancel" }, "approval_required"],
  ])("a call is not approved if the user %s", async (_, reply, code) => {
    const client = await connect(era, () => reply);
    const { error } = (await deleteLink(client)).structured;
    expect(error.code).toBe(code);
    // A user who closed the prompt can still open the page.
    expect(error.approval?.url).toBe(code === "approval_required" ? pages[0] : undefined);
    await expectUntouched();
  });

  test("a form answer cannot approve a call that asks to open a page", async () => {
    const client = await connect(era, () => ({ action: "accept", content: { approve: true } }));
    const call = deleteLink(client);
    await assistant.untilAsleep();
    await expectUntouched();
    await decide("decline");
    expect((await call).structured.error.code).toBe("approval_declined");
    await expectUntouched();
  });

  test("a waiting call sends progress notifications if the client requested them", async () => {
    const messages: (string | undefined)[] = [];
    const client = await connect(era);
    const onprogress = ({ message }: { message?: string | undefined }) => messages.push(message);
    const call = client.callTool("delete_link", { id }, {}, { onprogress });
    for (let waited = 0; waited < 3; waited += 1) {
      await assistant.untilAsleep();
      assistant.advance(10_000);
    }
    await decide("approve");
    expect((await call).isError).toBe(false);
    expect(messages).toContain("Waiting for an answer on the approval page");
  });
});

describe("an unanswered approval page", () => {
  test("keeps a 2026-07-28 client's call waiting until the approval expires", async () => {
    const client = await connect("modern");
    const call = deleteLink(client);
    for (let round = 0; round < 6; round += 1) {
      await assistant.untilAsleep();
      assistant.advance(longest_wait_ms);
    }
    const { error } = (await call).structured;
    expect(error.code).toBe("approval_required");
    expect(error.approval.url).not.toBe(pages[0]);
    expect(pages).toHaveLength(1);
    await expectUntouched();
  });

  test.each(legacyEras)(
    "is reused by the next call if a %s client's first call times out",
    async (era) => {
      const client = await connect(era);
      const first = deleteLink(client);
      await assistant.untilAsleep();
      assistant.advance(longest_wait_ms);
      const { error } = (await first).structured;
      expect(error).toMatchObject({ code: "approval_required", approval: { url: pages[0] } });

      const second = deleteLink(client);
      await decide("approve");
      expect((await second).structured.deleted.id).toBe(id);
      expect(pages).toHaveLength(1);
    },
  );
});

test("if 20 calls with one key wait for approval, the next call returns the page URL", async () => {
  const other = await assistant.plant("link", { path: "summer" });
  const open = async (asked: string, key = assistant.world.key) => {
    const call = { name: "delete_link", arguments: { id: asked }, key, capabilities: opensPages };
    const { requestState, inputRequests } = await assistant.callRaw(call);
    const agreed = { approval_page: agree };
    const { url } = inputRequests.approval_page.params;
    return {
      url,
      wait: () => assistant.callRaw({ ...call, requestState, inputResponses: agreed }),
    };
  };
  const page = await open(id);
  const calls = Array.from({ length: 21 }, page.wait);

  const refused = await Promise.race(calls);
  expect(refused.structuredContent.error).toMatchObject({
    code: "approval_required",
    effect: "none",
    approval: { url: page.url },
  });
  const others = await open(other.id, await assistant.world.addKey({ role: "owner" }));
  const patient = others.wait();
  await assistant.untilAsleep();
  await assistant.press(others.url, "approve");
  assistant.advance(page_check_ms);
  expect((await patient).structuredContent.deleted.id).toBe(other.id);

  await assistant.press(page.url, "approve");
  assistant.advance(page_check_ms);
  const results = (await Promise.all(calls)).map((result) => result.structuredContent);
  expect(results.filter(({ deleted }) => deleted !== undefined)).toHaveLength(1);
  const codes = results.flatMap(({ error }) => error?.code ?? []);
  expect(codes.filter((code) => code === "approval_required")).toHaveLength(1);
  const next = await open((await assistant.plant("link", { path: "autumn" })).id);
  const last = next.wait();
  await assistant.untilAsleep();
  await assistant.press(next.url, "decline");
  assistant.advance(page_check_ms);
  expect((await last).structuredContent.error.code).toBe("approval_declined");
});

test.each(eras)(
  "if a PIN is set, a call from a %s client runs only after the PIN is entered on the page",
  async (era) => {
    await using locked = await createAssistantWorld({ beside: assistant.world, pin: "246810" });
    const asked: (string | undefined)[] = [];
    const client = await locked.connect({
      era,
      capabilities: { elicitation: { form: {}, url: {} } },
      elicit: (_, { url }) => {
        asked.push(url);
        return { action: "accept", content: { approve: true } };
      },
    });
    const call = client.callTool("delete_link", { id });
    await locked.untilAsleep();
    expect(asked).toEqual([expect.stringContaining("/approve/")]);
    await locked.press(asked[0] ?? "", "approve", "135791");
    locked.advance(page_check_ms);
    await locked.untilAsleep();
    await expectUntouched();
    await locked.press(asked[0] ?? "", "approve", "246810");
    locked.advance(page_check_ms);
    expect((await call).structured.deleted.id).toBe(id);
  },
);

function call(extra: Partial<RawCall> = {}): Promise<RawResult> {
  return assistant.callRaw({
    name: "delete_link",
    arguments: { id },
    capabilities: { elicitation: { form: {}, url: {} } },
    ...extra,
  });
}

describe("a 2026-07-28 client without an SDK", () => {
  const byPage = { capabilities: opensPages };

  test.each([
    ["no state", () => undefined],
    ["an invented state", () => "eyJpZCI6IngifQ.c2lnbmF0dXJl"],
    ["the state of another approval", async () => (await ask("summer")).requestState],
    ["the state of a form", async () => (await call()).requestState],
  ])(
    "is asked for approval again if it reports an opened page but sends %s",
    async (_, readState) => {
      await call(byPage);
      const again = await call({
        ...byPage,
        inputResponses: { approval_page: agree },
        requestState: await readState(),
      });
      expect(again).toMatchObject({
        resultType: "input_required",
        inputRequests: expect.anything(),
      });
      await expectUntouched();
    },
  );

  test("cannot approve its call with a form answer when asked to open a page", async () => {
    const { requestState } = await call(byPage);
    const ticked = { action: "accept", content: { approve: true } };
    const result = await call({ inputResponses: { approval: ticked }, requestState });
    expect(result.structuredContent.error.code).toBe("approval_declined");
    await expectUntouched();
  });

  test("gets the form again if its reply says that it has opened a page", async () => {
    const { requestState } = await call();
    const again = await call({ inputResponses: { approval_page: agree }, requestState });
    expect(again.inputRequests.approval.params.mode).toBe("form");
    await expectUntouched();
  });

  test("gets the same request state again when its call times out", async () => {
    const { requestState } = await call(byPage);
    const waiting = call({
      ...byPage,
      inputResponses: { approval_page: agree },
      requestState,
    });
    await assistant.untilAsleep();
    assistant.advance(longest_wait_ms);
    const { inputRequests, ...patient } = await waiting;
    expect(patient).toMatchObject({ resultType: "input_required", requestState });
    expect(inputRequests).toBeUndefined();
    await expectUntouched();
  });

  async function ask(path: string): Promise<RawResult> {
    await assistant.plant("link", { path });
    return call({ ...byPage, arguments: { id: path } });
  }
});
