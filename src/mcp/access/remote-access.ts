import { randomUUID } from "node:crypto";
import type { Client, Sleep } from "../../client/client.ts";
import { CallFailure } from "../../client/outcome.ts";
import { hasRole, listNamedScopes, readCause, type Cause } from "../../contract/access.ts";
import type { Clock } from "../../contract/clock.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { listEndpoints } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import { Problem } from "../../contract/problem.ts";
import { readAnswer } from "../../contract/server-answer.ts";
import type { ExpiringValues } from "../../state/expiring-values.ts";

/**
 * Remembers for a day what a remote server's responses reveal about a key. Stores it in the data
 * folder, if available, so that other processes can use it too.
 */
export type LearnedAccess = {
  readonly find: (endpoint: Endpoint) => KnownTool | undefined;
  /** Finds a denial of another endpoint that also applies to this endpoint. */
  readonly findImplied: (endpoint: Endpoint) => KnownTool | undefined;
  readonly listKinds: () => ReadonlySet<Endpoint["auth"]>;
  readonly noteGranted: (endpoint: Endpoint) => void;
  /** Records that a response revealed nothing about access, and another probe would not help. */
  readonly noteSettled: (endpoint: Endpoint, reason: string) => void;
  /**
   * Records what the message of a 401 response reveals about the key. If `isPlain`, the server
   * rejects every call of the endpoint, whatever its fields.
   */
  readonly noteRefused: (endpoint: Endpoint, message: string, isPlain?: boolean) => void;
  /** Forgets denials of endpoints outside `others`, because the key's rights have changed. */
  readonly doubtDenials: (others: readonly Endpoint[]) => void;
  /** Loads what other processes have learned. Runs only once. */
  readonly recall: () => Promise<void>;
  /** Saves what was learned since the last save. */
  readonly write: () => Promise<void>;
};

export type KnownTool = {
  readonly tool: string;
  /**
   * `settled` and `open` both mean that access is unknown. A `settled` endpoint is not probed
   * again for a day, an `open` endpoint for a minute.
   */
  readonly state: "granted" | "denied" | "settled" | "open";
  readonly reason: string | null;
  readonly at: number;
};

/** Read-only processes pass a `save` that does nothing. */
export type AccessStorage = Pick<ExpiringValues, "find" | "save">;

export type LearnedOptions = {
  readonly owner: string;
  readonly openMemory: (() => Promise<AccessStorage>) | undefined;
  readonly now: () => number;
  readonly report: (error: unknown) => unknown;
};

const holds_ms = 24 * 60 * 60_000;
const noted_ms = 60 * 60_000;
const byTool = new Map(listEndpoints().map((endpoint) => [endpoint.tool, endpoint]));

type LearnedEndpoint = { readonly endpoint: Endpoint; readonly known: KnownTool };

export function createLearnedAccess(options: LearnedOptions): LearnedAccess {
  const { now } = options;
  const learned = new Map<string, KnownTool>();
  const memory = openMemory(options, learned);

  function find({ tool }: Endpoint): KnownTool | undefined {
    const known = learned.get(tool);
    // After the clock was set back, a recorded time may be in the future. Such an entry is ignored.
    const age_ms = now() - (known?.at ?? 0);
    return age_ms >= 0 && age_ms < holds_ms ? known : undefined;
  }

  function isDecided(endpoint: Endpoint): boolean {
    return ["granted", "denied"].includes(find(endpoint)?.state ?? "");
  }

  function list(state: KnownTool["state"]): readonly LearnedEndpoint[] {
    return [...byTool.values()].flatMap((endpoint) => {
      const known = find(endpoint);
      return known?.state === state ? [{ endpoint, known }] : [];
    });
  }

  function learn({ tool }: Endpoint, state: KnownTool["state"], reason: string | null): void {
    const before = learned.get(tool);
    const isSame = before?.state === state && before.reason === reason;
    // An unchanged result is saved at most once an hour.
    if (isSame && Math.abs(now() - before.at) < noted_ms) return;
    learned.set(tool, { tool, state, reason, at: now() });
    if (state !== "open") memory.noteUnsaved();
  }

  return {
    find,
    findImplied: (endpoint) => findImpliedIn(list("denied"), list("granted"), endpoint)?.known,
    listKinds: () => {
      const denied = list("denied").filter(({ endpoint }) => endpoint.auth === "project");
      // Only a list endpoint proves the key's kind. Other endpoints count as granted even after a
      // 404, which a server may return to any key.
      const lists = list("granted").filter(({ endpoint }) => endpoint.list !== undefined);
      return new Set([...lists, ...denied].map(({ endpoint }) => endpoint.auth));
    },
    noteGranted: (endpoint) => {
      if (endpoint.auth !== "none") learn(endpoint, "granted", null);
    },
    noteSettled: (endpoint, reason) => {
      if (!isDecided(endpoint)) learn(endpoint, "settled", reason);
    },
    noteRefused: (endpoint, message, isPlain = false) => {
      const cause = readCause(message);
      const isGeneral = isPlain || refusesAll(endpoint, cause, message);
      if (rightsCauses.has(cause) && isGeneral) return learn(endpoint, "denied", message);
      // Any other rejection changes a known state only if the key itself is invalid.
      if (cause === "key_invalid" || !isDecided(endpoint)) learn(endpoint, "open", message);
    },
    doubtDenials: (others) => {
      for (const { endpoint } of list("denied")) {
        if (!others.includes(endpoint)) learn(endpoint, "settled", null);
      }
    },
    recall: memory.recall,
    write: memory.write,
  };
}

