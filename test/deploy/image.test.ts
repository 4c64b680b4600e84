import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createCall } from "../support/world.ts";
import { fetchDescribed } from "../support/api-description.ts";
import { findFreePort } from "../support/ports.ts";

/** No container engine runs here: the Dockerfile's instructions run in plain folders. */

type Instruction = { readonly name: string; readonly words: readonly string[] };

/** A stage of the image. Its folder is used as the root of the file system. */
type Stage = {
  readonly root: string;
  workdir: string;
  readonly env: Record<string, string>;
  entrypoint: readonly string[];
  command: readonly string[];
  health: readonly string[];
  user: string;
};

const instructions = readInstructions(readFileSync("Dockerfile", "utf8"));
/** The user `node` of the image. */
const otherUser = 1000;
const isRoot = process.getuid?.() === 0;

test.skipIf(!isRoot)("the image serves a link as another user on a read-only tree", async () => {
  const folder = await mkdtemp(join(tmpdir(), "waypost-image-"));
  try {
    chmodSync(folder, 0o755);
    const stage = buildImage(folder);
    expect(stage.user).toBe("node");
    spawnSync("chmod", ["-R", "a-w", join(stage.root, "app")]);
    await serveAndVisit(stage);
  } finally {
    await rm(folder, { recursive: true });
  }
});

function readInstructions(text: string): readonly Instruction[] {
  const lines = text.replaceAll("\\\n", " ").split("\n");
  return lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [name = "", ...words] = line.split(/\s+/);
      return { name, words };
    });
}

function buildImage(folder: string): Stage {
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const { name, words } of instructions) {
    if (name === "FROM") {
      stage = openStage(join(folder, `stage-${stages.size}`));
      stages.set(words.includes("AS") ? (words.at(-1) ?? "") : "last", stage);
    } else if (stage !== undefined) {
      runInstruction(stage, { name, words }, stages);
    }
  }
  if (stage === undefined) throw new Error("the Dockerfile has no stage");
  return stage;
}

function openStage(root: string): Stage {
  mkdirSync(root, { recursive: true });
  const empty = { entrypoint: [], command: [], health: [] };
  return { root, workdir: "/", env: {}, user: "root", ...empty };
}

function runInstruction(
  stage: Stage,
  { name, words }: Instruction,
  stages: ReadonlyMap<string, Stage>,
): void {
  const [first = ""] = words;
  if (name === "WORKDIR") {
    stage.workdir = first;
    mkdirSync(place(stage, first), { recursive: true });
  } else if (name === "COPY") copy(stage, words, stages);
  else if (name === "RUN") runShell(stage, words.join(" "));
  else if (name === "ENV") {
    for (const word of words) stage.env[word.split("=")[0] ?? ""] = word.split("=")[1] ?? "";
  } else if (name === "USER") stage.user = first;
  else if (name === "ENTRYPOINT") stage.entrypoint = JSON.parse(words.join(" "));
  else if (name === "CMD") stage.command = JSON.parse(words.join(" "));
  else if (name === "HEALTHCHECK") {
    stage.health = JSON.parse(words.slice(words.indexOf("CMD") + 1).join(" "));
  } else if (!["LABEL", "EXPOSE", "VOLUME"].includes(name)) {
    throw new Error(`this test does not run ${name}`);
  }
}

function copy(stage: Stage, words: readonly string[], stages: ReadonlyMap<string, Stage>): void {
  const [, source] = /^--from=(.+)$/.exec(words[0] ?? "") ?? [];
  const paths = source === undefined ? words : words.slice(1);
  const target = paths.at(-1) ?? "";
  for (const path of paths.slice(0, -1)) {
    const other = source === undefined ? undefined : stages.get(source);
    const from = other === undefined ? path : place(other, path);
    const to = target.endsWith("/") ? join(target, path) : target;
    cpSync(from, place(stage, to), { recursive: true, filter: isSource });
  }
}

/** Whether `.dockerignore` includes the path. */
function isSource(path: string): boolean {
  return !path.includes("node_modules");
}

/** The image's `/data` and its user do not exist here. */
function runShell(stage: Stage, script: string): void {
  if (script === "npm ci") {
    // The same lock file is already installed.
    symlinkSync(join(process.cwd(), "node_modules"), join(place(stage, "."), "node_modules"));
    return;
  }
  const local = script.replaceAll("/data", join(stage.root, "data")).replace("node:node", "1000");
  const { status, stderr } = spawnSync("sh", ["-ec", local], {
    cwd: place(stage, "."),
    encoding: "utf8",
  });
  expect({ script, status, stderr }).toEqual({ script, status: 0, stderr: "" });
}

function place({ root, workdir }: Stage, path: string): string {
  return path.startsWith("/") ? join(root, path) : join(root, workdir, path);
}

async function serveAndVisit(stage: Stage): Promise<void> {
  const port = String(await findFreePort());
  const inStage = (words: readonly string[]) =>
    words.map((word) => (word.startsWith("/app/") ? join(stage.root, word) : word));
  const env = { ...stage.env, WAYPOST_DATA: join(stage.root, "data"), WAYPOST_PORT: port };
  const options = {
    cwd: join(stage.root, "app"),
    uid: otherUser,
    gid: otherUser,
    env: { ...env, PATH: [dirname(process.execPath), process.env["PATH"]].join(":") },
  };
  const isHealthy = () => {
    const [command = "", ...words] = inStage(stage.health);
    return spawnSync(command, words, options).status === 0;
  };
  expect(isHealthy()).toBe(false);
  const [command = "", ...words] = inStage([...stage.entrypoint, ...stage.command]);
  const server = spawn(command, words, { ...options, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(server, "close");
  let stderr = "";
  server.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  try {
    await expect.poll(isHealthy, { timeout: 60_000, interval: 200 }).toBe(true);
    await openLink(stage, port);
  } finally {
    server.kill("SIGTERM");
  }
  expect(await ended).toEqual([0, null]);
  expect(stderr).not.toMatch(/warn|error/i);
}

async function openLink(stage: Stage, port: string): Promise<void> {
  const key = readFileSync(join(stage.root, "data/owner.key"), "utf8").trim();
  const call = createCall(`http://127.0.0.1:${port}/api/v1`, key, fetchDescribed);
  const link = { path: "spring", url: "https://example.com/sale" };
  expect((await call("POST", "/links", { body: link })).status).toBe(201);
  const visit = spawnSync(
    "curl",
    ["-sS", "-o", "/dev/null", "-w", "%{redirect_url}", `http://default.localhost:${port}/spring`],
    { encoding: "utf8" },
  );
  expect(visit.stdout).toBe("https://example.com/sale");
}
