import type { Kysely } from "kysely";
import type { Config } from "../../config.ts";
import { readEngine } from "../../sql/open-kysely.ts";
import { findWriteFault } from "../../sql/postgres-advice.ts";
import { listSlow } from "../../store/trigram-index.ts";
import type { Store } from "../../store/store.ts";
import { findClockFault } from "../compare-clocks.ts";
import type { Note } from "./finding.ts";
import { noteWebhooks } from "./note-webhooks.ts";

/** How a store of ours is that is open. */
export async function noteStore(
  { db }: Pick<Store, "db">,
  config: Config,
  now: number,
  note: Note,
): Promise<void> {
  const slow = await listSlow(db);
  const fault = await findWriteFault(db);
  const said = ["opens without errors", ...slow].join("; ");
  note({ about: "store", said, ...(fault && { fault }) });
  await noteClock(db, note);
  await noteWebhooks({ db }, config, now, note);
}

/** A file has no clock of its own. */
async function noteClock(db: Store["db"], note: Note): Promise<void> {
  if (readEngine(db) === "sqlite") return;
  // The statement names no table.
  const fault = await findClockFault(db as unknown as Kysely<unknown>);
  note({ about: "clock", said: "agrees with the database's clock", ...(fault && { fault }) });
}
