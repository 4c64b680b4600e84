import type { Readable, Writable } from "node:stream";
import {
  INVALID_REQUEST,
  PARSE_ERROR,
  type Server,
  type Transport,
  parseJSONRPCMessage,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createCallerSignal } from "../../contract/waiting.ts";
import type { FastCall, FastCalls } from "./fast-path/fast-calls.ts";
import { type RpcId, idIsOpen, isId, messageBytes, readCancelled } from "./messages.ts";

/** Sends and receives MCP messages over stdin and stdout, one per line. */

type ServeStdioOptions = StdioTransportOptions & {
  /** Creates a server for the client's protocol revision. */
  readonly createServer: () => Server;
  readonly stopped: Promise<unknown>;
  readonly onError: (error: unknown) => void;
};

type StdioTransportOptions = {
  readonly input: Readable;
  readonly output: Writable;
  readonly fast?: FastCalls | undefined;
  readonly onRefused: (reason: string) => void;
};

/** How long running calls may take to finish after the input ends. */
const finishTimeout_ms = 1500;

/** Serves one client over standard input and output, until the input ends or `stopped` resolves. */
export async function serveOverStdio(options: ServeStdioOptions): Promise<void> {
  const { input, createServer, stopped, onError } = options;
  const transport = createStdioTransport(options);
  const handle = serveStdio(createServer, { transport, onerror: onError });
  await Promise.race([transport.ended, stopped]);
  await transport.finish(finishTimeout_ms);
  await handle.close();
  input.destroy();
}

type StdioTransport = Transport & {
  /** Resolves when the input ends or the client stops reading the output. */
  readonly ended: Promise<void>;
  /** Resolves when all requests are answered, or after the timeout. */
  readonly finish: (timeout_ms: number) => Promise<void>;
};

/**
 * Sends and receives JSON-RPC, one message per line. Unlike the SDK's transport, it reports
 * unreadable lines, skips lines that are too long, and sends pending responses after the input
 * ends.
 */
export function createStdioTransport(options: StdioTransportOptions): StdioTransport {
  const { input, output, fast } = options;
  const requests = trackRequests();
  const { write, refuse, close, flush } = createWriting(options);
  const { ended, onEnd } = awaitEnd();

  const transport: StdioTransport = {
    start: () => {
      readLines(input, messageBytes, {
        onLine: receive,
        onTooLong: (ends) => refuse(tooLong, findIdAtEnds(ends)),
        onEnd,
      });
      // An output error cannot be reported, because the client no longer reads.
      output.on("error", onEnd);
      return Promise.resolve();
    },
    send: (message) => {
      // Once a request is answered, the client may reuse its ID.
      if (!("method" in message) && message.id !== undefined) requests.end(message.id);
      return write(message);
    },
    close: () => {
      if (close()) transport.onclose?.();
      requests.leaveAll();
      return Promise.resolve();
    },
    ended,
    finish: async (timeout_ms) => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise((resolve) => (timer = setTimeout(resolve, timeout_ms)));
      await Promise.race([requests.untilIdle().then(flush), late]);
      clearTimeout(timer);
    },
  };
  return transport;

  function receive(line: string): void {
    const given = parse(() => JSON.parse(line));
    if (given === undefined) return refuse(notJson);
    const call = fast?.find(given);
    if (call === undefined) return passToSdk(given);
    if (requests.has(call.id)) return refuse(duplicateId, call.id);
    void answerFast(call, given);
  }

  async function answerFast({ id, run }: FastCall, given: unknown): Promise<void> {
    const { signal, leave } = createCallerSignal();
    requests.begin(id, leave);
    const result = await run(signal).catch(() => undefined);
    // After a call is cancelled, the client may reuse its ID for another request.
    if (signal.aborted) return;
    if (result !== undefined) return transport.send({ jsonrpc: "2.0", id, result });
    requests.end(id);
    passToSdk(given);
  }

  function passToSdk(given: unknown): void {
    const message = parse(() => parseJSONRPCMessage(given));
    if (message === undefined) return refuse(notRpc, findId(given));
    if ("method" in message && "id" in message) {
      if (requests.has(message.id)) return refuse(duplicateId, message.id);
      // Shutdown does not wait for a subscription, because subscriptions never end on their own.
      if (message.method !== "subscriptions/listen") requests.begin(message.id);
    }
    const cancelled = readCancelled(message);
    if (cancelled !== undefined) requests.cancel(cancelled);
    transport.onmessage?.(message);
  }
}

function awaitEnd() {
  let finish: (() => void) | undefined;
  const ended = new Promise<void>((resolve) => (finish = resolve));
  return { ended, onEnd: () => finish?.() };
}

/** Tracks the requests that have no response yet. */
function trackRequests() {
  /** Maps each ID to a function that cancels the call; a no-op if the SDK handles the call. */
  const open = new Map<RpcId, () => void>();
  let onIdle: (() => void) | undefined;
  const end = (id: RpcId) => {
    open.delete(id);
    if (open.size === 0) onIdle?.();
  };
  return {
    has: (id: RpcId) => open.has(id),
    begin: (id: RpcId, leave = () => {}) => void open.set(id, leave),
    end,
    cancel: (id: RpcId) => {
      open.get(id)?.();
      end(id);
    },
    leaveAll: () => {
      for (const leave of open.values()) leave();
    },
    untilIdle: () =>
      new Promise<void>((resolve) => {
        onIdle = resolve;
        if (open.size === 0) resolve();
      }),
  };
}

