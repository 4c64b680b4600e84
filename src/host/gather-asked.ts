import type { Awaitable } from "../contract/awaitable.ts";

/**
 * Finds together what is asked for in one turn of the event loop: one statement for many costs less
 * than one for each, and far less where the database is somewhere else. What is found, in the order
 * of the keys, is taken at once: a promise for each step would cost as much as the step.
 */
export function gatherAsked<Found, Taken>(
  findAll: (keys: readonly string[]) => Promise<readonly Found[]>,
): (key: string, take: (found: Found | undefined) => Awaitable<Taken>) => Promise<Taken> {
  let turn: Promise<readonly Found[]> | undefined;
  /** Of what is asked for by very many at once there is one place as well. */
  let places = new Map<string, number>();

  function find(): Promise<readonly Found[]> {
    const asked = [...places.keys()];
    places = new Map();
    turn = undefined;
    return findAll(asked);
  }

  return (key, take) => {
    const place = places.get(key) ?? places.size;
    places.set(key, place);
    turn ??= new Promise((resolve) => setImmediate(() => resolve(find())));
    return turn.then((found) => take(found[place]));
  };
}
