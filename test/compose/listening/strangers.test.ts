import { readFileSync, writeFileSync } from "node:fs";
import {
  createServer,
  request as sendRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { createFolder, run, startServe } from "../../support/command.ts";
import { findFreePort, listen, opens, startSession, visit } from "../../support/listening.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** A port that is somebody else's, a folder that cannot say who is whose, and nothing at all. */

/** Another program at a port, and all that it was ever told. */
async function startStranger(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    void response.end("hello"),
) {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(JSON.stringify([request.url, request.rawHeaders]));
    answer(request, response);
  });
  const port = await listen(server, 0);
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
    await using folder = await createFolder();
    using stranger = await startStranger();
    await using session = await startSession({ data: folder.path, port: stranger.port });
    const { address, notes } = await session.askAddress();
    expect(await opens(address)).toBe(true);
    expect(new URL(address).port).not.toBe(`${stranger.port}`);
    expect(notes).toEqual([expect.stringMatching(`temporary: another program has port`)]);
    expect(await session.askAddress()).toEqual({ address, notes: [] });
    // It was asked who it is, by what tells it nothing.
    const secret = readFileSync(join(folder.path, "listener.key"), "utf8").trim();
    expect(stranger.heard.length).toBeGreaterThan(0);
    expect(stranger.heard.join("\n")).not.toContain(secret);
  });

  test("that repeats what it is told, in our name, is not believed", async () => {
    await using folder = await createFolder();
    const port = await findFreePort();
    await using holder = await startSession({ data: folder.path, port });
    const { address } = await holder.askAddress();
    using relay = await startStranger((request, response) => {
      const { url: path = "", method = "", headers } = request;
      const place = { host: "127.0.0.1", port, path, method, headers };
      sendRequest(place, (reply) => {
        response.writeHead(reply.statusCode ?? 0);
        // It hides that the other side has ended.
        reply.pipe(response, { end: false });
      }).end();
    });
    const note = { host: "127.0.0.1", port: relay.port };
    writeFileSync(join(folder.path, "listener.json"), JSON.stringify(note));
    await using session = await startSession({ data: folder.path, port });
    expect((await session.askAddress()).address).toBe(address);
    expect(relay.heard.length).toBeGreaterThan(0);
    await holder.stop();
    await waitUntil(() => opens(address));
  });

  test("stays a fault for serve, in the words that it always had", async () => {
    await using folder = await createFolder();
    using stranger = await startStranger();
    await using session = await startSession({ data: folder.path, port: stranger.port });
    await session.askAddress();
    const ended = await run(["serve", "--data", folder.path, "--port", `${stranger.port}`]);
    const fault = `port ${stranger.port} on 127.0.0.1 is in use; choose another with --port`;
    expect(ended).toMatchObject({ code: 2, stderr: `waypost: ${fault}\n` });
  });

  test("leaves the temporary address to the next session", async () => {
    await using folder = await createFolder();
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
    await using folder = await createFolder();
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
    await using folder = await createFolder();
    await using other = await createFolder();
    const port = await findFreePort();
    await using session = await startSession({ data: folder.path, port });
    const { address } = await session.askAddress();
    const ended = await run(["serve", "--data", other.path, "--port", `${port}`]);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("is in use") });
    expect(await opens(address)).toBe(true);
  });

  test("tells the origin that the operator has for the links", async () => {
    await using folder = await createFolder();
    const port = await findFreePort();
    const env = { WAYPOST_LINK_ORIGIN: "https://{subdomain}.links.example" };
    await using session = await startSession({ data: folder.path, port, env });
    const told = { address: "https://default.links.example/spring", notes: [] };
    expect(await session.askAddress()).toEqual(told);
  });
});

describe.concurrent("where nothing listens", () => {
  test("by the operator's wish, results say so once, and what to run", async () => {
    await using folder = await createFolder();
    const port = await findFreePort();
    const env = { WAYPOST_SERVE: "off" };
    await using session = await startSession({ data: folder.path, port, env });
    const { address, notes } = await session.askAddress();
    expect(notes).toEqual([
      expect.stringMatching(/WAYPOST_SERVE is off\. .* serve --data .*` runs/),
    ]);
    expect(await session.askAddress()).toEqual({ address, notes: [] });
    expect(await visit(address)).toBeUndefined();
    // As soon as one serves, its address is told.
    await using serving = await startServe(folder.path);
    const served = `${serving.places.links.replace("{subdomain}", "default")}/spring`;
    expect(await session.askAddress()).toEqual({ address: served, notes: [] });
  });

  test("because the folder's secret cannot be read, results say that", async () => {
    await using folder = await createFolder();
    const port = await findFreePort();
    await using earlier = await startSession({ data: folder.path, port });
    await earlier.askAddress();
    await earlier.stop();
    writeFileSync(join(folder.path, "listener.key"), "no secret at all\n");
    await using session = await startSession({ data: folder.path, port });
    const { address, notes } = await session.askAddress();
    expect(notes).toEqual([expect.stringMatching(/listener\.key must hold one word/)]);
    expect(await visit(address)).toBeUndefined();
    // A server of the folder needs no other process to do its work.
    await using serving = await startServe(folder.path, ["--port", `${port}`]);
    expect(serving.places.links).toBe(`http://{subdomain}.localhost:${port}`);
    expect(await opens(address)).toBe(true);
  });
});
