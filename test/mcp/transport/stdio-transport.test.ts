import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/server";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createStdioTransport, serveOverStdio } from "../../../src/mcp/transport/stdio.ts";
import { createGate } from "../../support/clock.ts";
import { callOf, handshake } from "../../support/mcp-http.ts";
import { collectGarbage } from "../../support/measure-held.ts";

/** Lines without a process around them: what is kept of them, and what an end waits for. */

const mebibyte = 1024 * 1024;

beforeEach(() => {
  // No patience is over by itself.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Within this process everything that can happen has happened after so many turns. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) await turn();
}

test("of a line that goes on and on no more is kept than may be a message", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const refused: string[] = [];
  const onRefused = (reason: string) => refused.push(reason);
  const transport = createStdioTransport({ input, output, onRefused });
  await transport.start();
  const fed: WeakRef<ArrayBufferLike>[] = [];
  for (let count = 0; count < 32; count += 1) {
    const part = Buffer.alloc(mebibyte, "x");
    fed.push(new WeakRef(part.buffer));
    input.write(part);
    await turn();
  }
  await settle();
  await collectGarbage();
  // Whoever keeps a part of a buffer keeps all of it.
  expect(fed.filter((memory) => memory.deref() !== undefined).length).toBeLessThanOrEqual(4);
  expect(refused).toEqual([]);
  input.write("\n");
  await settle();
  expect(refused).toHaveLength(1);
});

type Message = { readonly id?: unknown };

/** A client's two pipes, and a server whose calls run until they are let go. */
function serve() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const said: Message[] = [];
  createInterface({ input: output }).on("line", (line) => said.push(JSON.parse(line)));
  const [answers, stop] = [createGate(), createGate()];
  const running: unknown[] = [];
  const createServer = () => {
    const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/call", async ({ params }) => {
      running.push(params.name);
      await answers.opened;
      return { content: [] };
    });
    return server;
  };
  let isOver = false;
  const options = { onRefused: () => undefined, onError: () => undefined };
  const served = serveOverStdio({
    ...options,
    input,
    output,
    stopped: stop.opened,
    createServer,
  });
  void served.then(() => (isOver = true));
  return {
    send: async (...lines: readonly object[]) => {
      for (const line of lines) input.write(`${JSON.stringify(line)}\n`);
      await settle();
    },
    end: (by: "the input" | "a stop", rest = "") => {
      if (by === "the input") input.end(rest);
      else stop.open();
      return settle();
    },
    letGo: answers.open,
    running,
    isOver: () => isOver,
    /** The ids of what was answered, the handshake's left out. */
    listAnswered: () => said.map(({ id }) => id).slice(1),
  };
}

const cancellationOf = (requestId: number | string) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId },
});

describe.each(["the input", "a stop"] as const)("the end by %s", (by) => {
  test("comes at once where nothing runs", async () => {
    const { send, end, isOver } = serve();
    await send(...handshake);
    expect(isOver()).toBe(false);
    await end(by);
    expect(isOver()).toBe(true);
  });

  test("comes when every call that runs is answered", async () => {
    const { send, end, letGo, running, isOver, listAnswered } = serve();
    await send(...handshake, callOf(1, "a"), callOf("one", "b"), callOf(2, "c"));
    expect(running).toEqual(["a", "b", "c"]);
    await end(by);
    expect([isOver(), listAnswered()]).toEqual([false, []]);
    letGo();
    await settle();
    expect([isOver(), listAnswered()]).toEqual([true, [1, "one", 2]]);
  });

  test("waits for no call that was cancelled, which has no answer any more", async () => {
    const { send, end, running, isOver, listAnswered } = serve();
    await send(...handshake, callOf(1, "a"), callOf("one", "b"));
    await send(cancellationOf(1), cancellationOf("one"));
    expect(running).toEqual(["a", "b"]);
    await end(by);
    expect([isOver(), listAnswered()]).toEqual([true, []]);
  });

  test("waits for the one that was not cancelled, whatever else was", async () => {
    const { send, end, letGo, isOver, listAnswered } = serve();
    await send(...handshake, callOf(1, "a"), callOf(2, "b"));
    await send(cancellationOf(2), cancellationOf("1"), cancellationOf(3));
    await end(by);
    expect(isOver()).toBe(false);
    letGo();
    await settle();
    expect([isOver(), listAnswered()]).toEqual([true, [1]]);
  });

  test("comes when the patience is over, whatever still runs", async () => {
    const { send, end, isOver, listAnswered } = serve();
    await send(...handshake, callOf(1, "a"));
    await end(by);
    await vi.advanceTimersByTimeAsync(1499);
    await settle();
    expect(isOver()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await settle();
    expect([isOver(), listAnswered()]).toEqual([true, []]);
  });
});

test("what stands at the end of the input without its newline is answered as well", async () => {
  const { send, end, letGo, running, isOver, listAnswered } = serve();
  await send(...handshake, callOf(1, "a"));
  await end("the input", JSON.stringify(callOf("last", "b")));
  expect([running, isOver()]).toEqual([["a", "b"], false]);
  letGo();
  await settle();
  expect([isOver(), listAnswered()]).toEqual([true, [1, "last"]]);
});

test("the end does not wait for a subscription, which has no answer before it", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = createStdioTransport({ input, output, onRefused: () => undefined });
  const heard: unknown[] = [];
  Object.assign(transport, { onmessage: (message: unknown) => heard.push(message) });
  await transport.start();
  const listenTo = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: {} };
  input.end(JSON.stringify(listenTo));
  await transport.ended;
  expect(heard).toEqual([listenTo]);
  let isSettled = false;
  void transport.finish(60_000).then(() => (isSettled = true));
  await settle();
  expect(isSettled).toBe(true);
});

test("a call on the fast path ends with the connection", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const left = createGate();
  const onLine = vi.fn<() => void>();
  createInterface({ input: output }).on("line", onLine);
  const served = serveOverStdio({
    input,
    output,
    fast: {
      admit: () => {},
      find: () => ({
        id: 1,
        run: async (leaving) => {
          leaving.addEventListener("abort", left.open);
          await left.opened;
          return { content: [] };
        },
      }),
    },
    stopped: new Promise(() => undefined),
    createServer: () => new Server({ name: "test", version: "1" }),
    onRefused: () => undefined,
    onError: () => undefined,
  });
  input.end(JSON.stringify(callOf(1, "a")));
  await settle();
  await vi.advanceTimersByTimeAsync(1500);
  await served;
  await left.opened;
  expect(onLine).not.toHaveBeenCalled();
});
