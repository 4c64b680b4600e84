import type { SetAlarm } from "../../contract/clock.ts";
import type { CallerSignal } from "../../contract/waiting.ts";

/**
 * Limits how many messages this process handles at a time, per key and in total. Further messages
 * wait, and keys take turns. A long message uses several slots, because it is kept in memory.
 */
export type CallLimits = {
  /** Returns undefined if too many messages are open. */
  readonly open: (key_print: string) => OpenCall | undefined;
  readonly count: (key_print?: string) => number;
};

export type OpenCall = {
  /** Waits for free slots. Returns false if that takes too long or the client disconnects. */
  readonly begin: (signal: CallerSignal, bytes?: number) => Promise<boolean>;
  /** Releases the slots that a message of this size does not need. */
  readonly shrink: (bytes: number) => void;
  /** Releases the slots while the client waits for a user's answer. */
  readonly releaseSlots: () => void;
  readonly end: () => void;
};

const mostRunning = 400;
const mostRunningPerKey = 100;
/** Each key can always use this many slots, even if other keys use up all others. */
const reservedPerKey = 16;
/** The maximum number of messages that are running, waiting or still arriving. */
const mostOpen = 2500;
const mostOpenPerKey = 1200;
/** The wait for a slot must be shorter than the timeouts of clients. */
const mostWait_ms = 10_000;
/** A message uses one slot, plus one for each full unit of this size. */
export const slot_bytes = 64 * 1024;

type KeyLoad = { open: number; running: number; readonly waiting: Set<WaitingMessage> };
type WaitingMessage = { readonly slots: number; readonly start: () => void };
type TotalLoad = { open: number; running: number };

export function createCallLimits(setAlarm: SetAlarm): CallLimits {
  /** The load of each key, in the order in which keys take turns. */
  const keys = new Map<string, KeyLoad>();
  const all: TotalLoad = { open: 0, running: 0 };

  return {
    open: (key_print) => {
      const key = keys.get(key_print) ?? { open: 0, running: 0, waiting: new Set() };
      const isFull = all.open >= mostOpen && key.open >= reservedPerKey;
      if (isFull || key.open >= mostOpenPerKey) return undefined;
      keys.set(key_print, key);
      const onLeft = () => {
        if (key.open === 0) keys.delete(key_print);
        startWaiting();
      };
      return openCall(key, all, { setAlarm, onLeft });
    },
    count: (key_print) => (key_print === undefined ? all.open : (keys.get(key_print)?.open ?? 0)),
  };

  /** Starts waiting messages in turns: moving a key to the end makes the loop visit it again. */
  function startWaiting(): void {
    for (const [key_print, key] of keys) {
      // A short message may overtake a long one that is still waiting.
      const next = [...key.waiting].find(({ slots }) => fits(slots, key, all));
      if (next === undefined) continue;
      keys.delete(key_print);
      keys.set(key_print, key);
      next.start();
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
    begin: async (signal, bytes = 0) => {
      if (held > 0) return true;
      const slots = countSlots(bytes);
      if (!fits(slots, key, all)) return wait(slots, signal);
      take(slots);
      return true;
    },
    shrink: (bytes) => release(held - countSlots(bytes)),
    releaseSlots: () => release(held),
    end: () => {
      if (hasEnded) return;
      hasEnded = true;
      key.open -= 1;
      all.open -= 1;
      release(held);
    },
  };

  function take(slots: number): void {
    held += slots;
    key.running += slots;
    all.running += slots;
  }

  function release(slots: number): void {
    take(-slots);
    onLeft();
  }

  function wait(slots: number, signal: CallerSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (hasStarted: boolean) => {
        key.waiting.delete(waiting);
        signal.removeEventListener("abort", giveUp);
        stop();
        if (hasStarted) take(slots);
        resolve(hasStarted);
      };
      const giveUp = () => end(false);
      const waiting = { slots, start: () => end(true) };
      const stop = setAlarm(mostWait_ms, giveUp);
      key.waiting.add(waiting);
      signal.addEventListener("abort", giveUp, { once: true });
      if (signal.aborted) giveUp();
    });
  }
}

function fits(slots: number, key: KeyLoad, all: TotalLoad): boolean {
  const ofKey = key.running + slots;
  if (ofKey <= reservedPerKey) return true;
  return ofKey <= mostRunningPerKey && all.running + slots <= mostRunning;
}

function countSlots(bytes: number): number {
  return 1 + Math.floor(bytes / slot_bytes);
}
