import type { Readable, Writable } from "node:stream";
import {
  INVALID_REQUEST,
  PARSE_ERROR,
  parseJSONRPCMessage,
  serializeMessage,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import { readCancelled, trackDirect, type DirectCall, type DirectCalls } from "./direct-calls.ts";
import { trackInFlight, type InFlight } from "./in-flight.ts";
import { readLines, type LineEnds } from "./lines.ts";
import { messageBytes } from "./message-size.ts";
import { idIsOpen, isId, listRequestIds, trackOpenIds, type Id, type OpenIds } from "./open-ids.ts";

/**
 * JSON-RPC over lines. The SDK's own transport drops lines that it cannot read without a word, ends
 * at a line that is too long, and drops answers that are not ready when the input ends
 * (security-reliability.md §0).
 */
export type StdioTransport = Transport & {
  /** Resolves when no more input comes: at its end, or when the client reads no more output. */
  readonly ended: Promise<void>;
  /** Resolves when every request that came in is answered, or the time is up. */
  readonly finish: (timeout_ms: number) => Promise<void>;
};

export type StdioOptions = {
  readonly input: Readable;
  readonly output: Writable;
  readonly direct?: DirectCalls;
  /** A line that was refused, for the operator's log. */
  readonly onRefused: (reason: string) => void;
};

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

export function createStdioTransport(options: StdioOptions): StdioTransport {
  const { input, output, direct: untracked } = options;
  const direct = untracked && trackDirect(untracked);
  const running = trackInFlight<Id>();
  const ids = trackOpenIds();
  const { write, refuseLine, closeWriting } = createWriting(options);
  const { ended, onEnd } = awaitEnd();

  const transport: StdioTransport = {
    start: () => {
      readLines(input, messageBytes, {
        onLine: receive,
        onTooLong: (ends) => refuseLine(tooLong, findIdAtEnds(ends)),
        onEnd,
      });
      // The client reads no more, and so no error can be sent to it.
      output.on("error", onEnd);
      return Promise.resolve();
    },
    send: async (message) => {
      const answered = "method" in message ? undefined : message.id;
      // Whoever has the answer may use its id again.
      if (answered !== undefined) ids.close([answered]);
      await write(message);
      if (answered !== undefined) running.end(answered);
    },
    close: () => {
      const wasOpen = closeWriting();
      direct?.cancelAll();
      if (wasOpen) transport.onclose?.();
      return Promise.resolve();
    },
    ended,
    finish: running.finish,
  };
  return transport;

  function receive(line: string): void {
    const given = readJson(line);
    if (given === undefined) return refuseLine(notJson);
    if (!ids.open(listRequestIds(given))) return refuseLine(notAlone, findId(given));
    const call = direct?.find(given);
    if (call === undefined) return passToSdk(given);
    running.begin(call.id);
    void sendAnswer(call, given);
  }

  function passToSdk(given: unknown): void {
    const message = readMessage(given);
    if (message === undefined) {
      ids.close(listRequestIds(given));
      return refuseLine(notRpc, findId(given));
    }
    trackRequest(message, running, ids);
    direct?.hear(message);
    transport.onmessage?.(message);
  }

  async function sendAnswer({ id, begin }: DirectCall, given: unknown) {
    const begun = begin((note) => write({ jsonrpc: "2.0", ...note }));
    const result = await begun.result.catch(() => undefined);
    if (result === undefined) return passToSdk(given);
    // The end of one that was cancelled is noted, and its id may be another's by now.
    if (result !== "cancelled") await transport.send({ jsonrpc: "2.0", id, result });
  }
}

function createWriting({ output, onRefused }: StdioOptions) {
  let isOpen = true;

  async function write(message: object): Promise<void> {
    // Where the client reads no more, there is nothing to wait for.
    if (!isOpen || output.destroyed || output.writableEnded) return;
    // Both kinds of message are plain JSON; the SDK's type leaves out the id null.
    const line = serializeMessage(message as JSONRPCMessage);
    await new Promise((resolve) => output.write(line, resolve));
  }

  return {
    write,
    refuseLine: ({ code, message }: Refusal, id: Id | null = null): void => {
      onRefused(message);
      void write({ jsonrpc: "2.0", id, error: { code, message } });
    },
    /** Nothing more goes out. Answers whether anything could until then. */
    closeWriting: () => {
      const wasOpen = isOpen;
      isOpen = false;
      return wasOpen;
    },
  };
}

function awaitEnd() {
  let finish: (() => void) | undefined;
  const ended = new Promise<void>((resolve) => (finish = resolve));
  return { ended, onEnd: () => finish?.() };
}

function trackRequest(message: JSONRPCMessage, running: InFlight<Id>, ids: OpenIds): void {
  // A subscription is not answered before it ends, so that it is not waited for.
  const isListening = "method" in message && message.method === "subscriptions/listen";
  if ("method" in message && "id" in message && !isListening) running.begin(message.id);
  const cancelled = readCancelled(message);
  if (cancelled === undefined) return;
  running.end(cancelled);
  ids.close([cancelled]);
}

/** Undefined is no JSON. */
function readJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function readMessage(given: unknown): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(given);
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
