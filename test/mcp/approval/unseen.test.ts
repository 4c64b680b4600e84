import { describe, expect, test } from "vitest";
import {
  createAssistantWorld,
  eras,
  legacyEras,
  type AssistantClient,
  type AssistantWorld,
  type Era,
} from "../../support/assistant-world.ts";
import type { Elicit, Verdict } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";

/** Tests when the server concludes that a client did not show the form to a user. */

const hour_ms = 60 * 60_000;
const day_ms = 24 * hour_ms;

let assistant: AssistantWorld;
let id: string;
let questions: number;

openForEach(createAssistantWorld, async (opened) => {
  assistant = opened;
  questions = 0;
  ({ id } = await assistant.plant("link", { path: "spring", name: "Spring" }));
});

function connect(
  era: Era,
  after_ms: number,
  reply: Verdict | Error,
  more: object = {},
  { connect: open, advance } = assistant,
) {
  const elicit: Elicit = () => {
    questions += 1;
    advance(after_ms);
    return reply instanceof Error ? Promise.reject(reply) : reply;
  };
  return open({ era, elicit, ...more });
}

async function deleteLink({ callTool }: AssistantClient, target = id) {
  return (await callTool("delete_link", { id: target })).structured;
}

test.each(legacyEras)(
  "a %s client that cancels a call gets a new form when it repeats the call",
  async (era) => {
    const giveUp = new AbortController();
    const elicit: Elicit = () => {
      questions += 1;
      if (questions > 1) return { action: "accept", content: { approve: true } };
      giveUp.abort();
      return new Promise(() => {});
    };
    const client = await assistant.connect({ era, elicit });
    const call = client.callTool("delete_link", { id }, undefined, { signal: giveUp.signal });
    await expect(call).rejects.toThrow();
    expect((await deleteLink(client)).deleted.id).toBe(id);
    expect(questions).toBe(2);
  },
);

const decline: Verdict = { action: "decline" };
const cancel: Verdict = { action: "cancel" };
const ownTimeout = Object.assign(new Error("Request timed out"), { code: -32001 });

type FormReply = readonly [
  what: string,
  after_ms: number,
  outcome: Outcome,
  reply: Verdict | Error,
];
type Outcome = "gets the approval page" | "gets the error approval_declined";

const replies: readonly FormReply[] = [
  ["declines a form", 300, "gets the approval page", decline],
  ["cancels a form", 300, "gets the approval page", cancel],
  ["declines a form", 301, "gets the error approval_declined", decline],
  ["cancels a form", 301, "gets the error approval_declined", cancel],
  ["cancels a form", 44_999, "gets the error approval_declined", cancel],
  ["cancels a form", 45_000, "gets the approval page", cancel],
  ["declines a form", 60_000, "gets the error approval_declined", decline],
];

/** Only clients of earlier revisions can answer a form with an error. */
const errors: readonly FormReply[] = [
  ["fails to show a form", 0, "gets the approval page", new Error("no window to show it in")],
  ["reports a timeout for a form", 20_000, "gets the approval page", ownTimeout],
  ["reports an error for a form", 44_999, "gets the error approval_declined", new Error("gave up")],
  ["reports an error for a form", 45_000, "gets the approval page", new Error("gave up")],
];

