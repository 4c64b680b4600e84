import { afterEach, describe, expect, test } from "vitest";
import {
  createAssistantWorld,
  eras,
  legacyEras,
  type AssistantClient,
  type AssistantWorld,
  type Elicit,
  type Era,
} from "../../support/assistant-world.ts";
import type { Reply, ToolResult } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";
import type { RawCall, RawResult } from "../../support/mcp-http.ts";

/** A client that opens the approval page: the call waits, and goes on by itself. */

const opens = { elicitation: { url: {} } };
const agree: Reply = { action: "accept" };
const look_ms = 250;
const patience_ms = 50_000;

let assistant: AssistantWorld;
let id: string;
/** The pages that the client was asked to open, one after the other. */
let pages: string[];

openForEach(createAssistantWorld, async (opened) => {
  assistant = opened;
  pages = [];
  ({ id } = await assistant.plant("link", { path: "spring", name: "Spring" }));
});

afterEach(() => {
  expect(assistant.reported).toEqual([]);
});

/** A person who takes a second for the question whether to open the page. */
function connect(era: Era, answer: Elicit = () => agree, capabilities: object = opens) {
  const elicit: Elicit = (message, address) => {
    pages.push(address.url ?? "no page");
    assistant.advance(1000);
    return answer(message, address);
  };
  return assistant.connect({ era, capabilities: { ...capabilities }, elicit });
}

function remove({ callTool }: AssistantClient): Promise<ToolResult> {
  return callTool("delete_link", { id });
}

/** The call has looked at the page, and looks again after this. */
async function decide(decision: "approve" | "decline"): Promise<void> {
  await assistant.untilAsleep();
  await assistant.press(pages.at(-1) ?? "", decision);
  assistant.advance(look_ms);
}

async function expectUntouched(): Promise<void> {
  expect(assistant.writes).toEqual([]);
  expect((await assistant.world.call("GET", `/links/${id}`)).status).toBe(200);
}

async function rename(name: string): Promise<void> {
  const reply = await assistant.world.call("PATCH", `/links/${id}`, { body: { name } });
  expect(reply.status).toBe(200);
}

