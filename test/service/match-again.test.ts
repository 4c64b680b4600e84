import type { KyselyPlugin } from "kysely";
import { expect, test } from "vitest";
import { iosFirstLaunch } from "../sdk/recorded.ts";
import { readAnswer } from "../sdk/readers.ts";
import { home, openInstallWorld, type InstallWorld } from "../support/install-world.ts";
import { openForEach } from "../support/open-for.ts";

/** An app that asks again, for it has not heard the answer. */

let host: InstallWorld;
openForEach(openInstallWorld, (opened) => {
  host = opened;
});

test("an install whose first request is answered while it looks is told the same", async () => {
  await host.visitPage();
  const { store } = host.world;
  let first: ReturnType<InstallWorld["install"]> | undefined;
  // Visits are read, a moment later than whether it was told: between the two it is.
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      if (result.rows[0]?.["whole"] === undefined) return result;
      first ??= host.install();
      await first;
      const rows = await host.listRows();
      return { ...result, rows: rows.filter(({ used_until }) => used_until === null) };
    },
  };
  const by = host.startAnother({ ...store, db: store.db.withPlugin(plugin) });
  const second = readAnswer("ios", await host.install(home, iosFirstLaunch, by));
  expect(second).toMatchObject({ matched: true });
  expect(first && readAnswer("ios", await first)).toEqual(second);
});
