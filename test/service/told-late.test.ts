import { expect, test } from "vitest";
import { home, openInstallWorld, told, type InstallWorld } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";
import { waitUntil } from "../support/clock.ts";

/** What a page's script tells of a visit long after the page was asked for. */

let host: InstallWorld;
openForEach(openInstallWorld, (opened) => {
  host = opened;
});

/** Asks for the page, whose script does not run yet. */
async function openPage(): Promise<string> {
  const page = await host.open("/spring");
  const [, id = ""] = /visit:"([\w-]{22})"/.exec(page.text) ?? [];
  await waitUntil(async () => (await host.listRows()).length === 1);
  return id;
}

const tell = (visit: string) =>
  host.open("/spring", { method: "POST", body: { visit, ...told }, from: home });

/** As an outage loses a visit. */
const forget = () => host.world.store.write((db) => db.deleteFrom("deferred_visits").execute());

test("a slow phone's script tells more of the visit that its page has noted", async () => {
  const id = await openPage();
  host.world.advance(40_000);
  expect((await tell(id)).status).toBe(204);
  expect(await host.match()).toMatchObject({ matched: true, confidence: "medium" });
});

test("a script makes the visit that its page could not note", async () => {
  const id = await openPage();
  await forget();
  host.world.advance(20_000);
  expect((await tell(id)).status).toBe(204);
  expect(await host.match()).toMatchObject({ matched: true, confidence: "medium" });
});
