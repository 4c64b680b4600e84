import type { Readable, Writable } from "node:stream";
import {
  INVALID_REQUEST,
  PARSE_ERROR,
  type Server,
  type Transport,
  parseJSONRPCMessage,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createLeaving } from "../../contract/leaving.ts";
import type { FastCall, FastCalls } from "./fast-path/fast-calls.ts";
import { type Id, idIsOpen, isId, messageBytes, readCancelled } from "./messages.ts";

type ServeOptions = StdioOptions & {
  /** A server for whichever era the client opens with. */
  readonly createServer: () => Server;
  /** Resolves when the process is asked to stop. */
  readonly stopped: Promise<unknown>;
  readonly onError: (error: unknown) => void;
};

type StdioOptions = {
  readonly input: Readable;
  readonly output: Writable;
  readonly fast?: FastCalls | undefined;
  /** A line that was refused, for the operator's log. */
  readonly onRefused: (reason: string) => void;
};

/** Calls that run when the input ends may still be answered within this time. */
const finishTimeout_ms = 1500;

/** Serves one client until its input ends or the process is asked to stop. */
export async function serveOverStdio(options: ServeOptions): Promise<void> {
  const { input, createServer, stopped, onError } = options;
  const transport = createStdioTransport(options);
  const handle = serveStdio(createServer, { transport, onerror: onError });
  await Promise.race([transport.ended, stopped]);
  await transport.finish(finishTimeout_ms);
  await handle.close();
  input.destroy();
}

type StdioTransport = Transport & {
  /** Resolves when no more input comes: at its end, or when the client reads no more output. */
  readonly ended: Promise<void>;
  /** Resolves when the client has all its answers, or the time is up. */
  readonly finish: (timeout_ms: number) => Promise<void>;
};

/**
 * JSON-RPC over lines. The SDK's own transport reports no error for a line that it cannot read,
 * ends at a line that is too long, and drops answers that are not ready when the input ends.
 */
export function createStdioTransport(options: StdioOptions): StdioTransport {
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
      // The client reads no more, and so no error can be sent to it.
      output.on("error", onEnd);
      return Promise.resolve();
    },
    send: (message) => {
      // A client that has the answer may use its id again.
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
    if (call === undefined) return passOn(given);
    if (requests.has(call.id)) return refuse(notAlone, call.id);
    void answerFast(call, given);
  }

  async function answerFast({ id, run }: FastCall, given: unknown): Promise<void> {
    const { leaving, leave } = createLeaving();
    requests.begin(id, leave);
    const result = await run(leaving).catch(() => undefined);
    // Its id may belong to another request by now.
    if (leaving.aborted) return;
    if (result !== undefined) return transport.send({ jsonrpc: "2.0", id, result });
    requests.end(id);
    passOn(given);
  }

  function passOn(given: unknown): void {
    const message = parse(() => parseJSONRPCMessage(given));
    if (message === undefined) return refuse(notRpc, findId(given));
    if ("method" in message && "id" in message) {
      if (requests.has(message.id)) return refuse(notAlone, message.id);
      // A subscription is not answered before it ends, so nothing waits for it.
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

/** Requests that are not answered yet. */
function trackRequests() {
  /** Each with what ends it, unless the SDK does. */
  const open = new Map<Id, () => void>();
  let onIdle: (() => void) | undefined;
  const end = (id: Id) => {
    open.delete(id);
    if (open.size === 0) onIdle?.();
  };
  return {
    has: (id: Id) => open.has(id),
    begin: (id: Id, leave = () => {}) => void open.set(id, leave),
    end,
    cancel: (id: Id) => {
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

function createWriting({ output, onRefused }: StdioOptions) {
  let isOpen = true;
  let written: Promise<void> | undefined;

  function write(message: object): Promise<void> {
    // Where the client reads no more, there is nothing to wait for.
    if (!isOpen || output.destroyed || output.writableEnded) return Promise.resolve();
    const line = `${JSON.stringify(message)}\n`;
    written = new Promise((resolve) => output.write(line, () => resolve()));
    return written;
  }

  return {
    write,
    refuse: ({ code, message }: Refusal, id: Id | null = null): void => {
      onRefused(message);
      void write({ jsonrpc: "2.0", id, error: { code, message } });
    },
    /** Nothing more goes out. Answers whether anything could until then. */
    close: () => {
      const wasOpen = isOpen;
      isOpen = false;
      return wasOpen;
    },
    flush: () => written,
  };
}

type Refusal = { readonly code: number; readonly message: string };

const notJson: Refusal = { code: PARSE_ERROR, message: "The line is not JSON." };
const notRpc: Refusal = { code: INVALID_REQUEST, message: "The line is not a JSON-RPC message." };
const notAlone: Refusal = { code: INVALID_REQUEST, message: idIsOpen };
const tooLong: Refusal = {
  code: INVALID_REQUEST,
  message:
    "The message is longer than 4 MiB. Send fewer rows at a time, " +
    "or ask the user to run `waypost import FILE`.",
};

/** Undefined where it fails. */
function parse<Parsed>(read: () => Parsed): Parsed | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * The id of the refused request; JSON-RPC 2.0 wants null where there is none. A message without a
 * method may be an answer to us, whose id also names another request, one of the client's.
 */
function findId(given: unknown): Id | null {
  if (typeof given !== "object" || given === null) return null;
  if (!("id" in given) || !("method" in given)) return null;
  return isId(given.id) ? given.id : null;
}

/** No escape, no letter beyond ASCII and no leading zero, so that it is JSON in any case. */
const idText = String.raw`("[ !#-\[\]-~]{0,100}"|0|-?[1-9]\d{0,14})`;
const version = String.raw`"jsonrpc"\s*:\s*"2\.0"\s*,\s*`;
const idThenMethod = new RegExp(
  String.raw`^\s*\{\s*(?:${version})?"id"\s*:\s*${idText}\s*,\s*"method"`,
);
const methodFirst = new RegExp(String.raw`^\s*\{\s*(?:${version})?"method"\s*:`);
/** Only what belongs to the message itself ends with its one brace. */
const idLast = new RegExp(String.raw`,\s*"id"\s*:\s*${idText}\s*\}\s*$`);

/** The id of a request that is too long to be parsed, where the official SDKs write it. */
function findIdAtEnds({ head, tail }: LineEnds): Id | null {
  const found = idThenMethod.exec(head) ?? (methodFirst.test(head) ? idLast.exec(tail) : null);
  // By its pattern it is a text or a number.
  return found?.[1] === undefined ? null : (JSON.parse(found[1]) as Id);
}

type LineReading = {
  readonly onLine: (line: string) => void;
  /** Called at the line's end, with its first and its last bytes. */
  readonly onTooLong: (ends: LineEnds) => void;
  readonly onEnd: () => void;
};

type LineEnds = { readonly head: string; readonly tail: string };

const newline = 10;
/** The bytes that are kept of each end of an overlong line: enough for an id. */
const keptBytes = 512;

/**
 * Splits a stream into lines of limited length. An overlong line is reported once and skipped to
 * its end. Text after the last newline is a line as well.
 */
function readLines(
  input: Readable,
  mostBytes: number,
  { onLine, onTooLong, onEnd }: LineReading,
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
    // Copies, because a part of a buffer keeps the whole of it.
    if (before <= mostBytes) head = Buffer.from(known.subarray(0, keptBytes));
    tail = Buffer.from(known.subarray(-keptBytes));
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
  // A terminal that hangs up causes an error on its stream, which also ends the input.
  input.on("error", onEnd);
}
