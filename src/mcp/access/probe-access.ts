import { randomUUID } from "node:crypto";
import type { Client, Sleep } from "../../client/client.ts";
import type { TryOutcome } from "../../client/outcome.ts";
import { readCause } from "../../contract/access.ts";
import type { Clock } from "../../contract/clock.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { listEndpoints } from "../../contract/index.ts";
import { Problem } from "../../contract/problem.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Access } from "./key-access.ts";
import type { LearnedAccess } from "./learned-access.ts";

/** Finds out what a key may do at a remote server, by requests that change nothing. */
export type Exploration = {
  /**
   * Loads what was learned within a day, and sends requests for the rest in parallel. With an age,
   * it also repeats requests that are at least this old. Errors are reported and not thrown,
   * because most callers do not wait.
   */
  readonly explore: (age_ms?: number) => Promise<void>;
  /** The same before listing tools, but waits for at most 1.5 seconds. */
  readonly exploreForList: () => Promise<void>;
  /** Calls the API and learns from the response, also in jobs. */
  readonly call: Client["call"];
};

export type ExplorationOptions = {
  readonly learned: LearnedAccess;
  /** Decides which endpoints are probed. */
  readonly access: Pick<Access, "canLearn" | "isWorthAsking">;
  readonly probes: readonly Probe[];
  readonly client: Pick<Client, "call" | "tryOnce">;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly onChange: () => void;
  readonly report: (error: unknown) => unknown;
};

type Probe = { readonly endpoint: Endpoint; readonly input: JsonObject };

const nothing = Promise.resolve();

/** Counted from a client's first message, so that its list of tools is in time. */
const longestWait_ms = 1500;
/** A probe without a result is repeated after this time, along with a later call. */
const pause_ms = 60_000;

export function createExploration(options: ExplorationOptions): Exploration {
  const { learned, access, clock, sleep, report } = options;
  const askedAt = new Map<string, number>();
  let isRecalled = false;
  let running: Promise<void> | undefined;
  let waited: Promise<unknown> | undefined;

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
    await Promise.all(
      due.map(async ({ endpoint, input }) => {
        note(endpoint, await options.client.tryOnce(endpoint, { input }), learned);
      }),
    );
    // If a denied endpoint works again, the key was changed, and other denials may be outdated too.
    const isHealed = denied.some(({ endpoint }) => learned.find(endpoint)?.state === "granted");
    if (isHealed) learned.doubtDenials(due.map(({ endpoint }) => endpoint));
  }

  function start(age_ms?: number): Promise<void> {
    if (running !== undefined) return running;
    // Returns early, because this runs with every call.
    if (!access.canLearn() || (isRecalled && listDue(age_ms).length === 0)) return nothing;
    const end = new AbortController();
    const round = runRound(age_ms)
      .catch((error: unknown) => void report(error))
      .then(() => {
        running = undefined;
        end.abort();
        void learned.write();
        options.onChange();
      });
    running = round;
    waited = Promise.race([round, sleep(longestWait_ms, end.signal).catch(() => undefined)]);
    return round;
  }

  return {
    explore: async (age_ms) => {
      if (!access.canLearn()) return;
      try {
        await running;
        await start(age_ms);
        await learned.write();
      } catch (error) {
        report(error);
      }
    },
    exploreForList: async () => {
      void start();
      await waited;
    },
    call: learnFrom(options),
  };
}

function learnFrom({ client, learned, access, onChange }: ExplorationOptions): Client["call"] {
  return async (endpoint, input, signal, asked) => {
    if (!access.canLearn()) return client.call(endpoint, input, signal, asked);
    const before = learned.find(endpoint)?.state;
    try {
      const output = await client.call(endpoint, input, signal, asked);
      if (endpoint.auth !== "none") learned.noteGranted(endpoint);
      return output;
    } catch (error) {
      const isRefusal = error instanceof Problem && error.status === 401;
      if (isRefusal) learned.noteRefused(endpoint, error.message);
      throw error;
    } finally {
      void learned.write();
      if (learned.find(endpoint)?.state !== before) onChange();
    }
  };
}

/**
 * Probes read lists with one row and an id that does not exist, or send a `PATCH` without fields to
 * this id.
 */
export function listProbes(isOffered: (endpoint: Endpoint) => boolean): readonly Probe[] {
  // Starts with a letter, because a server with numeric ids may parse 3f… as the number 3.
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

/**
 * Learns from a probe. Only a 401 about scope, role or plan denies the endpoint. An unexpected
 * response decides nothing.
 */
function note(endpoint: Endpoint, outcome: TryOutcome, learned: LearnedAccess): void {
  switch (outcome.kind) {
    case "accepted":
    case "answered":
      return learned.noteGranted(endpoint);
    case "limited":
    case "unsent":
      return;
    case "failed": {
      const { code, message } = outcome.failure;
      return code === "bad_response" ? learned.noteSettled(endpoint, message) : undefined;
    }
    case "doubtful":
      // Only a 503 has a waiting time, and may succeed later.
      if (outcome.reason !== "failing" || outcome.wait_ms !== undefined) return;
      return learned.noteSettled(endpoint, `When Waypost checked, ${outcome.said}.`);
    case "refused": {
      const { status, message } = outcome.problem;
      const isVague = readCause(message) === "unauthorized";
      if (status === 401 && !isVague) return learned.noteRefused(endpoint, message, true);
      // The key was accepted, and only the id or the fields were rejected. A list has neither.
      const isAccepted = endpoint.list === undefined && endpoint.ours !== true;
      if (isAccepted && (status === 404 || status === 422)) return learned.noteGranted(endpoint);
      const said = `the server answered with status ${status}: ${message}`;
      return learned.noteSettled(endpoint, `When Waypost checked, ${said}`);
    }
  }
}
