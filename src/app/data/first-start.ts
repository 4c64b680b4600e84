import { existsSync, readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { Kysely } from "kysely";
import type { ClockAndRandom } from "../../contract/clock.ts";
import { createToken } from "../../service/ids.ts";
import { hashToken, issueKey } from "../../service/keys.ts";
import { makeProject } from "../../service/write-project.ts";
import type { StateTables } from "../../state/tables.ts";
import type { Sql } from "../../sql/sql.ts";
import type { Store } from "../../store/store.ts";
import type { Db } from "../../store/tables.ts";
import { keepToken } from "./data-folder.ts";

/** Creates the project `default` and its owner's key on the first start. */

type FirstStartOptions = {
  readonly store: Store;
  /** Set if the data is in PostgreSQL. Several machines may then start at once. */
  readonly stateTables: Sql<StateTables> | undefined;
  readonly keyFile: string;
  readonly given: ClockAndRandom;
};

export async function prepareFirstStart(starting: FirstStartOptions): Promise<boolean> {
  const { store, stateTables, keyFile, given } = starting;
  if (!(await isUntouched(store.db))) return false;
  const made = createToken(given.random);
  const token = keepToken(keyFile, made);
  const make = async (db: Db) => {
    // Another process may have created the project in the meantime.
    if (!(await isUntouched(db))) return false;
    const project = await makeProject(db, given, { name: "Default", subdomain: "default" });
    await issueKey(db, given, { project_id: project.id, scopes: [], role: "owner", token });
    // The cast is safe, because one database contains the tables of both the store and the state.
    const own = db as unknown as Kysely<StateTables>;
    if (stateTables !== undefined) await noteKeyPlace(own, namePlace(keyFile));
    return true;
  };
  const isFirst = await store.write(make);
  // If another process created the project, the key in the new file is not valid.
  if (!isFirst && token === made && !(await isKnown(store.db, token))) rmSync(keyFile);
  return isFirst;
}

export type OwnerKey = {
  readonly file: string;
  /** `wrong`: the key was revoked, belongs to another store or is unreadable. */
  readonly state: "opens" | "wrong" | "none";
  /** The machine and path of the valid key, if another data folder contains it. */
  readonly elsewhere: string | undefined;
};

export async function findOwnerKey(
  own: Pick<FirstStartOptions, "store" | "stateTables" | "keyFile">,
): Promise<OwnerKey> {
  const { store, stateTables, keyFile: file } = own;
  const state = existsSync(file) ? await tryKeyFile(store.db, file) : "none";
  const isNoted = stateTables !== undefined && state !== "opens";
  const noted = isNoted ? await readKeyPlace(stateTables.db) : undefined;
  return { file, state, elsewhere: noted === namePlace(file) ? undefined : noted };
}

async function tryKeyFile(db: Db, file: string): Promise<OwnerKey["state"]> {
  let token;
  try {
    token = readFileSync(file, "utf8").trim();
  } catch {
    return "wrong";
  }
  return (await isKnown(db, token)) ? "opens" : "wrong";
}

/** Explains where the valid key is, or how to create one with the command `makeKey`. */
export function explainOwnerKey({ file, state, elsewhere }: OwnerKey, makeKey: string): string {
  if (state === "opens") return `key: ${file}`;
  const start =
    elsewhere === undefined ? "create a key" : `the key is in ${elsewhere}, or create one`;
  const next = `${start} with ${makeKey} and write it into ${file}`;
  return state === "wrong" ? `the key in ${file} does not belong to this database; ${next}` : next;
}

const keyPlace = "owner_key_place";

async function noteKeyPlace(db: Kysely<StateTables>, value: string): Promise<void> {
  const insert = db.insertInto("secrets").values({ name: keyPlace, value });
  const update = insert.onConflict((conflict) => conflict.column("name").doUpdateSet({ value }));
  await update.execute();
}

async function readKeyPlace(db: Kysely<StateTables>): Promise<string | undefined> {
  const found = db.selectFrom("secrets").select("value").where("name", "=", keyPlace);
  return (await found.executeTakeFirst())?.value;
}

function namePlace(keyFile: string): string {
  return `${hostname()}:${resolve(keyFile)}`;
}

async function isUntouched(db: Db): Promise<boolean> {
  const project = await db.selectFrom("projects").select("id").limit(1).executeTakeFirst();
  const key = await db.selectFrom("api_keys").select("id").limit(1).executeTakeFirst();
  return project === undefined && key === undefined;
}

async function isKnown(db: Db, token: string): Promise<boolean> {
  const keys = db.selectFrom("api_keys").select("id").where("token_hash", "=", hashToken(token));
  return (await keys.executeTakeFirst()) !== undefined;
}
