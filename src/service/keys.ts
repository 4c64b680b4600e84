import { createHash } from "node:crypto";
import { findRefusal, hasScope, refuseScope, type KeyFacts } from "../contract/access.ts";
import type { ApiRequest } from "../contract/api-message.ts";
import { andThen, type Awaitable } from "../contract/waiting.ts";
import type { Clock, Random, SetAlarm } from "../contract/clock.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { messages } from "../contract/messages.ts";
import { unauthorized } from "../contract/problem.ts";
import type { Scope, Role } from "../contract/rights.ts";
import { createFreshCache } from "../store/cache.ts";
import { createFlusher } from "../store/background-tasks.ts";
import {
  findClientKey,
  findKey,
  findKeyById,
  insertClientKey,
  insertKey,
  noteKeyUses,
  type ClientKeyWithProject,
  type KeyWithProject,
} from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import type { Db } from "../store/tables.ts";
import { readHeaderKey, isClientToken } from "../text/secrets.ts";
import { createToken, createClientToken, createIdAndTime, type IdSources } from "./ids.ts";

/** Authenticates requests, creates keys, and records when they were last used. */

export type AuthenticatedKey = KeyWithProject | ClientKeyWithProject;

export type KeyCache = {
  readonly find: (token: string) => Awaitable<AuthenticatedKey | undefined>;
  /**
   * Creates a temporary token for a resumed job, because the key's real token is not stored. The
   * token is valid only in this process.
   */
  readonly lendToken: (keyId: string, random: Random) => string;
};

/** Keys are cached by token, because hashing a token takes as long as all other checks together. */
const mostTokens = 1000;

export function createKeyCache(store: Store, clock: Pick<Clock, "monotonic">): KeyCache {
  const lent = new Map<string, string>();
  const read = (token: string): Awaitable<AuthenticatedKey | undefined> => {
    const keyId = lent.get(token);
    if (keyId !== undefined) return findKeyById(store.db, keyId);
    const find = isClientToken(token) ? findClientKey : findKey;
    return find(store.db, hashToken(token));
  };
  return {
    find: createFreshCache<AuthenticatedKey>({ store, clock, most: mostTokens, read }),
    lendToken: (keyId, random) => {
      const [known] = [...lent].find(([, id]) => id === keyId) ?? [];
      const token = known ?? createToken(random);
      lent.set(token, keyId);
      return token;
    },
  };
}

/** Tokens are random, so they need no salt and no slow hash. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

export function isApiKey(key: AuthenticatedKey | null | undefined): key is KeyWithProject {
  return key !== null && key !== undefined && "scopes" in key;
}

export const keyParameter = "api_key";

type KeyedRequest = Pick<ApiRequest, "headers">;

/** Finds the key of a request. Returns null if the endpoint needs no key. */
export function authenticate(
  request: KeyedRequest,
  query: URLSearchParams,
  auth: Endpoint["auth"],
  keys: KeyCache,
): Awaitable<AuthenticatedKey | null> {
  if (auth === "none") return refuseClientKey(request, query);
  const isForApps = auth === "client";
  const token = readToken(request, query, isForApps ? clientKeyMessages : keyMessages);
  return andThen(keys.find(token), (key) => {
    if (key === undefined || isApiKey(key) === isForApps) {
      throw unauthorized(refuseKind(token, isForApps));
    }
    if (isForApps && key.project?.suspended === true) {
      throw unauthorized(messages.account_suspended);
    }
    return key;
  });
}

function refuseKind(token: string, isForApps: boolean): string {
  if (isForApps) return messages.client_key_needed;
  return isClientToken(token) ? messages.client_key_here : messages.key_invalid;
}

/** Rejects a client key at an endpoint that needs no key. Other keys are ignored there. */
function refuseClientKey({ headers }: KeyedRequest, query: URLSearchParams): null {
  const token = readHeaderKey(headers["authorization"] ?? "") ?? "";
  const shown = [token, ...query.getAll(keyParameter)];
  if (shown.some((given) => isClientToken(given.trim()))) {
    throw unauthorized(messages.client_key_here);
  }
  return null;
}

type KeyMessages = { readonly missing: string; readonly malformed: string };
const keyMessages: KeyMessages = {
  missing: messages.key_missing,
  malformed: messages.key_malformed,
};
const clientKeyMessages: KeyMessages = {
  missing: messages.client_key_missing,
  malformed: messages.client_key_malformed,
};