describe.each(eras)("a %s client", (era) => {
  const possible = era === "modern" ? replies : [...replies, ...errors];

  test.each(possible)("that %s after %i ms %s", async (...given) => {
    const [, after_ms, outcome, reply] = given;
    const client = await connect(era, after_ms, reply);
    const { error } = await deleteLink(client);
    expect(assistant.writes).toEqual([]);
    if (outcome === "gets the error approval_declined") {
      expect(error.code).toBe("approval_declined");
      expect((await deleteLink(client)).error.code).toBe("approval_declined");
      expect(questions).toBe(2);
      return;
    }
    expect(error).toMatchObject({ code: "approval_required", effect: "none" });
    await assistant.press(error.approval.url, "approve");
    expect((await deleteLink(client)).deleted.id).toBe(id);
    expect(questions).toBe(1);
  });

  test.each([
    ["an hour after an instant reply", 0, decline, hour_ms + 1],
    ["a day after it cancelled a form that was open for 45 seconds", 45_000, cancel, day_ms],
  ])("gets its next form only %s", async (_, after_ms, reply, pause_ms) => {
    const client = await connect(era, after_ms, reply);
    const other = await assistant.plant("link", { path: "summer" });
    await deleteLink(client);
    assistant.advance(pause_ms - 1);
    expect((await deleteLink(client, other.id)).error.approval.url).toContain("/approve/");
    expect(questions).toBe(1);

    assistant.advance(1);
    await deleteLink(client, other.id);
    expect(questions).toBe(2);
    expect(assistant.writes).toEqual([]);
  });

  test("that instantly declines a form does not turn off forms for other keys", async () => {
    await deleteLink(await connect(era, 0, decline));
    const key = await assistant.world.addKey();
    const yes: Verdict = { action: "accept", content: { approve: true } };
    const other = await connect(era, 1000, yes, { key });
    expect((await deleteLink(other)).deleted.id).toBe(id);
    expect(questions).toBe(2);
  });

  test("that instantly cancels the request to open a page is not asked again", async () => {
    const capabilities = { elicitation: { url: {} } };
    const client = await connect(era, 10, cancel, { capabilities });
    const { url } = (await deleteLink(client)).error.approval;
    expect((await deleteLink(client)).error.approval.url).toBe(url);
    expect(questions).toBe(1);
  });

  test("that cancels a form after 45 s gets no form for a day, even in a new process", async () => {
    await deleteLink(await connect(era, 45_000, cancel));
    await using later = await createAssistantWorld({ beside: assistant.world });
    later.advance(45_000);
    const ask = async (more: object = {}) =>
      deleteLink(await connect(era, 1000, cancel, more, later));
    expect((await ask()).error.approval.url).toContain("/approve/");
    expect(questions).toBe(1);

    await ask({ key: await assistant.world.addKey() });
    expect(questions).toBe(2);
    await ask({ version: "2" });
    expect(questions).toBe(3);
    later.advance(day_ms - 2001);
    await ask();
    expect(questions).toBe(3);
    later.advance(1);
    await ask();
    expect(questions).toBe(4);
  });
});

test("a call is declined if the user cancels a form that another process sent", async () => {
  const call = { name: "delete_link", arguments: { id } };
  const { requestState } = await assistant.callRaw(call);
  await using later = await createAssistantWorld({ beside: assistant.world });
  const inputResponses = { approval: { action: "cancel" } };
  const reply = await later.callRaw({ ...call, requestState, inputResponses });
  expect(reply.structuredContent.error.code).toBe("approval_declined");
});

/** Ends the call while the form is open, like a client whose call timed out. */
async function endCall(era: Era, after_ms: number): Promise<void> {
  const call = new AbortController();
  const elicit: Elicit = () => {
    questions += 1;
    assistant.advance(after_ms);
    call.abort();
    return new Promise(() => {});
  };
  const { callTool } = await assistant.connect({ era, elicit });
  await expect(callTool("delete_link", { id }, {}, { signal: call.signal })).rejects.toThrow();
}

describe.each(legacyEras)("a %s client that ends a call while its form is open", (era) => {
  test.each([
    [45_000, "approval_required", 1],
    [44_999, "approval_declined", 2],
  ])("after %i ms gets the error %s from its next call", async (after_ms, code, asked) => {
    await endCall(era, after_ms);
    const later = await connect(era, 1000, decline);
    expect((await deleteLink(later)).error.code).toBe(code);
    expect(questions).toBe(asked);
    expect(assistant.writes).toEqual([]);
  });
});

test.each([
  [44_999, "input_required"],
  [45_000, "complete"],
  [300_001, "input_required"],
])(
  "after a 2026-07-28 client's form was open for %i ms, its next call returns %s",
  async (after_ms, type) => {
    const ask = () => assistant.callRaw({ name: "delete_link", arguments: { id } });
    expect((await ask()).resultType).toBe("input_required");
    assistant.advance(after_ms);
    expect((await ask()).resultType).toBe(type);
    expect(assistant.writes).toEqual([]);
  },
);

test("how long a form stays open is measured independently of the system clock", async () => {
  const client = await assistant.connect({
    elicit: () => {
      assistant.setClock(hour_ms / 60);
      return { action: "decline" };
    },
  });
  expect((await deleteLink(client)).error.code).toBe("approval_required");
});
