import type { JsonObject } from "../contract/json.ts";
import { sayLocalTime } from "../contract/local-time.ts";
import { faultOf, notFound, Problem, validationFailed } from "../contract/problem.ts";
import { roles, scopes, type Role, type Scope } from "../contract/scopes-and-roles.ts";
import type { Fact } from "../mcp/approval/approval-request.ts";
import { hashToken } from "../service/ids.ts";
import { issueKey } from "../service/issue-key.ts";
import {
  deleteKey,
  findKeyHolder,
  findKeyHolderById,
  listClientKeys,
  listKeys,
  type Key,
} from "../store/keys.ts";
import type { Db } from "../store/tables.ts";
import { describeKeyAccess, nameKey } from "../text/name-key.ts";
import { describeKeyChange } from "./by-hand.ts";
import { readOwn, tryApiKey, type Acting, type ConsoleAct } from "./console-act.ts";
import {
  changesKeys,
  makeOnce,
  makesKeys,
  managesKeys,
  readProject,
  revokeOne,
} from "./console-making.ts";
import { clock, random } from "./embedded.ts";

/** The keys of a project, for the one kind of key that can make others. */

export const keyActs: Readonly<Record<string, ConsoleAct>> = {
  list_keys: { isThere: managesKeys, run: (_, acting) => listAll(acting) },
  make_key: { isThere: changesKeys, run: makeKey },
  revoke_key: { isThere: changesKeys, run: revokeKey },
};

async function listAll(acting: Acting): Promise<JsonObject> {
  const { known } = acting.keyContext;
  const own = readOwn(acting);
  const [keys, clientKeys, kept] = await Promise.all([
    listKeys(own.store.db, known.projectId),
    listClientKeys(own.store.db, known.projectId),
    findKept(acting),
  ]);
  const told = keys.map(({ id, role, scopes: granted, created_at, last_used_at }) => ({
    id,
    role,
    scopes: granted,
    created_at: new Date(created_at).toISOString(),
    ...(last_used_at !== null && { last_used_at: new Date(last_used_at).toISOString() }),
    is_own: id === known.keyId,
    is_kept: id === kept,
  }));
  const client_keys = clientKeys.map(({ id, created_at }) => {
    return { id, created_at: new Date(created_at).toISOString() };
  });
  return { keys: told, client_keys };
}

/** The key that this process was started with, and whoever else names none. */
async function findKept(acting: Acting): Promise<string | undefined> {
  const token = tryApiKey(acting);
  if (token === undefined) return undefined;
  return (await findKeyHolder(readOwn(acting).store.db, hashToken(token)))?.key_id;
}

type Wanted = { readonly role: Role; readonly scopes: readonly Scope[]; readonly once: string };

async function makeKey(args: JsonObject, acting: Acting): Promise<JsonObject> {
  const { role, scopes: granted, once } = readWanted(args);
  const access = { name: "access", text: describeKeyAccess(role, granted) };
  const preview = { title: "Create an API key", button: "Create key", facts: [access] };
  const key = await makeOnce(
    {
      form: [once],
      change: describeKeyChange("keys create", readProject(acting)),
      madeBefore: keyMadeBefore,
      asks: { args: { role, scopes: granted }, preview },
      make: (db, place) => issueKey(db, { clock, random }, { ...place, role, scopes: granted }),
      after: { role, scopes: granted },
    },
    acting,
  );
  return { key };
}

function readWanted(args: JsonObject): Wanted {
  const { role, scopes: given, once } = args;
  const words: readonly unknown[] = Array.isArray(given) ? given : [];
  const found = roles.find((name) => name === role);
  const granted = scopes.filter((name) => words.includes(name));
  const problems = [
    ...(found === undefined ? [faultOf("role", `must be one of ${roles.join(", ")}`)] : []),
    // None would be all of them.
    ...(Array.isArray(given) && granted.length === 0
      ? [
          faultOf(
            "scopes",
            "can't be blank: choose at least one scope, or “Everything that the role allows”",
          ),
        ]
      : []),
    ...(granted.length < new Set(words).size ? [faultOf("scopes", "is invalid")] : []),
  ];
  if (found === undefined || problems.length > 0) throw validationFailed(problems);
  if (typeof once !== "string" || once === "") throw new Problem(400, "This page has expired.");
  return { role: found, scopes: granted, once };
}

export const keyMadeBefore =
  "This form has already created a key, which was shown once. " +
  "If you do not have it, revoke it and create another one.";

async function revokeKey(args: JsonObject, acting: Acting): Promise<JsonObject> {
  const { store } = readOwn(acting);
  const project_id = readProject(acting);
  const keys = await listKeys(store.db, project_id);
  const key = keys.find(({ id }) => id === args["id"]);
  if (key === undefined) throw noSuchKey();
  const { id, role, scopes: granted } = key;
  const facts = await describeKey(key, keys, acting);
  const title = `Revoke the API key ${nameKey(key)}`;
  const preview = { title, button: "Revoke key", destroys: true };
  const remove = async (db: Db) => {
    const there = await findKeyHolderById(db, id);
    if (there?.project?.id !== project_id || !(await deleteKey(db, id))) throw noSuchKey();
  };
  const before = { role, scopes: granted };
  const request = { target: id, state: { role, granted }, preview: { ...preview, facts } };
  const change = describeKeyChange("keys revoke", project_id);
  await revokeOne({ change, request, before, remove }, acting);
  return { revoked: { id, is_own: id === acting.keyContext.known.keyId } };
}

export function noSuchKey(): Problem {
  return notFound("This project has no such key. It may have been revoked.");
}

async function describeKey(
  key: Key,
  keys: readonly Key[],
  acting: Acting,
): Promise<readonly Fact[]> {
  const { known, timeZone } = acting.keyContext;
  const { id, created_at, last_used_at } = key;
  const makers = keys.filter(({ role, scopes: granted }) => makesKeys(role, granted));
  const warnings = [
    ...(id === known.keyId ? ["you are signed in with this key, and will be signed out"] : []),
    ...(id === (await findKept(acting)) ? [keptWarning] : []),
    ...(makers.length === 1 && makers[0]?.id === id ? [onlyWarning] : []),
  ];
  const used = last_used_at === null ? "never" : sayLocalTime(last_used_at, timeZone);
  return [
    { name: "access", text: describeKeyAccess(key.role, key.scopes) },
    { name: "created", text: sayLocalTime(created_at, timeZone) },
    { name: "last used", text: used },
    { name: "then", text: "the key stops working at once, and cannot be restored", warnings },
  ];
}

const keptWarning =
  "Waypost on this machine uses this key: its commands, and the assistants connected through it, " +
  "stop working until you give them another key";
const onlyWarning =
  "no other key in this project can create keys; after this, create keys with waypost keys";
