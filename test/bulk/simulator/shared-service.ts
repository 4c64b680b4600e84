import type { Clock } from "../../../src/contract/clock.ts";
import type { State } from "../../../src/state/state.ts";
import { createWorld, type World } from "../../support/world.ts";
import { createChance } from "../../support/chance.ts";

/** The service that many seeds share, as starting it is slow. Each seed has its own project. */
export type Service = {
  readonly world: World;
  readonly state: State;
  readonly clock: Clock;
  readonly setAhead: (milliseconds: number) => void;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function openService(): Promise<Service> {
  const world = await createWorld();
  let ahead_ms = 0;
  const clock = { now: () => world.now() + ahead_ms, monotonic: world.clock.monotonic };
  const random = createChance(0, "state");
  const state = await world.openState({ clock, random });
  return {
    world,
    state,
    clock,
    setAhead: (milliseconds) => (ahead_ms = milliseconds),
    [Symbol.asyncDispose]: async () => {
      await state.close();
      await world[Symbol.asyncDispose]();
    },
  };
}
