import type { Notification, Result } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";
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

/** Direct calls that can be ended from elsewhere. */
export type TrackedCalls = DirectCalls & {
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
    find: (message, headers) => {
      const call = find(message, headers);
      if (call === undefined) return undefined;
      const { id, name, isFollowed } = call;
      const mark = tell?.() ?? id;
      // Where one with its id was given up, and has not ended yet, the SDK has the second.
      if (running.has(mark)) return undefined;
      const begin: DirectCall["begin"] = (notify, requestId) => {
        const { result, leave } = call.begin(notify, requestId);
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

/** The request that a message gives up. */
export function readCancelled(message: unknown): Id | undefined {
  if (!isJsonObject(message) || message["method"] !== "notifications/cancelled") return undefined;
  const { requestId } = isJsonObject(message["params"]) ? message["params"] : {};
  return isId(requestId) ? requestId : undefined;
}
