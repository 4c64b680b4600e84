import type { SetAlarm } from "../../contract/clock.ts";
import { limitTime } from "./limit-time.ts";
import { askAddress, type Internet, type Outcome } from "./ask-address.ts";

/** Asks many hosts whether links lead anywhere there, within the bounds of one call. */

type HostAsked = { readonly host: string; readonly addresses: readonly string[] };

export type DestinationCheck = (
  hosts: readonly HostAsked[],
  keyPrint: string,
  signal: AbortSignal,
) => Promise<{
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** Hosts for which there was no time, or nothing left of the key's budget. */
  readonly left: number;
}>;

type Options = {
  readonly internet: Internet;
  readonly setAlarm: SetAlarm;
  /** How many of so many hosts the key may have asked now. */
  readonly spend: (keyPrint: string, hosts: number) => Promise<number>;
};

/** For all addresses of a host together, its name and its redirects included. */
const mostOfHost_ms = 5000;
const mostOfAll_ms = 25_000;
const mostAtOnce = 16;

export function createDestinationCheck({ internet, setAlarm, spend }: Options): DestinationCheck {
  return async (hosts, keyPrint, signal) => {
    const outcomes = new Map<string, Outcome>();
    const allowed = hosts.slice(0, await spend(keyPrint, hosts.length));
    const end = limitTime(signal, mostOfAll_ms, setAlarm);
    let next = 0;
    const work = async () => {
      for (let asked = allowed[next]; asked !== undefined; asked = allowed[next]) {
        if (end.signal.aborted) return;
        next += 1;
        await askHost(asked);
      }
    };
    const askHost = async ({ addresses }: HostAsked) => {
      const own = limitTime(end.signal, mostOfHost_ms, setAlarm);
      for (const address of addresses) {
        if (own.signal.aborted) break;
        const outcome = await askAddress(address, internet, own.signal);
        // Broken off with the call, it says nothing of the host.
        if (!end.signal.aborted) outcomes.set(address, outcome);
      }
      own.stop();
    };
    await Promise.all(Array.from({ length: mostAtOnce }, work));
    end.stop();
    signal.throwIfAborted();
    const isAsked = ({ addresses }: HostAsked) => addresses.some((one) => outcomes.has(one));
    return { outcomes, left: hosts.filter((host) => !isAsked(host)).length };
  };
}
