import {
  createClientKey,
  createKey,
  revokeClientKey,
  revokeKey,
  type ClientKey,
} from "../admin/keys.ts";
import type { Operator } from "../admin/operator.ts";
import { withKnownEmbedded } from "../app/process/embedded.ts";
import { requireProject } from "../app/process/find-project.ts";
import { readTimeZone } from "../app/process/time-zone.ts";
import { withOperator } from "../app/process/with-operator.ts";
import { UsageFault, type Config } from "../config.ts";
import { writeLocalTime } from "../contract/local-time.ts";
import { roles, scopes, type Scope } from "../contract/scopes-and-roles.ts";
import { listClientKeys, listKeys, type Key } from "../store/keys.ts";
import { describeKeyAccess } from "../text/name-key.ts";
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
    return flags.client === true ? makeClientKey(config, flags) : makeKey(config, flags);
  }
  if (subcommand === "list" && id === undefined) return showKeys(config, flags);
  if (subcommand === "revoke" && id !== undefined && rest.length === 0) {
    return revoke(config, id);
  }
  throw new UsageFault("use keys create, keys list or keys revoke ID (see waypost --help)");
}

async function makeKey(config: Config, flags: KeyFlags): Promise<void> {
  const access = {
    scopes: readScopes(flags.scopes),
    role: readChoice("--role", flags.role ?? "owner", roles),
  };
  if (flags.master === true && (flags.project ?? flags.scopes ?? flags.role) !== undefined) {
    throw new UsageFault(
      "use --master without --project, --scopes or --role: a master key has none of them",
    );
  }
  const create = async (operator: Operator) => {
    const isMaster = flags.master === true;
    const { db } = operator.store;
    const project_id = isMaster ? null : (await requireProject(db, flags.project)).id;
    return createKey(operator, { ...access, project_id });
  };
  const key = await withOperator(config, create, { mayCreate: true });
  if (flags.json === true) return print(JSON.stringify(key));
  print(key.token);
  say(`Created key ${key.id} (${describeReach(key)}). Copy it now: it will not be shown again.`);
}

/** A client key is not a secret, but only its hash is stored, so it is also printed only once. */
async function makeClientKey(config: Config, flags: KeyFlags): Promise<void> {
  if ((flags.scopes ?? flags.role ?? flags.master) !== undefined) {
    throw new UsageFault(
      "use --client without --scopes, --role or --master: a client key has none of them",
    );
  }
  const create = async (operator: Operator) => {
    const { id: project_id } = await requireProject(operator.store.db, flags.project);
    return createClientKey(operator, { project_id });
  };
  const key = await withOperator(config, create, { mayCreate: true });
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

async function revoke(config: Config, id: string): Promise<void> {
  await withOperator(config, async (operator) => {
    const { db } = operator.store;
    const key = (await listKeys(db)).find((each) => each.id === id);
    if (key !== undefined) return revokeKey(operator, key);
    const clientKey = (await listClientKeys(db)).find((each) => each.id === id);
    if (clientKey !== undefined) return revokeClientKey(operator, clientKey);
    throw new UsageFault(`the key ${id} does not exist; waypost keys list shows all keys`);
  });
  say(`Key ${id} is revoked.`);
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
