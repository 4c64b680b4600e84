import type { FetchFile, PublicFiles } from "../../network/hosts/fetch-file.ts";
import { resolveHost, type HostPolicy } from "../../network/hosts/pinned-connection.ts";
import { isPublicAddress } from "../../network/ip-address.ts";
import type { State } from "../../state/state.ts";
import { setAlarm } from "./embedded.ts";

/** Fetches the public files that let apps open links, and limits how often a key may do so. */

const publicPolicy: HostPolicy = { resolve: resolveHost, isPublic: isPublicAddress };

/** Fetches a public file from a project's host, or from a CDN that caches it. */
export const fetchPublicFile: FetchFile = async (asked, signal) => {
  const { createFetchFile } = await import("../../network/hosts/fetch-file.ts");
  return createFetchFile({ policy: publicPolicy, setAlarm })(asked, signal);
};

export function openPublicFiles(openState: () => Promise<Pick<State, "counters">>): PublicFiles {
  return {
    fetchFile: fetchPublicFile,
    mayAsk: async (keyPrint) =>
      (await (await openState()).counters.take({ host_request: keyPrint })) !== undefined,
  };
}
