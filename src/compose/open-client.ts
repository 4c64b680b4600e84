import { setTimeout } from "node:timers/promises";
import type { Via } from "../contract/api-message.ts";
import { createClient, type Client } from "../client/client.ts";
import type { SetTimer } from "../client/send-once.ts";
import { printKey } from "../mcp/access/key-context.ts";
import type { State } from "../state/state.ts";
import type { Deployment } from "./deployment.ts";
import { clock, random, setAlarm } from "./embedded.ts";
import { shareBudgets } from "./shared-rate-limit.ts";

type ClientParts = {
  readonly key: string | undefined;
  readonly via?: Via | undefined;
  /** Ends the calls that have no signal of their own. */
  readonly life: AbortSignal;
  readonly openState: () => Promise<State>;
  readonly report: (error: unknown) => string;
};

export function openClient({ origin, send, own }: Deployment, parts: ClientParts): Client {
  const { key, life, via } = parts;
  // Our own service counts for each process, and so does its client.
  const print = printKey(key);
  const ledger = own === undefined ? shareBudgets(clock, print, parts) : undefined;
  const target = { origin, key, checksConditions: own !== undefined, via };
  const client = createClient({ target, send, clock, random, sleep, ledger, setTimer });
  return {
    call: (endpoint, input, signal = life, options) =>
      client.call(endpoint, input, signal, options),
    isSameTime: client.isSameTime,
    requireBudget: client.requireBudget,
    tryOnce: (endpoint, asked) => client.tryOnce(endpoint, { signal: life, ...asked }),
  };
}

const setTimer: SetTimer = (ring, milliseconds) => setAlarm(milliseconds, ring);

export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal });
}
