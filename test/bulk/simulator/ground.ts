import type { Clock } from "../../../src/contract/clock.ts";
import type { State } from "../../../src/state/state.ts";
import { createWorld, type World } from "../../support/world.ts";
import { createChance } from "./chance.ts";

/** What many seeds stand on, for making it costs more than a seed: each has its own project. */
export type Ground = {
  readonly world: World;
  /** What the processes of the machine share, beside the service's tables. */
  readonly state: State;
  readonly clock: Clock;
  /** Sets the machine's time of day apart from the world's. */
  readonly setAhead: (milliseconds: number) => void;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function openGround(): Promise<Ground> {
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
