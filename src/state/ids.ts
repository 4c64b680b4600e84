import type { Random } from "../contract/clock.ts";

const idBytes = 16;

/** Creates a random id that cannot be guessed. The prefix distinguishes it from other ids. */
export function createPrefixedId(
  kind: "plan" | "job" | "export" | "change",
  random: Random,
): string {
  return `${kind}_${Buffer.from(random.bytes(idBytes)).toString("base64url")}`;
}
