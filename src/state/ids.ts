import type { Random } from "../contract/clock.ts";

const idBytes = 16;

/** Cannot be guessed. It begins with its kind, so it is never mistaken for another id or a flag. */
export function createPrefixedId(
  kind: "plan" | "job" | "export" | "change",
  random: Random,
): string {
  return `${kind}_${Buffer.from(random.bytes(idBytes)).toString("base64url")}`;
}
