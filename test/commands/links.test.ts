import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  createUsedFolder,
  startServe,
  untilSeen,
  type Serving,
  type Folder,
} from "../support/command.ts";
import { visitAt, type VisitReply } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";

import agents from "../host/user-agents.json" with { type: "json" };

/** Links of the built command: they work at once, and their visits are counted. */

let folder: Folder;
openForEach(createUsedFolder, (opened) => (folder = opened));

const url = "https://shop.example/";
const iPhone = agents.ios["Safari on an iPhone"];

function visit({ places }: Serving, path: string, host?: string): Promise<VisitReply> {
  const { port } = new URL(places.url);
  return visitAt(Number(port), path, { host: host ?? `default.localhost:${port}` });
}

const readClicks = async ({ call }: Serving, id: string) =>
  (await call("GET", `/links/${id}`)).body.clicks;

test("a link redirects visitors and counts their visits until the link is deleted", async () => {
  await using serving = await startServe(folder.path);
  const { id } = await serving.make("/links", { path: "spring", url });
  for (const _ of "123") expect((await visit(serving, "/spring")).headers.location).toBe(url);
  expect(await readClicks(serving, id)).toBe(3);
  expect((await visit(serving, "/.well-known/assetlinks.json")).text).toBe("[]");
  expect((await visit(serving, "/spring.qr")).text).toMatch(/^<svg /);
  await serving.call("DELETE", `/links/${id}`);
  expect((await visit(serving, "/spring")).status).toBe(404);
});

test("the server's own host names serve no links, and link hosts serve no API", async () => {
  await using serving = await startServe(folder.path);
  await serving.make("/links", { path: "healthz", url });
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  for (const name of ["localhost", "127.0.0.1", "[::1]", "10.0.0.7", "proxy.example"]) {
    const { status, text } = await visit(serving, "/healthz", name);
    expect([name, status, JSON.parse(text)]).toEqual([name, 200, { status: "ok", version }]);
  }
  expect((await visit(serving, "/healthz")).headers.location).toBe(url);
  expect((await visit(serving, "/healthz", "default.localhost.")).headers.location).toBe(url);
  for (const path of ["/api/v1/links", "/mcp", "/approve/x"]) {
    const { status, text } = await visit(serving, path);
    expect([status, text]).toEqual([404, expect.stringContaining("Link not found")]);
  }
});

test("links open only at the configured link origin", async () => {
  const words = ["--link-origin", "https://{subdomain}.links.example"];
  await using serving = await startServe(folder.path, words);
  await serving.make("/links", { path: "spring", url });
  expect((await visit(serving, "/spring", "default.links.example")).headers.location).toBe(url);
  expect((await visit(serving, "/spring")).headers.location).toBeUndefined();
});

test("--second-origin sets the host of buttons on a link's page and in its preview", async () => {
  const words = ["--second-origin", "https://{subdomain}.open.example"];
  await using serving = await startServe(folder.path, words);
  const ios_app = { bundle_id: "com.example.shop", team_id: "ABCDE12345", app_store_id: "12345" };
  const link = { path: "spring", url, ios_app };
  const { id } = (await serving.call("POST", "/links", { body: link })).body;
  const button = 'href="https://default.open.example/spring"';
  const { port } = new URL(serving.places.url);
  const phone = { host: `default.localhost:${port}`, agent: iPhone };
  expect((await visitAt(Number(port), "/spring", phone)).text).toContain(button);
  const asked = { headers: { "user-agent": iPhone }, body: { link_id: id } };
  const shown = await serving.call("POST", "/page_template/preview", asked);
  expect(shown.text).toContain(button);
  // A visitor of the second origin does not have the app.
  const { headers } = await visitAt(Number(port), "/spring", {
    ...phone,
    host: "default.open.example",
  });
  expect(headers.location).toBe("https://apps.apple.com/app/id12345");
});

test("visits that are only in memory are saved when the process stops", async () => {
  const serving = await startServe(folder.path);
  const { id } = await serving.make("/links", { path: "spring", url });
  for (const _ of "12345") await visit(serving, "/spring");
  expect(await serving.stop()).toMatchObject({ code: 0 });
  await using again = await startServe(folder.path);
  expect(await readClicks(again, id)).toBe(5);
});

test("no saved visit is lost or counted twice when a process is killed", async () => {
  const serving = await startServe(folder.path);
  const { id } = await serving.make("/links", { path: "spring", url });
  for (const _ of "1234567890") await visit(serving, "/spring");
  expect(await readClicks(serving, id)).toBe(10);
  for (const _ of "12345") await visit(serving, "/spring");
  await serving.stop("SIGKILL");
  await using again = await startServe(folder.path);
  const clicks = await readClicks(again, id);
  expect(clicks).toBeGreaterThanOrEqual(10);
  expect(clicks).toBeLessThanOrEqual(15);
  await visit(again, "/spring");
  expect(await readClicks(again, id)).toBe(clicks + 1);
});

test("two processes with one data folder serve the same links and lose no visits", async () => {
  await using one = await startServe(folder.path);
  await using other = await startServe(folder.path);
  const { id } = await one.make("/links", { path: "spring", url });
  await untilSeen();
  const visits = Array.from({ length: 200 }, (_, turn) => visit(turn % 2 ? one : other, "/spring"));
  for (const { status } of await Promise.all(visits)) expect(status).toBe(302);
  // Each process saves its own visits before it responds.
  await readClicks(other, id);
  expect(await readClicks(one, id)).toBe(200);
  await one.call("DELETE", `/links/${id}`);
  expect((await visit(one, "/spring")).status).toBe(404);
  await untilSeen();
  expect((await visit(other, "/spring")).status).toBe(404);
});
