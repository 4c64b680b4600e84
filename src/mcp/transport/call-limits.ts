import type { SetAlarm } from "../../contract/clock.ts";
import type { Leaving } from "../../contract/leaving.ts";

/**
 * How many messages this process works on at a time, of one key and of all keys. The others wait
 * for a while, and keys take turns. A long message takes several places, because it is held in
 * memory.
 */
export type CallLimits = {
  /** Undefined where too many are open already. */
  readonly open: (key_print: string) => OpenCall | undefined;
  /** How many are open, of all keys or of one. */
  readonly count: (key_print?: string) => number;
};

export type OpenCall = {
  /** Waits for its place; false if none comes free in time, or the client leaves before. */
  readonly begin: (left: Leaving, bytes?: number) => Promise<boolean>;
  /** Gives back the places that it does not need for so many bytes. */
  readonly shrink: (bytes: number) => void;
  /** Leaves its place to others while the client is asked something. */
  readonly rest: () => void;
  readonly end: () => void;
};

const mostAtWork = 400;
const mostAtWorkOfKey = 100;
/** However busy other keys are, each key may do something. */
const alwaysOfKey = 16;
/** At work, waiting, or on their way. */
const mostOpen = 2500;
const mostOpenOfKey = 1200;
/** Less than the time that a client has for its whole request. */
const mostWait_ms = 10_000;
/** Each time that many bytes take one more place. */
export const place_bytes = 64 * 1024;

type Key = { open: number; atWork: number; readonly waiting: Set<Waiting> };
type Waiting = { readonly places: number; readonly letIn: () => void };
type All = { open: number; atWork: number };

export function createCallLimits(setAlarm: SetAlarm): CallLimits {
  /** The key whose turn is next comes first. */
  const keys = new Map<string, Key>();
  const all: All = { open: 0, atWork: 0 };

  return {
    open: (key_print) => {
      const key = keys.get(key_print) ?? { open: 0, atWork: 0, waiting: new Set() };
      const isFull = all.open >= mostOpen && key.open >= alwaysOfKey;
      if (isFull || key.open >= mostOpenOfKey) return undefined;
      keys.set(key_print, key);
      const onLeft = () => {
        if (key.open === 0) keys.delete(key_print);
        letIn();
      };
      return openCall(key, all, { setAlarm, onLeft });
    },
    count: (key_print) => (key_print === undefined ? all.open : (keys.get(key_print)?.open ?? 0)),
  };

  /** A key that has its turn comes last afterwards, and is looked at once more. */
  function letIn(): void {
    for (const [key_print, key] of keys) {
      // A long message lets short ones pass.
      const next = [...key.waiting].find(({ places }) => fits(places, key, all));
      if (next === undefined) continue;
      keys.delete(key_print);
      keys.set(key_print, key);
      next.letIn();
    }
  }
}

type Surroundings = { readonly setAlarm: SetAlarm; readonly onLeft: () => void };

function openCall(key: Key, all: All, { setAlarm, onLeft }: Surroundings): OpenCall {
  let held = 0;
  let hasEnded = false;
  key.open += 1;
  all.open += 1;
  return {
    begin: async (left, bytes = 0) => {
      if (held > 0) return true;
      const places = countPlaces(bytes);
      if (!fits(places, key, all)) return wait(places, left);
      take(places);
      return true;
    },
    shrink: (bytes) => give(held - countPlaces(bytes)),
    rest: () => give(held),
    end: () => {
      if (hasEnded) return;
      hasEnded = true;
      key.open -= 1;
      all.open -= 1;
      give(held);
    },
  };

  function take(places: number): void {
    held += places;
    key.atWork += places;
    all.atWork += places;
  }

  function give(places: number): void {
    take(-places);
    onLeft();
  }

  function wait(places: number, left: Leaving): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (hasPlace: boolean) => {
        key.waiting.delete(waiting);
        left.removeEventListener("abort", giveUp);
        stop();
        if (hasPlace) take(places);
        resolve(hasPlace);
      };
      const giveUp = () => end(false);
      const waiting = { places, letIn: () => end(true) };
      const stop = setAlarm(mostWait_ms, giveUp);
      key.waiting.add(waiting);
      left.addEventListener("abort", giveUp, { once: true });
      if (left.aborted) giveUp();
    });
  }
}

function fits(places: number, key: Key, all: All): boolean {
  const ofKey = key.atWork + places;
  if (ofKey <= alwaysOfKey) return true;
  return ofKey <= mostAtWorkOfKey && all.atWork + places <= mostAtWork;
}

function countPlaces(bytes: number): number {
  return 1 + Math.floor(bytes / place_bytes);
}
