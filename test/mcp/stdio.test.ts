import { readdirSync } from "node:fs";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { createStdioTransport } from "../../src/mcp/stdio-transport.ts";
import { createFolder, run } from "../support/command.ts";
import { connectV1 } from "../support/mcp-clients.ts";
import { answerNever, answerSlowly, startDeployment } from "../support/mcp-deployment.ts";
import { waitUntil } from "../support/mcp-ground.ts";
import { callOf, handshake, startRaw } from "../support/mcp-raw.ts";

/** Our command over stdin and stdout: what it makes of odd lines, and how it ends. */

const mebibyte = 1024 * 1024;

describe.concurrent("a line that is no message", () => {
  test.each<[what: string, line: unknown, code: number]>([
    ["that is not JSON", "Good morning", -32700],
    ["that is half a JSON", '{"jsonrpc":"2.0","id":1,', -32700],
    ["that is JSON, but not JSON-RPC", { hello: "world" }, -32600],
    ["that is a JSON-RPC of another age", { jsonrpc: "1.0", id: "old", result: [] }, -32600],
    ["that is a list", [], -32600],
    ["that is longer than 4 MiB", "x".repeat(4 * mebibyte + 1), -32600],
    ["that is much longer", JSON.stringify({ long: "x".repeat(11 * mebibyte) }), -32600],
  ])("%s is answered, and the session goes on", async (_, line, code) => {
    await using folder = await createFolder();
    await using session = startRaw({ data: folder.path });
    session.send(line);
    await session.handshake();
    expect((await session.answer(null)).error).toMatchObject({ code });
    session.send("", "   ", callOf(1, "list_links"));
    expect((await session.answer(1)).result.structuredContent.links).toEqual([]);
    expect(session.count(null)).toBe(1);
    const [noted] = session.stderr().trimEnd().split("\n");
    expect(JSON.parse(noted ?? "")).toMatchObject({ msg: "a line was refused" });
  });

  test("is answered under its id where it has one, for somebody waits for it", async () => {
    await using folder = await createFolder();
    await using session = startRaw({ data: folder.path });
    await session.handshake();
    session.send({ jsonrpc: "2.0", id: 7, method: "tools/list", params: "all of them" });
    expect((await session.answer(7)).error).toMatchObject({ code: -32600 });
    // This could be taken for an answer to somebody's request 8, so it gets no id.
    session.send({ jsonrpc: "2.0", id: 8, result: 5 });
    expect((await session.answer(null)).error).toMatchObject({ code: -32600 });
    expect(session.count(8)).toBe(0);
  });

  test.each<[where: string, begin: string, end: string, id: number | string | null]>([
    ["at its end", '{"method":"tools/call","params":{"name":"', '"},"jsonrpc":"2.0","id":7}', 7],
    [
      "at its beginning",
      '{"jsonrpc":"2.0","id":"a-7","method":"tools/call","params":"',
      '"}',
      "a-7",
    ],
    ["inside it", '{"jsonrpc":"2.0","method":"tools/call","params":{"a":"', '","id":7}}', null],
    ["in what may be an answer", '{"jsonrpc":"2.0","id":7,"result":{"a":"', '"}}', null],
    ["at the end of an answer", '{"result":{"a":"', '"},"jsonrpc":"2.0","id":7}', null],
    ["that is no number", '{"method":"tools/call","params":"', '","id":007}', null],
    ["in a text", '{"jsonrpc":"2.0","method":"tools/call","params":"', ',\\"id\\":7}"}', null],
  ])("that is too long and has an id %s is answered by its request's", async (_, ...given) => {
    const [begin, end, id] = given;
    await using folder = await createFolder();
    await using session = startRaw({ data: folder.path });
    await session.handshake();
    session.send(`${begin}${"x".repeat(5 * mebibyte)}${end}`);
    const { error } = await session.answer(id);
    expect(error).toMatchObject({ code: -32600 });
    expect(error?.message).toMatch(/longer than 4 MiB\. Send fewer rows .*`waypost import FILE`/);
    expect(session.count(7)).toBe(id === 7 ? 1 : 0);
  });

  test("of exactly 4 MiB is read", async () => {
    await using folder = await createFolder();
    await using session = startRaw({ data: folder.path });
    await session.handshake();
    const call = JSON.stringify(callOf(1, "list_links"));
    session.send(call + " ".repeat(4 * mebibyte - call.length));
    expect((await session.answer(1)).result.structuredContent.links).toEqual([]);
    expect(session.count(null)).toBe(0);
  });
});

/** A process that does not end by itself fails its test by this. */
const bounded = { timeout: 15_000 };

