import { once } from "node:events";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { Agent, get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isRunning, listChildren } from "../support/child-processes.ts";
import { createFolder, run, startServe, startServes } from "../support/command.ts";
import { findFreePort } from "../support/listening.ts";
import { waitUntil } from "../support/wait-until.ts";

/** `waypost serve --processes`: several processes behind one port. */

const two = ["--processes", "2"];

async function isWell(url: string): Promise<boolean> {
  // A connection of its own, which any of the processes may get.
  const asked = { headers: { connection: "close" }, signal: AbortSignal.timeout(2000) };
  return fetch(`${url}/readyz`, asked).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** `turn` is how many were sent before it. */
type Asked = { readonly turn: number; readonly end: number | "hangs" | "broken off" };

type Asking = { sent: number; readonly seen: Asked[] };

/** Asks by one new connection after another, and notes how each ended. */
async function askUntil(over: AbortSignal, url: string, asking: Asking): Promise<void> {
  while (!over.aborted) {
    const turn = asking.sent;
    asking.sent += 1;
    const asked = { headers: { connection: "close" }, signal: AbortSignal.timeout(5000) };
    const end = await fetch(`${url}/healthz`, asked).then(
      ({ status }) => status,
      (error: unknown) => (isTimeout(error) ? "hangs" : "broken off"),
    );
    asking.seen.push({ turn, end });
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
}

/** What the log tells of those that were replaced. */
function readEnds(stderr: string): readonly object[] {
  const lines = stderr.split("\n").filter((line) => line.includes("takes its place"));
  return lines.map((line) => JSON.parse(line));
}

describe.concurrent("serve --processes", () => {
  test("says once that it is ready, and each of its processes answers", async () => {
    await using folder = await createFolder();
    await using serving = await startServe(folder.path, two);
    expect(listChildren(serving.pid)).toHaveLength(2);
    const made = await serving.call("POST", "/links", { body: { url: "https://example.com" } });
    expect(made.status).toBe(201);
    for (let asked = 0; asked < 6; asked += 1) {
      const headers = { connection: "close" };
      const list = await serving.call("GET", "/links", { headers });
      expect(list.body.links).toHaveLength(1);
    }
    const processes = listChildren(serving.pid);
    const { code, stdout, stderr } = await serving.stop();
    expect([code, stdout.trim().split("\n").length]).toEqual([0, 1]);
    expect(stderr.match(/Waypost serves your links/g)).toHaveLength(1);
    expect(processes.filter(isRunning)).toEqual([]);
  });

  test("ends a connection after a thousand requests at most, and refuses none", async () => {
    await using folder = await createFolder();
    await using serving = await startServe(folder.path, two);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ends: (string | undefined)[] = [];
    const opened = new Set<object>();
    while (ends.length < 1001) {
      const request = get(`${serving.places.url}/healthz`, { agent });
      // What answers a request is a message with its status.
      const [answer] = (await once(request, "response")) as [IncomingMessage];
      expect(answer.statusCode).toBe(200);
      opened.add(answer.socket);
      ends.push(answer.headers.connection);
      await once(answer.resume(), "end");
    }
    agent.destroy();
    const ended = ends.filter((end) => end === "close").length;
    expect(ended).toBeGreaterThanOrEqual(1);
    expect(opened.size).toBe(ends.at(-1) === "close" ? ended : ended + 1);
  });

  test("puts another in the place of one that dies, and says so", async () => {
    await using folder = await createFolder();
    await using serving = await startServe(folder.path, two);
    const [killed = 0, other = 0] = listChildren(serving.pid);
    process.kill(killed, "SIGKILL");
    await waitUntil(() => listChildren(serving.pid).some((pid) => pid !== killed && pid !== other));
    await waitUntil(() => isWell(serving.places.url));
    const { stderr } = await serving.stop();
    expect(readEnds(stderr)).toMatchObject([
      { level: 40, pid: killed, signal: "SIGKILL", wait_ms: 0 },
    ]);
  });

  test("leaves nobody without an answer who asks after one was killed", async () => {
    await using folder = await createFolder();
    await using serving = await startServe(folder.path, ["--processes", "3"]);
    const over = new AbortController();
    const asking: Asking = { sent: 0, seen: [] };
    const { seen } = asking;
    const clients = Array.from({ length: 16 }, () =>
      askUntil(over.signal, serving.places.url, asking),
    );
    // The last one stays, for those that take a place are not there at once.
    for (const killed of listChildren(serving.pid).slice(0, 2)) {
      const before = seen.length;
      await waitUntil(() => seen.length > before + 200);
      process.kill(killed, "SIGKILL");
      await waitUntil(() => !isRunning(killed));
      const { sent } = asking;
      await waitUntil(() => seen.filter(({ turn }) => turn >= sent).length > 100);
      expect(seen.filter(({ turn, end }) => turn >= sent && end !== 200)).toEqual([]);
    }
    over.abort();
    await Promise.all(clients);
    // Whom the killed one was answering learns at once that it is gone.
    expect(seen.filter(({ end }) => end === "hangs")).toEqual([]);
  });

  test("waits longer and longer for one that dies of its start", async () => {
    await using folder = await createFolder();
    await using pins = await createFolder();
    await mkdir(pins.path);
    const pin = join(pins.path, "pin");
    await writeFile(pin, "735-219-864");
    const env = { WAYPOST_APPROVAL_PIN_FILE: pin };
    await using serving = await startServe(folder.path, two, { env });
    const [killed = 0, other = 0] = listChildren(serving.pid);
    await rename(pin, `${pin} away`);
    process.kill(killed, "SIGKILL");
    const seen = new Set<number>();
    await waitUntil(() => {
      for (const pid of listChildren(serving.pid)) seen.add(pid);
      return seen.size === 4;
    });
    // The other one goes on meanwhile.
    expect(await isWell(serving.places.url)).toBe(true);
    await rename(`${pin} away`, pin);
    const { stderr } = await serving.stop();
    expect(isRunning(other)).toBe(false);
    expect(readEnds(stderr).slice(0, 2)).toMatchObject([
      { pid: killed, wait_ms: 0 },
      { code: 2, wait_ms: 500 },
    ]);
  });

  test("keeps its port where all of them die at once", async () => {
    await using folder = await createFolder();
    await using serving = await startServe(folder.path, two);
    const killed = listChildren(serving.pid);
    for (const pid of killed) process.kill(pid, "SIGKILL");
    await waitUntil(() => listChildren(serving.pid).every((pid) => !killed.includes(pid)));
    await waitUntil(() => isWell(serving.places.url));
    expect(listChildren(serving.pid).filter((pid) => killed.includes(pid))).toEqual([]);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("ends them all by %s, or by its end", async (by) => {
    await using folder = await createFolder();
    const first = await startServe(folder.path, two);
    const processes = listChildren(first.pid);
    expect(await first.stop(by)).toMatchObject({ code: 0 });
    expect(processes.filter(isRunning)).toEqual([]);
    const second = await startServe(folder.path, two);
    const left = listChildren(second.pid);
    await second.stop("SIGKILL");
    await waitUntil(() => left.filter(isRunning).length === 0);
  });

  test("that cannot start says why, once, and ends with the same exit code", async () => {
    await using folder = await createFolder();
    const port = await findFreePort();
    await using _ = await startServe(folder.path, ["--port", `${port}`]);
    await using other = await createFolder();
    const words = ["serve", "--data", other.path, "--port", `${port}`, ...two];
    const { code, stdout, stderr } = await run(words);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^waypost: port \d+ on 127.0.0.1 is in use; choose another .*\n$/);
  });
});

describe.concurrent("the first start of many", () => {
  test("makes one owner's key: one writes it, and the others say where it is", async () => {
    await using folder = await createFolder();
    const servings = await startServes(folder.path, 3);
    const { stdout } = await run(["keys", "list", "--data", folder.path, "--json"]);
    expect(JSON.parse(stdout).keys).toHaveLength(1);
    expect(new Set(servings.map(({ key }) => key)).size).toBe(1);
    for (const { call } of servings) expect((await call("GET", "/links")).status).toBe(200);
    const said = await Promise.all(servings.map(async ({ stop }) => (await stop()).stderr));
    expect(said.filter((text) => text.includes('your project "default" in'))).toHaveLength(1);
    const others = said.filter((text) => text.includes(`(key: ${servings[0]?.places.key_file})`));
    expect(others).toHaveLength(2);
  });
});
