import type { Notification, Result } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";
import type { Place } from "./line.ts";
import { isId, type Id, type OpenIds } from "./open-ids.ts";

/** Answers some calls by itself, so that they need not go through the SDK. */
export type DirectCalls = {
  readonly knows: (headers: string) => boolean;
  /** Over HTTP those whose headers are as of one that the SDK has let through. */
  readonly find: (message: unknown, headers?: string) => DirectCall | undefined;
};

export type DirectCall = {
  readonly id: Id;
  /** The tool's. */
  readonly name: string;
  /** Whether its client wants to be told how far it is. */
  readonly isFollowed: boolean;
  readonly begin: (notify: Notify, requestId?: string) => DirectAnswer;
};

type Notify = (notification: Notification) => Promise<void>;

type DirectAnswer = {
  /** Rejects where the SDK has to answer after all. */
  readonly result: Promise<Result | "cancelled">;
  /** Its client waits no longer for it. */
  readonly leave: () => void;
};

/** Whether a call may be worked on now; else it waits for that until it is given up. */
export type Turn = {
  readonly enter: () => Place | undefined;
  readonly wait: (givenUp: AbortSignal) => Promise<Place | undefined>;
};

/** Direct calls that can be ended from elsewhere. */
export type TrackedCalls = Omit<DirectCalls, "find"> & {
  readonly find: (message: unknown, headers?: string, turn?: Turn) => DirectCall | undefined;
  /** Ends the call that a message gives up, if it does. */
  readonly hear: (message: unknown) => void;
  readonly cancelAll: () => void;
};

/** Where calls over HTTP come from: a session, or whoever calls without one. */
export type DirectWay = {
  readonly session: string | undefined;
  readonly calls: TrackedCalls;
  readonly ids: OpenIds;
  readonly use: { readonly begin: () => void; readonly end: () => void };
};

/** Ids are those of one client; where there are several, `tell` tells their calls apart. */
export function trackDirect({ knows, find }: DirectCalls, tell?: () => symbol): TrackedCalls {
  const running = new Map<Id | symbol, () => void>();
  return {
    knows,
    find: (message, headers, turn) => {
      const call = find(message, headers);
      if (call === undefined) return undefined;
      const { id, name, isFollowed } = call;
      const mark = tell?.() ?? id;
      // Where one with its id was given up, and has not ended yet, the SDK has the second.
      if (running.has(mark)) return undefined;
      const begin: DirectCall["begin"] = (notify, requestId) => {
        const beginNow = () => call.begin(notify, requestId);
        const { result, leave } = turn === undefined ? beginNow() : beginInTurn(beginNow, turn);
        running.set(mark, leave);
        return { result: result.finally(() => running.delete(mark)), leave };
      };
      return { id, name, isFollowed, begin };
    },
    hear: (message) => {
      const id = readCancelled(message);
      if (id !== undefined) running.get(id)?.();
    },
    cancelAll: () => {
      for (const leave of running.values()) leave();
    },
  };
}

function beginInTurn(begin: () => DirectAnswer, turn: Turn): DirectAnswer {
  const beginAt = ({ leave: leavePlace }: Place): DirectAnswer => {
    const { result, leave } = begin();
    return { result: result.finally(leavePlace), leave };
  };
  const place = turn.enter();
  if (place !== undefined) return beginAt(place);
  const givenUp = new AbortController();
  let begun: DirectAnswer | undefined;
  const result = turn.wait(givenUp.signal).then((late) => {
    begun = late && beginAt(late);
    return begun?.result ?? "cancelled";
  });
  const leave = () => {
    givenUp.abort();
    begun?.leave();
  };
  return { result, leave };
}

/** The request that a message gives up. */
export function readCancelled(message: unknown): Id | undefined {
  if (!isJsonObject(message) || message["method"] !== "notifications/cancelled") return undefined;
  const { requestId } = isJsonObject(message["params"]) ? message["params"] : {};
  return isId(requestId) ? requestId : undefined;
}
