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

/** One attempt to send a message, signed as standardwebhooks.com describes it (`v1`). */

export type Sending = {
  readonly reach: Reach;
  readonly setAlarm: SetAlarm;
  readonly clock: Pick<Clock, "now">;
};

type Message = Pick<DeliveryTable, "event_id" | "body">;

const secretPrefix = "whsec_";
const secretBytes = 32;
/** For the DNS lookup, the connection and the answer together. */
const attempt_ms = 10_000;

export function createSecret(random: Random): string {
  return secretPrefix + Buffer.from(random.bytes(secretBytes)).toString("base64");
}

/** Why the receiver did not take the message, for people; null if it did. */
export async function sendMessage(
  message: Message,
  receiver: Pick<WebhookTable, "url" | "secret">,
  { reach, setAlarm, clock }: Sending,
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
    // Nothing of the answer is read but its status.
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

/** The time is that of the attempt, so that nobody can send an old message again. */
function writeHeaders({ event_id: id, body }: Message, secret: string, now: number) {
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
