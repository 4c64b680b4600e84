import { expect, test } from "vitest";
import { takeVisit } from "../../src/store/installs.ts";
import { agents } from "../attribution/agents.ts";
import { openInstallWorld, details, type InstallWorld } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests several phones that share an IP address. */

let host: InstallWorld;
openForEach(openInstallWorld, (opened) => {
  host = opened;
});

const visit: InstallWorld["visitPage"] = (...given) => host.visitPage(...given);
const match: InstallWorld["match"] = (...given) => host.match(...given);

test("visits to other links from the same IP address lower the match confidence", async () => {
  const { ios_app_id } = (await host.world.call("GET", `/links/${host.link.id}`)).body;
  const fields = { ios_app: { id: ios_app_id }, ios_deferred_deep_linking_enabled: true };
  await host.add("link", { path: "summer", ...fields });
  await visit();
  await visit("/summer", {}, { ...details, screen_width: 430 });
  expect(await match()).toMatchObject({ matched: true, confidence: "low" });
});

test("no install is matched if its IP address has more than 100 unmatched visits", async () => {
  await visit();
  const [row] = await host.listRows();
  if (row === undefined) throw new Error("nothing was noted");
  const { store } = host.world;
  const copies = Array.from({ length: 100 }, (_, at) => ({ ...row, id: `other-${at}` }));
  await store.write((db) => db.insertInto("deferred_visits").values(copies).execute());
  expect(await match()).toMatchObject({ matched: false });
  const drop = (db: typeof store.db) =>
    db.deleteFrom("deferred_visits").where("id", "=", "other-0");
  await store.write((db) => drop(db).execute());
  expect(await match()).toMatchObject({ matched: true });
});

test("an install that sends two concurrent requests uses up only one visit", async () => {
  await visit();
  await visit("/spring?of=colleague", { agent: agents.chrome26 });
  const { store, project } = host.world;
  const use = { now: host.world.now(), usedBy: "one phone", told: "{}", isNamed: true };
  const taken = (await host.listRows()).map((row) =>
    store.write((db) => takeVisit({ db, projectId: project.id }, row, use)),
  );
  expect(await Promise.all(taken)).toEqual([true, false]);
});