/** Reads the token from the header or the query. Two different tokens are rejected. */
function readToken({ headers }: KeyedRequest, query: URLSearchParams, how: KeyMessages): string {
  const { authorization: header = "" } = headers;
  const parameters = query.getAll(keyParameter);
  const headerToken = readHeaderKey(header);
  if (header.trim() !== "" && headerToken === undefined) throw unauthorized(how.malformed);
  if (headerToken !== undefined && parameters.length === 0) return headerToken;
  const tokens = [headerToken ?? "", ...parameters].map((token) => token.trim());
  const [token, ...others] = new Set(tokens.filter((given) => given !== ""));
  if (token === undefined) throw unauthorized(how.missing);
  if (others.length > 0) throw unauthorized(messages.key_ambiguous);
  return token;
}

/** Throws a 401 with the reason if the key may not call the endpoint. */
export function requireAccess(key: KeyWithProject, endpoint: Endpoint): void {
  const refusal = findRefusal(endpoint, describeKey(key));
  if (refusal !== undefined) throw unauthorized(refusal.message);
}

export function describeKey({ project, scopes, role }: KeyWithProject): KeyFacts {
  return {
    kind: project === null ? "master" : "project",
    scopes,
    role,
    plan: project?.plan ?? "pro",
    suspended: project?.suspended === true,
    features_off: project?.templates_enabled === false ? ["page_templates"] : [],
  };
}

export function requireScope(key: KeyWithProject, scope: Scope): void {
  if (!hasScope(key, scope)) throw unauthorized(refuseScope(scope).message);
}

export type IssuedKey = {
  readonly id: string;
  readonly token: string;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly project_id: string | null;
};

type NewKeyRequest = Omit<IssuedKey, "id" | "token"> & Partial<Pick<IssuedKey, "id" | "token">>;

/**
 * Creates a key and stores the hash of its token. The token and the id are generated if omitted.
 * Throws Duplicate if the id already exists.
 */
export async function issueKey(
  db: Db,
  sources: IdSources,
  { project_id, scopes, role, token = createToken(sources.random), ...given }: NewKeyRequest,
): Promise<IssuedKey> {
  const { id: made, now } = createIdAndTime(sources);
  const { id = made } = given;
  const row = { id, project_id, scopes, role, token_hash: hashToken(token), created_at: now };
  await insertKey(db, row);
  return { id, token, scopes, role, project_id };
}

export type IssuedClientKey = Pick<IssuedKey, "id" | "token"> & { readonly project_id: string };

/** Creates a client key. Throws Duplicate if the id already exists. */
export async function issueClientKey(
  db: Db,
  sources: IdSources,
  { project_id, ...given }: { readonly project_id: string; readonly id?: string },
): Promise<IssuedClientKey> {
  const { id: made, now } = createIdAndTime(sources);
  const { id = made } = given;
  const token = createClientToken(sources.random);
  await insertClientKey(db, { id, project_id, token_hash: hashToken(token), created_at: now });
  return { id, token, project_id };
}

/**
 * Records when keys were last used, so that unused keys can be found. Times are collected in memory
 * and written in the background, at most every few minutes per key.
 */
type KeyUses = {
  readonly note: (keyId: string) => void;
  readonly close: () => Promise<void>;
};

type KeyUsesOptions = {
  readonly store: Pick<Store, "write">;
  readonly clock: Pick<Clock, "now">;
  readonly setAlarm: SetAlarm;
};

const writesAfter_ms = 1000;
const exact_ms = 5 * 60_000;
/** The maximum number of keys whose last recorded use is kept in memory. */
const mostKeys = 10_000;

export function createKeyUses({ store, clock, setAlarm }: KeyUsesOptions): KeyUses {
  const noted = new Map<string, number>();
  let waiting = new Map<string, number>();

  const { schedule, close } = createFlusher(
    async () => {
      const uses = waiting;
      waiting = new Map();
      if (uses.size === 0) return;
      try {
        await store.write((db) => noteKeyUses(db, uses), { isPatient: true });
      } catch {
        // The error is not reported here, because requests already report database errors.
        for (const id of uses.keys()) noted.delete(id);
      }
    },
    setAlarm,
    writesAfter_ms,
  );

  return {
    note: (keyId) => {
      const now = clock.now();
      const last = noted.get(keyId);
      if (last !== undefined && Math.abs(now - last) < exact_ms) return;
      if (noted.size >= mostKeys) noted.clear();
      noted.set(keyId, now);
      waiting.set(keyId, now);
      void schedule();
    },
    close,
  };
}
