import { describe, expect, test } from "vitest";
import { StoreBusy } from "../../src/sql/faults.ts";
import { dropEndedVisits, takeVisit } from "../../src/store/deferred-visits.ts";
import { agents } from "../attribution/agents.ts";
import { home, openInstallWorld, told, type InstallWorld } from "../support/install-world.ts";
import { openForEach } from "../support/open-for.ts";

/** Phones that are not alone: behind their address, or in a project where many wait. */

let host: InstallWorld;
openForEach(openInstallWorld, (opened) => {
  host = opened;
});

const visit: InstallWorld["visitPage"] = (...given) => host.visitPage(...given);
const match: InstallWorld["match"] = (...given) => host.match(...given);
const crowds = () => host.world.store.db.selectFrom("crowds").selectAll().execute();

/** As many as are looked at, of other phones, each from a place of its own. */
async function waitElsewhere(count: number): Promise<void> {
  await visit("/spring", { from: "93.184.200.1" }, { ...told, screen_width: 430 });
  const [row] = (await host.listRows()).slice(-1);
  if (row === undefined) throw new Error("nothing was noted");
  const { store } = host.world;
  const others = Array.from({ length: count }, (_, at) => {
    const [id, address] = [`other-${at}`, `elsewhere-${at}`];
    return { ...row, id, address, whole: id, ends_at: row.ends_at + 1 + at };
  });
  await store.write((db) => db.insertInto("deferred_visits").values(others).execute());
}

describe("where hundreds wait elsewhere", () => {
  test("those behind the phone's own address are counted all the same", async () => {
    for (let phone = 0; phone < 40; phone += 1) {
      await visit(`/spring?n=${phone}`, {}, { ...told, screen_width: 320 + phone });
    }
    await visit();
    await waitElsewhere(500);
    expect(await match()).toMatchObject({ matched: true, confidence: "low" });
  });

  test("a phone that is alone at its address is as sure as ever", async () => {
    await visit();
    await waitElsewhere(500);
    expect(await match()).toMatchObject({ matched: true, confidence: "high" });
  });

  test("a phone without an address is matched where few of them do", async () => {
    const relay = "172.226.3.4";
    await visit("/spring", { from: relay });
    await waitElsewhere(2);
    expect(await match(relay)).toMatchObject({ matched: true, confidence: "low" });
    await host.world.store.write((db) => db.deleteFrom("deferred_visits").execute());
    await visit("/spring", { from: relay });
    await waitElsewhere(20);
    expect(await match(relay)).toMatchObject({ matched: false });
  });
});

describe("how many share an address", () => {
  test("is known to every process, and to one that was started anew", async () => {
    for (let phone = 0; phone < 8; phone += 1) {
      await visit("/spring", {}, { ...told, screen_width: 320 + phone });
    }
    const first = host.world.answer;
    const others = [first, host.startAnother(), host.startAnother()];
    // They learn from the same window, and only one of them does.
    for (const by of others) {
      expect(await host.match("93.184.216.99", by)).toMatchObject({ matched: false });
    }
    const learned_at = host.world.now();
    const project_id = host.world.project.id;
    const known = { project_id, visits: 8000, others: 8000 * 7, learned_at };
    expect(await crowds()).toEqual([known]);
    host.world.advance(9 * 60_000);
    await dropEndedVisits(host.world.store, Number.MAX_SAFE_INTEGER);
    for (const by of [...others, host.startAnother()]) {
      await visit();
      expect(await host.match(home, by)).toMatchObject({ matched: true, confidence: "low" });
    }
    // A window later what is seen then is added, by one of two that ask at once.
    host.world.advance(60_000);
    await visit();
    await Promise.all([
      host.match("93.184.216.99"),
      host.match("93.184.216.98", host.startAnother()),
    ]);
    const later = { visits: 8920, others: 8000 * 7 * 0.99, learned_at: host.world.now() };
    expect(await crowds()).toEqual([{ project_id, ...later }]);
  });

  test("that cannot be written down keeps no install from its link", async () => {
    const { store } = host.world;
    await visit();
    let failed = 0;
    const write: typeof store.write = (work, options) => {
      failed += 1;
      return failed === 1 ? Promise.reject(new StoreBusy("locked")) : store.write(work, options);
    };
    const by = host.startAnother({ ...store, write });
    expect(await host.match(home, by)).toMatchObject({ matched: true });
    expect(await crowds()).toEqual([]);
  });
});

test("an install that asks twice at once takes no other phone's visit beside its own", async () => {
  await visit();
  await visit("/spring?of=colleague", { agent: agents.chrome26 });
  const { store, project } = host.world;
  const use = { now: host.world.now(), usedBy: "one phone", told: "{}", isNamed: true };
  const taken = (await host.listRows()).map((row) =>
    store.write((db) => takeVisit({ db, projectId: project.id }, row, use)),
  );
  expect(await Promise.all(taken)).toEqual([true, false]);
});
