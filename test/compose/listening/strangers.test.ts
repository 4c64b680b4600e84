import { readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import {
  createServer,
  request as sendRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { networkInterfaces } from "node:os";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../../../src/sql/engine.ts";
import { bundle, createUsedFolder, run, startServe } from "../../support/command.ts";
import { findFreePort, listen, opens, startSession, visit } from "../../support/listening.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** A port that is somebody else's, a folder that cannot say who is whose, and nothing at all. */

/** Another program at a port, and all that it was ever told. */
async function startStranger(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    void response.end("hello"),
  host = "127.0.0.1",
) {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(JSON.stringify([request.url, request.rawHeaders]));
    answer(request, response);
  });
  const port = await listen(server, 0, host);
  return {
    port,
    heard,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

describe.concurrent("a port that is another program's", () => {
  test("is passed over for one that the results call temporary, once", async () => {
    await using folder = await createUsedFolder();
    using stranger = await startStranger();
    await using session = await startSession({ data: folder.path, port: stranger.port });
    const { address, notes } = await session.askAddress();
    expect(await opens(address)).toBe(true);
    expect(new URL(address).port).not.toBe(`${stranger.port}`);
    expect(notes).toEqual([expect.stringMatching(`temporary: another program has port`)]);
    expect(await session.askAddress()).toEqual({ address, notes: [] });
    // It was asked who it is once, by what tells it nothing.
    const secret = readFileSync(join(folder.path, "listener.key"), "utf8").trim();
    expect(stranger.heard).toHaveLength(1);
    expect(stranger.heard.join("\n")).not.toContain(secret);
  });

  test("that repeats what it is told to the listener is told nothing there", async () => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    await using holder = await startSession({ data: folder.path, port });
    const { address } = await holder.askAddress();
    const answers: (number | undefined)[] = [];
    using relay = await startStranger((request, response) => {
      const { url: path = "", method = "", headers } = request;
      const place = { host: "127.0.0.1", port, path, method, headers };
      sendRequest(place, (reply) => {
        answers.push(reply.statusCode);
        response.writeHead(reply.statusCode ?? 0);
        reply.pipe(response);
      }).end();
    });
    writeNote(folder.path, { host: "127.0.0.1", port: relay.port });
    await using session = await startSession({ data: folder.path, port });
    expect((await session.askAddress()).address).toBe(address);
    // What is signed for one port is good for no other.
    expect(answers).toEqual([404]);
  });

  test("and never answers is waited for once", async () => {
    await using folder = await createUsedFolder();
    using stranger = await startStranger(() => undefined);
    const place = { data: folder.path, port: stranger.port };
    await using first = await startSession(place);
    const { address } = await first.askAddress();
    expect(await opens(address)).toBe(true);
    await using second = await startSession(place);
    expect((await second.askAddress()).address).toBe(address);
    const asked = stranger.heard.length;
    await first.stop("SIGKILL");
    await waitUntil(() => opens(address));
    expect((await second.askAddress()).address).toBe(address);
    expect(stranger.heard.length).toBe(asked);
  });

  test("that answers two sessions one by one keeps them from no common address", async () => {
    await using folder = await createUsedFolder();
    const held: (() => void)[] = [];
    let isHolding = true;
    using stranger = await startStranger((_, response) => {
      if (isHolding) held.push(() => response.end("hello"));
      else response.end("hello");
    });
    await using first = await startSession({ data: folder.path, port: 0 });
    await using second = await startSession({ data: folder.path, port: 0 });
    writeNote(folder.path, { host: "127.0.0.1", port: stranger.port });
    const asked = [first.askAddress(), second.askAddress()];
    // Both have read the note, and know of nobody else.
    await waitUntil(() => held.length >= 2);
    isHolding = false;
    held.shift()?.();
    const { address } = await Promise.race(asked);
    for (const answer of held) answer();
    for (const told of await Promise.all(asked)) expect(told.address).toBe(address);
    expect(await opens(address)).toBe(true);
  });

  test("stays a fault for serve, in the words that it always had", async () => {
    await using folder = await createUsedFolder();
    using stranger = await startStranger();
    await using session = await startSession({ data: folder.path, port: stranger.port });
    await session.askAddress();
    const ended = await run(["serve", "--data", folder.path, "--port", `${stranger.port}`]);
    const fault = `port ${stranger.port} on 127.0.0.1 is in use; choose another with --port`;
    expect(ended).toMatchObject({ code: 2, stderr: `waypost: ${fault}\n` });
  });

  test("a session gets a port that is free at both loopback addresses", async () => {
    await using folder = await createUsedFolder();
    using stranger = await startStranger(undefined, "::1");
    await using session = await startSession({ data: folder.path, port: stranger.port });
    const { address, notes } = await session.askAddress();
    const { port } = new URL(address);
    expect(port).not.toBe(`${stranger.port}`);
    expect(notes).toEqual([expect.stringMatching(`temporary: another program has port`)]);
    for (const host of ["127.0.0.1", "[::1]"]) {
      expect((await fetch(`http://${host}:${port}/healthz`)).status).toBe(200);
    }
  });

  test("serve does not start if its port is taken at [::1], and says so", async () => {
    await using folder = await createUsedFolder();
    using stranger = await startStranger(undefined, "::1");
    for (const more of [[], ["--host", "0.0.0.0"]]) {
      const port = ["--port", `${stranger.port}`];
      const ended = await run(["serve", "--data", folder.path, ...port, ...more]);
      const fault = `port ${stranger.port} on ::1 is in use; choose another with --port`;
      expect(ended).toMatchObject({ code: 2, stderr: `waypost: ${fault}\n` });
    }
  });

  test("at a loopback address stops the start of serve with local links at any host", async () => {
    await using folder = await createUsedFolder();
    for (const host of ["127.0.0.1", "::1"]) {
      using stranger = await startStranger(undefined, host);
      const port = ["--port", `${stranger.port}`];
      const place = [...port, "--host", "127.0.0.2"];
      const ended = await run(["serve", "--data", folder.path, ...place]);
      const fault = `port ${stranger.port} on ${host} is in use; choose another with --port`;
      expect(ended).toMatchObject({ code: 2, stderr: `waypost: ${fault}\n` });
    }
  });

  test("leaves the temporary address to the next session", async () => {
    await using folder = await createUsedFolder();
    using stranger = await startStranger();
    const place = { data: folder.path, port: stranger.port };
    await using first = await startSession(place);
    const { address } = await first.askAddress();
    await using second = await startSession(place);
    expect((await second.askAddress()).address).toBe(address);
    await first.stop("SIGKILL");
    await waitUntil(() => opens(address));
    expect((await second.askAddress()).address).toBe(address);
  });
});

describe.concurrent("a session that listens", () => {
  test("does so on loopback alone, whatever the host is set to", async () => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    const env = { WAYPOST_HOST: "0.0.0.0" };
    await using session = await startSession({ data: folder.path, port, env });
    expect(await opens((await session.askAddress()).address)).toBe(true);
    const outside = Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .filter(({ internal, family }) => !internal && family === "IPv4");
    for (const { address: host } of outside) {
      const isOpen = await new Promise((resolve) => {
        const socket = connect({ host, port }, () => resolve(true));
        socket.on("error", () => resolve(false)).on("connect", () => socket.destroy());
      });
      expect(isOpen, host).toBe(false);
    }
  });

  test("gives its port to no server of another folder", async () => {
    await using folder = await createUsedFolder();
    await using other = await createUsedFolder();
    const port = await findFreePort();
    await using session = await startSession({ data: folder.path, port });
    const { address } = await session.askAddress();
    const ended = await run(["serve", "--data", other.path, "--port", `${port}`]);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("is in use") });
    expect(await opens(address)).toBe(true);
  });

  test("tells the origin that the operator has for the links", async () => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    const env = { WAYPOST_LINK_ORIGIN: "https://{subdomain}.links.example" };
    await using session = await startSession({ data: folder.path, port, env });
    const told = { address: "https://default.links.example/spring", notes: [] };
    expect(await session.askAddress()).toEqual(told);
  });
});

