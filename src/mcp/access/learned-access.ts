import { hasRole, listNamedScopes, readCause, type Cause } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { listEndpoints } from "../../contract/index.ts";
import { readAnswer } from "../../contract/server-answer.ts";
import type { ExpiringValues } from "../../state/expiring-values.ts";

/**
 * Remembers for a day what the responses of a remote server have shown about a key. It is stored
 * for later processes if the data folder is available.
 */
export type LearnedAccess = {
  readonly find: (endpoint: Endpoint) => KnownTool | undefined;
  /** The denial of another endpoint that also applies to this one. */
  readonly findImplied: (endpoint: Endpoint) => KnownTool | undefined;
  /** The kinds of endpoint that the key works with. */
  readonly listKinds: () => ReadonlySet<Endpoint["auth"]>;
  readonly noteGranted: (endpoint: Endpoint) => void;
  /** Records a response that decides nothing and would not change if repeated. */
  readonly noteSettled: (endpoint: Endpoint, reason: string) => void;
  /**
   * Learns from the message of a 401. `isPlain` means that the request had no special fields, so
   * every call would be rejected.
   */
  readonly noteRefused: (endpoint: Endpoint, message: string, isPlain?: boolean) => void;
  /** Makes all other denials unknown, because the key was changed. */
  readonly doubtDenials: (others: readonly Endpoint[]) => void;
  /** Loads what earlier processes learned, once. What this process has learned stays. */
  readonly recall: () => Promise<void>;
  /** Saves what was learned since the last save. */
  readonly write: () => Promise<void>;
};

export type KnownTool = {
  readonly tool: string;
  /**
   * `settled`: the response did not decide it, and the endpoint is not probed again for a day.
   * `open`: the key itself was rejected, or only one of several calls.
   */
  readonly state: "granted" | "denied" | "settled" | "open";
  /** The server's message. */
  readonly reason: string | null;
  readonly at: number;
};

/** Where it is stored. A process that only reads passes a `save` without effect. */
export type KeptAccess = Pick<ExpiringValues, "list" | "save">;

export type LearnedOptions = {
  /** Identifies the key and the server. */
  readonly owner: string;
  /** Undefined if nothing is stored. */
  readonly openMemory: (() => Promise<KeptAccess>) | undefined;
  /** The wall clock. */
  readonly now: () => number;
  readonly report: (error: unknown) => unknown;
};

const holds_ms = 24 * 60 * 60_000;
const noted_ms = 60 * 60_000;
const byTool = new Map(listEndpoints().map((endpoint) => [endpoint.tool, endpoint]));

type Lesson = { readonly endpoint: Endpoint; readonly known: KnownTool };

export function createLearnedAccess(options: LearnedOptions): LearnedAccess {
  const { now } = options;
  const learned = new Map<string, KnownTool>();
  const unsaved = new Map<string, KnownTool>();

  function find({ tool }: Endpoint): KnownTool | undefined {
    const known = learned.get(tool);
    // A time in the future was recorded before the clock was set back.
    const age_ms = now() - (known?.at ?? 0);
    return age_ms >= 0 && age_ms < holds_ms ? known : undefined;
  }

  function isDecided(endpoint: Endpoint): boolean {
    return ["granted", "denied"].includes(find(endpoint)?.state ?? "");
  }

  function list(state: KnownTool["state"]): readonly Lesson[] {
    return [...byTool.values()].flatMap((endpoint) => {
      const known = find(endpoint);
      return known?.state === state ? [{ endpoint, known }] : [];
    });
  }

  function learn({ tool }: Endpoint, state: KnownTool["state"], reason: string | null): void {
    const before = learned.get(tool);
    const known = { tool, state, reason, at: now() };
    const isSame = before?.state === state && before.reason === reason;
    // Another process may have stored something else, so the same result is saved again after an
    // hour.
    if (isSame && Math.abs(known.at - before.at) < noted_ms) return;
    learned.set(tool, known);
    if (state !== "open") unsaved.set(tool, known);
  }

  return {
    find,
    findImplied: (endpoint) => findImpliedIn(list("denied"), list("granted"), endpoint)?.known,
    listKinds: () => {
      const denied = list("denied").filter(({ endpoint }) => endpoint.auth === "project");
      // A 404 for an id, or for a page, counts as access but may have another cause.
      const lists = list("granted").filter(({ endpoint }) => endpoint.list !== undefined);
      return new Set([...lists, ...denied].map(({ endpoint }) => endpoint.auth));
    },
    noteGranted: (endpoint) => learn(endpoint, "granted", null),
    noteSettled: (endpoint, reason) => {
      if (!isDecided(endpoint)) learn(endpoint, "settled", reason);
    },
    noteRefused: (endpoint, message, isPlain = false) => {
      const cause = readCause(message);
      const isLasting = isPlain || refusesAll(endpoint, cause, message);
      if (rightsCauses.has(cause) && isLasting) return learn(endpoint, "denied", message);
      // One rejected call does not disprove a tool that has worked.
      if (cause === "key_invalid" || !isDecided(endpoint)) learn(endpoint, "open", message);
    },
    doubtDenials: (others) => {
      for (const { endpoint } of list("denied")) {
        if (!others.includes(endpoint)) learn(endpoint, "settled", null);
      }
    },
    ...shareLessons(options, { learned, unsaved }),
  };
}

