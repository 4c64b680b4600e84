import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { bundle, createUsedFolder, startServe } from "../../support/command.ts";
import { opens, startSession, visit } from "../../support/listening.ts";
import { findFreePort, openServer } from "../../support/ports.ts";
import { decideOnPage } from "../../support/mcp-http.ts";
import { waitUntil } from "../../support/clock.ts";

/** Link addresses work while processes of a data folder start and stop. */

describe.concurrent("an MCP session over stdio", () => {
  test("redirects visitors of links and counts clicks but serves no API over HTTP", async () => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    await using session = await startSession({ data: folder.path, port });
    const own = `http://127.0.0.1:${port}`;
    // The session listens only after it has returned its list of tools.
    expect(await visit(`${own}/healthz`)).toBeUndefined();
    await session.listTools();
    await waitUntil(async () => (await visit(`${own}/healthz`))?.status === 200);
    const { address, notes } = await session.askAddress();
    expect(address).toBe(`http://default.localhost:${port}/spring`);
    expect(notes).toEqual([]);
    expect(await visit(address)).toEqual({ status: 302, location: "https://example.com/spring" });
    expect((await session.call("get_link", { id: "spring" })).link.clicks).toBe(1);
    for (const [path, method] of [
      ["/api/v1/links", "GET"],
      ["/mcp", "POST"],
      ["/listener/follow", "POST"],
      ["/listener/leave", "POST"],
    ] as const) {
      expect(await visit(own + path, method), path).toMatchObject({ status: 404 });
    }
  });

  test("waits at shutdown only for requests whose headers have arrived completely", async () => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    await using session = await startSession({ data: folder.path, port });
    await session.askAddress();
    const ended: string[] = [];
    const visitors = ["asks", "has opened a connection", "has begun to ask"].map((name) => {
      const socket = connect({ host: "127.0.0.1", port });
      return socket.on("error", () => undefined).once("close", () => ended.push(name));
    });
    const [asking, , beginning] = visitors;
    const head = "POST /approve/1 HTTP/1.1\r\nhost: localhost\r\n";
    // Its body is never sent.
    asking?.write(`${head}expect: 100-continue\r\ncontent-length: 9\r\n\r\n`);
    beginning?.write(head);
    if (asking !== undefined) await once(asking, "data");
    await session.stop();
    await waitUntil(() => ended.length === visitors.length);
    expect(ended.at(-1)).toBe("asks");
  });

  test("whose port is in use reports once that its link URLs are temporary", async () => {
    await using folder = await createUsedFolder();
    await using stranger = await openServer(
      createServer((_, response) => void response.end("hello")),
    );
    await using session = await startSession({ data: folder.path, port: stranger.port });
    const { address, notes } = await session.askAddress();
    expect(await opens(address)).toBe(true);
    expect(notes).toEqual([expect.stringMatching(`temporary: another program is using port`)]);
    expect(await session.askAddress()).toEqual({ address, notes: [] });
  });

  test("with WAYPOST_SERVE=off reports once which command serves the links", async () => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    const env = { WAYPOST_SERVE: "off" };
    await using session = await startSession({ data: folder.path, port, env });
    const { address, notes } = await session.askAddress();
    // The command must work in any folder.
    const command = `node ${resolve(bundle)} serve --data ${folder.path}`;
    expect(notes).toEqual([expect.stringContaining(`while \`${command}\` runs`)]);
    expect(notes).toEqual([expect.stringContaining("WAYPOST_SERVE is off.")]);
    expect(await session.askAddress()).toEqual({ address, notes: [] });
    expect(await visit(address)).toBeUndefined();
  });
});

describe.concurrent("a data folder that several processes share", () => {
  test.each(["input", "SIGKILL"] as const)(
    "a second session serves the links after the first session ends (cause: %s)",
    async (by) => {
      await using folder = await createUsedFolder();
      const place = { data: folder.path, port: await findFreePort() };
      await using first = await startSession(place);
      const { address } = await first.askAddress();
      await using second = await startSession(place);
      expect(await second.askAddress()).toEqual({ address, notes: [] });
      await first.stop(by);
      await waitUntil(() => opens(address));
      expect(await second.askAddress()).toEqual({ address, notes: [] });
    },
  );

  test("a stdio process serves the links until a killed waypost serve is restarted", async () => {
    await using folder = await createUsedFolder();
    const place = { data: folder.path, port: await findFreePort() };
    const serve = () => startServe(folder.path, ["--port", `${place.port}`]);
    await using serving = await serve();
    await using session = await startSession(place);
    const { address } = await session.askAddress();
    expect(await opens(address)).toBe(true);
    await serving.stop("SIGKILL");
    await waitUntil(() => opens(address));
    await using again = await serve();
    expect(await session.askAddress()).toEqual({ address, notes: [] });
    expect(await opens(address)).toBe(true);
    expect(await again.call("GET", "/links", { key: null })).toMatchObject({ status: 401 });
  });
});

test("a listening stdio process serves other processes' approval and preview pages", async () => {
  await using folder = await createUsedFolder();
  const place = { data: folder.path, port: await findFreePort() };
  await using first = await startSession(place);
  await first.askAddress();
  await using second = await startSession(place);
  const { preview_url } = await second.call("preview_template", { link_id: "spring" });
  const { error } = await second.call("delete_link", { id: "spring" });
  const pages = [preview_url, error.approval.url];
  expect(error.approval.url).toMatch(`http://127.0.0.1:${place.port}/approve/`);
  for (const url of pages) expect(await isShown(url), url).toBe(true);
  await decideOnPage(error.approval.url, "approve");
  // The process that holds the port later shows them too.
  await first.stop("SIGKILL");
  for (const url of pages) await waitUntil(() => isShown(url));
  expect((await second.call("delete_link", { id: "spring" })).change).toBeDefined();
});

async function isShown(url: string): Promise<boolean> {
  return (await visit(url))?.status === 200;
}
