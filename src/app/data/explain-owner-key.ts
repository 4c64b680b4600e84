import type { OwnerKey } from "./first-start.ts";

/**
 * What an operator is told of the owner's key: where one is that opens the store, and what makes
 * another. `makeKey` is what they would type for that.
 */
export function explainOwnerKey({ file, state, elsewhere }: OwnerKey, makeKey: string): string {
  if (state === "opens") return `key: ${file}`;
  const start =
    elsewhere === undefined ? "create a key" : `the key is in ${elsewhere}, or create one`;
  const next = `${start} with ${makeKey} and write it into ${file}`;
  return state === "wrong" ? `the key in ${file} does not belong to this database; ${next}` : next;
}
