import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { createBulk, type Bulk } from "../../src/bulk/bulk.ts";
import type { Owner } from "../../src/bulk/owner.ts";
import type { Client } from "../../src/client/client.ts";
import type { Clock } from "../../src/contract/clock.ts";
import type { Job } from "../../src/state/jobs.ts";
import type { State } from "../../src/state/state.ts";
import { createTimedClient } from "../client/clients.ts";
import { createWorld, type World } from "../support/world.ts";
import { createVirtualTime, type VirtualTime } from "./simulator/virtual-time.ts";
import { waitForEnd } from "./wait-for-end.ts";

/** Bulk work of one key without rate-limit pauses. A sleep ends when nothing else can run. */
export type TimelessBulk = {
  readonly world: World;
  readonly bulk: Bulk;
  readonly owner: Owner;
  readonly state: State;
  readonly time: VirtualTime;
  readonly reported: unknown[];
  readonly untilRest: (applied: Job | Promise<Job>) => Promise<Job>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type TimelessBulkOptions = {
  readonly clock?: Clock;
  readonly intercept?: (call: Client["call"]) => Client["call"];
};

export async function openBulk(wanted: TimelessBulkOptions = {}): Promise<TimelessBulk> {
  const world = await createWorld();
  const { clock = world.clock, intercept = (call) => call } = wanted;
  const time = createVirtualTime(() => undefined, world.isBusy);
  const reported: unknown[] = [];
  const random = { bytes: (count: number) => randomBytes(count) };
  const state = await world.openState({ clock, random });
  const bulk = createBulk({
    openState: () => Promise.resolve(state),
    clock,
    random,
    sleep: time.sleep,
    spacing_ms: 0,
    report: (error) => `reference-${reported.push(error)}`,
  });
  const rest = async (applied: Job | Promise<Job>) => {
    let job = await waitForEnd(bulk, applied);
    // The last rows of a cancelled job may still be running.
    while (job.isHeld) {
      await setImmediate();
      job = (await state.jobs.find(job.id)) ?? job;
    }
    return job;
  };
  return {
    world,
    bulk,
    owner: {
      key_print: "key",
      origin: "here",
      call: intercept(createTimedClient({ world }).client.call),
    },
    state,
    time,
    reported,
    untilRest: (applied) => time.drive(rest(applied)),
    [Symbol.asyncDispose]: async () => {
      await time.drive(bulk.close());
      await state.close();
      await world[Symbol.asyncDispose]();
    },
  };
}
