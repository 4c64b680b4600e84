import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startBalancer, stickToSessions, takeTurns } from "../support/balancer.ts";
import { createUsedFolder, run, startServe, untilSeen } from "../support/command.ts";
import { visit } from "../support/listening.ts";
import { approve, connectV1, connectV2 } from "../support/mcp-clients.ts";
import { decideOnPage } from "../support/mcp-ground.ts";
import { post, withSession } from "../support/mcp-post.ts";
import { handshake } from "../support/mcp-raw.ts";
import { isOnPostgres } from "../support/store-place.ts";
import { connectTo, makeKey, startOnOneMachine, startTwo } from "../support/two-servers.ts";
import { waitUntil } from "../support/wait-until.ts";

/**
 * Two `serve` processes of one store, and clients that go to another one with every request: what
 * one of them was told, asked or shown holds on the other one.
 */

const spring = { path: "spring", url: "https://example.com/spring" };
const listTools = { jsonrpc: "2.0", id: 2, method: "tools/list" };

/** There a client that switches does that, and all else (postgres-switching). */
const isCovered = isOnPostgres;

describe("two servers of one store", () => {
  test.skipIf(isCovered)("answer a client that switches with every call", async () => {
    await using two = await startTwo();
    await using client = await two.connect();
    expect((await client.callTool("create_link", spring)).isError).toBe(false);
    for (let times = 0; times < 4; times += 1) {
      const { structured } = await client.callTool("get_link", { id: "spring" });
      expect(structured.link.url).toBe(spring.url);
    }
    const changes = await client.callTool("list_changes");
    expect(changes.structured.changes).toHaveLength(1);
  });

  test.skipIf(isCovered)(
    "lead elsewhere at once where the other one has changed the link",
    async () => {
      await using two = await startTwo();
      await using client = await connectTo(two.one);
      const { structured } = await client.callTool("create_link", spring);
      const { port } = new URL(two.other.places.url);
      const address = new URL(structured.link.address);
      address.port = port;
      await untilSeen();
      expect(await visit(address.href)).toMatchObject({ location: spring.url });
      const elsewhere = "https://example.com/summer";
      await client.callTool("update_link", { id: "spring", url: elsewhere });
      const changedAt = performance.now();
      const late: number[] = [];
      for (;;) {
        const begun_ms = performance.now() - changedAt;
        if ((await visit(address.href))?.location === elsewhere) break;
        late.push(begun_ms);
      }
      // However long a visit takes: none that begins a tenth of a second later leads where it did.
      expect(late.filter((begun_ms) => begun_ms > 100)).toEqual([]);
    },
  );

  test("count the visits of both", async () => {
    await using two = await startTwo();
    await using client = await connectTo(two.one);
    const { structured } = await client.callTool("create_link", spring);
    for (const { places } of [two.one, two.other]) {
      const address = new URL(structured.link.address);
      address.port = new URL(places.url).port;
      await waitUntil(async () => (await visit(address.href))?.status === 302);
    }
    await waitUntil(async () => {
      const { structured: got } = await client.callTool("get_link", { id: "spring" });
      return got.link.clicks === 2;
    });
  });

  test("take an approval that was given on the other one's page, and once", async () => {
    await using two = await startTwo();
    await using here = await connectTo(two.one);
    await using there = await connectTo(two.other);
    await here.callTool("create_link", spring);
    const asked = await here.callTool("delete_link", { id: "spring" });
    const page = new URL(asked.structured.error.approval.url);
    page.port = new URL(two.other.places.url).port;
    await decideOnPage(page.href, "approve");
    const both = await Promise.all(
      [here, there].map((client) => client.callTool("delete_link", { id: "spring" })),
    );
    expect(both.filter(({ isError }) => !isError)).toHaveLength(1);
    expect((await here.callTool("get_link", { id: "spring" })).isError).toBe(true);
  });

  test("tell who listens of another list of tools, wherever it was changed", async () => {
    await using two = await startTwo();
    const { places, key } = two.one;
    const listening = { transport: "http", url: places.mcp, token: key, watches: true } as const;
    await using modern = await connectV2(listening);
    await using earlier = await connectV1(listening);
    expect(await modern.listNames()).toContain("save_template");
    await earlier.listNames();
    const words = ["projects", "update", "default", "--templates", "off", "--data", two.data];
    expect(await run(words, { env: two.env })).toMatchObject({ code: 0 });
    await Promise.all([modern.untilChanged(), earlier.untilChanged()]);
    expect(await modern.listNames()).not.toContain("save_template");
  });

  test.skipIf(isCovered)("undo what was done on the other one", async () => {
    await using two = await startTwo();
    await using here = await connectTo(two.one);
    await using there = await connectTo(two.other);
    await here.callTool("create_link", { ...spring, name: "before" });
    await here.callTool("update_link", { id: "spring", name: "after" });
    expect((await there.callTool("undo")).isError).toBe(false);
    const { structured } = await here.callTool("get_link", { id: "spring" });
    expect(structured.link.name).toBe("before");
  });

  test.skipIf(isCovered)("go on by themselves with a job of one that was killed", async () => {
    await using two = await startTwo();
    // The other one is never shown the key of the job.
    const key = await makeKey(two, ["--project", "default"]);
    await using here = await connectTo({ ...two.one, key });
    const rows = Array.from({ length: 60 }, (_, row) => ({
      path: `row-${row}`,
      url: `https://example.com/${row}`,
    }));
    const planned = await here.callTool("plan_links", { operation: "upsert", rows });
    const { id: plan_id } = planned.structured.plan;
    const applying = here.callTool("apply_plan", { plan_id }).catch(() => undefined);
    const { call } = two.other;
    const asOwner = { key: two.one.key };
    const count = async () => (await call("GET", "/links?limit=1", asOwner)).body.meta.count;
    await waitUntil(async () => (await count()) > 2);
    await two.one.stop("SIGKILL");
    await applying;
    expect(await count()).toBeLessThan(60);
    await waitUntil(async () => (await count()) === 60);
    await using there = await connectTo({ ...two.other, key });
    await waitUntil(async () => {
      const { structured } = await there.callTool("list_jobs");
      return structured.jobs[0].state === "done";
    });
    const { structured } = await there.callTool("list_jobs");
    const counts = { done: 60, rejected: 0, unknown: 0, left: 0 };
    expect(structured.jobs).toMatchObject([{ plan_id, counts }]);
    const { structured: listed } = await there.callTool("list_links", { limit: 100 });
    expect(listed.links).toHaveLength(60);
  });
});