/** Loads and saves what all processes have learned, as one value per key and server. */
function openMemory(
  { owner, report, openMemory: open }: LearnedOptions,
  learned: Map<string, KnownTool>,
): Pick<LearnedAccess, "recall" | "write"> & { readonly noteUnsaved: () => void } {
  let isUsable = open !== undefined;
  let isUnsaved = false;
  let recalling: Promise<void> | undefined;
  let writing: Promise<void> = Promise.resolve();

  /** If the data folder cannot be used, each process learns on its own. */
  async function use(isSaving: boolean): Promise<void> {
    try {
      const kept = isUsable ? await open?.() : undefined;
      if (kept === undefined) return;
      const saved = await kept.find("known_access", owner);
      for (const known of Object.values(saved?.value ?? {}) as readonly KnownTool[]) {
        const { at = -Infinity } = learned.get(known.tool) ?? {};
        if (at < known.at) learned.set(known.tool, known);
      }
      if (!isSaving) return;
      isUnsaved = false;
      const lasting = [...learned].filter(([, { state }]) => state !== "open");
      await kept.save("known_access", owner, Object.fromEntries(lasting));
    } catch (error) {
      isUsable = false;
      report(error);
    }
  }

  return {
    noteUnsaved: () => void (isUnsaved = true),
    recall: () => (recalling ??= use(false)),
    write: () => {
      if (isUnsaved) writing = writing.then(() => (isUnsaved ? use(true) : undefined));
      return writing;
    },
  };
}

/**
 * Finds a denial for a permission that the endpoint also needs. Ignores the denial if any endpoint
 * that needs this permission works: the server then does not follow the API's specification.
 */
function findImpliedIn(
  denials: readonly LearnedEndpoint[],
  granted: readonly LearnedEndpoint[],
  endpoint: Endpoint,
): LearnedEndpoint | undefined {
  return denials.find(({ endpoint: denied, known }) => {
    const cause = readCause(known.reason ?? "");
    if (!demandsSame(denied, cause, endpoint)) return false;
    return !granted.some((grant) => demandsSame(denied, cause, grant.endpoint));
  });
}

const rightsCauses: ReadonlySet<Cause> = new Set([
  "scope_missing",
  "role_required",
  "plan_required",
]);

/** Whether `other` needs the same missing permission as `denied`. */
function demandsSame(denied: Endpoint, cause: Cause, other: Endpoint): boolean {
  const { scope, role, plan } = denied;
  // The API's specification defines no scope for upserts, so servers may differ.
  if (cause === "scope_missing") {
    const isKnown = denied.overwrite_scope === undefined && other.overwrite_scope === undefined;
    return scope !== undefined && other.scope === scope && isKnown;
  }
  if (cause === "plan_required") return plan !== undefined && other.plan === plan;
  if (cause !== "role_required" || role === undefined || other.role === undefined) return false;
  return hasRole({ role: other.role }, role) && (writesLinks(denied) || !writesLinks(other));
}

/** Whether the server would reject every call of the endpoint, whatever its fields. */
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
 * The API's specification defines no role for links, so a missing role for apps must not hide the
 * link tools.
 */
function writesLinks({ role, path }: Endpoint): boolean {
  return role !== undefined && /^\/(short_)?links\b/.test(path);
}

/** Learns what a key may do on a remote server, with requests that change nothing. */
export type Exploration = {
  /**
   * Loads what all processes have learned, and probes the endpoints whose access is unknown.
   * Repeats probes that are at least `age_ms` old. Reports errors instead of throwing them, because
   * most callers do not wait.
   */
  readonly explore: (age_ms?: number) => Promise<void>;
  /** Runs `explore` before the tools are listed, but waits for at most 1.5 seconds. */
  readonly exploreForList: () => Promise<void>;
};

type ExplorationOptions = {
  readonly learned: LearnedAccess;
  readonly access: {
    readonly canLearn: () => boolean;
    readonly isWorthAsking: (endpoint: Endpoint) => boolean;
  };
  readonly probes: readonly Probe[];
  readonly client: Client;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly onChange: () => void;
  readonly report: (error: unknown) => unknown;
};

type Probe = { readonly endpoint: Endpoint; readonly input: JsonObject };

