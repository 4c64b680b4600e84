import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import type { SetAlarm } from "../contract/clock.ts";
import { isRead } from "../network/read-method.ts";
import { respondJson } from "./respond-json.ts";

/** What balancers ask: whether the process lives, and whether it is to be sent anything. */

/** Why nothing is to be sent, in words that give nothing away; undefined where all is well. */
export type ReadUnready = () => Promise<string | undefined>;

/** Set by the build. The source itself has no version. */
declare const WAYPOST_VERSION: string;
const version = typeof WAYPOST_VERSION === "undefined" ? "source" : WAYPOST_VERSION;

const alivePath = "/healthz";
const readyPath = "/readyz";

/** False where something else was asked. */
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
 * A balancer asks each process by its address, and no link host has such a name. Whether the store
 * can tell of it is just what is asked.
 */
export function isProbeOfAddress(url: string | undefined, host: string): boolean {
  return isProbePath(url) && isIP(host.replace(/^\[|\]$/g, "")) !== 0;
}

function isProbePath(path: string | undefined): boolean {
  return path === alivePath || path === readyPath;
}

type Readiness = {
  readonly readUnready: ReadUnready;
  /** From now on nothing is to be sent. */
  readonly stop: () => void;
};

/** Who has no answer by then is not to be sent anything either. */
const answerWithin_ms = 1000;

/** Each of the stores is asked whether its tables are those that this program knows. */
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
      // A store that hangs is not asked by every balancer once more.
      looking ??= look().finally(() => (looking = undefined));
      void looking.then(resolve).finally(stopAlarm);
    });
  }

  return {
    readUnready: () => (isStopping ? Promise.resolve("stopping") : lookInTime()),
    stop: () => (isStopping = true),
  };
}
