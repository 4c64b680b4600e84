import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** An MCP server as a process of its own, asked over its pipes with no SDK in between. */
export type StdioServer = {
  readonly ask: (method: string, params?: object) => Promise<Reply>;
  /** The processor time that all threads of the process have used so far. */
  readonly readCpu_us: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type Reply = { readonly result?: Readonly<Record<string, unknown>>; readonly error?: unknown };

const clientInfo = { name: "bench", version: "1.0.0" };

/** Spawns a server and shakes hands as clients of the revision 2025-11-25 do. */
export async function startStdio(words: readonly string[]): Promise<StdioServer> {
  const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
  const { send, ask } = converse(child);
  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  await ask("initialize", initialize);
  send({ jsonrpc: "2.0", method: "notifications/initialized" });
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

function converse(child: ChildProcess) {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("a server has no pipes");
  const waiting = new Map<number, (reply: Reply) => void>();
  let last = 0;
  createInterface(stdout).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  const send = (message: object) => stdin.write(`${JSON.stringify(message)}\n`);
  return {
    send,
    ask: (method: string, params: object = {}) => {
      last += 1;
      const id = last;
      send({ jsonrpc: "2.0", id, method, params });
      return new Promise<Reply>((resolve) => waiting.set(id, resolve));
    },
  };
}

/** Linux counts each thread's time in nanoseconds; elsewhere there is nothing to read. */
function readThreads_us(pid: number | undefined): number {
  const folder = `/proc/${pid}/task`;
  const times = readdirSync(folder).map((thread) => {
    const [running = "0"] = readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ");
    return Number(running) / 1000;
  });
  return times.reduce((total, time) => total + time, 0);
}
