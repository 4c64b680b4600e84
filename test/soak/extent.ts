import { createChance, type Chance } from "../support/chance.ts";

/** `SOAK=SEED` lets each fault last minutes instead of seconds, with the choices of that seed. */
const { SOAK: seed } = process.env;

/** A size: the first in a soak run, the second in a normal test run. */
export function scale(full: number, short: number): number {
  return seed === undefined ? short : full;
}

export function openChance(name: string): Chance {
  return createChance(Number(seed ?? 1), name);
}
