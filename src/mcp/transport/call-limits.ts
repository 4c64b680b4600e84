import type { SetAlarm } from "../../contract/clock.ts";
import type { Leaving } from "../../contract/waiting.ts";

/**
 * Limits how many messages this process handles at a time, for each key and for all keys. More
 * messages wait for a while, and keys take turns. A long message counts as several, because it is
 * held in memory.
 */
export type CallLimits = {
  /** Undefined if too many messages are open already. */
  readonly open: (key_print: string) => OpenCall | undefined;
  /** How many messages are open, of all keys or of one. */
  readonly count: (key_print?: string) => number;
};

export type OpenCall = {
  /** Waits until the message may be handled. False if that takes too long, or the client leaves. */
  readonly begin: (left: Leaving, bytes?: number) => Promise<boolean>;
  /** Returns the places that a message of this size does not need. */
  readonly shrink: (bytes: number) => void;
  /** Frees the places while the client is asked a question. */
  readonly rest: () => void;
  readonly end: () => void;
};

const mostAtWork = 400;
const mostAtWorkOfKey = 100;
/** Each key may run this many, even if other keys use up the rest. */
const alwaysOfKey = 16;
/** Includes messages that are being handled, that wait, and that are still arriving. */
const mostOpen = 2500;
const mostOpenOfKey = 1200;
/** Less than the time that clients wait for a response. */
const mostWait_ms = 10_000;
/** A message takes one more place for each of these bytes. */
export const place_bytes = 64 * 1024;

type KeyLoad = { open: number; atWork: number; readonly waiting: Set<WaitingMessage> };
type WaitingMessage = { readonly places: number; readonly letIn: () => void };
type TotalLoad = { open: number; atWork: number };

export function createCallLimits(setAlarm: SetAlarm): CallLimits {
  /** In the order of their turns. */
  const keys = new Map<string, KeyLoad>();
  const all: TotalLoad = { open: 0, atWork: 0 };

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

  /**
   * Starts waiting messages. A key that had its turn moves to the end and is visited again there,
   * so that it can start another one.
   */
  function letIn(): void {
    for (const [key_print, key] of keys) {
      // Short messages need not wait for a long one.
      const next = [...key.waiting].find(({ places }) => fits(places, key, all));
      if (next === undefined) continue;
      keys.delete(key_print);
      keys.set(key_print, key);
      next.letIn();
    }
  }
}

type CallHooks = { readonly setAlarm: SetAlarm; readonly onLeft: () => void };

function openCall(key: KeyLoad, all: TotalLoad, { setAlarm, onLeft }: CallHooks): OpenCall {
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
      const end = (hasPosition: boolean) => {
        key.waiting.delete(waiting);
        left.removeEventListener("abort", giveUp);
        stop();
        if (hasPosition) take(places);
        resolve(hasPosition);
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

function fits(places: number, key: KeyLoad, all: TotalLoad): boolean {
  const ofKey = key.atWork + places;
  if (ofKey <= alwaysOfKey) return true;
  return ofKey <= mostAtWorkOfKey && all.atWork + places <= mostAtWork;
}

function countPlaces(bytes: number): number {
  return 1 + Math.floor(bytes / place_bytes);
}
