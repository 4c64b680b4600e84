import { describeKeyAccess } from "../text/name-key.ts";
import { clientRecord, describeKeyChange } from "../compose/by-hand.ts";
import { clock, random, withEmbedded, withKnownEmbedded } from "../compose/embedded.ts";
import { requireProject } from "../compose/find-project.ts";
import { journalCommand } from "../compose/journal-command.ts";
import { readTimeZone } from "../compose/time-zone.ts";
import { UsageFault, type Config } from "../config.ts";
import { writeLocalTime } from "../contract/local-time.ts";
import { roles, scopes, type Scope } from "../contract/scopes-and-roles.ts";
import { issueClientKey, issueKey } from "../service/issue-key.ts";
import {
  deleteClientKey,
  deleteKey,
  listClientKeys,
  listKeys,
  type ClientKey,
  type Key,
} from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import type { Db } from "../store/tables.ts";
import type { FlagsOf } from "./terminal/command-list.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { formatTable, print, say } from "./terminal/output.ts";
import { readChoice } from "./terminal/read-choice.ts";

type KeyFlags = FlagValues<FlagsOf<"keys">>;

/** `waypost keys create|list|revoke`. */
export async function runKeys(
  config: Config,
  [subcommand, id, ...rest]: readonly string[],
  flags: KeyFlags,
): Promise<void> {
  if (subcommand === "create" && id === undefined) {
    return flags.client === true ? createClientKey(config, flags) : createKey(config, flags);
  }
  if (subcommand === "list" && id === undefined) return showKeys(config, flags);
  if (subcommand === "revoke" && id !== undefined && rest.length === 0) {
    return revokeKey(config, id);
  }
  throw new UsageFault("use keys create, keys list or keys revoke ID (see waypost --help)");
}

async function createKey(config: Config, flags: KeyFlags): Promise<void> {
  const wanted = {
    scopes: readScopes(flags.scopes),
    role: readChoice("--role", flags.role ?? "owner", roles),
  };
  if (flags.master === true && (flags.project ?? flags.scopes ?? flags.role) !== undefined) {
    throw new UsageFault(
      "use --master without --project, --scopes or --role: a master key has none of them",
    );
  }
  const key = await withEmbedded(config, async (store) => {
    const isMaster = flags.master === true;
    const project_id = isMaster ? null : (await requireProject(store.db, flags.project)).id;
    return journalCommand(
      config,
      { ...describeKeyChange("keys create", project_id), id: null },
      () => store.write((db) => issueKey(db, { clock, random }, { ...wanted, project_id })),
      ({ id, scopes: granted, role }) => {
        return { id, name: null, before: null, after: { role, scopes: granted } };
      },
    );
  });
  if (flags.json === true) return print(JSON.stringify(key));
  print(key.token);
  say(`Created key ${key.id} (${describeReach(key)}). Copy it now: it will not be shown again.`);
}

/** Whoever has the app can read it: it is printed once all the same, for only its hash is kept. */
async function createClientKey(config: Config, flags: KeyFlags): Promise<void> {
  if ((flags.scopes ?? flags.role ?? flags.master) !== undefined) {
    throw new UsageFault(
      "use --client without --scopes, --role or --master: a client key has none of them",
    );
  }
  const key = await withEmbedded(config, async (store) => {
    const { id: project_id } = await requireProject(store.db, flags.project);
    return journalCommand(
      config,
      { ...describeKeyChange("keys create", project_id), id: null },
      () => store.write((db) => issueClientKey(db, { clock, random }, { project_id })),
      ({ id }) => ({ id, name: null, before: null, after: clientRecord }),
    );
  });
  if (flags.json === true) return print(JSON.stringify(key));
  print(key.token);
  say(
    `Created client key ${key.id} for the SDK in an app. Copy it now: it will not be shown again.`,
  );
}

async function showKeys(config: Config, flags: KeyFlags): Promise<void> {
  const { project: name } = flags;
  const [keys, clientKeys] = await withKnownEmbedded(config, async ({ db }) => {
    const project = name === undefined ? undefined : await requireProject(db, name);
    return Promise.all([listKeys(db, project?.id), listClientKeys(db, project?.id)]);
  });
  if (flags.json === true) {
    const client_keys = clientKeys.map(presentClientKey);
    return print(JSON.stringify({ keys: keys.map(present), client_keys }));
  }
  const zone = readTimeZone(config);
  const rows = keys.map((key) => [
    key.id,
    key.project_id ?? "(master)",
    key.role,
    key.scopes.join(",") || "(all)",
    writeLocalTime(key.created_at, zone),
    key.last_used_at === null ? "(never)" : writeLocalTime(key.last_used_at, zone),
  ]);
  const clientRows = clientKeys.map(({ id, project_id, created_at }) => {
    return [id, project_id, "(client)", "(an app's SDK)", writeLocalTime(created_at, zone), ""];
  });
  const heads = ["ID", "PROJECT", "ROLE", "SCOPES", "CREATED", "LAST USED"];
  print(formatTable([heads, ...rows, ...clientRows]));
}

async function revokeKey(config: Config, id: string): Promise<void> {
  await withKnownEmbedded(config, async (store) => {
    const key = await findRevoked(store, id);
    await journalCommand(
      config,
      { ...describeKeyChange("keys revoke", key.project_id), id },
      async () => {
        if (!(await store.write(key.revoke))) throw refuseUnknown(id);
      },
      () => ({ id, name: null, before: key.record, after: null }),
    );
  });
  say(`Key ${id} is revoked.`);
}

/** A key of either kind, and how it ends. */
async function findRevoked({ db }: Store, id: string) {
  const key = (await listKeys(db)).find((each) => each.id === id);
  if (key !== undefined) {
    const { project_id, role, scopes: granted } = key;
    const revoke = (own: Db) => deleteKey(own, id);
    return { project_id, record: { role, scopes: granted }, revoke };
  }
  const clientKey = (await listClientKeys(db)).find((each) => each.id === id);
  if (clientKey === undefined) throw refuseUnknown(id);
  const { project_id } = clientKey;
  const revoke = (own: Db) => deleteClientKey({ db: own, projectId: project_id }, id);
  return { project_id, record: clientRecord, revoke };
}

function refuseUnknown(id: string): UsageFault {
  return new UsageFault(`the key ${id} does not exist; waypost keys list shows all keys`);
}

function present({ created_at, last_used_at, ...key }: Key) {
  return { ...key, created_at: writeTime(created_at), last_used_at: writeTime(last_used_at) };
}

function presentClientKey({ created_at, ...key }: ClientKey) {
  return { ...key, created_at: writeTime(created_at) };
}

function writeTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

function describeReach(key: Pick<Key, "project_id" | "role" | "scopes">): string {
  if (key.project_id === null) return "master key";
  return describeKeyAccess(key.role, key.scopes);
}

function readScopes(text: string | undefined): readonly Scope[] {
  if (text === undefined) return [];
  const given = text.split(",").flatMap((name) => name.trim() || []);
  // An empty list means full access in the store; an empty variable must not mean it here.
  if (given.length === 0) {
    throw new UsageFault("--scopes is empty; list scopes, or omit --scopes to allow all");
  }
  return given.map((name) => readChoice("--scopes", name, scopes));
}
