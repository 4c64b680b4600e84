import { mkdtempSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { runCommand } from "../../src/commands/run-command.ts";

/** `npm run path` prints the files of `src` that one tool call over stdio runs through. */

const source = join(import.meta.dirname, "../../src");
const write = process.stdout.write.bind(process.stdout);
const input = new PassThrough();
const waiting = new Map<number, (message: Message) => void>();

type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly structuredContent?: Readonly<Record<string, unknown>> };
};

async function printPaths(): Promise<void> {
  await request("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: { elicitation: {} },
    clientInfo: { name: "path", version: "1" },
  });
  send({ method: "notifications/initialized" });
  const id = await createLink("one");
  const [first, second] = [await createLink("two"), await createLink("three")];
  await callTool("get_link", { id });
  await callTool("delete_link", { id: first });
  // A write empties the cache of keys, so this call reads the key again.
  await callTool("get_link", { id });
  await printFiles("get_link by id", () => callTool("get_link", { id }));
  await printFiles("delete_link with an approval", () => callTool("delete_link", { id: second }));
}

async function printFiles(name: string, work: () => Promise<unknown>): Promise<void> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage");
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const files = result
    .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .filter(({ url }) => url.startsWith("file:"))
    .map(({ url }) => relative(source, fileURLToPath(url.replace(/\?.*/, ""))))
    .filter((file) => !file.startsWith(".."));
  const sorted = [...new Set(files)].toSorted();
  write(`${name}: ${sorted.length} files\n${sorted.map((file) => `  ${file}\n`).join("")}`);
}

async function createLink(path: string): Promise<unknown> {
  const { link } = await callTool("create_link", { path, url: "https://example.com/" });
  return (link as { readonly id: string }).id;
}

async function callTool(name: string, args: object): Promise<Readonly<Record<string, unknown>>> {
  const { result } = await request("tools/call", { name, arguments: args });
  const { structuredContent = {} } = result ?? {};
  if ("error" in structuredContent) throw new Error(JSON.stringify(structuredContent));
  return structuredContent;
}

function request(method: string, params: object): Promise<Message> {
  const id = waiting.size + 1;
  send({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

function send(message: object): void {
  input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function receive(message: Message): void {
  if (message.method === "elicitation/create") {
    const result = { action: "accept", content: { approve: true } };
    // An immediate answer is not accepted as a person's.
    setTimeout(() => send({ id: message.id, result }), 1200);
  } else if (message.id !== undefined) {
    waiting.get(message.id)?.(message);
  }
}

process.stdout.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
  for (const line of String(chunk).split("\n").filter(Boolean)) {
    receive(JSON.parse(line) as Message);
  }
  const done = rest.find((value) => typeof value === "function");
  if (typeof done === "function") queueMicrotask(() => done());
  return true;
};

const folder = mkdtempSync(join(tmpdir(), "waypost-path-"));
void runCommand(["--data", folder], {
  env: { PATH: process.env["PATH"] },
  program: "waypost",
  // The command only reads from it and checks whether it is a terminal.
  input: Object.assign(input, { isTTY: false }) as unknown as NodeJS.ReadStream,
  waitForStop: () => new Promise(() => {}),
  version: "0.0.0",
  keepCompiled: () => {},
});
await printPaths();
rmSync(folder, { recursive: true, force: true });
process.exit();