/** Limits the delay of a client's first list of tools. */
const longestWait_ms = 1500;
/** The least time between an inconclusive probe and its repetition by a later call. */
const pause_ms = 60_000;

export function createExploration(options: ExplorationOptions): Exploration {
  const { learned, access, clock, sleep, report } = options;
  const askedAt = new Map<string, number>();
  let isRecalled = false;
  let running: Promise<void> | undefined;
  let waited: Promise<unknown> | undefined;
  const note = (error: unknown) => void report(error);

  function listDue(age_ms: number | undefined): readonly Probe[] {
    return options.probes.filter(({ endpoint }) => {
      const { state = "open" } = learned.find(endpoint) ?? {};
      const least_ms = state === "open" ? Math.min(age_ms ?? Infinity, pause_ms) : age_ms;
      const last = askedAt.get(endpoint.tool) ?? -Infinity;
      const isDue = least_ms !== undefined && clock.monotonic() - last >= least_ms;
      return isDue && access.isWorthAsking(endpoint);
    });
  }

  async function runRound(age_ms: number | undefined): Promise<void> {
    await learned.recall();
    isRecalled = true;
    const due = listDue(age_ms);
    const denied = due.filter(({ endpoint }) => learned.find(endpoint)?.state === "denied");
    for (const { endpoint } of due) askedAt.set(endpoint.tool, clock.monotonic());
    await Promise.all(due.map((probe) => send(probe, options)));
    // If a denied endpoint works again, the key has changed, and other denials may be outdated.
    const isRestored = denied.some(({ endpoint }) => learned.find(endpoint)?.state === "granted");
    if (isRestored) learned.doubtDenials(due.map(({ endpoint }) => endpoint));
  }

  async function start(age_ms?: number): Promise<void> {
    if (running !== undefined) return running;
    if (!access.canLearn() || (isRecalled && listDue(age_ms).length === 0)) return;
    const end = new AbortController();
    running = runRound(age_ms)
      .catch(note)
      .then(() => {
        running = undefined;
        end.abort();
        void learned.write();
        options.onChange();
      });
    waited = Promise.race([running, sleep(longestWait_ms, end.signal).catch(() => undefined)]);
    return running;
  }

  async function explore(age_ms?: number): Promise<void> {
    await running;
    await start(age_ms);
    await learned.write();
  }

  return {
    explore: (age_ms) => explore(age_ms).catch(note),
    exploreForList: async () => {
      start().catch(note);
      await waited;
    },
  };
}

/**
 * Lists requests that change nothing: `GET` requests, and `PATCH` requests without fields for an ID
 * that does not exist.
 */
export function listProbes(isOffered: (endpoint: Endpoint) => boolean): readonly Probe[] {
  // The ID starts with a letter, because a server with numeric IDs may parse 3f… as 3.
  const id = `f${randomUUID().slice(1)}`;
  return listEndpoints().flatMap((endpoint): readonly Probe[] => {
    const { method, auth, params, list } = endpoint;
    if (auth === "none" || !isOffered(endpoint)) return [];
    const isHarmless = method === "GET" || (method === "PATCH" && params !== undefined);
    return isHarmless
      ? [{ endpoint, input: { ...(params && { id }), ...(list && { limit: 1 }) } }]
      : [];
  });
}

async function send(
  { endpoint, input }: Probe,
  { client, learned }: ExplorationOptions,
): Promise<void> {
  try {
    await client.call(endpoint, input, undefined, { isProbe: true });
    learned.noteGranted(endpoint);
  } catch (error) {
    if (error instanceof Problem) return noteRefusal(endpoint, error, learned);
    if (!(error instanceof CallFailure)) throw error;
    const { code, message, facts } = error;
    if (code === "bad_response") learned.noteSettled(endpoint, message);
    // After any other failure, or a 503 with a retry delay, a later probe may succeed.
    if (code !== "overloaded" || facts.retry_after_s !== undefined) return;
    learned.noteSettled(endpoint, describeProbe(message));
  }
}

/** Records a denial only for a 401 about the scope, the role or the plan. */
function noteRefusal(
  endpoint: Endpoint,
  { status, message }: Problem,
  learned: LearnedAccess,
): void {
  const isVague = readCause(message) === "unauthorized";
  if (status === 401 && !isVague) return learned.noteRefused(endpoint, message, true);
  // A 404 or 422 for the random ID shows that the server accepted the key. List requests contain no
  // ID, and a 404 for Waypost's own endpoints may mean that the server lacks them.
  const isAccepted = endpoint.list === undefined && endpoint.ours !== true;
  if (isAccepted && (status === 404 || status === 422)) return learned.noteGranted(endpoint);
  const reason = describeProbe(`The server answered with status ${status}: ${message}`);
  return learned.noteSettled(endpoint, reason);
}

function describeProbe(sentence: string): string {
  return `When Waypost checked, ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
}
