import { quote } from "../../text/show-hidden.ts";
import type { Asker } from "./person-asked.ts";
import { writeAgo, writeSpan } from "./write-span.ts";

/** Who asks a person, for whom, and for how long, as it is told wherever the question is shown. */

export function writeLead({ client }: Asker): string {
  const name = client === undefined ? "" : ` ${quote(client, 40)}`;
  return `Your assistant${name} is asking for your approval`;
}

type Asked = {
  readonly asker: Asker;
  readonly now: number;
  readonly created_at: number;
  readonly expires_at: number;
};

/** Whose links these are, by which key, and since when a person is waited for. */
export function writeOrigin({ asker, now, created_at }: Omit<Asked, "expires_at">): string {
  const { place, key } = asker;
  return [
    ...(place === undefined ? [] : [`For ${place}`]),
    ...(key === undefined ? [] : [`API key ${key}`]),
    `${place === undefined && key === undefined ? "Asked" : "asked"} ${writeAgo(now - created_at)}`,
  ].join(" · ");
}

/** How long a person may take. */
export function writeTerm({ now, expires_at }: Pick<Asked, "now" | "expires_at">): string {
  return `Answer within ${writeSpan(expires_at - now)}. Without an answer, nothing happens.`;
}

export const whatYesDoes = "Your approval covers exactly what is shown, and works once.";
