import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { neverRing } from "../support/alarms.ts";
import { describeStore } from "./store-contract.ts";

describeStore("a store on a SQLite file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "waypost-store-"));
  const path = join(folder, "waypost.db");
  const opened: Store[] = [];
  return {
    open: async () => {
      const sqlite = await openSqlite<Tables>(path, { applicationId: 1 });
      const store = await openStore(sqlite, neverRing);
      opened.push(store);
      return store;
    },
    [Symbol.asyncDispose]: async () => {
      for (const store of opened) await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
});
