import { afterEach, describe, expect, test, vi } from "vitest";
import {
  createAssistantWorld,
  eras,
  legacyEras,
  type AssistantWorld,
} from "../../support/assistant-world.ts";
import type { Elicit } from "../../support/mcp-clients.ts";
import { createGate } from "../../support/clock.ts";
import { openForEach } from "../../support/open-for.ts";
import type { RawCall, RawResult } from "../../support/mcp-http.ts";

/** Tests which answers in the client's own form approve a call. */

const yes = { action: "accept", content: { approve: true } } as const;

/** Fails while the form is shown, like a client whose window closes. */
const fail: Elicit = () => {
  think(yes);
  return Promise.reject(new Error("the window is gone"));
};

let assistant: AssistantWorld;
let id: string;

openForEach(createAssistantWorld, async (opened) => {
  assistant = opened;
  ({ id } = await assistant.plant("link", { path: "spring", name: "Spring" }));
});

afterEach(() => {
  vi.useRealTimers();
});

/** Advances the clock by a second, because an instant answer means that the form was not shown. */
const think: (reply: Awaited<ReturnType<Elicit>>) => Awaited<ReturnType<Elicit>> = (reply) => {
  assistant.advance(1000);
  return reply;
};

async function rename(name: string): Promise<void> {
  const reply = await assistant.world.call("PATCH", `/links/${id}`, { body: { name } });
  expect(reply.status).toBe(200);
}

async function expectUntouched(): Promise<void> {
  expect(assistant.writes).toEqual([]);
  expect((await assistant.world.call("GET", `/links/${id}`)).status).toBe(200);
}

function call(extra: Partial<RawCall> = {}): Promise<RawResult> {
  return assistant.callRaw({ name: "delete_link", arguments: { id }, ...extra });
}

function answer(requestState: unknown, extra: Partial<RawCall> = {}): Promise<RawResult> {
  return call({ inputResponses: { approval: yes }, requestState, ...extra });
}

describe.each(eras)("the approval form of a %s client", (era) => {
  const declines: readonly (readonly [string, ReturnType<Elicit>])[] = [
    ["accepts the form without a tick", { action: "accept", content: { approve: false } }],
    ["declines the form", { action: "decline" }],
    ["closes the form", { action: "cancel" }],
  ];

  test.each(declines)("a call is declined if the user %s", async (_, reply) => {
    const { callTool } = await assistant.connect({ era, elicit: async () => think(await reply) });
    const result = await callTool("delete_link", { id });
    expect(result.structured.error).toMatchObject({
      code: "approval_declined",
      effect: "none",
      retry: "never",
    });
    await expectUntouched();
  });

  test("a call fails with instructions to retry if the form's box is not ticked", async () => {
    const reply = { action: "accept", content: { approve: false } } as const;
    const { callTool } = await assistant.connect({ era, elicit: async () => think(reply) });
    const { error } = (await callTool("delete_link", { id })).structured;
    expect(error.message).toBe("The Approve box in the form was not ticked, so nothing was done.");
    expect(error.next).toBe(
      "Ask the user whether to call delete_link again. " +
        'To approve, they tick "Approve" in the form before they accept it.',
    );
  });

  test("if the target changes while a form is open, a second form shows the change", async () => {
    const asked: string[] = [];
    const elicit: Elicit = async (message) => {
      if (asked.push(message) === 1) await rename("Summer");
      return yes;
    };
    const { callTool } = await assistant.connect({ era, elicit });

    const result = await callTool("delete_link", { id });

    expect(asked.map((message) => message.split("\n")[0])).toEqual([
      'Delete the link "Spring"',
      'Delete the link "Summer"',
    ]);
    expect(result.structured.deleted.id).toBe(id);
    expect(assistant.writes).toHaveLength(1);
  });

  test("a call is declined if the user declines the second form", async () => {
    let questions = 0;
    const elicit: Elicit = async () => {
      questions += 1;
      if (questions > 1) return think({ action: "decline" });
      await rename("Summer");
      return yes;
    };
    const { callTool } = await assistant.connect({ era, elicit });
    const result = await callTool("delete_link", { id });
    expect(result.structured.error.code).toBe("approval_declined");
    await expectUntouched();
  });

  test("visits to the link while the form is open do not cause a second form", async () => {
    let questions = 0;
    const elicit: Elicit = async () => {
      questions += 1;
      await assistant.world.store.write((db) =>
        db.updateTable("links").set({ clicks: 5000 }).where("id", "=", id).execute(),
      );
      return yes;
    };
    const { callTool } = await assistant.connect({ era, elicit });
    expect((await callTool("delete_link", { id })).structured.deleted.id).toBe(id);
    expect(questions).toBe(1);
  });

  test("a second form appears if the first is answered after five minutes", async () => {
    let questions = 0;
    const elicit: Elicit = () => {
      questions += 1;
      if (questions === 1) assistant.advance(5 * 60_000);
      return yes;
    };
    const { callTool } = await assistant.connect({ era, elicit });
    expect((await callTool("delete_link", { id })).structured.deleted.id).toBe(id);
    expect(questions).toBe(2);
    expect(assistant.writes).toHaveLength(1);
  });

  test.each([
    ["forms", { elicitation: {} }],
    ["forms and URLs", { elicitation: { form: {}, url: {} } }],
  ])(
    "the approval request is a form if the client declares support for %s",
    async (_, capabilities) => {
      const { callTool } = await assistant.connect({ era, capabilities, elicit: () => yes });
      expect((await callTool("delete_link", { id })).structured.deleted.id).toBe(id);
    },
  );
});

