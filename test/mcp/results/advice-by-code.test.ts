import { describe, expect, test } from "vitest";
import { NotSent } from "../../../src/client/send-once.ts";
import { messages } from "../../../src/contract/messages.ts";
import { quoteAnswer } from "../../../src/contract/server-answer.ts";
import { codes, type Code } from "../../../src/mcp/results/advice-by-code.ts";
import { createAssistantWorld } from "../../support/assistant-world.ts";
import {
  answering,
  openStage,
  ringAtOnce,
  type Deployment,
  type Staging,
} from "../../support/stage.ts";

/** Every way in which a call can fail: what it is called, and what the assistant is told to do. */

const quote = (message: string) => quoteAnswer("deployment.example", message);
const refusing = (status: number, error: string) => answering(status, { error });
const html: Deployment = async () =>
  new Response("<h1>Sign in</h1>", { status: 200, headers: { "content-type": "text/html" } });
const silent: Deployment = () => new Promise(() => {});
const unreachable: Deployment = () => Promise.reject(new NotSent("refused"));
const noLinks = {
  links: [],
  meta: { page: 1, limit: 20, count: 0, last: 1, from: 0, to: 0 },
};

/** The target is read, and then nothing comes back any more. */
function breakAfterReading(): Deployment {
  let isWritten = false;
  return (request) => {
    if (request.method !== "GET") isWritten = true;
    if (isWritten) return request.method === "GET" ? html(request) : broken(request);
    return answering(200, noLinks)(request);
  };
}

const broken: Deployment = () => Promise.reject(new Error("secret /etc/passwd"));

type Case = {
  readonly code: Code;
  readonly tool?: string;
  readonly args?: Record<string, unknown>;
  readonly staging: Partial<Staging>;
  /** What is expected of the failure. */
  readonly failure: Readonly<Record<string, unknown>>;
};

const id = "00000000-0000-4000-8000-000000000000";
const refused = { effect: "none", retry: "never" };

const cases: readonly Case[] = [
  {
    code: "invalid_arguments",
    args: { id, extra: 1 },
    staging: {},
    failure: { effect: "none", retry: "now", next: /`problems` and call get_link again/ },
  },
  {
    code: "bad_request",
    staging: { send: refusing(400, messages.body_invalid) },
    failure: { status: 400, effect: "none", retry: "now", next: /call get_link again/ },
  },
  {
    code: "key_missing",
    staging: { key: undefined },
    failure: { ...refused, status: 401, message: messages.key_missing, next: /WAYPOST_API_KEY/ },
  },
  {
    code: "key_invalid",
    staging: { send: refusing(401, messages.key_invalid) },
    failure: { ...refused, status: 401, next: /another API key/ },
  },
  {
    code: "account_suspended",
    staging: { send: refusing(401, messages.account_suspended) },
    failure: { ...refused, status: 401, next: /suspended/ },
  },
  {
    code: "scope_missing",
    staging: { send: refusing(401, messages.scope_missing("links.show")) },
    failure: { ...refused, status: 401, next: /a key with the scope links\.show/ },
  },
  {
    code: "role_required",
    tool: "delete_ios_app",
    staging: { send: refusing(401, messages.role_required("manager")) },
    failure: { ...refused, status: 401, next: /role/ },
  },
  {
    code: "plan_required",
    tool: "create_link",
    args: { referrer: "a" },
    staging: { send: refusing(401, messages.pro_fields("referrer")) },
    failure: { ...refused, status: 401, next: /Pro plan/ },
  },
  {
    code: "unauthorized",
    staging: { send: refusing(401, "No.") },
    failure: { ...refused, status: 401, message: quote("No."), next: /what this key may do/ },
  },
  {
    code: "not_found",
    staging: { send: refusing(404, messages.link_not_found) },
    failure: {
      ...refused,
      status: 404,
      message: quote("Link not found"),
      next: /^Look up the right id/,
    },
  },
  {
    code: "validation_failed",
    tool: "create_link",
    args: { url: "ftp://a" },
    staging: { send: refusing(422, "Url must be an http or https address") },
    failure: {
      status: 422,
      effect: "none",
      retry: "now",
      problems: [{ field: "url", message: quote("Url must be an http or https address") }],
      next: /create_link again/,
    },
  },
  {
    code: "rate_limited",
    tool: "create_link",
    args: { path: "a" },
    staging: { send: refusing(429, messages.rate_limited) },
    failure: { effect: "none", retry: "later", retry_after_s: expect.any(Number), next: /Wait/ },
  },
  {
    code: "overloaded",
    staging: { send: refusing(503, messages.took_too_long) },
    failure: { effect: "none", retry: "later", next: /Wait a moment/ },
  },
  {
    code: "unreachable",
    tool: "delete_link",
    staging: { send: unreachable },
    failure: { effect: "none", retry: "later", next: /call delete_link again later/ },
  },
  {
    code: "timed_out",
    staging: { send: silent, setTimer: ringAtOnce },
    failure: { effect: "none", retry: "later", next: /call get_link again later/ },
  },
  {
    code: "outcome_unknown",
    tool: "create_link",
    args: { name: "a" },
    staging: { send: (request) => (request.method === "GET" ? html(request) : broken(request)) },
    failure: {
      effect: "unknown",
      retry: "never",
      next: /First check whether the call took effect/,
    },
  },
  {
    code: "outcome_unknown",
    tool: "upsert_link",
    args: { path: "a" },
    staging: {
      // Each client has a deployment of its own.
      get send() {
        return breakAfterReading();
      },
    },
    failure: {
      effect: "unknown",
      retry: "later",
      next: /^Read the record first\. Call upsert_link again only if/,
    },
  },
  {
    code: "bad_response",
    staging: { send: html },
    failure: { effect: "none", retry: "never", next: /base address/ },
  },
  {
    code: "internal",
    tool: "delete_link",
    staging: {
      mode: "guarded",
      send: refusing(401, messages.scope_missing("links.show")),
    },
    failure: { effect: "unknown", retry: "now", next: /give the user the reference/ },
  },
];

