import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createClicks } from "../../src/host/clicks.ts";
import { OutcomeUnknown, StoreBusy } from "../../src/store/store.ts";
import { createGate, neverRing } from "../support/clock.ts";
import { noteClick } from "../support/rows.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";

/** Each person's visit counts once, and every read includes all visits before it. */

const url = "https://shop.example/";
const clock = { now: () => 0, monotonic: () => 0 };

let host: LinkHost;
openForEach(openLinkHost, (opened) => (host = opened));

/** The stored count, without flushing pending visits. */
async function readStored(id: string): Promise<number> {
  const { db } = host.world.store;
  const row = await db.selectFrom("links").select("clicks").where("id", "=", id).execute();
  return row[0]?.clicks ?? Number.NaN;
}

/** In the next iteration of the event loop all due writes are queued, and run one by one. */
async function untilWritten(): Promise<void> {
  await setImmediate();
  await host.world.store.write(() => Promise.resolve(), { isPatient: true });
}

const list = async (query: string) =>
  (await host.world.call("GET", "/links", { query })).body as {
    readonly links: readonly { readonly id: string; readonly clicks: number }[];
    readonly meta: { readonly count: number };
  };

const listBusiest = async () => (await list("q[s]=clicks desc")).links.map(({ id }) => id);

describe("a visit", () => {
  test("is included in the clicks when the link is next read, changed or listed", async () => {
    const { id } = await host.add("link", { path: "spring", url });
    await host.visit("/spring");
    expect(await readStored(id)).toBe(0);
    expect(await host.readClicks(id)).toBe(1);
    await host.visit("/spring");
    expect((await list("q[path_eq]=spring")).links[0]?.clicks).toBe(2);
    await host.visit("/spring");
    const body = { url: `${host.origin.replace(/\d+$/, "8787")}/spring` };
    expect((await host.world.call("POST", "/short_links/resolve", { body })).body.clicks).toBe(3);
    await host.visit("/spring");
    const changed = await host.world.call("PATCH", `/links/${id}`, { body: { name: "Spring" } });
    expect(changed.body.clicks).toBe(4);
    await host.visit("/spring");
    const again = await host.world.call("POST", "/links/upsert", { body: { path: "spring" } });
    expect(again.body.clicks).toBe(5);
    await host.visit("/spring");
    expect((await host.world.call("POST", "/short_links", { body })).body.clicks).toBe(6);
  });

  test("is included when links with cached counts are filtered or sorted by clicks", async () => {
    const quiet = await host.add("link", { path: "quiet", url });
    const busy = await host.add("link", { path: "busy", url });
    for (const clicks of [1, 2, 3]) {
      expect((await list(`q[clicks_gteq]=${clicks}`)).meta.count).toBe(0);
      await host.visit("/busy");
      expect((await list(`q[clicks_gteq]=${clicks}`)).meta.count).toBe(1);
      expect(await listBusiest()).toEqual([busy.id, quiet.id]);
    }
    for (let count = 0; count < 4; count += 1) await host.visit("/quiet");
    expect(await listBusiest()).toEqual([quiet.id, busy.id]);
  });

  test("updates its own project's cached click count if several projects are visited", async () => {
    const { world } = host;
    const projects = [await world.addProject(), world.project, await world.addProject()];
    const keys: string[] = [];
    for (const project of projects) {
      const key = await world.addKey({ project });
      await world.call("POST", "/links", { key, body: { path: "spring", url } });
      keys.push(key);
    }
    const query = "q[clicks_gteq]=1";
    const count = async (key = "") =>
      (await world.call("GET", "/links", { key, query })).body.meta.count;
    for (const key of keys) expect(await count(key)).toBe(0);
    for (const { subdomain } of projects) {
      const name = `${subdomain}.localhost`;
      expect((await host.visit("/spring", { host: name })).status).toBe(302);
    }
    for (const key of keys) expect(await count(key)).toBe(1);
  });

  test("is counted for a preview page, but not for a QR code or an unknown path", async () => {
    const { id } = await host.add("link", { path: "page" });
    expect((await host.visit("/page")).status).toBe(200);
    await host.visit("/page/more");
    await host.visit("/page", { method: "POST" });
    await host.visit("/page.qr");
    expect(await host.readClicks(id)).toBe(1);
  });

  test("is stored within a second even if the click count is never read", async () => {
    const { id } = await host.add("link", { path: "spring", url });
    for (const count of [1, 2]) {
      await host.visit("/spring");
      host.world.advance(999);
      await untilWritten();
      expect(await readStored(id)).toBe(count - 1);
      host.world.advance(1);
      await untilWritten();
      expect(await readStored(id)).toBe(count);
    }
  });

  test("is still counted if its link is read or listed while the visit is saved", async () => {
    const { id } = await host.add("link", { path: "spring", url });
    const { world } = host;
    const key = await world.addKey({ project: await world.addProject() });
    await host.visit("/spring");
    const held = createGate();
    const holding = world.store.write(() => held.opened);
    world.advance(1000);
    // The write of the visit has started and is queued behind the held one.
    await setImmediate();
    const reading = host.readClicks(id);
    const listing = list("q[path_eq]=spring");
    // A request that needs none of these visits is answered meanwhile.
    expect((await world.call("GET", "/links", { key })).status).toBe(200);
    held.open();
    await holding;
    expect(await reading).toBe(1);
    expect((await listing).links[0]?.clicks).toBe(1);
  });
});

