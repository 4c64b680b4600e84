import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { createCall, createMake, type Call, type Make } from "./world.ts";
import { fetchDescribed } from "./api-description.ts";
import { createEmptyFolder } from "./folders.ts";
import { runCommand } from "../../src/commands/run-command.ts";

/** Use this to run the built command as a process with arguments, output and exit code. */

export type Folder = {
  readonly path: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type Serving = {
  readonly places: Readonly<Record<"url" | "mcp" | "api" | "links" | "key_file", string>>;
  readonly pid: number;
  /** The token in the key file, or the token of the gateway. */
  readonly key: string;
  readonly call: Call;
  readonly make: Make;
  readonly untilSaid: RunningCommand["untilSaid"];
  readonly stop: (signal?: "SIGTERM" | "SIGINT" | "SIGKILL") => Promise<RunResult>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type SpawnOptions = {
  readonly env?: Readonly<Record<string, string>>;
  /** A program that runs the command, such as strace, with its arguments. */
  readonly under?: readonly string[];
  readonly input?: string | Readable;
};

export type RunningCommand = {
  readonly finished: Promise<RunResult>;
  /** Waits until stderr matches. If the command ends first, it throws the output. */
  readonly untilSaid: (pattern: RegExp) => Promise<void>;
  readonly send: (signal: "SIGTERM" | "SIGINT" | "SIGKILL") => void;
};

/** Runs a command to its end, in this process if a test cannot see the difference. */
export async function run(
  words: readonly string[],
  options: SpawnOptions = {},
): Promise<RunResult> {
  if (needsProcess(words, options)) return runProcess(words, options);
  const { env, input } = options;
  return runHere(words, env, typeof input === "string" ? { piped: input } : {});
}

export async function runProcess(
  words: readonly string[],
  options?: SpawnOptions,
): Promise<RunResult> {
  return watch(start(words, options)).finished;
}

/** Servers keep running, migrate needs an unused folder, and Node reads some variables itself. */
function needsProcess([command = "-"]: readonly string[], options: SpawnOptions): boolean {
  const { env = {}, under, input } = options;
  const isOwn = ["serve", "stdio", "migrate"].includes(command);
  const isOfNode = Object.keys(env).some((name) => /^(?:TZ|LANG|NODE_OPTIONS|PG.*)$/.test(name));
  const isStream = input !== undefined && typeof input !== "string";
  return isOwn || isOfNode || command.startsWith("-") || under !== undefined || isStream;
}

export function begin(words: readonly string[], options?: SpawnOptions): RunningCommand {
  const child = start(words, options);
  const { finished } = watch(child);
  return {
    finished,
    untilSaid: (pattern) => waitForSaid(child, finished, pattern),
    send: (signal) => {
      child.kill(signal);
    },
  };
}

/** Waits for output that comes from now on. */
function waitForSaid(
  child: ChildProcess,
  finished: Promise<RunResult>,
  pattern: RegExp,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr?.on("data", (text: string) => {
      said += text;
      if (pattern.test(said)) resolve();
    });
    void finished.then((end) => reject(new Error(`it ended: ${JSON.stringify(end)}`)));
  });
}

/** Runs a command that must succeed, and reads the JSON line that it prints. */
// oxlint-disable-next-line typescript/no-explicit-any
export async function runJson(words: readonly string[]): Promise<any> {
  const finished = await run([...words, "--json"]);
  expect(finished).toMatchObject({ code: 0 });
  return JSON.parse(finished.stdout);
}

export async function startServe(
  data: string,
  words: readonly string[] = [],
  options?: SpawnOptions,
): Promise<Serving> {
  const child = start(["serve", "--data", data, "--port", "0", "--json", ...words], options);
  const { finished, firstLine } = watch(child);
  const line = await Promise.race([firstLine, finished]);
  if (typeof line !== "string") throw new Error(`serve ended: ${JSON.stringify(line)}`);
  const places = JSON.parse(line);
  // In front of a remote server, clients send the token of the gateway.
  const keyFile = places.key_file ?? places.token_file ?? null;
  const key = keyFile === null ? "" : (await readFile(keyFile, "utf8")).trim();

  const stop: Serving["stop"] = (signal = "SIGTERM") => {
    child.kill(signal);
    return finished;
  };
  const call = createCall(places.api, key, fetchDescribed);
  return {
    places,
    pid: child.pid ?? 0,
    key,
    untilSaid: (pattern) => waitForSaid(child, finished, pattern),
    call,
    make: createMake(call),
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop("SIGKILL");
    },
  };
}

/** Starts several servers on one folder. If one fails to start, the others are stopped. */
export async function startServes(data: string, count: number): Promise<readonly Serving[]> {
  const starts = Array.from({ length: count }, () => startServe(data));
  const settled = await Promise.allSettled(starts);
  const servings = settled.flatMap((start) => (start.status === "fulfilled" ? start.value : []));
  if (servings.length < count) await Promise.all(servings.map(({ stop }) => stop("SIGKILL")));
  await Promise.all(starts);
  return servings;
}

