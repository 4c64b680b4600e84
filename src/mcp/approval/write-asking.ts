import type { Approval } from "../../state/approvals.ts";
import { quote } from "../../text/show-hidden.ts";
import type { Asker } from "./question.ts";

/**
 * Describes who requests an approval, for which project, and how long the request stays open.
 * Approval pages have no script, so they show no countdown.
 */

export function writeLead({ client }: Asker): string {
  const name = client === undefined ? "" : ` ${quote(client, 40)}`;
  return `Your assistant${name} is asking for your approval`;
}

export function writeOrigin(
  { place, key }: Asker,
  { created_at }: Pick<Approval, "created_at">,
  now: number,
): string {
  const of = [
    ...(place === undefined ? [] : [`For ${place}`]),
    ...(key === undefined ? [] : [`API key ${key}`]),
  ];
  return [...of, `${of.length === 0 ? "Asked" : "asked"} ${writeAgo(now - created_at)}`].join(
    " · ",
  );
}

export function writeTerm({ expires_at }: Pick<Approval, "expires_at">, now: number): string {
  return `Answer within ${writeSpan(expires_at - now)}. Without an answer, nothing happens.`;
}

export const approvalScope = "Your approval covers exactly what is shown, and works once.";

const minute_ms = 60_000;

/** Rounds to minutes, or to seconds below one minute. */
export function writeSpan(milliseconds: number): string {
  const [unit, unit_ms] =
    milliseconds < minute_ms ? (["second", 1000] as const) : (["minute", minute_ms] as const);
  const count = Math.max(1, Math.round(milliseconds / unit_ms));
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

export function writeAgo(milliseconds: number): string {
  return milliseconds < 1000 ? "just now" : `${writeSpan(milliseconds)} ago`;
}
