import { readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import {
  createServer,
  request as sendRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { networkInterfaces } from "node:os";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { UsageFault } from "../../../src/config.ts";
import { openDatabase } from "../../../src/sql/engine.ts";
import { createDataFolder, isServed, openServing, openSession } from "./listeners.ts";
import { findFreePort, listen } from "../../support/listening.ts";
import { waitUntil } from "../../support/clock.ts";

/** Ports of other programs, folders with invalid files, and folders without a server. */

/** Another program at a port, and all that it received. */
async function startStranger(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    void response.end("hello"),
  host = "127.0.0.1",
) {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(JSON.stringify([request.url, request.rawHeaders]));
    answer(request, response);
  });
  const port = await listen(server, 0, host);
  return {
    port,
    received,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

describe.concurrent("the port of another program", () => {
  test("a session takes another port, and sends that program no secret", async () => {
    await using folder = await createDataFolder();
    using stranger = await startStranger();
    await using session = openSession({ data: folder.path, port: stranger.port });
    const url = await session.read();
    expect(await isServed(url)).toBe(true);
    expect(url).not.toContain(`:${stranger.port}`);
    expect(session.describe()).toContain("temporary: another program is using port");
    // A late answer on a busy machine is asked for again. A known stranger is not asked.
    const asked = stranger.received.length;
    expect(asked).toBeGreaterThan(0);
    expect(await session.read()).toBe(url);
    expect(stranger.received).toHaveLength(asked);
    const secret = readFileSync(join(folder.path, "listener.key"), "utf8").trim();
    expect(stranger.received.join("\n")).not.toContain(secret);
  });

  test("a program that repeats messages to the listener learns nothing from it", async () => {
    await using folder = await createDataFolder();
    const port = await findFreePort();
    await using holder = openSession({ data: folder.path, port });
    const url = await holder.read();
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
    await using session = openSession({ data: folder.path, port });
    expect(await session.read()).toBe(url);
    // A signature is good for one port only.
    expect(new Set(answers)).toEqual(new Set([404]));
  });

  test("a program that never answers is waited for once", async () => {
    await using folder = await createDataFolder();
    using stranger = await startStranger(() => undefined);
    const place = { data: folder.path, port: stranger.port };
    await using first = openSession(place);
    const url = await first.read();
    expect(await isServed(url)).toBe(true);
    await using second = openSession(place);
    expect(await second.read()).toBe(url);
    const asked = stranger.received.length;
    await first.close();
    await waitUntil(() => isServed(url));
    expect(await second.read()).toBe(url);
    expect(stranger.received.length).toBe(asked);
  });

  test("a program that answers two sessions one by one leaves them one address", async () => {
    await using folder = await createDataFolder();
    const held: (() => void)[] = [];
    let isHolding = true;
    using stranger = await startStranger((_, response) => {
      if (isHolding) held.push(() => response.end("hello"));
      else response.end("hello");
    });
    writeNote(folder.path, { host: "127.0.0.1", port: stranger.port });
    await using first = openSession({ data: folder.path, port: 0 });
    await using second = openSession({ data: folder.path, port: 0 });
    const asked = [first.read(), second.read()];
    // Both have read the note, and know of no other process.
    await waitUntil(() => held.length >= 2);
    isHolding = false;
    held.shift()?.();
    const url = await Promise.race(asked);
    for (const answer of held) answer();
    expect(await Promise.all(asked)).toEqual([url, url]);
    expect(await isServed(url)).toBe(true);
  });

  test("a session gets a port that is free at both loopback addresses", async () => {
    await using folder = await createDataFolder();
    using stranger = await startStranger(undefined, "::1");
    await using session = openSession({ data: folder.path, port: stranger.port });
    const { port } = new URL((await session.read()) ?? "");
    expect(port).not.toBe(`${stranger.port}`);
    expect(session.describe()).toContain("temporary: another program is using port");
    for (const host of ["127.0.0.1", "[::1]"]) {
      expect((await fetch(`http://${host}:${port}/healthz`)).status).toBe(200);
    }
  });

  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "127.0.0.1"],
    ["::1", "0.0.0.0"],
    // Local links are opened at the loopback addresses, whatever the host is.
    ["127.0.0.1", "127.0.0.2"],
    ["::1", "127.0.0.2"],
  ])("serve refuses a port that is taken at %s, with the host %s", async (taken, host) => {
    await using folder = await createDataFolder();
    using stranger = await startStranger(undefined, taken);
    const { port } = stranger;
    const fault = `port ${port} on ${taken} is in use; stop the other process or pass --port`;
    await expect(openServing({ data: folder.path, port, host })).rejects.toThrow(
      new UsageFault(fault),
    );
  });

  test("a session leaves its temporary address to the next session", async () => {
    await using folder = await createDataFolder();
    using stranger = await startStranger();
    const place = { data: folder.path, port: stranger.port };
    await using first = openSession(place);
    const url = await first.read();
    await using second = openSession(place);
    expect(await second.read()).toBe(url);
    await first.close();
    await waitUntil(() => isServed(url));
    expect(await second.read()).toBe(url);
  });
});

