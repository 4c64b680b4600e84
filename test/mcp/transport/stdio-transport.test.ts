import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/server";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createStdioTransport, serveOverStdio } from "../../../src/mcp/transport/stdio.ts";
import { createGate } from "../../support/clock.ts";
import { callOf, handshake } from "../../support/mcp-http.ts";
import { collectGarbage } from "../../support/measure-held.ts";

/** Tests the stdio transport without a process: its memory, and which calls delay the end. */

const mebibyte = 1024 * 1024;

beforeEach(() => {
  // The test controls the time.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(() => {
  vi.useRealTimers();
});

async function settle(): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) await turn();
}

test("an endless input line uses no more memory than the longest allowed message", async () => {
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
  // A slice that is still referenced keeps its whole buffer in memory.
  expect(fed.filter((memory) => memory.deref() !== undefined).length).toBeLessThanOrEqual(4);
  expect(refused).toEqual([]);
  input.write("\n");
  await settle();
  expect(refused).toHaveLength(1);
});

type Message = { readonly id?: unknown };

function serve() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const messages: Message[] = [];
  createInterface({ input: output }).on("line", (line) => messages.push(JSON.parse(line)));
  const answers = createGate();
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
    stopped: new Promise(() => undefined),
    createServer,
  });
  void served.then(() => (isOver = true));
  return {
    send: async (...lines: readonly object[]) => {
      for (const line of lines) input.write(`${JSON.stringify(line)}\n`);
      await settle();
    },
    endInput: () => {
      input.end();
      return settle();
    },
    release: answers.open,
    running,
    isOver: () => isOver,
    listAnswered: () => messages.map(({ id }) => id).slice(1),
  };
}

const cancellationOf = (requestId: number | string) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId },
});

test("after its input ends, the server waits only for calls that were not cancelled", async () => {
  const { send, endInput, release, running, isOver, listAnswered } = serve();
  await send(...handshake, callOf(1, "a"), callOf("one", "b"), callOf(2, "c"));
  await send(cancellationOf("one"), cancellationOf(2), cancellationOf("1"), cancellationOf(3));
  expect(running).toEqual(["a", "b", "c"]);
  await endInput();
  expect(isOver()).toBe(false);
  release();
  await settle();
  expect([isOver(), listAnswered()]).toEqual([true, [1]]);
});

test("after its input ends, the server does not wait for a subscription", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = createStdioTransport({ input, output, onRefused: () => undefined });
  const received: unknown[] = [];
  Object.assign(transport, { onmessage: (message: unknown) => received.push(message) });
  await transport.start();
  const listenTo = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: {} };
  input.end(JSON.stringify(listenTo));
  await transport.ended;
  expect(received).toEqual([listenTo]);
  let isSettled = false;
  void transport.finish(60_000).then(() => (isSettled = true));
  await settle();
  expect(isSettled).toBe(true);
});

test("a call on the fast path is aborted when the connection ends", async () => {
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
        run: async (signal) => {
          signal.addEventListener("abort", left.open);
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
