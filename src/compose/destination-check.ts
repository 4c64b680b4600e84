import type { Config } from "../config.ts";
import type { Internet } from "../network/hosts/ask-address.ts";
import {
  createDestinationCheck,
  type DestinationCheck,
} from "../network/hosts/check-destinations.ts";
import type { FetchFile, PublicFiles } from "../network/hosts/fetch-file.ts";
import { resolveHost, type Reach } from "../network/hosts/pinned-connection.ts";
import { isPublicAddress } from "../network/public-address.ts";
import type { State } from "../state/state.ts";
import { setAlarm } from "./embedded.ts";

/** Undefined where the operator has not allowed that strangers' hosts are asked. */
export function openDestinationCheck(
  { check_destinations }: Config,
  openState: () => Promise<Pick<State, "hostBudget">>,
): DestinationCheck | undefined {
  if (!check_destinations) return undefined;
  const spend = async (keyPrint: string, hosts: number) =>
    (await openState()).hostBudget.take(keyPrint, hosts);
  return createDestinationCheck({ internet: publicInternet, setAlarm, spend });
}

const publicReach: Reach = { resolve: resolveHost, isPublic: isPublicAddress };
const publicInternet: Internet = { ...publicReach, ports: new Set([80, 443]) };

/** Of hosts: the project's own, and those that keep copies of its files. */
export const fetchPublicFile: FetchFile = async (asked, signal) => {
  const { createFetchFile } = await import("../network/hosts/fetch-file.ts");
  return createFetchFile({ reach: publicReach, setAlarm })(asked, signal);
};

export function openPublicFiles(openState: () => Promise<Pick<State, "hostBudget">>): PublicFiles {
  return {
    fetchFile: fetchPublicFile,
    mayAsk: async (keyPrint) => (await (await openState()).hostBudget.take(keyPrint, 1)) > 0,
  };
}
