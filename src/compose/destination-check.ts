import type { Config } from "../config.ts";
import type { Internet } from "../network/hosts/ask-address.ts";
import {
  createDestinationCheck,
  type DestinationCheck,
} from "../network/hosts/check-destinations.ts";
import { resolveHost } from "../network/hosts/pinned-connection.ts";
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

const publicInternet: Internet = {
  resolve: resolveHost,
  isPublic: isPublicAddress,
  ports: new Set([80, 443]),
};
