import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createFolder, createUsedFolder, run } from "../../support/command.ts";
import { connectV1 } from "../../support/mcp-clients.ts";
import { answerNever, holdAnswers, startDeployment } from "../../support/remote.ts";
import { callOf, handshake, startRaw, type RawSession } from "../../support/mcp-http.ts";
import { openForAll } from "../../support/open-for.ts";
import { waitUntil } from "../../support/clock.ts";

/** Tests the built command over stdin and stdout: invalid lines, and how it ends. */

const mebibyte = 1024 * 1024;

describe("an input line", () => {
  let session: RawSession;
  openForAll(createUsedFolder, async (folder, keep) => {
    session = keep(startRaw({ data: folder.path }));
    await session.handshake();
  });

  test.each<[what: string, line: unknown, code: number]>([
    ["that is not JSON", "Good morning", -32700],
    ["that is incomplete JSON", '{"jsonrpc":"2.0","id":1,', -32700],
    ["that is JSON, but not JSON-RPC", { hello: "world" }, -32600],
    ["with another version of JSON-RPC", { jsonrpc: "1.0", id: "old", result: [] }, -32600],
    ["that is a list", [], -32600],
    ["that is much too long", JSON.stringify({ long: "x".repeat(11 * mebibyte) }), -32600],
  ])("%s gets an error, and the session continues", async (_, line, code) => {
    const listNoted = () => session.stderr().split("\n").slice(0, -1);
    const before = listNoted().length;
    const error = { code, message: expect.any(String) };
    expect(await session.exchange(line)).toEqual([{ jsonrpc: "2.0", id: null, error }]);
    await waitUntil(() => listNoted().length > before);
    expect(JSON.parse(listNoted()[before] ?? "")).toMatchObject({ msg: "rejected an input line" });
  });

  test("that is invalid but has an ID gets an error with the same ID", async () => {
    const error = { code: -32600, message: expect.any(String) };
    const strange = { jsonrpc: "2.0", id: 7, method: "tools/list", params: "all of them" };
    expect(await session.exchange(strange)).toEqual([{ jsonrpc: "2.0", id: 7, error }]);
    // An error with the ID of a response could be mistaken for the answer to a request.
    const answer = { jsonrpc: "2.0", id: 8, result: 5 };
    expect(await session.exchange(answer)).toEqual([{ jsonrpc: "2.0", id: null, error }]);
  });

  test.each<[where: string, begin: string, end: string, id: number | string | null]>([
    ["at its end", '{"method":"tools/call","params":{"name":"', '"},"jsonrpc":"2.0","id":7}', 7],
    [
      "at its beginning",
      '{"jsonrpc":"2.0","id":"a-7","method":"tools/call","params":"',
      '"}',
      "a-7",
    ],
    ["in its params", '{"jsonrpc":"2.0","method":"tools/call","params":{"a":"', '","id":7}}', null],
    ["at the end of a response", '{"result":{"a":"', '"},"jsonrpc":"2.0","id":7}', null],
    ["in a string", '{"jsonrpc":"2.0","method":"tools/call","params":"', ',\\"id\\":7}"}', null],
  ])(
    "over 4 MiB with an ID %s gets an error with that ID only if it is a request's ID",
    async (_, ...given) => {
      const [begin, end, id] = given;
      const heard = await session.exchange(`${begin}${"x".repeat(5 * mebibyte)}${end}`);
      const message = /longer than 4 MiB\. Send fewer rows .*`waypost import FILE`/;
      const error = { code: -32600, message: expect.stringMatching(message) };
      expect(heard).toEqual([{ jsonrpc: "2.0", id, error }]);
    },
  );

  test("that is invalid gets an error even before the handshake, unlike a blank line", async () => {
    await using folder = await createUsedFolder();
    await using session = startRaw({ data: folder.path });
    session.send("Good morning");
    await session.handshake();
    expect(session.heard()[0]).toMatchObject({ id: null, error: { code: -32700 } });
    session.send("", "   ", callOf(1, "list_links"));
    expect((await session.answer(1)).result.structuredContent.links).toEqual([]);
    expect(session.count(null)).toBe(1);
  });

  test("of exactly 4 MiB is accepted", async () => {
    await using folder = await createUsedFolder();
    await using session = startRaw({ data: folder.path });
    await session.handshake();
    const call = JSON.stringify(callOf(1, "list_links"));
    session.send(call + " ".repeat(4 * mebibyte - call.length));
    const links = { structuredContent: { links: [] } };
    expect(await session.answer(1)).toMatchObject({ id: 1, result: links });
    expect(session.count(null)).toBe(0);
  });
});