type Lessons = Readonly<Record<"learned" | "unsaved", Map<string, KnownTool>>>;

/** Loads and saves what processes have learned. */
function shareLessons(
  { owner, report, ...options }: LearnedOptions,
  { learned, unsaved }: Lessons,
): Pick<LearnedAccess, "recall" | "write"> {
  let { openMemory } = options;
  let recalling: Promise<void> | undefined;
  let writing: Promise<void> = Promise.resolve();

  /** If the data folder cannot be used, each process learns for itself. */
  async function useMemory(use: (kept: KeptAccess) => Promise<unknown>): Promise<void> {
    try {
      const kept = await openMemory?.();
      if (kept !== undefined) await use(kept);
    } catch (error) {
      openMemory = undefined;
      report(error);
    }
  }

  async function load(kept: KeptAccess): Promise<void> {
    for (const { value } of await kept.list("known_access", owner)) {
      // `save` wrote it.
      const known = value as KnownTool;
      if (!learned.has(known.tool)) learned.set(known.tool, known);
    }
  }

  async function save(kept: KeptAccess): Promise<void> {
    const rows = [...unsaved.values()];
    unsaved.clear();
    const saving = rows.map((row) =>
      kept.save("known_access", `${owner} ${row.tool}`, row, { owner, at: row.at }),
    );
    await Promise.all(saving);
  }

  return {
    recall: () => (recalling ??= useMemory(load)),
    write: () => {
      if (unsaved.size > 0) writing = writing.then(() => useMemory(save));
      return writing;
    },
  };
}

/**
 * Finds a denial that applies to the endpoint. If another endpoint with the same requirement works,
 * the server does not follow the contract, and the denial does not apply.
 */
function findImpliedIn(
  denials: readonly Lesson[],
  granted: readonly Lesson[],
  endpoint: Endpoint,
): Lesson | undefined {
  return denials.find(({ endpoint: denied, known }) => {
    const cause = readCause(known.reason ?? "");
    if (!demandsSame(denied, cause, endpoint)) return false;
    return !granted.some((grant) => demandsSame(denied, cause, grant.endpoint));
  });
}

/** The rights that a valid key may lack. */
const rightsCauses: ReadonlySet<Cause> = new Set([
  "scope_missing",
  "role_required",
  "plan_required",
]);

/** Whether the other endpoint also requires what the key lacks for the first one. */
function demandsSame(denied: Endpoint, cause: Cause, other: Endpoint): boolean {
  const { scope, role, plan } = denied;
  // The specification does not define a scope for upsert, so servers may differ.
  if (cause === "scope_missing") {
    const isKnown = denied.overwrite_scope === undefined && other.overwrite_scope === undefined;
    return scope !== undefined && other.scope === scope && isKnown;
  }
  if (cause === "plan_required") return plan !== undefined && other.plan === plan;
  if (cause !== "role_required" || role === undefined || other.role === undefined) return false;
  return hasRole({ role: other.role }, role) && (writesLinks(denied) || !writesLinks(other));
}

/** Whether every call of the endpoint would be rejected like this, with any fields. */
function refusesAll(endpoint: Endpoint, cause: Cause, message: string): boolean {
  if (!demandsSame(endpoint, cause, endpoint)) return false;
  const named = listNamedScopes(message);
  if (cause === "scope_missing") {
    return named.length === 0 || named.some((name) => name === endpoint.scope);
  }
  const isOfApp = cause === "role_required" && /\bapps?\b/i.test(readAnswer(message));
  return !(isOfApp && writesLinks(endpoint));
}

/**
 * The specification defines no role for links, so a role that is missing for apps does not hide
 * them.
 */
function writesLinks({ role, path }: Endpoint): boolean {
  return role !== undefined && /^\/(short_)?links\b/.test(path);
}