/** The processes of a machine pass them on to each other, whatever is stored where. */
describe("a session of an earlier revision", () => {
  test("is answered by whichever server it is asked of, forms and streams too", async () => {
    await using two = await startOnOneMachine();
    await using balancer = await startBalancer(
      takeTurns([two.one.places.url, two.other.places.url]),
    );
    const asked: string[] = [];
    const elicit = (message: string) => {
      asked.push(message);
      return approve();
    };
    const url = `${balancer.url}/mcp`;
    await using client = await connectV1({ transport: "http", url, token: two.one.key, elicit });
    expect((await client.listNames()).length).toBeGreaterThan(20);
    await client.callTool("create_link", spring);
    expect((await client.callTool("delete_link", { id: "spring" })).isError).toBe(false);
    expect(asked).toHaveLength(1);
  });

  test("ends, is bound to its key, and is unknown when its server has died", async () => {
    await using two = await startOnOneMachine();
    const { one, other, data } = two;
    const opened = await post(one.places.mcp, withSession(one.key, undefined, handshake[0]));
    const id = String(opened.headers["mcp-session-id"]);
    expect((await post(other.places.mcp, withSession(one.key, id, listTools))).status).toBe(200);
    const stranger = await post(other.places.mcp, withSession("waypost_x", id, listTools));
    expect(stranger.status).toBe(401);
    // Nothing but the id of a process leads to its socket.
    for (const wrong of [`../${id}`, id.replace(/^.{16}/, "0".repeat(16)), id.slice(0, -1)]) {
      const answer = await post(other.places.mcp, withSession(one.key, wrong, listTools));
      expect(answer.status).toBe(404);
    }
    const stream = await fetch(other.places.mcp, {
      headers: { ...withSession(one.key, id).headers, accept: "text/event-stream" },
    });
    expect(stream.headers.get("content-type")).toBe("text/event-stream");
    const ended = { ...withSession(one.key, id), method: "DELETE" };
    expect((await post(other.places.mcp, ended)).status).toBe(200);
    expect(await stream.text()).toBe("");
    expect((await post(one.places.mcp, withSession(one.key, id, listTools))).status).toBe(404);

    const again = await post(one.places.mcp, withSession(one.key, undefined, handshake[0]));
    const lost = String(again.headers["mcp-session-id"]);
    await one.stop("SIGKILL");
    expect((await post(other.places.mcp, withSession(one.key, lost, listTools))).status).toBe(404);
    // The next server that has a session takes away what the dead one has left.
    await post(other.places.mcp, withSession(one.key, undefined, handshake[0]));
    await waitUntil(async () => {
      const sockets = (await readdir(data)).filter((name) => name.startsWith("session-"));
      return sockets.length === 1;
    });
  });

  test.skipIf(isOnPostgres)(
    "is handed on in a folder with a long path, and leaves nothing behind",
    async () => {
      await using folder = await createUsedFolder();
      const outer = join(folder.path, "x".repeat(123 - folder.path.length - 2));
      const data = join(outer, "d");
      const temporary = join(folder.path, "t");
      await Promise.all([mkdir(data, { recursive: true, mode: 0o700 }), mkdir(temporary)]);
      const options = { env: { TMPDIR: temporary } };
      await using one = await startServe(data, [], options);
      await using other = await startServe(data, [], options);
      const ids = [];
      for (const { places, key } of [one, other]) {
        const opened = await post(places.mcp, withSession(key, undefined, handshake[0]));
        ids.push(String(opened.headers["mcp-session-id"]));
      }
      for (const { places } of [one, other, one, other]) {
        for (const id of ids) {
          expect((await post(places.mcp, withSession(one.key, id, listTools))).status).toBe(200);
        }
      }
      const listSockets = async () =>
        (await readdir(data)).filter((name) => name.startsWith("sess"));
      expect(await listSockets()).toHaveLength(2);
      await one.stop("SIGKILL");
      await using next = await startServe(data, [], options);
      await post(next.places.mcp, withSession(one.key, undefined, handshake[0]));
      await waitUntil(async () => (await listSockets()).length === 2);
      for (const { stop } of [other, next]) expect((await stop()).stderr).not.toContain("error");
      expect(await listSockets()).toEqual([]);
      expect(await readdir(outer)).toEqual(["d"]);
      expect(await readdir(temporary)).toEqual([]);
    },
  );

  test.skipIf(isOnPostgres)(
    "stays with its machine behind a balancer that goes by its id",
    async () => {
      await using one = await createUsedFolder();
      await using other = await createUsedFolder();
      await using first = await startServe(one.path);
      // Another machine has another folder.
      await using second = await startServe(other.path);
      const targets = [first.places.url, second.places.url];
      await using balancer = await startBalancer(stickToSessions(targets));
      for (const token of [first.key, second.key]) {
        const url = `${balancer.url}/mcp`;
        const open = () => post(url, withSession(token, undefined, handshake[0]));
        const opened = [await open(), await open()].find(({ status }) => status === 200);
        const id = String(opened?.headers["mcp-session-id"]);
        for (let times = 0; times < 3; times += 1) {
          expect((await post(url, withSession(token, id, listTools))).status).toBe(200);
        }
      }
    },
  );

  test.skipIf(isOnPostgres)(
    "is answered by whichever process of one port it comes to",
    async () => {
      await using folder = await createUsedFolder();
      await using serving = await startServe(folder.path, ["--processes", "2"]);
      const { mcp: url } = serving.places;
      const opened = await post(url, withSession(serving.key, undefined, handshake[0]));
      const id = String(opened.headers["mcp-session-id"]);
      for (let times = 0; times < 6; times += 1) {
        expect((await post(url, withSession(serving.key, id, listTools))).status).toBe(200);
      }
    },
  );
});
