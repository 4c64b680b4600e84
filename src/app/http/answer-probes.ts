import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import type { SetAlarm } from "../../contract/clock.ts";
import { isRead } from "../../network/read-request.ts";
import { respondJson } from "./respond-json.ts";

/** Answers the probes of load balancers: whether the process is alive, and whether it is ready. */

/** Returns why the process is not ready, without secrets; undefined if it is ready. */
export type ReadUnready = () => Promise<string | undefined>;

/** Set by the build; undefined when running from source. */
declare const WAYPOST_VERSION: string;
const version = typeof WAYPOST_VERSION === "undefined" ? "source" : WAYPOST_VERSION;

const alivePath = "/healthz";
const readyPath = "/readyz";

/** Returns false if the request is not a probe. */
export function answerProbe(
  request: Pick<IncomingMessage, "method" | "url">,
  response: ServerResponse,
  readUnready: ReadUnready,
): boolean {
  const path = request.url?.split("?", 1)[0];
  if (!isRead(request) || !isProbePath(path)) return false;
  if (path === alivePath) respondJson(response, 200, { status: "ok", version });
  else void answerReady(response, readUnready);
  return true;
}

async function answerReady(response: ServerResponse, readUnready: ReadUnready): Promise<void> {
  const reason = await readUnready();
  if (reason === undefined) return respondJson(response, 200, { status: "ready" });
  response.setHeader("retry-after", "1");
  respondJson(response, 503, { status: reason });
}

/**
 * Load balancers send probes to a process's IP address. No link host is an IP address, so these
 * requests skip the host lookup, which would fail while the store is down.
 */
export function isProbeOfAddress(url: string | undefined, host: string): boolean {
  return isProbePath(url) && isIP(host.replace(/^\[|\]$/g, "")) !== 0;
}

function isProbePath(path: string | undefined): boolean {
  return path === alivePath || path === readyPath;
}

type Readiness = {
  readonly readUnready: ReadUnready;
  /** Makes all later probes fail, because the process is stopping. */
  readonly stop: () => void;
};

/** If the store takes longer to respond, the process is not ready. */
const answerWithin_ms = 1000;

/** The process is ready if each store responds and its tables have this program's version. */
export function createReadiness(
  stores: readonly { readonly isCurrent: () => Promise<boolean> }[],
  setAlarm: SetAlarm,
): Readiness {
  let isStopping = false;
  let looking: Promise<string | undefined> | undefined;

  async function look(): Promise<string | undefined> {
    try {
      const found = await Promise.all(stores.map((store) => store.isCurrent()));
      return found.includes(false) ? "store of another version" : undefined;
    } catch {
      return "store unavailable";
    }
  }

  function lookInTime(): Promise<string | undefined> {
    return new Promise((resolve) => {
      const stopAlarm = setAlarm(answerWithin_ms, () => resolve("store unavailable"));
      // While a query hangs, further probes wait for it instead of starting another.
      looking ??= look().finally(() => (looking = undefined));
      void looking.then(resolve).finally(stopAlarm);
    });
  }

  return {
    readUnready: () => (isStopping ? Promise.resolve("stopping") : lookInTime()),
    stop: () => (isStopping = true),
  };
}
