import { expect, test } from "vitest";
import { NotSent } from "../../../src/client/send-once.ts";
import { messages } from "../../../src/contract/messages.ts";
import { quoteAnswer } from "../../../src/contract/server-answer.ts";
import { codes, type ToolFailureCode } from "../../../src/mcp/results/advice-by-code.ts";
import {
  answering,
  openStage,
  ringAtOnce,
  type Handler,
  type Staging,
} from "../../support/stage.ts";

/** Tests the code of each failure, and the next step that the result suggests. */

const quote = (message: string) => quoteAnswer("deployment.example", message);
const refusing = (status: number, error: string) => ({ send: answering(status, { error }) });
const html: Handler = async () =>
  new Response("<h1>Sign in</h1>", { status: 200, headers: { "content-type": "text/html" } });
const silent: Handler = () => new Promise(() => {});
const unreachable: Handler = () => Promise.reject(new NotSent("refused"));
const broken: Handler = () => Promise.reject(new Error("secret /etc/passwd"));
const brokenWrite: Handler = (request) =>
  request.method === "GET" ? html(request) : broken(request);

/** Answers reads normally until the first write, and then never answers usefully. */
function breakAfterReading(): Handler {
  const meta = { page: 1, limit: 20, count: 0, last: 1, from: 0, to: 0 };
  let isWritten = false;
  return (request) => {
    isWritten ||= request.method !== "GET";
    return isWritten ? brokenWrite(request) : answering(200, { links: [], meta })(request);
  };
}

const failClock = () => {
  throw new Error("the clock failed");
};

const id = "00000000-0000-4000-8000-000000000000";
const refused = { status: 401, effect: "none", retry: "never" };
const now = { effect: "none", retry: "now" };
const later = { effect: "none", retry: "later" };
const badUrl = "Url must be an http or https address";

type Failure = Readonly<Record<string, unknown>>;
type Call = readonly [tool: string, args?: Readonly<Record<string, unknown>>];
type Case = readonly [
  code: ToolFailureCode,
  staging: Partial<Staging>,
  Failure,
  next: RegExp,
  call?: Call,
];

const cases: readonly Case[] = [
  ["invalid_arguments", {}, now, /`problems` and call get_link again/, ["get_link", { id, x: 1 }]],
  [
    "bad_request",
    refusing(400, messages.body_invalid),
    { ...now, status: 400 },
    /call get_link again/,
  ],
  [
    "key_missing",
    { key: undefined },
    { ...refused, message: messages.key_missing },
    /WAYPOST_API_KEY/,
  ],
  ["key_invalid", refusing(401, messages.key_invalid), refused, /another API key/],
  ["account_suspended", refusing(401, messages.account_suspended), refused, /suspended/],
  [
    "scope_missing",
    refusing(401, messages.scope_missing("links.show")),
    refused,
    /a key with the scope links\.show/,
  ],
  [
    "role_required",
    refusing(401, messages.role_required("manager")),
    refused,
    /role/,
    ["delete_ios_app"],
  ],
  [
    "plan_required",
    refusing(401, messages.pro_fields("referrer")),
    refused,
    /Pro plan/,
    ["create_link", { referrer: "a" }],
  ],
  [
    "unauthorized",
    refusing(401, "No."),
    { ...refused, message: quote("No.") },
    /what this key may do/,
  ],
  [
    "not_found",
    refusing(404, messages.link_not_found),
    { ...refused, status: 404, message: quote("Link not found") },
    /^Look up the right id/,
  ],
  [
    "validation_failed",
    refusing(422, badUrl),
    { ...now, status: 422, problems: [{ field: "url", message: quote(badUrl) }] },
    /create_link again/,
    ["create_link", { url: "ftp://a" }],
  ],
  [
    "rate_limited",
    refusing(429, messages.rate_limited),
    { ...later, retry_after_s: expect.any(Number) },
    /Wait/,
    ["create_link", { path: "a" }],
  ],
  ["overloaded", refusing(503, messages.took_too_long), later, /Wait a moment/],
  ["unreachable", { send: unreachable }, later, /call delete_link again later/, ["delete_link"]],
  ["timed_out", { send: silent, setAlarm: ringAtOnce }, later, /call get_link again later/],
  [
    "outcome_unknown",
    { send: brokenWrite },
    { effect: "unknown", retry: "never" },
    /First check whether the call took effect/,
    ["create_link", { name: "a" }],
  ],
  [
    "outcome_unknown",
    { send: breakAfterReading() },
    { effect: "unknown", retry: "later" },
    /^Read the record first\. Call upsert_link again only if/,
    ["upsert_link", { path: "a" }],
  ],
  ["bad_response", { send: html }, { effect: "none", retry: "never" }, /base address/],
  [
    "internal",
    { mode: "guarded", ...refusing(401, messages.scope_missing("links.show")) },
    { effect: "unknown", retry: "now" },
    /give the user the reference/,
    ["delete_link"],
  ],
];

