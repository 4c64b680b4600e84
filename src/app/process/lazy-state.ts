import { existsSync } from "node:fs";
import { join } from "node:path";
import { StoreUnusable } from "../../sql/faults.ts";
import { openPostgres } from "../../sql/postgres.ts";
import { isEmptied } from "../../sql/sqlite-file.ts";
import type { Sql } from "../../sql/sql.ts";
import { openState, openStateFile, type State } from "../../state/state.ts";
import type { StateTables } from "../../state/tables.ts";
import { prepareDataFolder, requireTrustedOwner, stateFile } from "../data/data-folder.ts";
import { clock, random } from "./embedded.ts";
import { removeEndedFiles } from "./export-files.ts";
import { readDatabaseUrl, type DataLocation } from "../data/secrets.ts";

/**
 * The state, in the data folder or in the store's database. It is opened on first use, because most
 * sessions need no state and should leave no file.
 */
export type LazyState = {
  /** Whether the state's file or database exists. */
  readonly exists: () => boolean;
  readonly open: () => Promise<State>;
  /** Whether the state's tables have this program's version. True if the state is not open. */
  readonly isCurrent: () => Promise<boolean>;
  /** Returns the state if it is open, without opening it. */
  readonly peek: () => State | undefined;
  readonly close: () => Promise<void>;
};

/** How often to remove expired rows. */
const removeEvery_ms = 60_000;

type LazyOptions = {
  /** The state's tables, if the store's database has them. `close` does not close that database. */
  readonly tables?: Sql<StateTables> | undefined;
  readonly mustExist?: boolean | undefined;
  /** Checks the integrity of the whole file when opening it. The check may take long. */
  readonly checksAll?: boolean | undefined;
};

export function createLazyState(place: DataLocation, options: LazyOptions = {}): LazyState {
  const { mustExist = false, checksAll, tables } = options;
  const { data } = place;
  const file = join(data, stateFile);
  let opening: Promise<State> | undefined;
  let opened: State | undefined;
  let removing: NodeJS.Timeout | undefined;

  async function open(): Promise<State> {
    if (mustExist) requireTrustedOwner(data);
    else prepareDataFolder(data);
    const state = await openTables();
    opened = state;
    if (mustExist) return state;
    const remove = () => {
      // If removing fails, for example because the disk is full, the next run retries.
      removeEnded(state, data).catch(() => undefined);
    };
    remove();
    removing = setInterval(remove, removeEvery_ms).unref();
    return state;
  }

  async function openTables(): Promise<State> {
    const given = { clock, random };
    const url = readDatabaseUrl(place);
    if (url === undefined) {
      requireNotEmptied(file);
      return openStateFile(file, given, { mustExist, checksAll });
    }
    const sql = tables === undefined ? await openPostgres<StateTables>(url) : share(tables);
    return openState(sql, given, mustExist);
  }

  return {
    exists: () => readDatabaseUrl(place) !== undefined || existsSync(file),
    open: () => {
      opening ??= open().catch((error: unknown) => {
        // Lets the next call retry.
        opening = undefined;
        throw error;
      });
      return opening;
    },
    peek: () => opened,
    isCurrent: async () => opening === undefined || (await opening).isCurrent(),
    close: async () => {
      clearInterval(removing);
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}

/** Throws if the file was emptied, so that the loss of approvals and jobs is noticed. */
function requireNotEmptied(file: string): void {
  if (!isEmptied(file)) return;
  throw new StoreUnusable(
    `${file} is empty, but it had data; restore it from a backup, or remove it ` +
      "to continue without the plans, jobs, approvals and history in it",
  );
}

/** Closing the state must not close the store's database. */
function share(tables: Sql<StateTables>): Sql<StateTables> {
  return { ...tables, close: () => Promise.resolve() };
}

async function removeEnded(state: State, data: string): Promise<void> {
  await removeEndedFiles(data, clock.now());
  await state.removeEnded();
}
