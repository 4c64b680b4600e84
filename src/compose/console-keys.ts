import { createHash } from "node:crypto";
import type { JsonObject } from "../contract/json.ts";
import { sayLocalTime, writeLocalTime } from "../contract/local-time.ts";
import { messages } from "../contract/messages.ts";
import { faultOf, notFound, Problem, unauthorized, validationFailed } from "../contract/problem.ts";
import { roles, scopes, type Role, type Scope } from "../contract/scopes-and-roles.ts";
import type { Fact } from "../mcp/approval/approval-request.ts";
import { hashToken } from "../service/ids.ts";
import { issueKey } from "../service/issue-key.ts";
import { listClientKeys } from "../store/client-keys.ts";
import { deleteKey, findKeyHolder, findKeyHolderById, listKeys, type Key } from "../store/keys.ts";
import { Duplicate } from "../store/store.ts";
import type { Db } from "../store/tenant.ts";
import { describeKeyAccess, nameKey } from "../text/name-key.ts";
import { describeKeyChange } from "./by-hand.ts";
import { mayChange, readNoting, readOwn, requireYes } from "./console-act.ts";
import type { Acting, ConsoleAct } from "./console-act.ts";
import { clock, random } from "./embedded.ts";
import { journalAct } from "./journal-command.ts";
import { readApiKey } from "./secrets.ts";

/**
 * The keys of a project, for the one kind of key that can make others: an owner's without limits.
 * It reaches all of its project, so that no key that it makes reaches further than itself.
 */

export const keyActs: Readonly<Record<string, ConsoleAct>> = {
  list_keys: { isThere: managesKeys, run: (_, acting) => listAll(acting) },
  make_key: { isThere: (acting) => managesKeys(acting) && mayChange(acting), run: makeKey },
  revoke_key: { isThere: (acting) => managesKeys(acting) && mayChange(acting), run: revokeKey },
};

export function managesKeys({ config, deployment, keyContext }: Acting): boolean {
  const { facts } = keyContext.known;
  if (deployment.own === undefined || facts === undefined || facts.suspended) return false;
  // What the operator says that the key may do limits it as well.
  if (config.scopes !== undefined || facts.kind !== "project") return false;
  return makesKeys(facts.role, facts.scopes);
}

function makesKeys(role: Role, granted: readonly Scope[]): boolean {
  return role === "owner" && granted.length === 0;
}

async function listAll(acting: Acting): Promise<JsonObject> {
  const { known, timeZone } = acting.keyContext;
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
    created_at: writeLocalTime(created_at, timeZone),
    ...(last_used_at !== null && { last_used_at: writeLocalTime(last_used_at, timeZone) }),
    is_own: id === known.keyId,
    is_kept: id === kept,
  }));
  const client_keys = clientKeys.map(({ id, created_at }) => {
    return { id, created_at: writeLocalTime(created_at, timeZone) };
  });
  return { keys: told, client_keys };
}

/** The key that this process was started with, and whoever else names none. */
async function findKept(acting: Acting): Promise<string | undefined> {
  const token = tryApiKey(acting);
  if (token === undefined) return undefined;
  return (await findKeyHolder(readOwn(acting).store.db, hashToken(token)))?.key_id;
}

function tryApiKey({ config }: Acting): string | undefined {
  try {
    return readApiKey(config);
  } catch {
    // A file that cannot be read holds no key of whom anything can be said.
    return undefined;
  }
}

type Wanted = { readonly role: Role; readonly scopes: readonly Scope[]; readonly once: string };

