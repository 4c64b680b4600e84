import { pickLasting } from "../contract/condition.ts";
import type { JsonObject } from "../contract/json.ts";
import { alreadyExists, changedSince } from "../contract/problem.ts";
import { digestOf } from "../text/digest.ts";

/**
 * The conditions of a write: either `If-None-Match: *`, or `If-Match` with a tag of the state that
 * the caller has seen. The writing transaction checks them, so no change can happen in between.
 */
export type Precondition = {
  /** The accepted tags of the target; undefined accepts any state. */
  readonly tags: readonly string[] | undefined;
  readonly mustBeAbsent: boolean;
};

type RequestHeaders = Readonly<Record<string, string>>;

export function readPrecondition(headers: RequestHeaders): Precondition {
  const match = headers["if-match"];
  const tags = match?.split(",").map((tag) => tag.trim());
  return { tags, mustBeAbsent: headers["if-none-match"]?.trim() === "*" };
}

/**
 * Throws unless the target satisfies the conditions. `states` are the target as each kind of
 * caller may have seen it. An absent target has no states.
 */
export function requireCondition(
  { tags, mustBeAbsent }: Precondition,
  ...states: readonly JsonObject[]
): void {
  if (mustBeAbsent && states.length > 0) throw alreadyExists();
  if (tags === undefined || (tags.includes("*") && states.length > 0)) return;
  const own = new Set(states.map((state) => `"${digestOf(pickLasting(state))}"`));
  if (!tags.some((tag) => own.has(tag))) throw changedSince();
}
