import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
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
import { createDataFolder, isServed, openServing, openSession } from "./listeners.ts";
import { startServe } from "../../support/command.ts";
import { waitUntil } from "../../support/clock.ts";
import { openServer, findFreePort } from "../../support/ports.ts";

/** Ports of other programs, folders with invalid files, and folders without a server. */

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
  return { ...(await openServer(server, host)), received };
}

describe.concurrent("a port used by another program", () => {
  test("a stdio process takes another port and never sends that program its secret", async () => {
    await using folder = await createDataFolder();
    await using stranger = await startStranger();
    await using session = openSession({ data: folder.path, port: stranger.port });
    const url = await session.read();
    expect(await isServed(url)).toBe(true);
    expect(url).not.toContain(`:${stranger.port}`);
    expect(session.describe()).toContain("temporary: another program is using port");
    expect(await session.read()).toBe(url);
    expect(stranger.received).toHaveLength(1);
    const secret = readFileSync(join(folder.path, "listener.key"), "utf8").trim();
    expect(stranger.received.join("\n")).not.toContain(secret);
  });

  test("the program is not mistaken for Waypost if it forwards requests to Waypost", async () => {
    await using folder = await createDataFolder();
    const port = await findFreePort();
    await using holder = openSession({ data: folder.path, port });
    const url = await holder.read();
    const answers: (number | undefined)[] = [];
    await using relay = await startStranger((request, response) => {
      const { url: path = "", method = "", headers } = request;
      const place = { host: "127.0.0.1", port, path, method, headers };
      sendRequest(place, (reply) => {
        answers.push(reply.statusCode);
        response.writeHead(reply.statusCode ?? 0);
        reply.pipe(response);
      }).end();
    });
    await using session = openSession({ data: folder.path, port: relay.port });
    expect(await isServed(await session.read())).toBe(true);
    expect(await session.read()).not.toBe(url);
    // A signature is valid for only one port.
    expect(new Set(answers)).toEqual(new Set([404]));
  });

  test("a request to release the port is rejected if the request is a minute old", async () => {
    await using folder = await createDataFolder();
    const port = await findFreePort();
    await using session = openSession({ data: folder.path, port });
    const url = await session.read();
    const secret = readFileSync(join(folder.path, "listener.key"), "utf8").trim();
    const leave = async (time: number) => {
      const nonce = `${time} nonce`;
      const signed = JSON.stringify(["leave", port, nonce]);
      const proof = createHmac("sha256", secret).update(signed).digest("base64url");
      const headers = { "waypost-nonce": nonce, "waypost-proof": proof };
      return (await fetch(`${url}/listener/leave`, { method: "POST", headers })).status;
    };
    expect(await leave(Date.now() - 60_000)).toBe(404);
    expect(await leave(Date.now())).toBe(200);
  });

  test("a stdio process waits only once for a program that never responds", async () => {
    await using folder = await createDataFolder();
    await using stranger = await startStranger(() => undefined);
    await using session = openSession({ data: folder.path, port: stranger.port });
    const url = await session.read();
    expect(await isServed(url)).toBe(true);
    expect(await session.read()).toBe(url);
    expect(stranger.received).toHaveLength(1);
  });

  test("a stdio process returns to its configured port once that program has stopped", async () => {
    await using folder = await createDataFolder();
    const stranger = await startStranger((_, response) => void response.writeHead(503).end());
    const own = `http://127.0.0.1:${stranger.port}`;
    await using session = openSession({ data: folder.path, port: stranger.port });
    // At first the session waits, because the other program may be a Waypost that is starting.
    await waitUntil(async () => (await session.read()) !== undefined);
    expect(await session.read()).not.toBe(own);
    await stranger[Symbol.asyncDispose]();
    await waitUntil(async () => (await session.read()) === own);
    expect(await isServed(own)).toBe(true);
    expect(session.describe()).toBeUndefined();
  });

  test("a stdio process listens on a port that is free on both 127.0.0.1 and ::1", async () => {
    await using folder = await createDataFolder();
    await using stranger = await startStranger(undefined, "::1");
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
    // Local links open at the loopback addresses for any host setting.
    ["127.0.0.1", "127.0.0.2"],
    ["::1", "127.0.0.2"],
  ])("a port in use on %s makes waypost serve --host %s fail", async (taken, host) => {
    await using folder = await createDataFolder();
    await using stranger = await startStranger(undefined, taken);
    const { port } = stranger;
    const fault = `port ${port} on ${taken} is in use; stop the other process or pass --port`;
    await expect(openServing({ data: folder.path, port, host })).rejects.toThrow(
      new UsageFault(fault),
    );
  });
});

describe.concurrent("a listening session", () => {
  test("listens only on loopback, even if another host is configured", async () => {
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

  test("does not release its port to a server that uses another data folder", async () => {
    await using folder = await createDataFolder();
    await using other = await createDataFolder();
    const port = await findFreePort();
    await using session = openSession({ data: folder.path, port });
    const url = await session.read();
    // Its own secret is not valid there.
    await using third = openSession({ data: other.path, port: 0 });
    await third.read();
    await expect(openServing({ data: other.path, port })).rejects.toThrow("is in use");
    expect(await isServed(url)).toBe(true);
  });

  test("uses WAYPOST_LINK_ORIGIN for its links and shows no warning", async () => {
    await using folder = await createDataFolder();
    const port = await findFreePort();
    const env = { WAYPOST_LINK_ORIGIN: "https://{subdomain}.links.example" };
    await using session = openSession({ data: folder.path, port, env });
    await session.read();
    expect(session.readLinkOrigin()).toBe("https://{subdomain}.links.example");
    expect(session.describe()).toBeUndefined();
  });
});

describe.concurrent("a data folder whose links no process serves", () => {
  test("a stdio process with WAYPOST_SERVE=off reports that links do not open", async () => {
    await using folder = await createDataFolder();
    const port = await findFreePort();
    const env = { WAYPOST_SERVE: "off" };
    await using session = openSession({ data: folder.path, port, env });
    expect(await session.read()).toBeUndefined();
    const [reason, advice] = ["WAYPOST_SERVE is off.", "while `waypost serve` runs"];
    expect(session.describe()).toMatch(new RegExp(`${reason} .* ${advice}`));
    expect(await isServed(`http://127.0.0.1:${port}`)).toBe(false);
    await using serving = await openServing({ data: folder.path, port });
    expect(await session.read()).toBe(await serving.read());
    expect(session.readLinkOrigin()).toBe(serving.readLinkOrigin());
    expect(session.describe()).toBeUndefined();
  });

  test.each([
    ["no secret at all", /listener\.key must contain one word/],
    ["guessed", /listener\.key contains no key; move the file away/],
  ])("a stdio process reports an invalid secret in its folder: %j", async (secret, message) => {
    await using folder = await createDataFolder();
    const port = await findFreePort();
    writeFileSync(join(folder.path, "listener.key"), `${secret}\n`);
    await using session = openSession({ data: folder.path, port });
    expect(await session.read()).toBeUndefined();
    expect(session.describe()).toMatch(message);
  });
});

test("waypost serve starts even if the secret in the data folder is invalid", async () => {
  await using folder = await createDataFolder();
  writeFileSync(join(folder.path, "listener.key"), "guessed\n");
  await using serving = await startServe(folder.path);
  expect(await isServed(serving.places.url)).toBe(true);
});
