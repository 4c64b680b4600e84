import { expect, test } from "vitest";
import { homeIp, openInstallWorld, details, type InstallWorld } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";
import { waitUntil } from "../support/clock.ts";

/** Tests reports of a page's script long after the page was loaded. */

let host: InstallWorld;
openForEach(openInstallWorld, (opened) => {
  host = opened;
});

async function openPage(): Promise<string> {
  const page = await host.open("/spring");
  const [, id = ""] = /visit:"([\w-]{22})"/.exec(page.text) ?? [];
  await waitUntil(async () => (await host.listRows()).length === 1);
  return id;
}

const report = (visit: string) =>
  host.open("/spring", { method: "POST", body: { visit, ...details }, from: homeIp });

/** Deletes the visit, as if an outage had lost it. */
const forget = () => host.world.store.write((db) => db.deleteFrom("deferred_visits").execute());

test("a page script's report is still added to the page's visit after 40 seconds", async () => {
  const id = await openPage();
  host.world.advance(40_000);
  expect((await report(id)).status).toBe(204);
  expect(await host.match()).toMatchObject({ matched: true, confidence: "medium" });
});

test("a page script's report stores the visit if the page request failed to store it", async () => {
  const id = await openPage();
  await forget();
  host.world.advance(20_000);
  expect((await report(id)).status).toBe(204);
  expect(await host.match()).toMatchObject({ matched: true, confidence: "medium" });
});