describe.each(["v1", "modern"] as const)("through the client of %s", (era) => {
  test.each(cases)("$code is told with what to do next", async (given) => {
    const { code, tool = "get_link", args = { id }, staging, failure } = given;
    // With few tools the server asks few questions about the key's access.
    const selection = [tool, "list_links"];
    await using stage = await openStage({ send: answering(200, {}), era, selection, ...staging });
    // The clients check what comes against what the list said of it.
    await stage.listTools();
    const { isError, structured, text } = await stage.callTool(tool, args);
    expect(isError).toBe(true);
    expect(Object.keys(structured)).toEqual(["error"]);
    const { error } = structured;
    const { next, ...rest } = failure;
    expect(error).toMatchObject({ code, message: expect.any(String), ...rest });
    expect(error.next).toMatch(next as RegExp);
    expect(error.next).toMatch(/^[A-Z][^\n]*\.$/);
    expect(text).toBe(JSON.stringify(structured));
    expect(text).not.toContain("passwd");
    expect(stage.reported).toHaveLength(code === "internal" ? 1 : 0);
  });
});

test("what fails before a tool is called is told by its reference alone", async () => {
  await using stage = await openStage({
    send: answering(200, {}),
    lookUp: () => Promise.reject(new Error("ENOENT: /etc/passwd")),
  });
  await expect(stage.listTools()).rejects.toThrow(
    /Something went wrong inside Waypost \(reference reference-1\)\.$/,
  );
  await expect(stage.callTool("get_link", { id })).rejects.toThrow(/reference reference-2/);
  expect(stage.reported).toHaveLength(2);
});

test.each([
  ["get_link", { id }, { effect: "none", retry: "now" }, /^Try again once/],
  ["upsert_link", { path: "a" }, { effect: "unknown", retry: "now" }, /^Try again once/],
  ["create_link", {}, { effect: "unknown", retry: "never" }, /^Before you repeat the call, check/],
])(
  "after a fault of ours %s is repeated where that does no harm",
  async (tool, args, rest, next) => {
    await using stage = await openStage({
      send: () => Promise.reject(new Error("never called")),
      clock: { now: () => 0, monotonic: breakOnce() },
    });
    const { structured } = await stage.callTool(tool, args);
    expect(structured["error"]).toMatchObject({ code: "internal", ...rest });
    expect(structured["error"].next).toMatch(next);
  },
);

test("what nobody finds by an id is not looked up in a list", async () => {
  await using stage = await openStage({ send: refusing(404, messages.link_not_found) });
  const { structured } = await stage.callTool("resolve_short_link", { url: "https://a.example/b" });
  expect(structured["error"]).toMatchObject({ code: "not_found" });
  expect(structured["error"].next).not.toContain("right id");
});

test("a sentence of the deployment's is not ended twice", async () => {
  const send = refusing(503, "Busy. Come back later.");
  await using stage = await openStage({ send });
  const { structured } = await stage.callTool("get_link", { id });
  expect(structured["error"].message).toMatch(/Come back later\."$/);
  expect(structured["error"].message).not.toMatch(/\.\.$/);
});

test("an approval that is asked for, or refused, is a failure of the same shape", async () => {
  await using assistant = await createAssistantWorld();
  await assistant.plant("link", { path: "spring" });
  await assistant.listTools();
  const { structured } = await assistant.callTool("delete_link", { id: "spring" });
  expect(structured.error).toMatchObject({
    code: "approval_required",
    effect: "none",
    retry: "later",
    approval: { preview: expect.any(String), url: expect.any(String) },
  });
  const decline = () => {
    other.advance(1000);
    return { action: "decline" } as const;
  };
  await using other = await createAssistantWorld({ elicit: decline });
  await other.plant("link", { path: "spring" });
  await other.listTools();
  const declined = await other.callTool("delete_link", { id: "spring" });
  expect(declined.structured.error).toMatchObject({
    code: "approval_declined",
    effect: "none",
    retry: "never",
  });
});

test("no code is left out but those that no call of a client can end in yet", () => {
  // A cancelled call has nobody left to answer, and plans have failures of their own.
  const elsewhere = ["approval_required", "approval_declined", "plan_changed", "cancelled"];
  expect([...cases.map(({ code }) => code), ...elsewhere]).toEqual(
    expect.arrayContaining([...codes]),
  );
});

test("a refusal of a lookup names the tool that was called, not the one that looked", async () => {
  await using stage = await openStage({ send: unreachable });
  const { structured } = await stage.callTool("delete_link", { id: "spring" });
  expect(structured.error.next).toContain("delete_link");
});

/** A clock that fails when it is asked within a call. */
function breakOnce(): () => number {
  return () => {
    throw new Error("the clock stands still");
  };
}