/** Of one form, however often it is sent, one key comes. */
async function makeKey(args: JsonObject, acting: Acting): Promise<JsonObject> {
  const { role, scopes: granted, once } = readWanted(args);
  const { keyContext } = acting;
  const project_id = readProject(acting);
  const id = deriveId([project_id, keyContext.key_print, once]);
  const noting = await readNoting(acting);
  if ((await noting.history.count({ realm: project_id }, { target: id })) > 0) throw madeBefore();
  if ((await acting.readPin()) !== undefined) {
    const access = { name: "may do", text: describeKeyAccess(role, granted) };
    const preview = { title: "Make an API key", button: "Make key", facts: [access] };
    const asked = { tool: "keys create", args: { role, scopes: granted }, target: "", state: id };
    await requireYes({ ...asked, preview }, acting);
  }
  const key = await journalAct(
    noting,
    { ...describeKeyChange("keys create", project_id), id },
    () =>
      readOwn(acting).store.write(async (db) => {
        await requireMaker(db, acting);
        return issueKey(db, { clock, random }, { id, project_id, role, scopes: granted });
      }),
    () => ({ id, name: null, before: null, after: { role, scopes: granted } }),
  ).catch((error: unknown) => {
    throw error instanceof Duplicate ? madeBefore() : error;
  });
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
      ? [faultOf("scopes", "can't be blank: choose at least one, or full access")]
      : []),
    ...(granted.length < new Set(words).size ? [faultOf("scopes", "is invalid")] : []),
  ];
  if (found === undefined || problems.length > 0) throw validationFailed(problems);
  if (typeof once !== "string" || once === "") throw new Problem(400, "This page was old.");
  return { role: found, scopes: granted, once };
}

export function madeBefore(): Problem {
  return new Problem(
    409,
    "This form has made its key already, and that was shown once. " +
      "If you do not have it, revoke it and make another one.",
  );
}

/** The same for the same form of the same key, and never that of another. */
export function deriveId(words: readonly string[]): string {
  const bytes = createHash("sha256").update(JSON.stringify(words)).digest().subarray(0, 16);
  // RFC 9562: a UUID of version 8 is made as its maker likes.
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

async function revokeKey(args: JsonObject, acting: Acting): Promise<JsonObject> {
  const { store } = readOwn(acting);
  const project_id = readProject(acting);
  const keys = await listKeys(store.db, project_id);
  const key = keys.find(({ id }) => id === args["id"]);
  if (key === undefined) throw noSuchKey();
  const { id, role, scopes: granted } = key;
  const facts = await describeKey(key, keys, acting);
  const preview = { title: `Revoke the API key ${nameKey(key)}`, button: "Revoke key" };
  const request = { tool: "keys revoke", args: { id }, target: id, state: { role, granted } };
  await requireYes({ ...request, preview: { ...preview, destroys: true, facts } }, acting);
  await journalAct(
    await readNoting(acting),
    { ...describeKeyChange("keys revoke", project_id), id },
    () =>
      store.write(async (db) => {
        await requireMaker(db, acting);
        const there = await findKeyHolderById(db, id);
        if (there?.project?.id !== project_id || !(await deleteKey(db, id))) throw noSuchKey();
      }),
    () => ({ id, name: null, before: { role, scopes: granted }, after: null }),
  );
  return { revoked: { id, is_own: id === acting.keyContext.known.keyId } };
}

export function noSuchKey(): Problem {
  return notFound("There is no such key in this project. It may be revoked already.");
}

export function readProject({ keyContext: { known } }: Acting): string {
  if (known.projectId === undefined) throw unauthorized(messages.project_key_required);
  return known.projectId;
}

/** Whoever was revoked, or limited, while the form was on its way makes nothing any more. */
export async function requireMaker(db: Db, { keyContext: { known } }: Acting): Promise<void> {
  const maker = await findKeyHolderById(db, known.keyId ?? "");
  if (maker?.project?.suspended !== false || !makesKeys(maker.role, maker.scopes)) {
    throw unauthorized(messages.key_invalid);
  }
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
    ...(id === known.keyId ? ["you are signed in with this key, and are signed out by it"] : []),
    ...(id === (await findKept(acting)) ? [keptWarning] : []),
    ...(makers.length === 1 && makers[0]?.id === id ? [onlyWarning] : []),
  ];
  const used = last_used_at === null ? "never" : sayLocalTime(last_used_at, timeZone);
  return [
    { name: "may do", text: describeKeyAccess(key.role, key.scopes) },
    { name: "made", text: sayLocalTime(created_at, timeZone) },
    { name: "last used", text: used },
    { name: "then", text: "whoever uses it is refused at once, for good", warnings },
  ];
}

const keptWarning =
  "Waypost is started with this key on this machine: its commands, and assistants that are " +
  "connected by it, do nothing any more until they are given another one";
const onlyWarning =
  "no other key of this project makes keys: from then on only waypost keys does, at the terminal";
