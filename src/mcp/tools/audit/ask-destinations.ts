import type { Found } from "../../../audit/findings.ts";
import { createDestinationList, type DestinationList } from "../../../audit/list-destinations.ts";
import { toSignal } from "../../../contract/leaving.ts";
import type { DestinationCheck } from "../../../network/hosts/check-destinations.ts";
import { refuseArguments } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

/** Whether anything answers where links lead, where the operator allows that it is asked. */

type DestinationAsking = Pick<DestinationList, "addLinks"> & {
  readonly finish: () => Promise<Asked>;
};

type Asked = {
  readonly found: readonly Found[];
  readonly notChecked: readonly string[];
  /** On each page other hosts are asked. */
  readonly pages: number;
};

const hostsPerPage = 200;

export function requireAsking({ keyContext }: Call): DestinationCheck {
  const { askDestinations } = keyContext;
  if (askDestinations !== undefined) return askDestinations;
  const message =
    "check_destinations is off: the operator of this server has to set " +
    "WAYPOST_CHECK_DESTINATIONS=on";
  const fix = "Tell the user, or leave check_destinations out.";
  throw refuseArguments("audit_links", [{ field: "check_destinations", message, fix }]);
}

export function createDestinationAsking(
  ask: DestinationCheck,
  page: number,
  { keyContext, signal, tellProgress }: Call,
): DestinationAsking {
  const destinations = createDestinationList();
  return {
    addLinks: destinations.addLinks,
    finish: async () => {
      const all = destinations.list();
      const hosts = all.slice((page - 1) * hostsPerPage, page * hostsPerPage);
      tellProgress({ progress: 0, total: hosts.length, message: `Asking ${hosts.length} hosts` });
      const { outcomes, left } = await ask(hosts, keyContext.key_print, toSignal(signal));
      const later = all.length - hosts.length;
      return {
        found: destinations.judge(outcomes),
        notChecked: [
          ...(left === 0 ? [] : [`${left} hosts: time or the key's hourly budget was used up.`]),
          ...(later === 0 ? [] : [`${later} hosts, which other pages ask.`]),
        ],
        pages: Math.ceil(all.length / hostsPerPage),
      };
    },
  };
}
