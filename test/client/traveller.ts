import { randomBytes } from "node:crypto";
import { createClient, type Client, type Sleep } from "../../src/client/client.ts";
import type { Send, SetTimer } from "../../src/client/send-once.ts";
import { openRemoteSender } from "../../src/client/carriers.ts";
import { sendByFetch, type Fetch } from "../support/stage.ts";
import { openHostile, stallHeader, type Hostile } from "../support/hostile.ts";
import { createWorld, origin, type World } from "../support/world.ts";

/** A client whose time is the world's: it sleeps by moving the clock, and no timer rings alone. */

export type Traveller = {
  readonly client: Client;
  /** How long it waited between tries, in milliseconds. */
  readonly waits: readonly number[];
  /** The time of the tries that are under way is up. */
  readonly ring: () => void;
  /** How many timers are set. */
  readonly countTimers: () => number;
  readonly advance: (milliseconds: number) => void;
  /** How much of its time has passed. */
  readonly elapsed: () => number;
};

type Wanted = {
  readonly world: World;
  /** One of the two ways: to whatever a test makes of Requests, or out of this process. */
  readonly fetch?: Fetch;
  readonly send?: Send;
  readonly origin?: string;
  readonly key?: string | undefined;
  readonly sleep?: Sleep;
  /** Whether the client asks the service of this process. */
  readonly isEmbedded?: boolean;
};

export function createTraveller(wanted: Wanted): Traveller {
  const { world, fetch = world.fetch, send = sendByFetch(fetch) } = wanted;
  const waits: number[] = [];
  const timers = new Map<() => void, number>();
  // The world's clock begins here too, and both are moved together.
  let now = Date.UTC(2026, 0, 15, 12);
  let monotonic = 0;
  const advance = (milliseconds: number) => {
    world.advance(milliseconds);
    now += milliseconds;
    monotonic += milliseconds;
  };
  const setTimer: SetTimer = (ring, milliseconds) => {
    timers.set(ring, milliseconds);
    return () => timers.delete(ring);
  };
  const client = createClient({
    target: {
      origin: wanted.origin ?? origin,
      key: "key" in wanted ? wanted.key : world.key,
      checksConditions: wanted.isEmbedded === true,
    },
    send,
    clock: { now: () => now, monotonic: () => monotonic },
    random: { bytes: (count) => randomBytes(count) },
    sleep: (milliseconds, signal) => {
      waits.push(milliseconds);
      if (wanted.sleep !== undefined) return wanted.sleep(milliseconds, signal);
      advance(milliseconds);
      return Promise.resolve();
    },
    setTimer,
  });
  return {
    client,
    waits,
    ring: () => {
      for (const [ring, milliseconds] of timers) {
        advance(milliseconds);
        ring();
      }
    },
    countTimers: () => timers.size,
    advance,
    elapsed: () => monotonic,
  };
}

/** A traveller to a hostile deployment over real sockets. */
export type Expedition = Traveller & {
  readonly world: World;
  readonly hostile: Hostile;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type ExpeditionOptions = {
  readonly isMaster?: boolean;
  readonly sleep?: Sleep;
  /** What happens when the deployment leaves a call without an answer; else its time is up. */
  readonly onStall?: () => void;
};

export async function createExpedition(options: ExpeditionOptions = {}): Promise<Expedition> {
  const world = await createWorld();
  const stall = () => (options.onStall ?? traveller.ring)();
  const hostile = await openHostile(world, stall);
  const remote = openRemoteSender();
  const traveller = createTraveller({
    world,
    send: async (request, readSignal) => {
      const response = await remote.send(request, readSignal);
      if (response.headers[stallHeader] !== undefined) setImmediate(stall);
      return response;
    },
    origin: hostile.origin,
    key: options.isMaster === true ? world.master : world.key,
    ...(options.sleep !== undefined && { sleep: options.sleep }),
  });
  return {
    ...traveller,
    world,
    hostile,
    [Symbol.asyncDispose]: async () => {
      await remote.close();
      await hostile[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}