test("1,000 concurrent visits are all counted while the links are read and changed", async () => {
  const links: { readonly id: string }[] = [];
  for (let count = 0; count < 10; count += 1) {
    links.push(await host.add("link", { path: `busy/${count}`, url }));
  }
  const visits = Array.from({ length: 1000 }, (_, turn) => turn);
  const lanes = Array.from({ length: 20 }, (_, lane) =>
    visits.filter((turn) => turn % 20 === lane),
  );
  const visiting = lanes.map(async (turns) => {
    for (const turn of turns) {
      expect((await host.visit(`/busy/${turn % 10}`)).status).toBe(302);
      if (turn % 100 === 0) await host.readClicks(links[turn % 10]?.id ?? "");
      if (turn % 500 === 0) {
        await host.world.call("PATCH", `/links/${links[3]?.id}`, { body: { name: `${turn}` } });
      }
    }
  });
  await Promise.all(visiting);
  for (const { id } of links) expect(await host.readClicks(id)).toBe(100);
});

describe("pending visits", () => {
  test("are dropped for a deleted link or project and stored for all others", async () => {
    const { world } = host;
    const other = await world.addProject({ subdomain: "other" });
    const key = await world.addKey({ project: other });
    await world.call("POST", "/links", { key, body: { path: "gone", url } });
    const { id } = await host.add("link", { path: "gone", url });
    const kept = await host.add("link", { path: "kept", url });
    expect((await host.visit("/gone", { host: "other.localhost" })).status).toBe(302);
    for (const path of ["/gone", "/kept"]) await host.visit(path);
    await world.call("DELETE", `/links/${id}`);
    await world.call("DELETE", `/projects/${other.id}`, { key: world.master });
    expect(await host.readClicks(kept.id)).toBe(1);
    expect(world.reported).toEqual([]);
  });

  test("are stored when the process stops", async () => {
    const { id } = await host.add("link", { path: "spring", url });
    await host.visit("/spring");
    await host.world.clicks.close();
    expect(await readStored(id)).toBe(1);
  });

  test("are kept in memory until the database accepts writes, without delaying reads", async () => {
    const { id } = await host.add("link", { path: "spring", url });
    const { store, project } = host.world;
    const reported: unknown[] = [];
    let isBusy = true;
    const clicks = createClicks({
      clock,
      store: {
        write: (work, options) => {
          if (isBusy) return Promise.reject(new StoreBusy("the store is busy"));
          return store.write(work, options);
        },
      },
      setAlarm: neverRing,
      report: (error) => reported.push(error),
    });
    noteClick(clicks, project.id, id);
    await clicks.flush(project.id, id);
    noteClick(clicks, project.id, id);
    await clicks.flush(project.id, id);
    expect(await readStored(id)).toBe(0);
    expect(reported).toHaveLength(1);
    isBusy = false;
    noteClick(clicks, project.id, id);
    await clicks.flush(project.id, id);
    expect(await readStored(id)).toBe(3);
    isBusy = true;
    noteClick(clicks, project.id, id);
    await clicks.flush(project.id, id);
    expect(reported).toHaveLength(2);
    isBusy = false;
    await clicks.close();
    expect(await readStored(id)).toBe(4);
  });

  test("are lost rather than written twice if a write's outcome is unknown", async () => {
    const { id } = await host.add("link", { path: "spring", url });
    const { store, project } = host.world;
    let isLost = true;
    const clicks = createClicks({
      clock,
      store: {
        write: async (work, options) => {
          const result = await store.write(work, options);
          if (isLost) throw new OutcomeUnknown("the answer was lost");
          return result;
        },
      },
      setAlarm: neverRing,
      report: () => undefined,
    });
    const visit = async (times: number) => {
      for (let count = 0; count < times; count += 1) noteClick(clicks, project.id, id);
      await clicks.flush(project.id, id);
    };
    await visit(2);
    isLost = false;
    await visit(1);
    expect(await readStored(id)).toBe(3);
    expect(clicks.measure()).toEqual({ counted: 3, written: 1, waiting: 0, lost: 2 });
  });

  test("are written with priority if a read waits for them", async () => {
    const seen: unknown[] = [];
    const alarms: (() => void)[] = [];
    const clicks = createClicks({
      clock,
      store: {
        write: async (_, options) => {
          seen.push(options?.isPatient);
          await setImmediate();
          return undefined as never;
        },
      },
      setAlarm: (_, ring) => {
        alarms.push(ring);
        return () => undefined;
      },
      report: (error) => expect.fail(String(error)),
    });
    noteClick(clicks, "project", "link");
    alarms[0]?.();
    await setImmediate();
    // The first write is in progress; this visit waits behind it, and a read waits for the visit.
    noteClick(clicks, "project", "link");
    await clicks.flush("project", "link");
    noteClick(clicks, "project", "link");
    alarms[1]?.();
    await setImmediate();
    expect(seen).toEqual([true, false, true]);
  });

  test("are not retried on every new visit while the database rejects writes", async () => {
    let tries = 0;
    const write = () => {
      tries += 1;
      return Promise.reject(new StoreBusy("the store is busy"));
    };
    const alarms: (() => void)[] = [];
    const setAlarm = (_: number, ring: () => void) => {
      alarms.push(ring);
      return () => undefined;
    };
    const clicks = createClicks({
      clock,
      store: { write },
      setAlarm,
      report: () => undefined,
    });
    for (let link = 0; link < 100; link += 1) noteClick(clicks, "project", `link-${link}`);
    await clicks.flush("project");
    for (let turn = 0; turn < 50; turn += 1) {
      noteClick(clicks, "project", `later-${turn}`);
      await setImmediate();
    }
    expect([tries, alarms.length]).toEqual([1, 1]);
    alarms[0]?.();
    await setImmediate();
    expect([tries, alarms.length]).toEqual([2, 2]);
  });

  test("are kept in memory for at most 100,000 links while every write fails", async () => {
    const counted: number[] = [];
    let isBusy = true;
    const clicks = createClicks({
      clock,
      store: {
        write: async () => {
          if (isBusy) throw new StoreBusy("the store is busy");
          counted.push(1);
          return undefined as never;
        },
      },
      setAlarm: neverRing,
      report: () => undefined,
    });
    for (let link = 0; link < 150_000; link += 1) noteClick(clicks, "project", `link-${link}`);
    await clicks.flush("project");
    expect(counted).toEqual([]);
    isBusy = false;
    await clicks.flush("project");
    // A thousand links go into one transaction.
    expect(counted).toHaveLength(100);
    await clicks.close();
  });
});
