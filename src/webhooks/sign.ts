import { createHmac } from "node:crypto";
import type { Random } from "../contract/clock.ts";

/** Signatures by which a receiver knows whose a message is: standardwebhooks.com, `v1`. */

const prefix = "whsec_";
const secretBytes = 32;

export type Message = {
  /** The same in every attempt: by it a receiver knows what it has had before. */
  readonly id: string;
  readonly body: string;
};

/** As its owner puts it into a receiver. */
export function createSecret(random: Random): string {
  return prefix + Buffer.from(random.bytes(secretBytes)).toString("base64");
}

/** The headers of one attempt; the time is that of the attempt, so that none can be sent anew. */
export function signMessage(
  { id, body }: Message,
  secret: string,
  now: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1000));
  const key = Buffer.from(secret.slice(prefix.length), "base64");
  const signed = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signed}`,
  };
}
