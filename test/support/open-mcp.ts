import { setImmediate as turn } from "node:timers/promises";
import { Server, type ServerContext } from "@modelcontextprotocol/server";
import { expect } from "vitest";
import type { KnownKey } from "../../src/contract/access.ts";
import { createAccess } from "../../src/mcp/access/key-access.ts";
import { createLearnedAccess } from "../../src/mcp/access/remote-access.ts";
import type { KeyContext } from "../../src/mcp/access/key-context.ts";
import { createToolbox } from "../../src/mcp/tools/toolbox.ts";
import { createMcpHttp } from "../../src/mcp/transport/http.ts";
import { createAlarms, createGate } from "./clock.ts";
import { listenRequest, modernCall, withSession, callOf, handshake } from "./mcp-http.ts";

/** Use this for MCP messages to the HTTP transport in this process, with simulated tools. */

const known: KnownKey = {
  facts: undefined,
  linkHost: undefined,
  hasSecondHost: false,
  linkInReferrer: false,
};

type HeldOptions = SessionOptions & { readonly signal?: AbortSignal };
type SessionOptions = { readonly bytes?: number };

/** The implementation of all tools. By default they do nothing. */
type ToolHandler = (tool: string, context: ServerContext) => unknown;

const [{ params, ...initialize }] = handshake;
const handshakeWithForms = {
  ...initialize,
  params: { ...params, capabilities: { elicitation: {} } },
};
/** More bytes than the server reads of any message. */
const long = new Uint8Array(70_000).fill(32);

function lengthen<T extends { readonly body: string }>(request: T, bytes = 0): T {
  return { ...request, body: request.body + " ".repeat(bytes) };
}

/** The MCP endpoint without a port. It accepts any token as a key. */
export function openMcp(work: ToolHandler = () => undefined) {
  const made: string[] = [];
  let now = 0;
  const clock = { now: () => now, monotonic: () => now };
  const alarms = createAlarms(clock);
  const http = createMcpHttp({
    toolbox: createToolbox({ mode: "full", selection: [] }),
    identify: (token) => Promise.resolve(token === "none" ? undefined : { key: token, known }),
    createKeyContext: ({ key = "" }, { onChange }) => {
      made.push(key);
      const access = createAccess({
        hasKey: true,
        scopes: undefined,
        isProbed: () => true,
        facts: undefined,
        learned: createLearnedAccess({
          owner: "",
          openMemory: undefined,
          now: () => 0,
          report: String,
        }),
        onChange,
      });
      // Without tool calls, no other member of a key context is used.
      return { access, renew: () => Promise.resolve() } as KeyContext;
    },
    createServer: () => {
      const capabilities = { tools: { listChanged: true } };
      const server = new Server({ name: "test", version: "1" }, { capabilities });
      server.setRequestHandler("tools/call", async ({ params: { name } }, context) => {
        await work(name, context);
        return { content: [] };
      });
      return server;
    },
    createFastCalls: () => ({ admit: () => {}, find: () => undefined }),
    hostnames: ["127.0.0.1"],
    setAlarm: alarms.setAlarm,
    clock,
    onError: () => {},
    report: String,
  });
  const ask = (init: RequestInit) => {
    const headers = { ...(init.headers as Record<string, string>), host: "127.0.0.1" };
    return http.fetch(new Request("http://127.0.0.1/mcp", { ...init, headers }));
  };
  const post = (init: RequestInit) => ask({ method: "POST", ...init });
  return {
    http,
    advance: (milliseconds: number) => {
      now += milliseconds;
      alarms.ringDue();
    },
    /** `bytes` is the number of extra bytes in the body, which has no length header. */
    call: (key: string, tool = "any", { signal, bytes }: HeldOptions = {}) =>
      post({ ...lengthen(modernCall(key, 1, tool), bytes), ...(signal && { signal }) }),
    /** Calls tools like a client of the earlier revisions. Each request has an id. */
    openSession: async (key: string) => {
      const opened = await post(withSession(key, undefined, handshakeWithForms));
      expect(opened.status).toBe(200);
      const session = opened.headers.get("mcp-session-id") ?? undefined;
      const send = (message: object, bytes?: number) =>
        post(lengthen(withSession(key, session, message), bytes));
      await opened.text();
      await send(handshake[1]);
      return {
        send,
        call: (id: number, tool = "any", bytes?: number) => send(callOf(id, tool), bytes),
      };
    },
    listen: (key: string, { bytes }: SessionOptions = {}) =>
      post(lengthen(listenRequest(key), bytes)),
    /** A call whose body the test ends later. Only the first part of a long body is sent. */
    begin: (key: string, { bytes }: SessionOptions = {}) => {
      let end: (() => void) | undefined;
      let pulls = 0;
      const body = new ReadableStream<Uint8Array>(
        {
          start: (controller) => {
            end = () => controller.close();
          },
          pull: (controller) => {
            pulls += 1;
            if (pulls === 1 && bytes !== undefined) controller.enqueue(long);
          },
        },
        { highWaterMark: 0 },
      );
      const length = bytes === undefined ? {} : { "content-length": `${bytes}` };
      const headers = { ...modernCall(key, 1, "any").headers, ...length };
      // The types of `Request` do not know `duplex`, which a stream needs.
      const init: RequestInit & { readonly duplex: "half" } = { headers, body, duplex: "half" };
      return {
        answered: post(init),
        isRead: () => pulls > 1,
        end: () => end?.(),
      };
    },
    /** Sends a GET with this key, which is refused after the key was checked. */
    knock: async (key: string) => {
      const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
      expect((await ask({ headers })).status).toBe(400);
    },
    countMade: (key: string) => made.filter((name) => name === key).length,
  };
}

export function openHeldMcp() {
  const gate = createGate();
  const begun: string[] = [];
  const way = openMcp(async (tool) => {
    begun.push(tool);
    await gate.opened;
  });
  return { ...way, begun, open: gate.open };
}

export async function readStatuses(
  calls: readonly Promise<Response>[],
): Promise<ReadonlySet<number>> {
  return new Set((await Promise.all(calls)).map(({ status }) => status));
}

/** Waits until all pending work that is not blocked has finished. */
export async function settle(): Promise<void> {
  for (let count = 0; count < 20; count += 1) await turn();
}

type Reader = ReadableStreamDefaultReader<Uint8Array> | undefined;

export async function readUntil(reader: Reader, pattern: RegExp): Promise<readonly string[]> {
  const decoder = new TextDecoder();
  for (let text = ""; ;) {
    const read = await reader?.read();
    if (read?.value === undefined) throw new Error(`it ended with ${text}`);
    text += decoder.decode(read.value);
    const found = pattern.exec(text);
    if (found !== null) return found;
  }
}
