import type { KyselyPlugin } from "kysely";
import { expect, test } from "vitest";
import { updateProject } from "../../src/store/projects.ts";
import { iosFirstLaunch, iosOpened } from "../sdk/recorded.ts";
import { readAnswer } from "../sdk/readers.ts";
import { homeIp, openInstallWorld, type InstallWorld } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests an app that repeats its install request because it did not receive the response. */

let host: InstallWorld;
openForEach(openInstallWorld, (opened) => {
  host = opened;
});

test("an install request repeated while the first is running gets the same match", async () => {
  await host.visitPage();
  const { store } = host.world;
  let first: ReturnType<InstallWorld["install"]> | undefined;
  // The first request ends between the two reads of the second request.
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      if (result.rows[0]?.["whole"] === undefined) return result;
      first ??= host.install();
      await first;
      const rows = await host.listRows();
      return { ...result, rows: rows.filter(({ told }) => told === null) };
    },
  };
  const by = host.startAnother({ ...store, db: store.db.withPlugin(plugin) });
  const second = readAnswer("ios", await host.install(homeIp, iosFirstLaunch, by));
  expect(second).toMatchObject({ matched: true });
  expect(first && readAnswer("ios", await first)).toEqual(second);
});

test("a repeated install request gets the same match even after a new similar visit", async () => {
  const { store, project, call, now } = host.world;
  await store.write((db) => updateProject(db, project.id, { clipboard: true }, now()));
  const { ios_app_id } = (await call("GET", `/links/${host.link.id}`)).body;
  const fields = { ios_app: { id: ios_app_id }, ios_deferred_deep_linking_enabled: true };
  const summer = await host.add("link", { path: "summer", ...fields });
  await host.visitPage("/spring");
  const first = readAnswer("ios", await host.install());
  expect(first).toMatchObject({ matched: true, link: { id: host.link.id } });
  await host.visitPage("/summer");
  // The new visit may belong to another phone, so a repeated request must not use it up.
  expect(readAnswer("ios", await host.install())).toEqual(first);
  expect(await host.match()).toMatchObject({ matched: true, link: { id: summer.id } });
  // With the copied address of its visit, the app is counted as an install of that link.
  const { page } = await host.visitPage("/summer");
  const [, copied = ""] = /writeText\("([^"]*)"\)/.exec(page.text) ?? [];
  const pasted = readAnswer("ios", await host.install(homeIp, iosOpened(copied)));
  expect(pasted).toMatchObject({ matched: true, link: { id: summer.id } });
  const { body } = await call("GET", "/link_stats?by=day");
  expect(body.stats.total.installs).toBe(3);
});
