import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import {
  expectRefused,
  createFolder,
  runProcess as run,
  runJson,
  startServe,
  startServes,
  type Serving,
} from "../support/command.ts";

/** Acknowledged writes are on the disk: after a kill, with other processes, and by fsync. */

const writers = 6;
const createOnDisk = () => createFolder(tmpdir());

test("no acknowledged write is lost when a server is killed during concurrent writes", async () => {
  await using folder = await createOnDisk();
  const acknowledged: string[] = [];
  let asked = 0;
  for (const target of [30, 90, 150, 210]) {
    await using serving = await startServe(folder.path);
    let written = 0;
    const write = async (): Promise<void> => {
      asked += 1;
      const reply = await serving.call("POST", "/links", { body: { path: `link-${asked}` } });
      expect(reply.status).toBe(201);
      acknowledged.push(reply.body.path);
      written += 1;
      // One writer kills the server while the others wait for responses.
      if (written === target) await serving.stop("SIGKILL");
      return write();
    };
    const ends = await Promise.allSettled(Array.from({ length: writers }, write));
    // Every writer failed only because of the closed connection.
    for (const end of ends) {
      expect(end).toMatchObject({ status: "rejected", reason: { message: "fetch failed" } });
    }
    expect(written).toBeGreaterThanOrEqual(target);
  }

  await using serving = await startServe(folder.path);
  const found = await readPaths(serving);
  expect(acknowledged.filter((path) => !found.has(path))).toEqual([]);
  expect(found.size).toBeLessThanOrEqual(asked);
  expect((await serving.stop()).code).toBe(0);
  expectSound(folder.path);
});

test("three servers and a command can write to the same data folder concurrently", async () => {
  await using folder = await createOnDisk();
  const servings = await startServes(folder.path, 3);
  const each = 90;
  const writing = servings.flatMap(({ call }, server) =>
    Array.from({ length: writers }, async (_, writer) => {
      for (let turn = writer; turn < each; turn += writers) {
        const reply = await call("POST", "/links", { body: { path: `${server}-${turn}` } });
        expect(reply.status).toBe(201);
      }
    }),
  );
  const commands = [1, 2, 3].map(() => run(["keys", "create", "--data", folder.path]));
  for (const { code } of await Promise.all(commands)) expect(code).toBe(0);
  await Promise.all(writing);
  for (const serving of servings) expect((await readPaths(serving)).size).toBe(3 * each);
  for (const { stop } of servings) expect((await stop()).code).toBe(0);
  expectSound(folder.path);
});

test("after a failed fsync, serve returns 500 to API reads and writes", async ({ skip }) => {
  skip(!canTrace(), "strace is missing or not permitted, so no disk failure was simulated");

  await using folder = await createOnDisk();
  // The writes of a first start must not fail.
  await (await startServe(folder.path)).stop();
  const failing = ["-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=5"];
  const under = ["strace", "-D", "-f", "-qq", ...failing, "-o", `${folder.path}.trace`];
  await using serving = await startServe(folder.path, [], { under });
  const create = async () => (await serving.call("POST", "/links", { body: {} })).status;
  let status = await create();
  // strace counts each thread of Node separately.
  for (let turn = 0; turn < 40 && status === 201; turn += 1) status = await create();
  expect(status).toBe(500);
  expect(await create()).toBe(500);
  expect((await serving.call("GET", "/links")).status).toBe(500);
  expect((await fetch(`${serving.places.url}/readyz`)).status).toBe(503);
  const { stderr } = await serving.stop();
  expect(stderr).toContain("the disk failed to sync; check the disk and restart Waypost");
  rmSync(`${folder.path}.trace`);
});

test("waypost restore reports a failing disk, and the next restore succeeds", async ({ skip }) => {
  skip(!canTrace(), "strace is missing or not permitted, so no disk failure was simulated");

  await using folder = await createOnDisk();
  await (await startServe(folder.path)).stop();
  const backup = `${folder.path}.waypost`;
  expect(await run(["backup", backup, "--data", folder.path])).toMatchObject({ code: 0 });
  const target = `${folder.path}-2`;
  const words = ["restore", backup, "--data", target];
  const failing = ["-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=2+"];
  const under = ["strace", "-D", "-f", "-qq", ...failing, "-o", "/dev/null"];
  const failed = await run(words, { under });
  expectRefused(failed, /^waypost: Nothing was copied: cannot write to "[^"]+": /);
  expect(failed.stderr).toMatch(/: its disk reports errors; choose another disk\n$/);
  const again = await run(words);
  expect(again).toMatchObject({ code: 0 });
});

function canTrace(): boolean {
  return spawnSync("strace", ["-D", "-qq", "-e", "trace=none", "true"]).status === 0;
}

test("every write is acknowledged only after its fsync", async ({ skip }) => {
  skip(!canTrace(), "strace is missing or not permitted, so fsyncs were not counted");

  await using folder = await createOnDisk();
  const another = await runJson(["keys", "create", "--data", folder.path]);
  const trace = `${folder.path}.trace`;
  // With -D the tracer is a grandchild, so the process that the test stops is Waypost.
  const under = ["strace", "-D", "-f", "-qq", "-y", "-e", "trace=fsync,fdatasync", "-o", trace];
  await using serving = await startServe(folder.path, [], { under });
  const countSyncs = () => countEnded(readFileSync(trace, "utf8"));
  const before = countSyncs();
  // Every thirty requests Waypost shares its counts with other processes in a background write.
  const keys = [serving.key, another.token];
  for (let turn = 1; turn <= 30; turn += 1) {
    const key = keys[turn % 2] ?? "";
    expect((await serving.call("POST", "/links", { key, body: {} })).status).toBe(201);
    expect(countSyncs() - before).toBeGreaterThanOrEqual(turn);
  }
  // Waypost writes counts every second, so this repeats until no write falls in between.
  const countWhileReading = async (): Promise<number> => {
    const written = countSyncs();
    for (let turn = 1; turn <= 10; turn += 1) await serving.call("GET", "/links");
    return countSyncs() - written;
  };
  await expect.poll(countWhileReading, { timeout: 60_000 }).toBe(0);
  expect((await serving.stop()).code).toBe(0);
});

/** Counts finished fsyncs of database files: an interleaved one ends on a separate line. */
function countEnded(trace: string): number {
  const begun = new Set<string>();
  let count = 0;
  for (const line of trace.split("\n")) {
    const [, thread = "", call = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const isOurs = /^f(?:data)?sync\(\d+<[^>]*waypost\.db/.test(call) || begun.delete(thread);
    if (isOurs && call.endsWith("= 0")) count += 1;
    else if (isOurs && call.endsWith("<unfinished ...>")) begun.add(thread);
  }
  return count;
}

async function readPaths({ call }: Serving): Promise<ReadonlySet<string>> {
  const paths = new Set<string>();
  for (let page = 1; ; page += 1) {
    const query = `limit=100&page=${page}&q[s]=created_at asc`;
    const { body } = await call("GET", "/links", { query });
    for (const { path } of body.links) paths.add(path);
    if (body.meta.next !== undefined) continue;
    expect(paths.size).toBe(body.meta.count);
    return paths;
  }
}

function expectSound(folder: string): void {
  const database = openDatabase(join(folder, "waypost.db"));
  expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  database.close();
}
