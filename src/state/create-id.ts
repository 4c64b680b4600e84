import type { Random } from "../contract/clock.ts";

const idBytes = 16;

/**
 * Nobody guesses it, it tells what it is of, so that one kind is not taken for another, and it
 * never begins as a flag does.
 */
export function createId(kind: "plan" | "job" | "export", random: Random): string {
  return `${kind}_${Buffer.from(random.bytes(idBytes)).toString("base64url")}`;
}
