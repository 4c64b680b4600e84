import { describe, expect, test } from "vitest";
import { viewExtension, viewType } from "../../../../src/mcp/tools/templates/run-template.ts";
import { createUsedFolder } from "../../../support/command.ts";
import { answerEmpty, startDeployment } from "../../../support/remote.ts";
import { callOf, handshake, startRaw, type RawSession } from "../../../support/mcp-http.ts";
import { waitUntil } from "../../../support/clock.ts";
import { openForAll } from "../../../support/open-for.ts";

/** The fast path of later calls gives the same answers as the SDK, which handles the first. */

const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

type Params = Readonly<Record<string, unknown>>;
type Line = { readonly id: number | string; readonly params: Params };

const eras = {
  "2025-06-18": {
    open: (session: RawSession) => session.handshake(),
    ask: (id: number, name: string, args?: object): Line => callOf(id, name, args),
  },
  "2026-07-28": {
    open: async (session: RawSession) => {
      const params = { ["_meta"]: envelope };
      session.send({ jsonrpc: "2.0", id: "open", method: "tools/list", params });
      await session.answer("open");
    },
    ask: (id: number, name: string, args?: object): Line => {
      const { params, ...call } = callOf(id, name, args);
      return { ...call, params: { ...params, ["_meta"]: envelope } };
    },
  },
} as const;

const usualCalls = [
  ["a call to list_links", "list_links", {}],
  ["a call for an unknown link", "get_link", { id: "nothing" }],
  ["a call with an unknown argument", "list_links", { colour: "red" }],
  ["a call to an unknown tool", "list_linke", {}],
  ["a call to delete_link", "delete_link", { id: "nothing" }],
] as const;

type LineChange = (line: Line) => unknown;

const alterParams = (alter: (params: Params) => unknown): LineChange => {
  return (line) => ({ ...line, params: alter(line.params) });
};
const alterMeta = (more: object): LineChange => {
  return alterParams((params) => ({
    ...params,
    ["_meta"]: { ...Object(params["_meta"]), ...more },
  }));
};

const claimInfo = (info: unknown) => alterMeta({ "io.modelcontextprotocol/clientInfo": info });

/** http.test.ts tests more unusual requests. */
const unusualLines: readonly (readonly [what: string, alter: LineChange])[] = [
  ["an additional member", (line) => ({ ...line, also: 1 })],
  ["an additional parameter", alterParams((params) => ({ ...params, also: 1 }))],
  ["deeply nested client information", (line) => nestDeeply(claimInfo("nested")(line))],
];

/** Returns the line as text, because JSON.stringify cannot write deeply nested values. */
function nestDeeply(line: unknown): string {
  const levels = 200_000;
  return JSON.stringify(line).replace('"nested"', "[".repeat(levels) + "]".repeat(levels));
}

describe.concurrent.each(Object.entries(eras))("a session of revision %s", (_, { open, ask }) => {
  /** A session whose first call is done, so that later calls take the fast path. */
  let later: RawSession;
  /** Resolves when the previous line is answered, because lines are sent one after another. */
  let turn: Promise<unknown> = Promise.resolve();

  openForAll(createUsedFolder, async (folder, keep) => {
    later = keep(startRaw({ data: folder.path }));
    await open(later);
    later.send(ask(1, "list_links"));
    await later.answer(1);
  });

  test.each(usualCalls)(
    "%s gets the same response from the SDK and on the fast path",
    async (_what, name, args) => {
      const line = ask(7, name, args);
      expect(await sendLater(line)).toEqual(await sendFirst(line));
    },
  );

  test.each(unusualLines)(
    "a call with %s gets the same response from the SDK and on the fast path",
    async (_what, alter) => {
      const line = alter(ask(7, "list_links"));
      expect(await sendLater(line)).toEqual(await sendFirst(line));
    },
  );

  test("a call on the fast path sends progress notifications if requested", async () => {
    await using folder = await createUsedFolder();
    await using session = startRaw({ data: folder.path });
    await open(session);
    const rows = Array.from({ length: 40 }, (_, index) => ({ path: `spring-${index}` }));
    session.send(ask(1, "plan_links", { operation: "upsert", rows }));
    const { result } = await session.answer(1);
    const { id: plan_id } = result.structuredContent.plan;
    session.send(alterMeta({ progressToken: "p" })(ask(2, "apply_plan", { plan_id })));
    await session.answer(2);
    const notice = session.heard().find((message) => "method" in message);
    expect(notice).toMatchObject({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: "p", total: 40 },
    });
  });

  test("a cancelled call on the fast path ends without a response", async () => {
    await using folder = await createUsedFolder();
    await using deployment = await startDeployment((request, response) => {
      if (deployment.requests.length === 1) return answerEmpty(request, response);
    });
    await using session = startRaw({ data: folder.path, env: aim(deployment) });
    await open(session);
    session.send(ask(1, "list_links"));
    await session.answer(1);
    session.send(ask(2, "list_links"));
    await waitUntil(() => deployment.requests.length === 2);
    session.send({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: 2 },
    });
    await waitUntil(() => deployment.requests[1]?.destroyed === true);
    session.child.stdin?.end();
    expect(await session.ended).toBe(0);
    expect(session.count(2)).toBe(0);
  });

  async function sendFirst(line: unknown) {
    await using folder = await createUsedFolder();
    await using session = startRaw({ data: folder.path });
    await open(session);
    return await readAnswers(session, line);
  }

  async function sendLater(line: unknown) {
    const heard = turn.then(() => readAnswers(later, line));
    turn = heard.catch(() => undefined);
    return heard;
  }

  async function readAnswers(session: RawSession, line: unknown) {
    const before = session.heard().length;
    const last = 100 + before;
    session.send(line, ask(last, "list_apps_of_nobody"));
    await session.answer(last);
    await waitUntil(() => session.heard().length >= before + 2);
    const heard = session.heard().slice(before);
    const text = JSON.stringify(heard.filter(({ id }) => id !== last));
    // Each session uses a different port.
    return JSON.parse(text.replaceAll(/localhost:\d+/g, "localhost"));
  }
});

test("a session of an earlier revision ignores a newer revision in a call", async () => {
  await using folder = await createUsedFolder();
  await using session = startRaw({ data: folder.path });
  await session.handshake();
  const answers = [];
  for (const id of [1, 2, 3]) {
    session.send(eras["2026-07-28"].ask(id, "list_links"));
    answers.push((await session.answer(id)).result);
  }
  expect(Object.keys(answers[0])).toEqual(["content", "structuredContent"]);
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
});

test("a client that initializes again gets results that match its new capabilities", async () => {
  await using folder = await createUsedFolder();
  await using session = startRaw({ data: folder.path });
  await session.handshake();
  for (const id of [1, 2]) {
    session.send(callOf(id, "preview_template"));
    expect(Object.keys((await session.answer(id)).result)).not.toContain("_meta");
  }
  const [{ params, ...initialize }] = handshake;
  const extensions = { [viewExtension]: { mimeTypes: [viewType] } };
  session.send({ ...initialize, id: 3, params: { ...params, capabilities: { extensions } } });
  await session.answer(3);
  session.send(callOf(4, "preview_template"));
  expect(Object.keys((await session.answer(4)).result)).toContain("_meta");
});

function aim({ url }: { readonly url: string }): Record<string, string> {
  return { WAYPOST_BASE_URL: url, WAYPOST_API_KEY: "some-key", WAYPOST_PROBE: "off" };
}
