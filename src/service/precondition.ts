import { pickLasting } from "../contract/condition.ts";
import type { JsonObject } from "../contract/json.ts";
import { alreadyExists, changedSince } from "../contract/problem.ts";
import { digestOf } from "../text/digest.ts";

/**
 * What a write is bound to by its request: `If-Match` with a tag of what its caller was shown, or
 * `If-None-Match: *`. Both are checked in the transaction that writes, so that nothing can change
 * between the check and the write.
 */
export type Precondition = {
  /** Tags of which one must be the target's; undefined where any will do. */
  readonly tags: readonly string[] | undefined;
  readonly mustBeAbsent: boolean;
};

type Headers = Readonly<Record<string, string>>;

export function readPrecondition(headers: Headers): Precondition {
  const match = headers["if-match"];
  const tags = match?.split(",").map((tag) => tag.trim());
  return { tags, mustBeAbsent: headers["if-none-match"]?.trim() === "*" };
}

/** `states` are what a caller may have been shown of the target: of none there is none. */
export function requireCondition(
  { tags, mustBeAbsent }: Precondition,
  ...states: readonly JsonObject[]
): void {
  if (mustBeAbsent && states.length > 0) throw alreadyExists();
  if (tags === undefined || (tags.includes("*") && states.length > 0)) return;
  const own = new Set(states.map((state) => `"${digestOf(pickLasting(state))}"`));
  if (!tags.some((tag) => own.has(tag))) throw changedSince();
}
