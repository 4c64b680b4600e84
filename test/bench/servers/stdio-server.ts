import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { startNode } from "./processes.ts";
import { readThreads_us } from "./threads.ts";

/** An MCP server in a separate process, with messages over its pipes and without an SDK. */
export type StdioServer = {
  readonly ask: (method: string, params?: object) => Promise<StdioReply>;
  readonly readCpu_us: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type StdioReply = {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
};

export const revisions = ["2025-11-25", "2026-07-28"] as const;
export type Revision = (typeof revisions)[number];

const clientInfo = { name: "bench", version: "1.0.0" };

export async function startStdio(
  words: readonly string[],
  revision: Revision = "2025-11-25",
): Promise<StdioServer> {
  const child = startNode(words, {
    stdio: ["pipe", "pipe", "inherit"],
    // A free port, because several servers run at a time.
    env: { WAYPOST_PORT: "0" },
  });
  const { send, ask } = converse(child, describeClient(revision));
  if (revision === "2025-11-25") {
    await ask("initialize", { protocolVersion: revision, capabilities: {}, clientInfo });
    send({ method: "notifications/initialized" });
  } else {
    await ask("server/discover");
  }
  return {
    ask,
    readCpu_us: () => readThreads_us(child.pid),
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, "exit");
      child.stdin?.end();
      await ended;
    },
  };
}

/** An error is cheaper than a result, so errors would distort the measurement. */
export function readResult({ result, error }: StdioReply): Readonly<Record<string, unknown>> {
  if (result === undefined || result["isError"] === true) {
    throw new Error(`a call failed: ${JSON.stringify(error ?? result)}`);
  }
  return result;
}

/** Fields of every request: since 2026-07-28 a description of the client, before that none. */
function describeClient(revision: Revision): object {
  if (revision === "2025-11-25") return {};
  const prefix = "io.modelcontextprotocol/";
  return {
    _meta: {
      [`${prefix}protocolVersion`]: revision,
      [`${prefix}clientInfo`]: clientInfo,
      [`${prefix}clientCapabilities`]: {},
    },
  };
}

function converse({ stdin, stdout }: ChildProcess, always: object) {
  if (stdin === null || stdout === null) throw new Error("a server has no pipes");
  const waiting = new Map<number, (reply: StdioReply) => void>();
  let last = 0;
  const lines = createInterface(stdout).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  lines.once("close", () => {
    for (const answer of waiting.values()) answer({ error: "the server ended" });
  });
  const send = (message: object) => {
    stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  return {
    send,
    ask: (method: string, params: object = {}) => {
      last += 1;
      const id = last;
      send({ id, method, params: { ...params, ...always } });
      return new Promise<StdioReply>((resolve) => waiting.set(id, resolve));
    },
  };
}
