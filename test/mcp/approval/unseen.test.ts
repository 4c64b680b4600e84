import { describe, expect, test } from "vitest";
import {
  createAssistantWorld,
  eras,
  legacyEras,
  type AssistantClient,
  type AssistantWorld,
  type Elicit,
  type Era,
} from "../../support/assistant-world.ts";
import type { Reply } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";

/** Tests when the server concludes that a client did not show the form to a user. */

const hour_ms = 60 * 60_000;

let assistant: AssistantWorld;
let id: string;
let questions: number;

openForEach(createAssistantWorld, async (opened) => {
  assistant = opened;
  questions = 0;
  ({ id } = await assistant.plant("link", { path: "spring", name: "Spring" }));
});

/** Connects a client that sends this reply after this time. */
function connect(
  era: Era,
  after_ms: number,
  reply: Reply | Error,
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
  "a %s client that cancels its own call is asked with a form again",
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

describe.each(eras)("a %s client", (era) => {
  const declines: readonly Reply[] = [{ action: "decline" }, { action: "cancel" }];

  test.each(declines)(
    "that replies $action within 300 ms gets the approval page instead of the form",
    async (reply) => {
      const client = await connect(era, 300, reply);
      const { error } = await deleteLink(client);
      expect(error).toMatchObject({
        code: "approval_required",
        effect: "none",
        approval: { url: expect.stringContaining("/approve/") },
      });
      expect(assistant.writes).toEqual([]);

      await assistant.press(error.approval.url, "approve");
      expect((await deleteLink(client)).deleted.id).toBe(id);
      expect(questions).toBe(1);
    },
  );

  test.each(declines)(
    "that replies $action after more than 300 ms declines the call",
    async (reply) => {
      const client = await connect(era, 301, reply);
      expect((await deleteLink(client)).error.code).toBe("approval_declined");
      expect((await deleteLink(client)).error.code).toBe("approval_declined");
      expect(questions).toBe(2);
    },
  );

  test("gets no second form for an hour after an instant reply", async () => {
    const client = await connect(era, 0, { action: "decline" });
    const other = await assistant.plant("link", { path: "summer" });
    await deleteLink(client);
    expect((await deleteLink(client, other.id)).error.approval.url).toContain("/approve/");
    assistant.advance(hour_ms);
    expect((await deleteLink(client, other.id)).error.approval.url).toContain("/approve/");
    expect(questions).toBe(1);

    assistant.advance(1);
    await deleteLink(client, other.id);
    expect(questions).toBe(2);
    expect(assistant.writes).toEqual([]);
  });

  test("with an instant reply does not prevent a form for another key's client", async () => {
    await deleteLink(await connect(era, 0, { action: "decline" }));
    const key = await assistant.world.addKey();
    const yes: Reply = { action: "accept", content: { approve: true } };
    const other = await connect(era, 1000, yes, { key });
    expect((await deleteLink(other)).deleted.id).toBe(id);
    expect(questions).toBe(2);
  });

  test("that cancels a page request instantly is not asked again", async () => {
    const capabilities = { elicitation: { url: {} } };
    const client = await connect(era, 10, { action: "cancel" }, { capabilities });
    const { url } = (await deleteLink(client)).error.approval;
    expect((await deleteLink(client)).error.approval.url).toBe(url);
    expect(questions).toBe(1);
  });
});

const minute_ms = 60_000;

describe.each(eras)("a %s client that cancels a form", (era) => {
  const cancel: Reply = { action: "cancel" };

  test("after 45 seconds gets only the approval page for the next day", async () => {
    const client = await connect(era, 45_000, cancel);
    const other = await assistant.plant("link", { path: "summer" });
    const { error } = await deleteLink(client);
    expect(error).toMatchObject({
      code: "approval_required",
      effect: "none",
      approval: { url: expect.stringContaining("/approve/") },
    });
    assistant.advance(24 * hour_ms - 1);
    expect((await deleteLink(client, other.id)).error.approval.url).toContain("/approve/");
    expect(questions).toBe(1);
    expect(assistant.writes).toEqual([]);

    assistant.advance(1);
    await deleteLink(client, other.id);
    expect(questions).toBe(2);
  });

  test("within 45 seconds declines the call", async () => {
    const client = await connect(era, 44_999, cancel);
    expect((await deleteLink(client)).error.code).toBe("approval_declined");
    expect((await deleteLink(client)).error.code).toBe("approval_declined");
    expect(questions).toBe(2);
  });

  test("after 45 seconds also gets only the approval page from the next process", async () => {
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
    later.advance(24 * hour_ms - 2001);
    await ask();
    expect(questions).toBe(3);
    later.advance(1);
    await ask();
    expect(questions).toBe(4);
  });

  test("does not prevent a form for another key's client", async () => {
    await deleteLink(await connect(era, minute_ms, cancel));
    const key = await assistant.world.addKey();
    await deleteLink(await connect(era, 1000, cancel, { key }));
    expect(questions).toBe(2);
  });
});

test.each(eras)("a %s client that declines after a minute declines the call", async (era) => {
  const client = await connect(era, minute_ms, { action: "decline" });
  expect((await deleteLink(client)).error.code).toBe("approval_declined");
  expect((await deleteLink(client)).error.code).toBe("approval_declined");
  expect(questions).toBe(2);
});

test("cancelling a form that another process sent declines the call", async () => {
  const call = { name: "delete_link", arguments: { id } };
  const { requestState } = await assistant.callRaw(call);
  await using later = await createAssistantWorld({ beside: assistant.world });
  const inputResponses = { approval: { action: "cancel" } };
  const reply = await later.callRaw({ ...call, requestState, inputResponses });
  expect(reply.structuredContent.error.code).toBe("approval_declined");
});

describe.each(legacyEras)("a %s client that answers a form with an error", (era) => {
  test("gets the approval page if the error is its own timeout", async () => {
    const late = Object.assign(new Error("Request timed out"), { code: -32001 });
    const client = await connect(era, 20_000, late);
    expect((await deleteLink(client)).error.code).toBe("approval_required");
    expect((await deleteLink(client)).error.code).toBe("approval_required");
    expect(questions).toBe(1);
  });

  test("gets the approval page if it sends the error after 45 seconds", async () => {
    const client = await connect(era, 45_000, new Error("gave up"));
    expect((await deleteLink(client)).error.code).toBe("approval_required");
    expect(questions).toBe(1);
  });

  test("declines the call if it sends the error within 45 seconds", async () => {
    const client = await connect(era, 44_999, new Error("gave up"));
    expect((await deleteLink(client)).error.code).toBe("approval_declined");
  });
});

describe.each(legacyEras)("a %s client that ends its own call", (era) => {
  /** Ends the call while the form is open, like a client whose call timed out. */
  async function endCall(after_ms: number): Promise<void> {
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

  test("after 45 seconds gets the approval page next time", async () => {
    await endCall(45_000);
    const later = await connect(era, 1000, { action: "decline" });
    expect((await deleteLink(later)).error.code).toBe("approval_required");
    expect(questions).toBe(1);
    expect(assistant.writes).toEqual([]);
  });

  test("within 45 seconds gets a form next time", async () => {
    await endCall(44_999);
    const later = await connect(era, 1000, { action: "decline" });
    expect((await deleteLink(later)).error.code).toBe("approval_declined");
    expect(questions).toBe(2);
  });
});

/** Asks without answering, so the server never learns whether the form was shown. */
async function ask(): Promise<string> {
  const call = { name: "delete_link", arguments: { id } };
  return (await assistant.callRaw(call)).resultType;
}

describe("a 2026-07-28 client that never answers a form", () => {
  test("gets the approval page 45 seconds later", async () => {
    expect(await ask()).toBe("input_required");
    assistant.advance(45_000);
    expect(await ask()).toBe("complete");
    expect(assistant.writes).toEqual([]);
  });

  test("gets a form again within 45 seconds", async () => {
    expect(await ask()).toBe("input_required");
    assistant.advance(44_999);
    expect(await ask()).toBe("input_required");
  });

  test("gets a form again after the question expires", async () => {
    expect(await ask()).toBe("input_required");
    assistant.advance(300_001);
    expect(await ask()).toBe("input_required");
  });
});

describe.each(legacyEras)("a %s client", (era) => {
  test("that fails instantly gets the approval page, because no user saw the form", async () => {
    const client = await connect(era, 0, new Error("no window to show it in"));
    expect((await deleteLink(client)).error.code).toBe("approval_required");
    expect((await deleteLink(client)).error.code).toBe("approval_required");
    expect(questions).toBe(1);
    expect(assistant.writes).toEqual([]);
  });
});

test("the time until an answer does not depend on the system clock", async () => {
  const client = await assistant.connect({
    elicit: () => {
      assistant.setClock(hour_ms / 60);
      return { action: "decline" };
    },
  });
  expect((await deleteLink(client)).error.code).toBe("approval_required");
});
