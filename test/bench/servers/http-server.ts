import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { command } from "../subject.ts";
import type { BenchResponse } from "../load/ask.ts";
import { startNode } from "./processes.ts";
import { readPeak_mb, readResident_mb, readThreads_us } from "./threads.ts";

/** A server in a separate process. */
export type Server = {
  readonly url: string;
  readonly pid: number;
  readonly readCpu_us: () => number;
  readonly readPeak_mb: () => number;
  readonly readResident_mb: () => number;
  /** Kills it without warning, like a power failure. */
  readonly kill: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export function serve(
  data: string,
  more: readonly string[] = [],
  starting: ServerStartOptions = {},
): Promise<Server> {
  const words = [command, "serve", "--data", data, "--port", "0"];
  return startServer([...words, "--json", "--log", "error", ...more], starting);
}

/** Serves a store of the bench, on either engine. */
export function serveStore({ folder, databaseUrl }: ServedStore): Promise<Server> {
  return serve(folder, databaseUrl === undefined ? [] : ["--database-url", databaseUrl]);
}

type ServedStore = { readonly folder: string; readonly databaseUrl?: string | undefined };

export function serveAnswer(answer: BenchResponse): Promise<Server> {
  const script = fileURLToPath(new URL("./bare-http.ts", import.meta.url));
  return startServer(["--import", import.meta.resolve("tsx"), script, JSON.stringify(answer)]);
}

export type ServerStartOptions = {
  readonly env?: Readonly<Record<string, string>>;
  /** A program and its arguments that start the server. */
  readonly under?: readonly string[];
};

/** Starts a script, which prints a line of JSON with its `url` when it is ready. */
export async function startServer(
  words: readonly string[],
  { env = {}, under = [] }: ServerStartOptions = {},
): Promise<Server> {
  const [program = "", ...all] = [...under, process.execPath, ...words];
  const child = startNode(all, { stdio: ["ignore", "pipe", "pipe"], env, program });
  let said = "";
  child.stderr
    ?.setEncoding("utf8")
    .on("data", (text: string) => (said = (said + text).slice(-2000)));
  const { url } = JSON.parse(await readFirstLine(child, () => said)) as { url: string };
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  };
  return {
    url,
    pid: child.pid ?? 0,
    readCpu_us: () => readThreads_us(child.pid),
    readPeak_mb: () => readPeak_mb(child.pid),
    readResident_mb: () => readResident_mb(child.pid),
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: () => end("SIGTERM"),
  };
}

async function readFirstLine({ stdout }: ChildProcess, readSaid: () => string): Promise<string> {
  if (stdout === null) throw new Error("a server has no stdout");
  for await (const line of createInterface(stdout)) return line;
  throw new Error(`a server ended before it was ready: ${readSaid()}`);
}
