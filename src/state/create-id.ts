import type { Random } from "../contract/clock.ts";

const idBytes = 16;

/** Not to be guessed; it begins with its kind, so that it is never taken for another or a flag. */
export function createPrefixedId(
  kind: "plan" | "job" | "export" | "change",
  random: Random,
): string {
  return `${kind}_${Buffer.from(random.bytes(idBytes)).toString("base64url")}`;
}
