import type { Send } from "../../src/client/send-once.ts";
import type { ApiRequest } from "../../src/contract/api-message.ts";

/** The way from an assistant's client to the API, where a test may look on and step in. */
export type WatchedCarrier = {
  readonly send: Send;
  /** Requests let through to the API that change something, and previews, which cost budget. */
  readonly writes: readonly string[];
  /** How many requests the API was asked in all. */
  readonly countAsked: () => number;
  /** Lets another writer come at that moment, once: nothing of the call happens meanwhile. */
  readonly interrupt: (moment: Moment, edit: Edit) => void;
  readonly reach: (moment: Moment) => Promise<void>;
};

/** Right after a person's yes was counted, or right before a request that changes something. */
type Moment = "approved" | "write";
type Edit = () => Promise<unknown>;

/** What many a framework says where there is no route: a page of its own. */
const notThere = {
  status: 404,
  headers: {},
  readBody: () => Promise.resolve(undefined),
  discard: () => {},
};

export function watchCarrier(carry: Send, lacks: readonly string[]): WatchedCarrier {
  const writes: string[] = [];
  const waiting = new Map<Moment, Edit>();
  let asked = 0;
  const reach = async (moment: Moment) => {
    const edit = waiting.get(moment);
    waiting.delete(moment);
    await edit?.();
  };
  return {
    send: async (request, signal) => {
      if (request.onlyBudget === true) return carry(request, signal);
      const { pathname } = new URL(request.url);
      asked += 1;
      if (changesSomething(request) || pathname.endsWith("/preview")) {
        writes.push(`${request.method} ${pathname}`);
      }
      if (lacks.some((path) => pathname === `/api/v1${path}`)) return notThere;
      if (changesSomething(request)) await reach("write");
      return carry(request, signal);
    },
    writes,
    countAsked: () => asked,
    interrupt: (moment, edit) => void waiting.set(moment, edit),
    reach,
  };
}

/** POST also renders previews and resolves addresses. An empty save reads a draft. */
function changesSomething({ method, url, body }: ApiRequest): boolean {
  return method !== "GET" && !/\/(?:preview|resolve)$/.test(url) && body !== "{}";
}
