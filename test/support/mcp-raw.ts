import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { describeCommand, findStrayLines, listen, type Spoken } from "./mcp-clients.ts";
import { waitUntil } from "./wait-until.ts";

/** Our command over stdio without a client between: lines go in as they are written. */
export type RawSession = Spoken & {
  /** An object travels as JSON; every line gets its end. */
  readonly send: (...lines: readonly unknown[]) => void;
  /**
   * Resolves with the message that has this id, null for those that answer nobody; where it ends
   * without one, what came instead is thrown.
   */
  readonly answer: (id: number | string | null) => Promise<Message>;
  /** Sends lines that are answered as they are read, and resolves with all that came by then. */
  readonly exchange: (...lines: readonly unknown[]) => Promise<readonly Message[]>;
  /** All that came by now. */
  readonly heard: () => readonly Message[];
  /** How many messages came with this id. */
  readonly count: (id: number | string | null) => number;
  readonly handshake: () => Promise<void>;
  readonly child: ChildProcess;
  /** Ends it by force, whatever it does, and looks at what it said. */
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type Message = {
  readonly id?: number | string | null;
  // Tests read messages as freely as a client in any language would.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
};

type Options = {
  readonly data: string;
  readonly words?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

export function startRaw(options: Options): RawSession {
  const { command, args, env } = describeCommand({ transport: "stdio", ...options });
  const child = spawn(command, args, { env: { PATH: process.env["PATH"], ...env } });
  const spoken = listen(child);
  const messages: Message[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => messages.push(JSON.parse(line)));
  // A process that is gone has no input; what it said tells the rest.
  child.stdin.on("error", () => undefined);

  const find = (id: Message["id"]) => messages.filter((message) => message.id === id);
  const send: RawSession["send"] = (...lines) => {
    const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
    child.stdin.write(texts.map((text) => `${text}\n`).join(""));
  };
  let isOver = false;
  void spoken.ended.then(() => (isOver = true));
  const answer: RawSession["answer"] = async (id) => {
    await waitUntil(() => isOver || find(id).length > 0);
    const [found] = find(id);
    if (found !== undefined) return found;
    throw new Error(`it ended without an answer to ${id}, but with ${JSON.stringify(messages)}`);
  };
  let exchanges = 0;
  const exchange: RawSession["exchange"] = async (...lines) => {
    const before = messages.length;
    const id = `exchange ${(exchanges += 1)}`;
    // What is answered as it is read was answered before this is.
    send(...lines, { jsonrpc: "2.0", id, method: "ping" });
    const last = await answer(id);
    return messages.slice(before, messages.indexOf(last));
  };
  return {
    ...spoken,
    child,
    send,
    answer,
    exchange,
    heard: () => messages,
    count: (id) => find(id).length,
    handshake: async () => {
      send(...handshake);
      await answer("handshake");
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await spoken.ended;
      const strays = findStrayLines(spoken.stdout());
      if (strays.length > 0) throw new Error(`not JSON-RPC on stdout: ${strays.join("\n")}`);
    },
  };
}

/** How a session of the earlier revisions begins. */
export const handshake = [
  {
    jsonrpc: "2.0",
    id: "handshake",
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
] as const;

export function callOf(id: number | string, name: string, args: object = {}) {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } };
}
