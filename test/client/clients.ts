import { randomBytes } from "node:crypto";
import { createClient, type Client, type Sleep } from "../../src/client/client.ts";
import type { SetAlarm } from "../../src/contract/clock.ts";
import type { Send } from "../../src/client/send-once.ts";
import { openRemoteSender } from "../../src/client/remote-sender.ts";
import { sendByFetch, type Fetch } from "../support/stage.ts";
import { openHostile, stallHeader, type Hostile } from "../support/hostile.ts";
import { createWorld, origin, type World } from "../support/world.ts";

/** A client in virtual time. Waits advance the clock, and timers fire only on `ring`. */

export type TimedClient = {
  readonly client: Client;
  /** The waits between tries, in milliseconds. */
  readonly waits: readonly number[];
  readonly ring: () => void;
  readonly countTimers: () => number;
  readonly advance: (milliseconds: number) => void;
  readonly elapsed: () => number;
};

type TimedClientOptions = {
  readonly world: World;
  /** Sends the requests if `send` is missing. */
  readonly fetch?: Fetch;
  readonly send?: Send;
  readonly origin?: string;
  readonly key?: string | undefined;
  readonly sleep?: Sleep;
  readonly isEmbedded?: boolean;
};

export function createTimedClient(wanted: TimedClientOptions): TimedClient {
  const { world, fetch = world.fetch, send = sendByFetch(fetch) } = wanted;
  const waits: number[] = [];
  const timers = new Map<() => void, number>();
  // The clocks of the client and of the service start at the same time and advance together.
  let now = Date.UTC(2026, 0, 15, 12);
  let monotonic = 0;
  const advance = (milliseconds: number) => {
    world.advance(milliseconds);
    now += milliseconds;
    monotonic += milliseconds;
  };
  const setAlarm: SetAlarm = (milliseconds, ring) => {
    timers.set(ring, milliseconds);
    return () => timers.delete(ring);
  };
  const client = createClient({
    target: {
      origin: wanted.origin ?? origin,
      key: "key" in wanted ? wanted.key : world.key,
      isEmbedded: wanted.isEmbedded === true,
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
    setAlarm,
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

export type ClientWithFaults = TimedClient & {
  readonly world: World;
  readonly hostile: Hostile;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type ClientWithFaultsOptions = {
  readonly isMaster?: boolean;
  readonly sleep?: Sleep;
  /** Runs when the server does not respond. By default, the timers fire. */
  readonly onStall?: () => void;
};

export async function createClientWithFaults(
  options: ClientWithFaultsOptions = {},
): Promise<ClientWithFaults> {
  const world = await createWorld();
  const stall = () => (options.onStall ?? caller.ring)();
  const hostile = await openHostile(world, stall);
  const remote = openRemoteSender();
  const caller = createTimedClient({
    world,
    send: async (request, signal) => {
      const response = await remote.send(request, signal);
      if (response.headers[stallHeader] !== undefined) setImmediate(stall);
      return response;
    },
    origin: hostile.origin,
    key: options.isMaster === true ? world.master : world.key,
    ...(options.sleep !== undefined && { sleep: options.sleep }),
  });
  return {
    ...caller,
    world,
    hostile,
    [Symbol.asyncDispose]: async () => {
      await remote.close();
      await hostile[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}