test.for(cases)(
  "a failed call returns the error code %s and a sentence about the next step",
  async (given) => {
    const [code, staging, failure, next, call = ["get_link"]] = given;
    const [tool, args = { id }] = call;
    // With few tools, the server sends few probes about the key's permissions.
    const selection = [tool, "list_links"];
    await using stage = await openStage({ send: answering(200, {}), selection, ...staging });
    // The client checks each result against the schema of a tool that it has listed.
    await stage.listTools();
    const { isError, structured, text } = await stage.callTool(tool, args);
    expect(isError).toBe(true);
    expect(Object.keys(structured)).toEqual(["error"]);
    const { error } = structured;
    expect(error).toMatchObject({ code, message: expect.any(String), ...failure });
    expect(error.next).toMatch(next);
    expect(error.next).toMatch(/^[A-Z][^\n]*\.$/);
    expect(text).toBe(JSON.stringify(structured));
    expect(text).not.toContain("passwd");
    expect(stage.reported).toHaveLength(code === "internal" ? 1 : 0);
  },
);

test("the failures in this file cover every error code that no other file tests", () => {
  const others = ["approval_required", "approval_declined", "plan_changed", "cancelled"];
  expect([...cases.map(([code]) => code), ...others]).toEqual(expect.arrayContaining([...codes]));
});

test("after an internal error outside a tool, the client gets only a reference ID", async () => {
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
  ["get_link", { id }, now, /^Try again once/],
  ["upsert_link", { path: "a" }, { effect: "unknown", retry: "now" }, /^Try again once/],
  ["create_link", {}, { effect: "unknown", retry: "never" }, /^Before you repeat the call, check/],
])(
  "after an internal error, the next step is to repeat %s only if that is safe",
  async (tool, args, rest, next) => {
    await using stage = await openStage({
      send: () => Promise.reject(new Error("never called")),
      clock: { now: () => 0, monotonic: failClock },
    });
    const { structured } = await stage.callTool(tool, args);
    expect(structured["error"]).toMatchObject({ code: "internal", ...rest });
    expect(structured["error"].next).toMatch(next);
  },
);

test("the error for an unknown short link does not suggest looking up its ID", async () => {
  await using stage = await openStage(refusing(404, messages.link_not_found));
  const { structured } = await stage.callTool("resolve_short_link", { url: "https://a.example/b" });
  expect(structured["error"]).toMatchObject({ code: "not_found" });
  expect(structured["error"].next).not.toContain("right id");
});

test("an error message that quotes the remote server ends with only one period", async () => {
  await using stage = await openStage(refusing(503, "Busy. Come back later."));
  const { structured } = await stage.callTool("get_link", { id });
  expect(structured["error"].message).toMatch(/Come back later\."$/);
});

test("the error after a failed lookup names the tool that the client called", async () => {
  await using stage = await openStage({ send: unreachable });
  const { structured } = await stage.callTool("delete_link", { id: "spring" });
  expect(structured.error.next).toContain("delete_link");
});