/** A temporary folder. `path` is in it and does not exist yet, as on a first start. */
export async function createFolder(parent?: string): Promise<Folder> {
  const outer = await createEmptyFolder(parent);
  return { ...outer, path: join(outer.path, "data") };
}

/** A folder with only the compiled program, from which a process starts in less time. */
export async function createUsedFolder(): Promise<Folder> {
  kept ??= compile();
  const { name, bytes } = await kept;
  const folder = await createFolder();
  await mkdir(folder.path, { mode: 0o700 });
  await writeFile(join(folder.path, name), bytes, { mode: 0o600 });
  return folder;
}

type CompiledCode = { readonly name: string; readonly bytes: Buffer };

let kept: Promise<CompiledCode> | undefined;

async function compile(): Promise<CompiledCode> {
  await using folder = await createFolder();
  const initialize = {
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "first", version: "1" },
    },
  };
  const asked = [
    initialize,
    { method: "notifications/initialized" },
    { id: 2, method: "tools/list" },
  ];
  const lines = asked.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  await run(["stdio", "--data", folder.path], { input: lines.join("") });
  const names = await readdir(folder.path);
  const name = names.find((each) => each.startsWith("compiled-")) ?? "";
  return { name, bytes: await readFile(join(folder.path, name)) };
}

export type OwnServer = {
  readonly folder: Folder;
  readonly serving: Serving;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function createServed(
  words: readonly string[] = [],
  options?: SpawnOptions,
  given?: Folder,
): Promise<OwnServer> {
  const folder = given ?? (await createUsedFolder());
  const serving = await startServe(folder.path, words, options);
  return {
    folder,
    serving,
    [Symbol.asyncDispose]: async () => {
      await serving[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function start(
  words: readonly string[],
  { env, under = [], input }: SpawnOptions = {},
): ChildProcess {
  if (!existsSync(bundle)) throw new Error("dist/waypost.js is missing: run `npm run build` first");
  const [program = "", ...rest] = [...under, process.execPath, bundle, ...words];
  const child = spawn(program, rest, {
    env: { ...cleanEnvironment(), ...env },
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  if (typeof input === "string") child.stdin?.end(input);
  else if (child.stdin !== null) input?.pipe(child.stdin);
  return child;
}

function watch(child: ChildProcess): {
  readonly finished: Promise<RunResult>;
  readonly firstLine: Promise<string>;
} {
  let stdout = "";
  let stderr = "";
  const firstLine = new Promise<string>((resolve) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      if (stdout.includes("\n")) resolve(stdout.split("\n")[0] ?? "");
    });
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const finished = once(child, "close").then(() => ({ code: child.exitCode, stdout, stderr }));
  return { finished, firstLine };
}

/** Another process may not see a write for 20 ms (src/store/cache.ts). */
export async function untilSeen(): Promise<void> {
  await setTimeout(25);
}

export type RunResult = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** Expects exit code 2, and on stderr one line with this message. */
export function expectRefused({ code, stdout, stderr }: RunResult, message: string | RegExp): void {
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^waypost: [^\n]+\n$/);
  expect(stderr).toMatch(message);
}

export const bundle = join(import.meta.dirname, "../../dist/waypost.js");

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

/** Runs one command at a time, because each of them writes to the output of this process. */
let last: Promise<unknown> = Promise.resolve();

type Stdin = { readonly typed?: Iterable<string>; readonly piped?: string };

/** Runs a command in this process, which takes a tenth of the time of a separate process. */
export function runHere(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdin: Stdin = {},
): Promise<RunResult> {
  const next = last.then(() => captureOutput(words, { ...cleanEnvironment(), ...env }, stdin));
  last = next.catch(() => undefined);
  return next;
}

async function captureOutput(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  stdin: Stdin,
): Promise<RunResult> {
  const stdout = interceptWrites(process.stdout);
  const stderr = interceptWrites(process.stderr);
  try {
    const code = await runCommand(words, {
      env,
      program: bundle,
      input: createInput(stdin),
      waitForStop: () => new Promise(() => {}),
      version,
      keepCompiled: () => {},
    });
    return { code, stdout: stdout.take(), stderr: stderr.take() };
  } finally {
    stdout.restore();
    stderr.restore();
  }
}

function createInput({ typed, piped }: Stdin): NodeJS.ReadStream {
  const input = Readable.from(typed ?? (piped ? [Buffer.from(piped)] : []));
  // Commands only read from it and check whether it is a terminal.
  return Object.assign(input, { isTTY: typed !== undefined }) as unknown as NodeJS.ReadStream;
}

function interceptWrites(stream: NodeJS.WriteStream) {
  const original = stream.write.bind(stream);
  let text = "";
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
    const done = rest.find((value) => typeof value === "function");
    if (typeof done === "function") queueMicrotask(() => done());
    return true;
  };
  return {
    take: () => text,
    restore: () => {
      stream.write = original;
    },
  };
}

/** Leaves out the Waypost settings of this machine. Tests read best if the console has no path. */
function cleanEnvironment(): Record<string, string | undefined> {
  const entries = Object.entries(process.env);
  const others = Object.fromEntries(entries.filter(([name]) => !name.startsWith("WAYPOST_")));
  return { ...others, WAYPOST_CONSOLE_PATH: "/" };
}
