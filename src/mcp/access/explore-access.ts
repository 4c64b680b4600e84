import { CallFailure } from "../../client/call-failure.ts";
import type { Client, Sleep } from "../../client/client.ts";
import type { Clock } from "../../contract/clock.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import type { Access } from "./key-access.ts";
import { isWorth, probeAccess, type Probe, type Probed, type Probing } from "./probe-access.ts";
import type { AccessMemory } from "./remember-access.ts";

/** When a deployment elsewhere is asked what a key may do: no oftener than it helps. */
export type Exploration = {
  /** Recalls what was learned earlier, and asks for what is not known. */
  readonly explore: () => Promise<void>;
  /** The same for who waits for the list of tools: in time with what is known by then. */
  readonly exploreForList: () => Promise<void>;
  /** Asks as well for what was last asked longer ago than this, or by an earlier process. */
  readonly confirm: (age_ms?: number) => Promise<void>;
  /** Whether much is being learned at once; `onAsked` is called when it is done. */
  readonly isAsking: () => boolean;
};

export type ExplorationOptions = {
  readonly access: Access;
  readonly memory: AccessMemory;
  readonly tryOnce: Client["tryOnce"];
  readonly listProbes: () => readonly Probe[];
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly onAsked: () => void;
  readonly report: (error: unknown) => unknown;
};

/** Counted from a client's first message, so that its list comes in time. */
const longestWait_ms = 1500;
/** What was not answered is asked again beside a later call, and no sooner. */
const pause_ms = 60_000;
/** Before anything runs out, while the key is in use. */
const confirmed_ms = 12 * 60 * 60_000;

export function createExploration(options: ExplorationOptions): Exploration {
  const { access, memory, clock, sleep } = options;
  const rounds = createRounds(options);
  /** What a list waits for. */
  let exploring: Promise<unknown> = Promise.resolve();

  const explore = (): Promise<void> => {
    const running = rounds.readRunning();
    if (running !== undefined) return running;
    const end = new AbortController();
    const asking = rounds.start(() => false);
    const isIdle = rounds.readRunning() === undefined;
    const round = asking.finally(() => {
      end.abort();
      void memory.write();
    });
    // Where there is nothing to ask, nobody waits.
    exploring = isIdle
      ? round
      : Promise.race([round, sleep(longestWait_ms, end.signal).catch(() => undefined)]);
    return round;
  };
  return {
    explore: async () => {
      await explore();
      await memory.write();
    },
    exploreForList: async () => {
      void explore();
      await exploring;
    },
    confirm: async (age_ms = confirmed_ms) => {
      if (access.hasFacts()) return;
      await rounds.readRunning();
      await rounds.start(
        ({ tool }) => clock.monotonic() - (rounds.askedAt.get(tool) ?? -Infinity) >= age_ms,
      );
      await memory.write();
    },
    isAsking: () => rounds.readRunning() !== undefined,
  };
}

type Rounds = {
  /** One round at a time: whoever comes meanwhile waits for the one that is under way. */
  readonly start: (isAnew: (endpoint: Endpoint) => boolean) => Promise<void>;
  readonly readRunning: () => Promise<void> | undefined;
  /** When this process asked for each tool. */
  readonly askedAt: ReadonlyMap<string, number>;
};

function createRounds(options: ExplorationOptions): Rounds {
  const { access, memory, tryOnce, listProbes, clock, onAsked, report } = options;
  let running: Promise<void> | undefined;
  let restsUntil = -Infinity;
  const askedAt = new Map<string, number>();
  return {
    start: (isAnew) => {
      // Nobody waits for what goes on beside a call, so that a fault of it is only reported.
      try {
        return begin(isAnew);
      } catch (error) {
        report(error);
        return Promise.resolve();
      }
    },
    readRunning: () => running,
    askedAt,
  };

  function begin(isAnew: (endpoint: Endpoint) => boolean): Promise<void> {
    if (running !== undefined) return running;
    if (access.hasFacts() || access.readKind() === "none") return Promise.resolve();
    const isResting = clock.monotonic() < restsUntil;
    const probing = { tryOnce, access, probes: isResting ? [] : listProbes(), isAnew };
    const hasNone = !probing.probes.some((probe) => isWorth(probe, probing));
    if (memory.isRecalled() && hasNone) return Promise.resolve();
    running = ask(options, probing)
      .then(({ asked, isWhole }) => {
        if (!isWhole) restsUntil = clock.monotonic() + pause_ms;
        for (const { tool } of asked) askedAt.set(tool, clock.monotonic());
      })
      .catch((error: unknown) => {
        // Waypost is stopping.
        if (!(error instanceof CallFailure)) report(error);
      })
      .then(() => {
        running = undefined;
        onAsked();
      });
    return running;
  }
}

async function ask({ access, memory }: ExplorationOptions, probing: Probing): Promise<Probed> {
  await memory.recall(access);
  const isDenied = ({ endpoint }: Probe) => access.read(endpoint).state === "denied";
  const denied = probing.probes.filter(isDenied);
  const probed = await probeAccess(probing);
  // A key that may do again what it might not was changed, and perhaps in more than was asked.
  const isHealed = denied.some(({ endpoint }) => access.read(endpoint).state === "granted");
  const tools = new Set(probed.asked.map(({ tool }) => tool));
  if (isHealed) access.forgetDenials((tool) => !tools.has(tool));
  return probed;
}
