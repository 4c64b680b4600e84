import { describeKeyChange } from "../compose/by-hand.ts";
import { clock, random, withEmbedded, withKnownEmbedded } from "../compose/embedded.ts";
import { requireProject } from "../compose/find-project.ts";
import { journalCommand } from "../compose/journal-command.ts";
import { readTimeZone } from "../compose/time-zone.ts";
import { UsageFault, type Config } from "../config.ts";
import { writeLocalTime } from "../contract/local-time.ts";
import { roles, scopes, type Scope } from "../contract/scopes-and-roles.ts";
import { issueKey } from "../service/issue-key.ts";
import { deleteKey, listKeys, type Key } from "../store/keys.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { formatTable, print, say } from "./terminal/output.ts";
import { readChoice } from "./terminal/read-choice.ts";

export const keyFlags = {
  project: { type: "string" },
  scopes: { type: "string" },
  role: { type: "string" },
  master: { type: "boolean" },
  json: { type: "boolean" },
} as const;

type KeyFlags = FlagValues<typeof keyFlags>;

/** `waypost keys create|list|revoke`. */
export async function runKeys(
  config: Config,
  [subcommand, id, ...rest]: readonly string[],
  flags: KeyFlags,
): Promise<void> {
  if (subcommand === "create" && id === undefined) return createKey(config, flags);
  if (subcommand === "list" && id === undefined) return showKeys(config, flags);
  if (subcommand === "revoke" && id !== undefined && rest.length === 0) {
    return revokeKey(config, id);
  }
  throw new UsageFault("use keys create, keys list or keys revoke ID (waypost --help)");
}

async function createKey(config: Config, flags: KeyFlags): Promise<void> {
  const wanted = {
    scopes: readScopes(flags.scopes),
    role: readChoice("--role", flags.role ?? "owner", roles),
  };
  if (flags.master === true && (flags.project ?? flags.scopes ?? flags.role) !== undefined) {
    throw new UsageFault("--master stands alone: a master key has no project, scopes or role");
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
  say(`Key ${key.id} (${describeReach(key)}). This is the only time that the key is shown.`);
}

async function showKeys(config: Config, flags: KeyFlags): Promise<void> {
  const { project: name } = flags;
  const keys = await withKnownEmbedded(config, async ({ db }) => {
    const project = name === undefined ? undefined : await requireProject(db, name);
    return listKeys(db, project?.id);
  });
  if (flags.json === true) return print(JSON.stringify({ keys: keys.map(present) }));
  const zone = readTimeZone(config);
  const rows = keys.map((key) => [
    key.id,
    key.project_id ?? "(master)",
    key.role,
    key.scopes.join(",") || "(all)",
    writeLocalTime(key.created_at, zone),
    key.last_used_at === null ? "(never)" : writeLocalTime(key.last_used_at, zone),
  ]);
  print(formatTable([["ID", "PROJECT", "ROLE", "SCOPES", "CREATED", "LAST USED"], ...rows]));
}

async function revokeKey(config: Config, id: string): Promise<void> {
  const refuse = () => new UsageFault(`there is no key ${id}; keys list shows them`);
  await withKnownEmbedded(config, async (store) => {
    const key = (await listKeys(store.db)).find((each) => each.id === id);
    if (key === undefined) throw refuse();
    const { role, scopes: granted } = key;
    await journalCommand(
      config,
      { ...describeKeyChange("keys revoke", key.project_id), id },
      async () => {
        if (!(await store.write((db) => deleteKey(db, id)))) throw refuse();
      },
      () => ({ id, name: null, before: { role, scopes: granted }, after: null }),
    );
  });
  say(`Key ${id} is revoked.`);
}

function present({ created_at, last_used_at, ...key }: Key) {
  return { ...key, created_at: writeTime(created_at), last_used_at: writeTime(last_used_at) };
}

function writeTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

function describeReach(key: Pick<Key, "project_id" | "role" | "scopes">): string {
  if (key.project_id === null) return "master key";
  return `${key.role}, ${key.scopes.length === 0 ? "full access" : key.scopes.join(", ")}`;
}

function readScopes(text: string | undefined): readonly Scope[] {
  if (text === undefined) return [];
  const given = text.split(",").flatMap((name) => name.trim() || []);
  // An empty list means full access in the store; an empty variable must not mean it here.
  if (given.length === 0) {
    throw new UsageFault("--scopes names no scope; leave it out for full access");
  }
  return given.map((name) => readChoice("--scopes", name, scopes));
}
