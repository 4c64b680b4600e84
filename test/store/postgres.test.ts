import { openStore, type Store } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { neverRing } from "../support/alarms.ts";
import { takeDatabase } from "../support/postgres.ts";
import { describeStore } from "./store-contract.ts";

describeStore("a store on PostgreSQL", async () => {
  const database = await takeDatabase();
  const opened: Store[] = [];
  return {
    open: async () => {
      const store = await openStore(await database.open<Tables>(), neverRing);
      opened.push(store);
      return store;
    },
    [Symbol.asyncDispose]: async () => {
      for (const store of opened) await store.close();
      await database.giveBack();
    },
  };
});
