import { sayLocalTime } from "../contract/local-time.ts";
import { notFound, type Problem } from "../contract/problem.ts";
import { canMakeKeys, type Role, type Scope } from "../contract/rights.ts";
import { issueClientKey, issueKey, type IssuedClientKey, type IssuedKey } from "../service/keys.ts";
import { deleteClientKey, deleteKey, listKeys, type ClientKey, type Key } from "../store/keys.ts";
import { describeKeyAccess, nameKey } from "../text/secrets.ts";
import { create, remove, type AdminAct, type AdminFact, type Operator } from "./operator.ts";

/** Creates and revokes API keys and client keys. */

export type { ClientKey, IssuedClientKey, IssuedKey };

export type ListedKey = Key & {
  /** Whether the user signed in with this key. */
  readonly is_own: boolean;
  /** Whether commands and assistants on this machine use this key. */
  readonly is_kept: boolean;
};

type ApiKeyRequest = {
  /** Null for a master key. */
  readonly project_id: string | null;
  readonly role: Role;
  /** An empty list grants everything that the role allows. */
  readonly scopes: readonly Scope[];
  /** Identifies the form, so that submitting the form twice creates one key. Omitted in the CLI. */
  readonly once?: string;
};

export function createKey(operator: Operator, request: ApiKeyRequest): Promise<IssuedKey> {
  const { project_id, role, scopes, once } = request;
  const access = { name: "access", text: describeKeyAccess(role, scopes) };
  const preview = { title: "Create an API key", button: "Create key", facts: [access] };
  return create(operator, {
    act: describeAct("keys create", project_id ?? operator.origin),
    once: once === undefined ? undefined : { form: [once], madeBefore },
    question: { args: { role, scopes }, preview },
    make: (db, id) => issueKey(db, operator, { ...(id && { id }), project_id, role, scopes }),
    record: { role, scopes },
  });
}

type ClientKeyRequest = { readonly project_id: string; readonly once?: string };

/** Requires no PIN, because everyone with the app can read its client key anyway. */
export function createClientKey(
  operator: Operator,
  { project_id, once }: ClientKeyRequest,
): Promise<IssuedClientKey> {
  return create(operator, {
    act: describeAct("keys create", project_id),
    once: once === undefined ? undefined : { form: ["client", once], madeBefore },
    make: (db, id) => issueClientKey(db, operator, { ...(id && { id }), project_id }),
    record: clientRecord,
  });
}

const madeBefore =
  "This form has already created a key, which was shown once. " +
  "If you do not have it, revoke it and create another one.";

export async function revokeKey(operator: Operator, key: Key): Promise<void> {
  const { id, project_id, role, scopes } = key;
  await remove(operator, {
    act: describeAct("keys revoke", project_id ?? operator.origin),
    id,
    record: { role, scopes },
    preview: async () => ({
      title: `Revoke the API key ${nameKey(key)}`,
      button: "Revoke key",
      destroys: true,
      facts: await listFacts(operator, key),
    }),
    remove: (db) => deleteKey(db, id),
    missing: refuseMissingKey,
  });
}

export async function revokeClientKey(operator: Operator, key: ClientKey): Promise<void> {
  const { id, project_id, created_at } = key;
  await remove(operator, {
    act: describeAct("keys revoke", project_id),
    id,
    record: clientRecord,
    preview: () => ({
      title: `Revoke the client key ${nameKey(key)}`,
      button: "Revoke key",
      destroys: true,
      facts: [
        { name: "created", text: sayLocalTime(created_at, operator.person?.timeZone) },
        { name: "then", text: "apps with this key can no longer look up their links" },
      ],
    }),
    remove: (db) => deleteClientKey({ db, projectId: project_id }, id),
    missing: refuseMissingKey,
  });
}

export function refuseMissingKey(): Problem {
  return notFound("This project has no such key. It may have been revoked.");
}

/** The history shows a key's role. Client keys have none, so they are recorded with this one. */
const clientRecord = { role: "client" };

function describeAct(tool: "keys create" | "keys revoke", realm: string): AdminAct {
  const note =
    "This cannot be undone. Create and revoke keys in the console, or with waypost keys.";
  return { tool, realm, kind: "api_key", name: null, note };
}

async function listFacts({ store, person }: Operator, key: Key): Promise<readonly AdminFact[]> {
  const { id, project_id, created_at, last_used_at } = key;
  const keys = await listKeys(store.db, project_id ?? undefined);
  const makers = keys.filter(canMakeKeys);
  const warnings = [
    ...(id === person?.key_id ? ["you are signed in with this key, and will be signed out"] : []),
    ...(id === (await person?.findKeptKey()) ? [keptWarning] : []),
    ...(makers.length === 1 && makers[0]?.id === id ? [onlyWarning] : []),
  ];
  const zone = person?.timeZone;
  const used = last_used_at === null ? "never" : sayLocalTime(last_used_at, zone);
  return [
    { name: "access", text: describeKeyAccess(key.role, key.scopes) },
    { name: "created", text: sayLocalTime(created_at, zone) },
    { name: "last used", text: used },
    { name: "then", text: "the key stops working at once, and cannot be restored", warnings },
  ];
}

const keptWarning =
  "Waypost on this machine uses this key: its commands, and the assistants connected through it, " +
  "stop working until you give them another key";
const onlyWarning =
  "no other key in this project can create keys; after this, create keys with waypost keys";