describe.concurrent("a session that listens", () => {
  test("a session listens on loopback only, whatever the host is set to", async () => {
    await using folder = await createDataFolder();
    const port = await findFreePort();
    await using session = openSession({ data: folder.path, port, host: "0.0.0.0" });
    expect(await isServed(await session.read())).toBe(true);
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

  test("a session gives its port to no server of another folder", async () => {
    await using folder = await createDataFolder();
    await using other = await createDataFolder();
    const port = await findFreePort();
    await using session = openSession({ data: folder.path, port });
    const url = await session.read();
    // Its own secret opens nothing there.
    await using third = openSession({ data: other.path, port: 0 });
    await third.read();
    await expect(openServing({ data: other.path, port })).rejects.toThrow("is in use");
    expect(await isServed(url)).toBe(true);
  });

  test("a session names the operator's origin for links, and says nothing about it", async () => {
    await using folder = await createDataFolder();
    const port = await findFreePort();
    const env = { WAYPOST_LINK_ORIGIN: "https://{subdomain}.links.example" };
    await using session = openSession({ data: folder.path, port, env });
    await session.read();
    expect(session.readLinkOrigin()).toBe("https://{subdomain}.links.example");
    expect(session.describe()).toBeUndefined();
  });
});

describe.concurrent("a folder that no process serves", () => {
  test("a session that may not serve says so until another process serves", async () => {
    await using folder = await createDataFolder();
    const port = await findFreePort();
    const env = { WAYPOST_SERVE: "off" };
    await using session = openSession({ data: folder.path, port, env });
    expect(await session.read()).toBeUndefined();
    const [nobody, advice] = ["WAYPOST_SERVE is off.", "while `waypost serve` runs"];
    expect(session.describe()).toMatch(new RegExp(`${nobody} .* ${advice}`));
    expect(await isServed(`http://127.0.0.1:${port}`)).toBe(false);
    await using serving = await openServing({ data: folder.path, port: 0 });
    expect(await session.read()).toBe(await serving.read());
    expect(session.readLinkOrigin()).toBe(serving.readLinkOrigin());
    expect(session.describe()).toBeUndefined();
  });

  test.each([
    ["no secret at all", /listener\.key must contain one word/],
    ["guessed", /listener\.key contains no key; move the file away/],
  ])("a session says that the folder's secret is wrong: %j", async (secret, message) => {
    await using folder = await createDataFolder();
    const port = await findFreePort();
    writeFileSync(join(folder.path, "listener.key"), `${secret}\n`);
    await using session = openSession({ data: folder.path, port });
    expect(await session.read()).toBeUndefined();
    expect(session.describe()).toMatch(message);
    // A server of the folder needs no other process to do its work.
    await using serving = await openServing({ data: folder.path, port });
    expect(await serving.read()).toBe(`http://127.0.0.1:${port}`);
    expect(await isServed(await serving.read())).toBe(true);
  });
});

test("a process that never releases the note holds up no server", async () => {
  await using folder = await createDataFolder();
  const port = await findFreePort();
  await using session = openSession({ data: folder.path, port });
  const url = await session.read();
  const lock = openDatabase(join(folder.path, "listener.lock"));
  try {
    lock.exec("BEGIN EXCLUSIVE");
    await using serving = await openServing({ data: folder.path, port });
    expect(await serving.read()).toBe(url);
    expect(await isServed(url)).toBe(true);
    expect(await session.read()).toBe(url);
  } finally {
    lock.close();
  }
});

describe("a note that cannot be read", () => {
  test.each([
    ["cut off", (path: string) => writeFileSync(path, '{"host":"127.0')],
    ["without a port", (path: string) => writeNoteAt(path, { host: "127.0.0.1", port: 99_999 })],
    ["without a host", (path: string) => writeNoteAt(path, { host: "a\r\nb: c", port: 80 })],
    ["endless", (path: string) => (writeFileSync(path, ""), truncateSync(path, 2 ** 33))],
    ["a link", (path: string) => symlinkSync(join(path, "..", "owner.key"), path)],
  ])("a note that is %s is replaced by the process that listens", async (_, plant) => {
    await using folder = await createDataFolder();
    const place = { data: folder.path, port: await findFreePort() };
    const path = join(folder.path, "listener.json");
    writeFileSync(join(folder.path, "owner.key"), "waypost_secret\n");
    plant(path);
    await using session = openSession(place);
    expect(await isServed(await session.read())).toBe(true);
    expect(session.describe()).toBeUndefined();
    const note = JSON.parse(readFileSync(path, "utf8"));
    expect(note).toMatchObject({ host: "127.0.0.1", port: place.port });
    expect(readFileSync(join(folder.path, "owner.key"), "utf8")).toBe("waypost_secret\n");
  });
});

function writeNote(folder: string, place: object): void {
  writeNoteAt(join(folder, "listener.json"), place);
}

function writeNoteAt(path: string, place: object): void {
  writeFileSync(path, JSON.stringify(place));
}
