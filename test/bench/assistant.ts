import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** An MCP server as a process of its own over stdio, and a client that costs as little as can be. */
export type Assistant = {
  readonly ask: (method: string, params?: object) => Promise<unknown>;
  /** Opens the conversation in the way of the revision. */
  readonly greet: () => Promise<void>;
  /** The processor time that the process has used so far, all of its threads together. */
  readonly readCpu_us: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export const revisions = ["2025-11-25", "2026-07-28"] as const;
export type Revision = (typeof revisions)[number];

type Reply = { readonly id?: number; readonly result?: unknown; readonly error?: unknown };

const clientInfo = { name: "bench", version: "0.0.0" };

export function startAssistant(words: readonly string[], revision: Revision): Assistant {
  const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const waiting = new Map<number, (reply: Reply) => void>();
  let count = 0;
  createInterface(child.stdout).on("line", (line) => {
    const reply: Reply = JSON.parse(line);
    if (reply.id !== undefined) waiting.get(reply.id)?.(reply);
  });
  const isModern = revision === "2026-07-28";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": {},
  };

  const send = (message: object) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  const ask: Assistant["ask"] = async (method, params = {}) => {
    const id = (count += 1);
    const answered = new Promise<Reply>((resolve) => waiting.set(id, resolve));
    send({ id, method, params: isModern ? { ...params, _meta: meta } : params });
    const { result, error } = await answered;
    waiting.delete(id);
    if (error !== undefined) throw new Error(`${method} failed: ${JSON.stringify(error)}`);
    return result;
  };
  return {
    ask,
    greet: async () => {
      if (isModern) return void (await ask("server/discover"));
      await ask("initialize", { protocolVersion: revision, capabilities: {}, clientInfo });
      send({ method: "notifications/initialized" });
    },
    readCpu_us: () => readCpu_us(child.pid),
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** From the scheduler, in nanoseconds: `/proc/<pid>/stat` counts in ticks of 10 ms. */
function readCpu_us(pid = 0): number {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const [nanoseconds] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1000;
  });
  return threads.reduce((total, used) => total + used, 0);
}