function createWriting({ output, onRefused }: StdioTransportOptions) {
  let isOpen = true;
  let written: Promise<void> | undefined;

  function write(message: object): Promise<void> {
    // The client no longer reads, so the message is dropped.
    if (!isOpen || output.destroyed || output.writableEnded) return Promise.resolve();
    const line = `${JSON.stringify(message)}\n`;
    written = new Promise((resolve) => output.write(line, () => resolve()));
    return written;
  }

  return {
    write,
    refuse: ({ code, message }: LineError, id: RpcId | null = null): void => {
      onRefused(message);
      void write({ jsonrpc: "2.0", id, error: { code, message } });
    },
    close: () => {
      const wasOpen = isOpen;
      isOpen = false;
      return wasOpen;
    },
    flush: () => written,
  };
}

type LineError = { readonly code: number; readonly message: string };

const notJson: LineError = { code: PARSE_ERROR, message: "The line is not JSON." };
const notRpc: LineError = { code: INVALID_REQUEST, message: "The line is not a JSON-RPC message." };
const duplicateId: LineError = { code: INVALID_REQUEST, message: idIsOpen };
const tooLong: LineError = {
  code: INVALID_REQUEST,
  message:
    "The message is longer than 4 MiB. Send fewer rows at a time, " +
    "or ask the user to run `waypost import FILE`.",
};

function parse<Parsed>(read: () => Parsed): Parsed | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * Returns the ID for an error response, or null if the request has none (JSON-RPC 2.0). A message
 * without a method may be a response. Its ID then identifies one of the server's own requests.
 */
function findId(given: unknown): RpcId | null {
  if (typeof given !== "object" || given === null) return null;
  if (!("id" in given) || !("method" in given)) return null;
  return isId(given.id) ? given.id : null;
}

/** Matches a JSON integer, or a short JSON string of printable ASCII without escapes. */
const idText = String.raw`("[ !#-\[\]-~]{0,100}"|0|-?[1-9]\d{0,14})`;
const version = String.raw`"jsonrpc"\s*:\s*"2\.0"\s*,\s*`;
const idThenMethod = new RegExp(
  String.raw`^\s*\{\s*(?:${version})?"id"\s*:\s*${idText}\s*,\s*"method"`,
);
const methodFirst = new RegExp(String.raw`^\s*\{\s*(?:${version})?"method"\s*:`);
/** A single brace at the end closes the message, so the ID belongs to the message itself. */
const idLast = new RegExp(String.raw`,\s*"id"\s*:\s*${idText}\s*\}\s*$`);

/** Finds the ID of an overlong request, at the positions where the official SDKs write it. */
function findIdAtEnds({ head, tail }: LineEnds): RpcId | null {
  const found = idThenMethod.exec(head) ?? (methodFirst.test(head) ? idLast.exec(tail) : null);
  return found?.[1] === undefined ? null : (JSON.parse(found[1]) as RpcId);
}

type LineHandlers = {
  readonly onLine: (line: string) => void;
  /** Called at the end of an overlong line, with its first and last bytes. */
  readonly onTooLong: (ends: LineEnds) => void;
  readonly onEnd: () => void;
};

type LineEnds = { readonly head: string; readonly tail: string };

const newline = 10;
/** How many bytes of each end of an overlong line are kept to find the ID. */
const endBytes = 512;

/**
 * Splits a stream into lines of limited length. An overlong line is reported once and skipped. Text
 * after the last newline is also a line.
 */
function readLines(
  input: Readable,
  mostBytes: number,
  { onLine, onTooLong, onEnd }: LineHandlers,
): void {
  let parts: Buffer[] = [];
  let size = 0;
  let [head, tail] = [Buffer.alloc(0), Buffer.alloc(0)];

  function add(part: Buffer): void {
    const before = size;
    size += part.length;
    parts.push(part);
    if (size <= mostBytes) return;
    const known = before <= mostBytes ? Buffer.concat(parts) : Buffer.concat([tail, part]);
    // Copies the bytes, because a slice would keep the whole buffer in memory.
    if (before <= mostBytes) head = Buffer.from(known.subarray(0, endBytes));
    tail = Buffer.from(known.subarray(-endBytes));
    parts = [];
  }

  function finishLine(): void {
    const isTooLong = size > mostBytes;
    const line = Buffer.concat(parts).toString("utf8");
    parts = [];
    size = 0;
    if (isTooLong) onTooLong({ head: head.toString("utf8"), tail: tail.toString("utf8") });
    else if (line.trim() !== "") onLine(line);
  }

  function take(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      finishLine();
      start = end + 1;
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }

  input.on("data", take).once("end", finishLine).once("end", onEnd).once("close", onEnd);
  // A terminal that disconnects emits an error, which counts as the end of the input.
  input.on("error", onEnd);
}
