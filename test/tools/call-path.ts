import { mkdtempSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { runCommand } from "../../src/commands/run-command.ts";

/**
 * Prints the files of `src` whose functions run during one tool call over stdio, from the message
 * to SQL: `npm run path`. Each call is made once before it is counted.
 */

type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly structuredContent?: Readonly<Record<string, unknown>> };
};

const folder = mkdtempSync(join(tmpdir(), "waypost-path-"));
const input = new PassThrough();
const print = process.stdout.write.bind(process.stdout);
const waiting = new Map<number, (message: Message) => void>();
let lastId = 0;

process.stdout.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
  for (const line of String(chunk).split("\n").filter(Boolean)) receive(JSON.parse(line));
  const done = rest.find((value) => typeof value === "function");
  if (typeof done === "function") queueMicrotask(() => done());
  return true;
};

function receive(message: Message): void {
  if (message.method === "elicitation/create") {
    // A person takes a second at least: an approval that comes sooner does not count.
    const result = { action: "accept", content: { approve: true } };
    setTimeout(() => send({ id: message.id, result }), 1200);
  } else if (message.id !== undefined) {
    waiting.get(message.id)?.(message);
  }
}

function send(message: object): void {
  input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function request(method: string, params: object): Promise<Message> {
  lastId += 1;
  const id = lastId;
  send({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

async function callTool(name: string, args: object): Promise<Readonly<Record<string, unknown>>> {
  const { result } = await request("tools/call", { name, arguments: args });
  const { structuredContent = {} } = result ?? {};
  if ("error" in structuredContent) throw new Error(JSON.stringify(structuredContent));
  return structuredContent;
}

async function createLink(path: string): Promise<string> {
  const { link } = await callTool("create_link", { path, url: "https://example.com/" });
  return (link as { readonly id: string }).id;
}

async function listFiles(work: () => Promise<unknown>): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage");
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  await session.post("Profiler.stopPreciseCoverage");
  session.disconnect();
  const source = join(import.meta.dirname, "../../src");
  const ran = result.filter(({ functions }) => functions.some(({ ranges }) => ranges[0]?.count));
  const files = ran
    .filter(({ url }) => url.startsWith("file:"))
    .map(({ url }) => relative(source, fileURLToPath(url.replace(/\?.*/, ""))));
  return [...new Set(files)].filter((file) => !file.startsWith("..")).toSorted();
}

function show(name: string, files: readonly string[]): void {
  print(`${name}: ${files.length} files\n${files.map((file) => `  ${file}\n`).join("")}`);
}

void runCommand(["--data", folder], {
  env: { PATH: process.env["PATH"] },
  program: "waypost",
  input: Object.assign(input, { isTTY: false }) as unknown as NodeJS.ReadStream,
  waitForStop: () => new Promise(() => {}),
  version: "0.0.0",
  keepCompiled: () => {},
});

await request("initialize", {
  protocolVersion: "2025-06-18",
  capabilities: { elicitation: {} },
  clientInfo: { name: "path", version: "1" },
});
send({ method: "notifications/initialized" });
const [id, first, second] = [
  await createLink("one"),
  await createLink("two"),
  await createLink("three"),
];
for (const _ of [1, 2]) await callTool("get_link", { id });
await callTool("delete_link", { id: first });
show("get_link by id", await listFiles(() => callTool("get_link", { id })));
show(
  "delete_link with an approval",
  await listFiles(() => callTool("delete_link", { id: second })),
);
rmSync(folder, { recursive: true, force: true });
process.exit();