describe.concurrent("the end", bounded, () => {
  test("of the input finds every call answered, and is a success", async () => {
    await using folder = await createFolder();
    await using session = startRaw({ data: folder.path });
    const calls = Array.from({ length: 20 }, (_, id) =>
      callOf(id, "create_link", { path: `p${id}` }),
    );
    session.send(...handshake, ...calls);
    session.child.stdin?.end(JSON.stringify(callOf("last", "list_links")));
    expect(await session.ended).toBe(0);
    for (const { id } of calls) expect(session.count(id)).toBe(1);
    // Even what stood there without its newline.
    expect(session.count("last")).toBe(1);
  });

  test("of the input waits for a call that takes its time", async () => {
    await using folder = await createFolder();
    await using slow = await startDeployment(answerSlowly);
    await using session = startRaw({ data: folder.path, env: aim(slow) });
    session.send(...handshake, callOf(1, "list_links"));
    await waitUntil(() => slow.requests.length > 0);
    session.child.stdin?.end();
    expect(await session.ended).toBe(0);
    expect((await session.answer(1)).result).toMatchObject({ structuredContent: { links: [] } });
  });

  test.each(["the input", "SIGTERM", "SIGINT"] as const)(
    "by %s comes, though a call is never answered",
    async (by) => {
      await using folder = await createFolder();
      await using silent = await startDeployment(answerNever);
      await using session = startRaw({ data: folder.path, env: aim(silent) });
      session.send(...handshake, callOf(1, "list_links"));
      await waitUntil(() => silent.requests.length > 0);
      if (by === "the input") session.child.stdin?.end();
      else session.child.kill(by);
      expect(await session.ended).toBe(0);
      expect(session.count(1)).toBe(0);
    },
  );

  test("by SIGTERM finds a running call answered, and is a success", async () => {
    await using folder = await createFolder();
    await using slow = await startDeployment(answerSlowly);
    await using session = startRaw({ data: folder.path, env: aim(slow) });
    session.send(...handshake, callOf(1, "list_links"));
    await waitUntil(() => slow.requests.length > 0);
    session.child.kill("SIGTERM");
    expect(await session.ended).toBe(0);
    expect((await session.answer(1)).result).toMatchObject({ structuredContent: { links: [] } });
  });

  test.each(["SIGTERM", "the input"])("by %s is a success where nothing runs", async (by) => {
    await using folder = await createFolder();
    await using session = startRaw({ data: folder.path });
    await session.handshake();
    if (by === "SIGTERM") session.child.kill("SIGTERM");
    else session.child.stdin?.end();
    expect(await session.ended).toBe(0);
  });

  test("comes when nobody reads the answers any more", async () => {
    await using folder = await createFolder();
    await using session = startRaw({ data: folder.path });
    await session.handshake();
    session.child.stdout?.destroy();
    session.send(callOf(1, "create_link", { path: "unheard" }));
    expect(await session.ended).toBe(0);
    // What was asked for is done all the same.
    await using next = await connectV1({ transport: "stdio", data: folder.path });
    expect((await next.callTool("get_link", { id: "unheard" })).isError).toBe(false);
  });

  test("does not wait for a subscription, which has no answer before it", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const transport = createStdioTransport({ input, output, onRefused: () => undefined });
    const heard: unknown[] = [];
    Object.assign(transport, { onmessage: (message: unknown) => heard.push(message) });
    await transport.start();
    const listenTo = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: {} };
    input.end(JSON.stringify(listenTo));
    await transport.ended;
    expect(heard).toEqual([listenTo]);
    await transport.settle(60_000);
  });
});

test.each([[[]], [["--mode", "read-only"]], [["stdio"]]])(
  "the words %j speak MCP, and where nobody speaks to them they end",
  async (words) => {
    await using folder = await createFolder();
    const finished = await run(words, { env: { WAYPOST_DATA: folder.path } });
    expect(finished).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(readdirSync(folder.path).toSorted()).toEqual(["owner.key", "waypost.db"]);
  },
);

test("eight at once on a data folder that is new see each other's links", async () => {
  await using folder = await createFolder();
  const sessions = Array.from({ length: 8 }, () => startRaw({ data: folder.path }));
  try {
    await Promise.all(sessions.map((session) => session.handshake()));
    await Promise.all(
      sessions.map(async (session, index) => {
        for (const turn of [1, 2, 3]) {
          session.send(callOf(turn, "create_link", { path: `s${index}-${turn}` }));
          expect((await session.answer(turn)).result.isError).not.toBe(true);
        }
      }),
    );
    for (const session of sessions) {
      session.send(callOf("list", "list_links", { limit: 100 }));
      const { result } = await session.answer("list");
      expect(result.structuredContent.links).toHaveLength(24);
    }
  } finally {
    for (const session of sessions) session.child.stdin?.end();
    await Promise.all(sessions.map((session) => session[Symbol.asyncDispose]()));
  }
  const { stdout } = await run(["keys", "list", "--json", "--data", folder.path]);
  expect(JSON.parse(stdout).keys).toHaveLength(1);
});

function aim({ url }: { readonly url: string }): Record<string, string> {
  return { WAYPOST_BASE_URL: url, WAYPOST_API_KEY: "some-key" };
}