describe.each(eras)("before a %s client that opens addresses", (era) => {
  test("the call waits for the page, and goes on once it is approved", async () => {
    const asked: unknown[] = [];
    const client = await connect(era, (message, { url = "", elicitationId }) => {
      asked.push(message.split("\n")[0], new URL(url).pathname, elicitationId);
      return agree;
    });
    const call = remove(client);
    await assistant.untilAsleep();
    await expectUntouched();

    await decide("approve");

    expect((await call).structured.deleted.id).toBe(id);
    expect(assistant.writes).toEqual([`DELETE /api/v1/links/${id}`]);
    const [, approval] = /\/([\w-]{27})$/.exec(pages[0] ?? "") ?? [];
    // The revision of 2026 knows neither the id nor the notice: there the result is the notice.
    const named = era === "modern" ? undefined : approval;
    expect(asked).toEqual(['Delete the link "Spring"', `/approve/${approval}`, named]);
    expect(client.completed).toEqual(named === undefined ? [] : [named]);
  });

  test("a page that is declined ends the call, and the next one asks anew", async () => {
    const client = await connect(era);
    const call = remove(client);
    await decide("decline");
    expect((await call).structured.error).toMatchObject({ code: "approval_declined" });

    const next = remove(client);
    await assistant.untilAsleep();
    expect(new Set(pages).size).toBe(2);
    await decide("decline");
    expect((await next).structured.error.code).toBe("approval_declined");
    await expectUntouched();
  });

  test("the page may be shown by another process", async () => {
    const client = await connect(era);
    const call = remove(client);
    await assistant.untilAsleep();
    await using other = await createAssistantWorld({ beside: assistant.world });
    await other.press(pages[0] ?? "", "approve");
    assistant.advance(look_ms);
    expect((await call).structured.deleted.id).toBe(id);
  });

  test("a page that was answered before the client was is an answer as well", async () => {
    const client = await connect(era, async (_, { url = "" }) => {
      await assistant.press(url, "approve");
      return agree;
    });
    expect((await remove(client)).structured.deleted.id).toBe(id);
  });

  test("what changed meanwhile is asked about again, on a page of its own", async () => {
    const client = await connect(era);
    const call = remove(client);
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

  // Over a wire nothing tells when the second one has come so far.
  test("two calls that wait for one page are one act", async () => {
    const client = await connect(era);
    const calls = [remove(client), remove(client)];
    // Both share one look at the page.
    await assistant.untilAsleep();
    expect(new Set(pages).size).toBe(1);
    await decide("approve");
    const results = await Promise.all(calls);
    const codes = results.map(({ structured }) => structured.error?.code);
    expect(codes.filter((code) => code === undefined)).toHaveLength(1);
    // The other finds its approval used, or the link gone.
    expect(codes.join("")).toMatch(/^(approval_declined|not_found)$/);
    expect(assistant.writes).toHaveLength(1);
    expect(new Set(pages).size).toBe(1);
  });

  test("a caller that leaves is waited for no longer, and nothing is done for it", async () => {
    const client = await connect(era);
    const leaving = new AbortController();
    const call = client.callTool("delete_link", { id }, {}, { signal: leaving.signal });
    await assistant.untilAsleep();
    leaving.abort();
    await expect(call).rejects.toThrow();
    await assistant.untilAsleep(0);

    await assistant.press(pages[0] ?? "", "approve");
    assistant.advance(look_ms);
    await expectUntouched();
    // The yes is kept for whoever makes the same call again.
    expect((await remove(client)).structured.deleted.id).toBe(id);
    expect(pages).toHaveLength(1);
  });

  test.each<[string, Reply, string]>([
    ["does not want the page opened", { action: "decline" }, "approval_declined"],
    ["closes the question", { action: "cancel" }, "approval_required"],
  ])("a person who %s is no yes", async (_, reply, code) => {
    const client = await connect(era, () => reply);
    const { error } = (await remove(client)).structured;
    expect(error.code).toBe(code);
    // Whoever closed it may still want to open it.
    expect(error.approval?.url).toBe(code === "approval_required" ? pages[0] : undefined);
    await expectUntouched();
  });

  test("to agree and tick a box that nobody showed is no yes either", async () => {
    const client = await connect(era, () => ({ action: "accept", content: { approve: true } }));
    const call = remove(client);
    await assistant.untilAsleep();
    await expectUntouched();
    await decide("decline");
    expect((await call).structured.error.code).toBe("approval_declined");
    await expectUntouched();
  });

  test("a short question is still asked in the form, where it has one", async () => {
    const both = { elicitation: { form: {}, url: {} } };
    const ticked: Reply = { action: "accept", content: { approve: true } };
    const client = await connect(era, () => ticked, both);
    expect((await remove(client)).structured.deleted.id).toBe(id);
    expect(pages).toEqual(["no page"]);
  });

  test("is told of a wait where it asked to be", async () => {
    const told: (string | undefined)[] = [];
    const client = await connect(era);
    const onprogress = ({ message }: { message?: string | undefined }) => told.push(message);
    const call = client.callTool("delete_link", { id }, {}, { onprogress });
    for (let waited = 0; waited < 3; waited += 1) {
      await assistant.untilAsleep();
      assistant.advance(10_000);
    }
    await decide("approve");
    expect((await call).isError).toBe(false);
    expect(told).toContain("Waiting for an answer on the approval page");
  });
});

describe("a page that nobody answers", () => {
  test("keeps a modern client's call until it is over, a round at a time", async () => {
    const client = await connect("modern");
    const call = remove(client);
    for (let round = 0; round < 6; round += 1) {
      await assistant.untilAsleep();
      assistant.advance(patience_ms);
    }
    const { error } = (await call).structured;
    expect(error.code).toBe("approval_required");
    expect(error.approval.url).not.toBe(pages[0]);
    expect(pages).toHaveLength(1);
    await expectUntouched();
  });

  test.each(legacyEras)(
    "is given to a %s client's assistant, and its next call waits without asking again",
    async (era) => {
      const client = await connect(era);
      const first = remove(client);
      await assistant.untilAsleep();
      assistant.advance(patience_ms);
      const { error } = (await first).structured;
      expect(error).toMatchObject({ code: "approval_required", approval: { url: pages[0] } });

      const second = remove(client);
      await decide("approve");
      expect((await second).structured.deleted.id).toBe(id);
      expect(pages).toHaveLength(1);
    },
  );
});

test.each(eras)("a PIN leaves a %s client the page alone", async (era) => {
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
  locked.advance(look_ms);
  await locked.untilAsleep();
  await expectUntouched();
  await locked.press(asked[0] ?? "", "approve", "246810");
  locked.advance(look_ms);
  expect((await call).structured.deleted.id).toBe(id);
});

/** One call of 2026-07-28. */
function call(extra: Partial<RawCall> = {}): Promise<RawResult> {
  return assistant.callRaw({
    name: "delete_link",
    arguments: { id },
    capabilities: { elicitation: { form: {}, url: {} } },
    ...extra,
  });
}

describe("by hand, a client of 2026-07-28", () => {
  const byPage = { capabilities: opens };

  test("is asked to open the page, with a state of ours", async () => {
    expect(await call(byPage)).toMatchObject({
      resultType: "input_required",
      requestState: expect.any(String),
      inputRequests: {
        approval_page: {
          method: "elicitation/create",
          params: { mode: "url", url: expect.stringContaining("/approve/") },
        },
      },
    });
  });

  test.each([
    ["no state", () => undefined],
    ["a state of its own", () => "eyJpZCI6IngifQ.c2lnbmF0dXJl"],
    ["the state of another approval", async () => (await ask("summer")).requestState],
    ["the state of a form", async () => (await call()).requestState],
  ])("that says it has opened the page, with %s, is asked again", async (_, readState) => {
    await call(byPage);
    const again = await call({
      ...byPage,
      inputResponses: { approval_page: agree },
      requestState: await readState(),
    });
    expect(again).toMatchObject({ resultType: "input_required", inputRequests: expect.anything() });
    await expectUntouched();
  });

  test("that answers the page's question as if it were a form's does not approve", async () => {
    const { requestState } = await call(byPage);
    const ticked = { action: "accept", content: { approve: true } };
    const result = await call({ inputResponses: { approval: ticked }, requestState });
    expect(result.structuredContent.error.code).toBe("approval_declined");
    await expectUntouched();
  });

  test("that answers a form as if it had opened a page is shown the form again", async () => {
    const { requestState } = await call();
    const again = await call({ inputResponses: { approval_page: agree }, requestState });
    expect(again.inputRequests.approval.params.mode).toBe("form");
    await expectUntouched();
  });

  test("whose call has waited long enough is asked for patience, with the same state", async () => {
    const { requestState } = await call(byPage);
    const waiting = call({
      ...byPage,
      inputResponses: { approval_page: agree },
      requestState,
    });
    await assistant.untilAsleep();
    assistant.advance(patience_ms);
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