describe.concurrent("where nothing listens", () => {
  test("by the operator's wish, results say so once, and what to run", async () => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    const env = { WAYPOST_SERVE: "off" };
    await using session = await startSession({ data: folder.path, port, env });
    const { address, notes } = await session.askAddress();
    // As it can be typed in any folder, which is not the client's.
    const command = `node ${resolve(bundle)} serve --data ${folder.path}`;
    expect(notes).toEqual([expect.stringContaining(`while \`${command}\` runs`)]);
    expect(notes).toEqual([expect.stringContaining("WAYPOST_SERVE is off.")]);
    expect(await session.askAddress()).toEqual({ address, notes: [] });
    expect(await visit(address)).toBeUndefined();
    // As soon as one serves, its address is told.
    await using serving = await startServe(folder.path);
    const served = `${serving.places.links.replace("{subdomain}", "default")}/spring`;
    expect(await session.askAddress()).toEqual({ address: served, notes: [] });
  });

  test.each([
    ["no secret at all", /listener\.key must hold one word/],
    ["guessed", /listener\.key holds no key; move it away/],
  ])("because the folder's secret is %j, results say that", async (secret, told) => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    await using earlier = await startSession({ data: folder.path, port });
    await earlier.askAddress();
    await earlier.stop();
    writeFileSync(join(folder.path, "listener.key"), `${secret}\n`);
    await using session = await startSession({ data: folder.path, port });
    const { address, notes } = await session.askAddress();
    expect(notes).toEqual([expect.stringMatching(told)]);
    expect(await visit(address)).toBeUndefined();
    // A server of the folder needs no other process to do its work.
    await using serving = await startServe(folder.path, ["--port", `${port}`]);
    expect(serving.places.links).toBe(`http://{subdomain}.localhost:${port}`);
    expect(await opens(address)).toBe(true);
  });
});

