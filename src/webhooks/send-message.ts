import { createHmac } from "node:crypto";
import type { Agent } from "undici";
import type { Clock, Random, SetAlarm } from "../contract/clock.ts";
import { limitTime } from "../network/hosts/limit-time.ts";
import {
  describeEnd,
  findAddresses,
  openPinned,
  type Reach,
} from "../network/hosts/pinned-connection.ts";
import type { DeliveryTable, WebhookTable } from "../store/tables.ts";
import { findPublicFault } from "./reach.ts";

/** Sends a message once, with a signature as in standardwebhooks.com (`v1`). */

export type SendOptions = {
  readonly reach: Reach;
  readonly setAlarm: SetAlarm;
  readonly clock: Pick<Clock, "now">;
};

type WebhookMessage = Pick<DeliveryTable, "event_id" | "body">;

const secretPrefix = "whsec_";
const secretBytes = 32;
/** The limit for DNS lookup, connection and response together. */
const attempt_ms = 10_000;

export function createSecret(random: Random): string {
  return secretPrefix + Buffer.from(random.bytes(secretBytes)).toString("base64");
}

/** Sends a message. Returns null if the receiver accepts it, or the reason for the failure. */
export async function sendMessage(
  message: WebhookMessage,
  receiver: Pick<WebhookTable, "url" | "secret">,
  { reach, setAlarm, clock }: SendOptions,
  outer: AbortSignal,
): Promise<string | null> {
  const { signal, stop } = limitTime(outer, attempt_ms, setAlarm);
  let agent: Agent | undefined;
  try {
    const url = new URL(receiver.url);
    const addresses = await findAddresses(url, reach, signal);
    const fault = findPublicFault(url, addresses);
    if (fault !== undefined) return fault;
    agent = openPinned(addresses, reach);
    const { statusCode, body } = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: "POST",
      headers: writeHeaders(message, receiver.secret, clock.now()),
      body: message.body,
      signal,
    });
    // Only the status of the response matters.
    body.on("error", () => undefined).destroy();
    if (statusCode >= 200 && statusCode < 300) return null;
    const isRedirect = statusCode >= 300 && statusCode < 400;
    return `status ${statusCode}${isRedirect ? ": redirects are not followed" : ""}`;
  } catch (error) {
    return describeEnd(error, signal);
  } finally {
    stop();
    await agent?.destroy();
  }
}

/**
 * Formats the signature headers. The timestamp is that of this attempt, so that old messages cannot
 * be replayed.
 */
function writeHeaders({ event_id: id, body }: WebhookMessage, secret: string, now: number) {
  const timestamp = String(Math.floor(now / 1000));
  const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    "content-type": "application/json",
    "user-agent": "waypost",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}