describe.concurrent("the stdio process", () => {
  test.each(["the end of the input", "SIGTERM", "SIGINT"] as const)(
    "exits with code 0 after %s, once every call is answered",
    async (by) => {
      await using folder = await createUsedFolder();
      const { answer, letGo } = holdAnswers();
      await using held = await startDeployment(answer);
      await using session = startRaw({ data: folder.path, env: aim(held) });
      const calls = Array.from({ length: 20 }, (_, id) => callOf(id, "list_links"));
      session.send(...handshake, ...calls);
      await waitUntil(() => held.requests.length >= calls.length);
      if (by === "the end of the input") {
        // The last line has no newline.
        session.child.stdin?.end(JSON.stringify(callOf("last", "list_links")));
        await waitUntil(() => held.requests.length > calls.length);
      } else {
        session.child.kill(by);
      }
      letGo();
      expect(await session.ended).toBe(0);
      for (const { id } of calls) {
        const links = { structuredContent: { links: [] } };
        expect(await session.answer(id)).toMatchObject({ result: links });
        expect(session.count(id)).toBe(1);
      }
      expect(session.count("last")).toBe(by === "the end of the input" ? 1 : 0);
    },
  );

  test("exits at the end of the input, once every write is stored", async () => {
    await using folder = await createUsedFolder();
    await using session = startRaw({ data: folder.path });
    await session.handshake();
    const calls = Array.from({ length: 20 }, (_, id) =>
      callOf(id, "create_link", { path: `p${id}` }),
    );
    session.send(...calls);
    // Some calls must still be running when the input ends.
    await session.answer(18);
    session.child.stdin?.end(JSON.stringify(callOf("last", "list_links")));
    expect(await session.ended).toBe(0);
    for (const { id } of calls) expect(session.count(id)).toBe(1);
    expect(session.count("last")).toBe(1);
  });

  test.each(["the end of the input", "SIGTERM"] as const)(
    "exits after %s even if a call is never answered",
    async (by) => {
      await using folder = await createUsedFolder();
      await using silent = await startDeployment(answerNever);
      await using session = startRaw({ data: folder.path, env: aim(silent) });
      session.send(...handshake, callOf(1, "list_links"));
      await waitUntil(() => silent.requests.length > 0);
      if (by === "the end of the input") session.child.stdin?.end();
      else session.child.kill(by);
      expect(await session.ended).toBe(0);
      expect(session.count(1)).toBe(0);
    },
  );

  test("exits when its output is no longer read", async () => {
    await using folder = await createUsedFolder();
    await using session = startRaw({ data: folder.path });
    await session.handshake();
    session.child.stdout?.destroy();
    session.send(callOf(1, "create_link", { path: "unread" }));
    expect(await session.ended).toBe(0);
    // The call was still completed.
    await using next = await connectV1({ transport: "stdio", data: folder.path });
    expect((await next.callTool("get_link", { id: "unread" })).isError).toBe(false);
  });
});

test.each([[[]], [["--mode", "read-only"]], [["stdio"]]])(
  "the command with the arguments %j serves MCP over stdio until its input ends",
  async (words) => {
    await using folder = await createFolder();
    const finished = await run(words, { env: { WAYPOST_DATA: folder.path } });
    expect(finished).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(readdirSync(folder.path).toSorted()).toEqual(["owner.key", "waypost.db"]);
  },
);

test("eight processes that share a new data folder see the same links", async () => {
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
  return { WAYPOST_BASE_URL: url, WAYPOST_API_KEY: "some-key", WAYPOST_PROBE: "off" };
}