test("a process that never lets go of the note holds up no server", async () => {
  await using folder = await createUsedFolder();
  const port = await findFreePort();
  await using session = await startSession({ data: folder.path, port });
  const { address } = await session.askAddress();
  const lock = openDatabase(join(folder.path, "listener.lock"));
  try {
    lock.exec("BEGIN EXCLUSIVE");
    await using _ = await startServe(folder.path, ["--port", `${port}`]);
    expect(await opens(address)).toBe(true);
    expect(await session.askAddress()).toEqual({ address, notes: [] });
  } finally {
    lock.close();
  }
});

describe("a note that is no note", () => {
  test.each([
    ["cut off", (path: string) => writeFileSync(path, '{"host":"127.0')],
    ["of no port", (path: string) => writeNoteAt(path, { host: "127.0.0.1", port: 99_999 })],
    ["of no host", (path: string) => writeNoteAt(path, { host: "a\r\nb: c", port: 80 })],
    ["endless", (path: string) => (writeFileSync(path, ""), truncateSync(path, 2 ** 33))],
    ["a link", (path: string) => symlinkSync(join(path, "..", "owner.key"), path)],
  ])("%s, is put right by whoever listens", async (_, plant) => {
    await using folder = await createUsedFolder();
    const place = { data: folder.path, port: await findFreePort() };
    await using earlier = await startSession(place);
    await earlier.stop();
    const path = join(folder.path, "listener.json");
    plant(path);
    await using session = await startSession(place);
    const { address, notes } = await session.askAddress();
    expect(notes).toEqual([]);
    expect(await opens(address)).toBe(true);
    const note = JSON.parse(readFileSync(path, "utf8"));
    expect(note).toMatchObject({ host: "127.0.0.1", port: place.port });
    expect(readFileSync(join(folder.path, "owner.key"), "utf8")).toMatch(/^waypost_/);
  });
});

function writeNote(folder: string, place: object): void {
  writeNoteAt(join(folder, "listener.json"), place);
}

function writeNoteAt(path: string, place: object): void {
  writeFileSync(path, JSON.stringify(place));
}
