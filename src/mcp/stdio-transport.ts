import {
  deserializeMessage,
  INVALID_REQUEST,
  PARSE_ERROR,
  serializeMessage,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import type { Readable, Writable } from "node:stream";

/**
 * JSON-RPC over lines. The SDK's own transport drops what it cannot read in silence, ends at a
 * line that is too long, and lets the answers go that are under way when the input ends
 * (security-reliability.md §0).
 */
export type StdioTransport = Transport & {
  /** Resolves when no more input comes: at its end, or when the output has nobody to read it. */
  readonly ended: Promise<void>;
  /** Resolves when every request that came in is answered, or the patience is over. */
  readonly drain: (patience_ms: number) => Promise<void>;
};

type StdioOptions = {
  readonly input: Readable;
  readonly output: Writable;
  /** A line that was refused, for the operator's log. */
  readonly onRefused: (reason: string) => void;
};

/** More than any honest call needs; the same bound as a request's body over HTTP. */
const lineBytes = 4 * 1024 * 1024;

export function createStdioTransport({ input, output, onRefused }: StdioOptions): StdioTransport {
  const pending = new Set<string | number>();
  let onIdle = () => {};
  let onEnd = () => {};
  const ended = new Promise<void>((resolve) => (onEnd = resolve));
  let isClosed = false;

  const transport: StdioTransport = {
    start: () => {
      input.on("data", createLineReader({ onLine: receive, onTooLong: () => refuse(tooLong) }));
      input.once("end", onEnd).once("close", onEnd);
      // Whoever read our answers is gone; there is nobody left to tell.
      output.on("error", onEnd);
      return Promise.resolve();
    },
    send: (message) => {
      settle(message);
      return write(message);
    },
    close: () => {
      if (!isClosed) transport.onclose?.();
      isClosed = true;
      return Promise.resolve();
    },
    ended,
    drain: async (patience_ms) => {
      if (pending.size === 0) return;
      await new Promise<void>((resolve) => {
        onIdle = resolve;
        setTimeout(resolve, patience_ms);
      });
    },
  };
  return transport;

  function receive(line: string): void {
    if (line.trim() === "") return;
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch {
      return refuse(isJson(line) ? notRpc : notJson);
    }
    if ("method" in message && "id" in message) pending.add(message.id);
    if ("method" in message && message.method === "notifications/cancelled") {
      const { requestId } = message.params ?? {};
      if (typeof requestId === "string" || typeof requestId === "number") forget(requestId);
    }
    transport.onmessage?.(message);
  }

  function settle(message: JSONRPCMessage): void {
    if (!("method" in message) && message.id !== undefined) forget(message.id);
  }

  function forget(id: string | number): void {
    pending.delete(id);
    if (pending.size === 0) onIdle();
  }

  function refuse({ code, message }: { readonly code: number; readonly message: string }): void {
    onRefused(message);
    // JSON-RPC 2.0: where the id could not be read, it is null.
    void write({ jsonrpc: "2.0", id: null, error: { code, message } });
  }

  function write(message: object): Promise<void> {
    return new Promise((resolve) => {
      if (isClosed || output.destroyed || output.writableEnded) return resolve();
      // Both kinds of message are plain JSON; the SDK's type leaves out the id null.
      output.write(serializeMessage(message as JSONRPCMessage), () => resolve());
    });
  }
}

const notJson = { code: PARSE_ERROR, message: "The line is not JSON." };
const notRpc = { code: INVALID_REQUEST, message: "The line is not a JSON-RPC message." };
const tooLong = { code: INVALID_REQUEST, message: "The line is longer than 4 MiB." };

type LineReader = {
  readonly onLine: (line: string) => void;
  readonly onTooLong: () => void;
};

/** Cuts a stream into lines. A line that is too long is told of once, and skipped to its end. */
function createLineReader({ onLine, onTooLong }: LineReader): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;

  function add(part: Buffer): void {
    const before = size;
    size += part.length;
    if (size <= lineBytes) parts.push(part);
    else parts = [];
    if (before <= lineBytes && size > lineBytes) onTooLong();
  }

  return (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, end));
      if (size <= lineBytes) onLine(Buffer.concat(parts).toString("utf8"));
      parts = [];
      size = 0;
      start = end + 1;
    }
    if (start < chunk.length) add(chunk.subarray(start));
  };
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