describe.each(legacyEras)("a %s client that supports forms", (era) => {
  test("gets the error approval_declined if a form is unanswered for five minutes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const ends: string[] = [];
    const asked = createGate();
    const elicit: Elicit = () => {
      asked.open();
      return new Promise(() => {});
    };
    const { callTool } = await assistant.connect({ era, elicit });
    const call = callTool("delete_link", { id }).finally(() => ends.push("no"));
    await asked.opened;

    await vi.advanceTimersByTimeAsync(5 * 60_000 - 1);
    expect(ends).toEqual([]);
    assistant.advance(5 * 60_000);
    await vi.advanceTimersByTimeAsync(1);

    expect((await call).structured.error.code).toBe("approval_declined");
    await expectUntouched();
  });

  test("gets at most three forms for one call whose target keeps changing", async () => {
    let questions = 0;
    const elicit: Elicit = async () => {
      questions += 1;
      await rename(`Name ${questions}`);
      return yes;
    };
    const { callTool } = await assistant.connect({ era, elicit });
    const { error } = (await callTool("delete_link", { id })).structured;
    expect(error.code).toBe("approval_declined");
    expect(questions).toBe(3);
    await expectUntouched();
  });

  test("cannot approve a call by sending a form answer along with it", async () => {
    const { callTool } = await assistant.connect({
      era,
      elicit: () => think({ action: "decline" }),
    });
    const { error } = (await callTool("delete_link", { id }, { inputResponses: { approval: yes } }))
      .structured;
    expect(error.code).toBe("approval_declined");
    await expectUntouched();
  });
});

describe("a 2026-07-28 client", () => {
  test("gets a form with one checkbox before anything changes", async () => {
    const asked = await call();
    expect(asked).toMatchObject({
      resultType: "input_required",
      requestState: expect.any(String),
      inputRequests: {
        approval: {
          method: "elicitation/create",
          params: {
            mode: "form",
            message: expect.stringContaining('Delete the link "Spring"'),
            requestedSchema: { type: "object", required: ["approve"] },
          },
        },
      },
    });
    const { requestedSchema } = asked.inputRequests.approval.params;
    expect(Object.keys(requestedSchema.properties)).toEqual(["approve"]);
    expect(requestedSchema.properties.approve.type).toBe("boolean");
    await expectUntouched();
  });

  test("does not approve the call if it fails to show the form", async () => {
    const { callTool } = await assistant.connect({ elicit: fail });
    await callTool("delete_link", { id }).catch(() => undefined);
    await expectUntouched();
  });

  test.each([
    ["nothing", undefined],
    ["an empty object", {}],
    ["an approval under another name", { other: yes }],
    ["a nested approval", { approval: { method: "elicitation/create", result: yes } }],
    ['the text "true"', { approval: { action: "accept", content: { approve: "true" } } }],
    ["a number", { approval: { action: "accept", content: { approve: 1 } } }],
    ["no content", { approval: { action: "accept" } }],
    ["a list", { approval: { action: "accept", content: [true] } }],
    ["a tick on a declined form", { approval: { action: "decline", content: { approve: true } } }],
    ["a value that is not an object", true],
  ])("does not approve the call if it answers the form with %s", async (_, inputResponses) => {
    const { requestState } = await call();
    const result = await call({ inputResponses, requestState });
    expect(result.structuredContent?.deleted).toBeUndefined();
    await expectUntouched();
  });

  test.each([
    ["without a state", undefined],
    ["with an invented state", "eyJpZCI6IngifQ.c2lnbmF0dXJl"],
    ["with an empty state", ""],
    ["with an object as the state", { id: "x" }],
    ["with a number as the state", 7],
  ])("does not approve the call if it answers the form %s", async (_, requestState) => {
    await call();
    const result = await answer(requestState);
    expect(result.structuredContent?.deleted).toBeUndefined();
    await expectUntouched();
  });

  test("gets the form again if it sends the request state without an answer", async () => {
    const { requestState } = await call();
    expect((await call({ requestState })).resultType).toBe("input_required");
    await expectUntouched();
  });

  test("cannot approve a call after declining it", async () => {
    const { requestState } = await call();
    const no = { inputResponses: { approval: think({ action: "decline" }) }, requestState };
    expect((await call(no)).structuredContent.error.code).toBe("approval_declined");
    expect((await answer(requestState)).structuredContent.error.code).toBe("approval_declined");
    await expectUntouched();
  });
});
