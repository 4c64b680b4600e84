import type { SetAlarm } from "../../contract/clock.ts";
import { createLine, type Line, type Place, type Wanted } from "./line.ts";
import { messageBytes } from "./message-size.ts";
import { countBytes, megabyte, most_bytes, mostOfClient_bytes } from "./session-limits.ts";

/**
 * How much calls over HTTP may hold and do at a time. By memory so many are begun, of a client and
 * in all; of a key some are worked on, and the others wait for their turn.
 */

/** Where a call comes from. */
export type CallOrigin = {
  readonly key_print: string;
  /** Who counts as one where it comes to memory. */
  readonly client: string;
  /** One that is open here. */
  readonly session: string | undefined;
};

export type CallLimits = {
  /** Undefined where there is no room for it; else to be called when it has ended. */
  readonly admit: (from: CallOrigin) => (() => void) | undefined;
  /**
   * Room for a long message, by what it takes, for which keys take turns; undefined where there was
   * none in time, or its client has left.
   */
  readonly awaitRoom: (wanted: Wanted, left: AbortSignal) => Promise<Place | undefined>;
};

const most = most_bytes / countBytes(0);
const mostOfClient = mostOfClient_bytes / countBytes(0);
/**
 * What a handshake was admitted with has room for a call and for what its client sends meanwhile:
 * an answer to what it is asked, or that it gives the call up.
 */
const mostOfSession = 2;
/** However much others hold, each key may do something. */
const alwaysOfKey = 16;

/** Of one key's calls so many are worked on at a time. */
const mostAtWork = 100;
/** What takes longer than this waits for something else than the processor. */
const atWork_ms = 1000;

/** So much of a message is held as a part of its call. */
export const long_bytes = 64 * 1024;
const mostLong_bytes = 128 * megabyte;
const mostLongOfKey_bytes = 64 * megabyte;
/** Well within the time that a client has for its whole request. */
const awaitRoom_ms = 10_000;

/** One that does not tell its length may be. */
export function isLong(length: string | undefined): boolean {
  return Number(length ?? messageBytes) > long_bytes;
}

/** What a long message takes once it is parsed. */
export function weighMessage(length: number | string | null | undefined): number {
  const bytes = Number(length ?? messageBytes);
  return countBytes(Math.min(bytes, messageBytes)) - countBytes(0);
}

/** Of the calls of one key, of which its clients take turns. */
export function createWorkLine(setAlarm: SetAlarm): Line {
  return createLine({ most: mostAtWork, lost: { after_ms: atWork_ms, setAlarm } });
}

export function createCallLimits(setAlarm: SetAlarm): CallLimits {
  const [ofKeys, ofClients, ofSessions] = [createTally(), createTally(), createTally()];
  const longMessages = createLine({
    most: mostLong_bytes,
    mostOfEach: mostLongOfKey_bytes,
  });
  let all = 0;

  return {
    awaitRoom: async (wanted, left) => {
      const place = longMessages.enter(wanted);
      if (place !== undefined) return place;
      const late = new AbortController();
      const stop = setAlarm(awaitRoom_ms, () => late.abort());
      const givenUp = AbortSignal.any([left, late.signal]);
      return longMessages.wait(wanted, givenUp).finally(stop);
    },
    admit: ({ key_print, client, session }) => {
      if (session !== undefined && ofSessions.read(session) < mostOfSession) {
        return endOnce(ofSessions.add(session));
      }
      const hasRoom = all < most && ofClients.read(client) < mostOfClient;
      if (!hasRoom && ofKeys.read(key_print) >= alwaysOfKey) return undefined;
      all += 1;
      const removals = [ofKeys.add(key_print), ofClients.add(client)];
      return endOnce(() => {
        all -= 1;
        for (const remove of removals) remove();
      });
    },
  };
}

function createTally() {
  const counts = new Map<string, number>();
  const read = (name: string) => counts.get(name) ?? 0;
  return {
    read,
    add: (name: string) => {
      counts.set(name, read(name) + 1);
      return () => {
        const left = read(name) - 1;
        if (left === 0) counts.delete(name);
        else counts.set(name, left);
      };
    },
  };
}

function endOnce(end: () => void): () => void {
  let hasEnded = false;
  return () => {
    if (!hasEnded) end();
    hasEnded = true;
  };
}
