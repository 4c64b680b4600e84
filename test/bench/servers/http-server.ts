import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Build } from "../builds.ts";
import type { Answer } from "../load/ask.ts";
import { startNode } from "./processes.ts";
import { readPeak_mb, readResident_mb } from "./threads.ts";

/** A server as a process of its own. */
export type Server = {
  readonly url: string;
  readonly pid: number;
  /** The processor time that the process has used so far. */
  readonly readCpu_us: () => Promise<number>;
  /** What the process holds once everything that it does not need is thrown away. */
  readonly readMemory_mb: () => Promise<number>;
  /** The most memory that the process has ever held. */
  readonly readPeak_mb: () => number;
  /** The memory that it holds now. */
  readonly readResident_mb: () => number;
  /** Ends it without a word, as a machine that fails does. */
  readonly kill: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** Runs in the server's process, and tells what that has used. */
const reporter = `
  import { setFlagsFromString } from "node:v8";
  import { runInNewContext } from "node:vm";
  const measures = {
    cpu() {
      const { user, system } = process.cpuUsage();
      return user + system;
    },
    memory() {
      setFlagsFromString("--expose-gc");
      runInNewContext("gc")();
      const { heapUsed, external } = process.memoryUsage();
      return (heapUsed + external) / 1e6;
    },
  };
  process.on("message", (name) => process.send(measures[name]()));
  process.channel.unref();
`;

/** The build's own server on a data folder. */
export function serve(
  { command }: Pick<Build, "command">,
  data: string,
  more: readonly string[] = [],
  env: Starting["env"] = {},
): Promise<Server> {
  const words = [command, "serve", "--data", data, "--port", "0"];
  return startServer([...words, "--json", "--log", "error", ...more], { env });
}

/** What `node:http` costs when it says the same. */
export function serveAnswer(answer: Answer): Promise<Server> {
  const script = fileURLToPath(new URL("./bare-http.ts", import.meta.url));
  return startServer(["--import", "tsx", script, JSON.stringify(answer)]);
}

type Starting = {
  readonly env?: Readonly<Record<string, string>>;
  /** A program, with its words, that starts it. */
  readonly under?: readonly string[];
};

/** Starts a script that prints one line of JSON with its `url` when it is ready. */
export async function startServer(
  words: readonly string[],
  { env = {}, under = [] }: Starting = {},
): Promise<Server> {
  const preload = `data:text/javascript,${encodeURIComponent(reporter)}`;
  const [node = "", ...all] = [...under, process.execPath, "--import", preload, ...words];
  const child = startNode(all, { stdio: ["ignore", "pipe", "pipe", "ipc"], env, node });
  let said = "";
  child.stderr
    ?.setEncoding("utf8")
    .on("data", (text: string) => (said = (said + text).slice(-2000)));
  const { url } = JSON.parse(await readFirstLine(child, () => said)) as { url: string };
  const read = async (measure: "cpu" | "memory"): Promise<number> => {
    const answered = once(child, "message");
    child.send(measure);
    const [value] = (await answered) as [number];
    return value;
  };
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  };
  return {
    url,
    pid: child.pid ?? 0,
    readCpu_us: () => read("cpu"),
    readMemory_mb: () => read("memory"),
    readPeak_mb: () => readPeak_mb(child.pid) ?? Number.NaN,
    readResident_mb: () => readResident_mb(child.pid) ?? Number.NaN,
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: () => end("SIGTERM"),
  };
}

async function readFirstLine({ stdout }: ChildProcess, readSaid: () => string): Promise<string> {
  if (stdout === null) throw new Error("a server has no stdout");
  for await (const line of createInterface(stdout)) return line;
  throw new Error(`a server ended before it was ready: ${readSaid()}`);
}
