import type { PublicFiles } from "../../src/network/hosts/fetch-file.ts";

/** An internet on which nothing is: no test reaches the one that is there. */
export const noPublicFiles: PublicFiles = {
  fetchFile: () => Promise.resolve({ kind: "not_public" }),
  mayAsk: () => Promise.resolve(true),
};
