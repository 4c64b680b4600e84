import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFolder, run, untilSeen } from "../support/command.ts";
import { post, withSession } from "../support/mcp-post.ts";
import { handshake } from "../support/mcp-raw.ts";
import { connectTo, makeKey, startTwo } from "../support/two-servers.ts";
import { waitUntil } from "../support/wait-until.ts";

/** What two `serve` processes of one store know of each other's templates, keys and counts. */

const spring = { path: "spring", url: "https://example.com/spring" };

describe("two servers of one store that ask for no person", () => {
  let two: Awaited<ReturnType<typeof startTwo>>;
  beforeAll(async () => {
    two = await startTwo({ WAYPOST_MODE: "two-step" });
  });
  afterAll(() => two[Symbol.asyncDispose]());
  const asOwner = () => ({ key: two.one.key });

  test("take each other's tokens once, and serve what was published with one", async () => {
    await using here = await connectTo(two.one);
    await using there = await connectTo({ ...two.other, key: two.one.key });
    const ios_app = { bundle_id: "com.example.a", team_id: "ABCDE12345" };
    const made = await two.one.call("POST", "/links", {
      ...asOwner(),
      body: { path: "page", ios_app },
    });
    expect(made.status).toBe(201);
    const { port } = new URL(two.other.places.url);
    expect(await readPage(port, "/page")).not.toContain("Sesame");
    const template = { body: "<p>Sesame</p>{% store_buttons %}", css: "" };
    const asked = await here.callTool("publish_template", template);
    const { token: approval } = asked.structured.error.approval;
    const done = await there.callTool("publish_template", { ...template, approval });
    expect(done.isError).toBe(false);
    const again = await here.callTool("publish_template", { ...template, approval });
    expect(again.isError).toBe(true);
    for (const { places } of [two.one, two.other]) {
      await waitUntil(async () =>
        (await readPage(new URL(places.url).port, "/page")).includes("Sesame"),
      );
    }
  });

  test("know a key that was made a moment ago, and none that was revoked", async () => {
    const { one, other, data, env } = two;
    const words = ["keys", "create", "--project", "default", "--json", "--data", data];
    const { id, token: key } = JSON.parse((await run(words, { env })).stdout);
    for (const { call } of [one, other]) {
      await waitUntil(async () => (await call("GET", "/links", { key })).status === 200);
    }
    const revoked = await run(["keys", "revoke", id, "--data", data], { env });
    expect(revoked).toMatchObject({ code: 0 });
    await untilSeen();
    for (const { call } of [one, other]) {
      expect((await call("GET", "/links", { key })).status).toBe(401);
    }
  });

  test("hand out what the other one has exported", async () => {
    await using here = await connectTo(two.one);
    const made = await here.callTool("export_links", { format: "json" });
    const { uri } = made.structured.export;
    const { places } = two.other;
    const read = { jsonrpc: "2.0", id: 3, method: "resources/read", params: { uri } };
    const opened = await post(places.mcp, withSession(two.one.key, undefined, handshake[0]));
    const id = String(opened.headers["mcp-session-id"]);
    const answer = await post(places.mcp, withSession(two.one.key, id, read));
    expect([answer.status, JSON.stringify(answer)]).toEqual([200, expect.stringContaining("page")]);
  });

  test("share a budget", async () => {
    const statuses: number[] = [];
    const key = await makeKey(two);
    for (let turn = 0; turn < 90; turn += 1) {
      const { call } = turn % 2 === 0 ? two.one : two.other;
      const body = { body: "{% no such thing" };
      statuses.push((await call("PATCH", "/page_template", { key, body })).status);
    }
    // Sixty a minute in all, and at most a tenth more.
    const passed = statuses.filter((status) => status !== 429).length;
    expect(passed).toBeGreaterThanOrEqual(60);
    expect(passed).toBeLessThanOrEqual(66);
  });
});

/** As an iPhone is shown it that comes to the port of one of them. */
async function readPage(port: string, path: string): Promise<string> {
  const agent = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15";
  const headers = { host: `default.localhost:${port}`, "user-agent": agent };
  const asked = request({ host: "127.0.0.1", port, path, headers }).end();
  // The first argument of the event.
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  return text(response);
}

test("two servers of one store count wrong PINs together", async () => {
  await using pins = await createFolder();
  await mkdir(pins.path);
  const pin = join(pins.path, "pin");
  await writeFile(pin, "735-219-864");
  await using two = await startTwo({ WAYPOST_APPROVAL_PIN_FILE: pin });
  await using here = await connectTo(two.one);
  await here.callTool("create_link", spring);
  const asked = await here.callTool("delete_link", { id: "spring" });
  const { pathname } = new URL(asked.structured.error.approval.url);
  const servers = [two.one, two.other, two.one, two.other, two.one];
  for (const { places } of servers) {
    expect(await pressWith(new URL(pathname, places.url), "111-111-111")).toContain("PIN");
  }
  const right = await pressWith(new URL(pathname, two.other.places.url), "735-219-864");
  expect(right).toContain("too many wrong PINs");
  expect((await here.callTool("get_link", { id: "spring" })).isError).toBe(false);
});

/** Answers the page that comes back. */
async function pressWith({ href, origin }: URL, pin: string): Promise<string> {
  const page = await (await fetch(href)).text();
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const fields = hidden.map(([, name = "", value = ""]): [string, string] => [name, value]);
  const body = new URLSearchParams([...fields, ["pin", pin], ["decision", "approve"]]);
  return (await fetch(href, { method: "POST", headers: { origin }, body })).text();
}
