import { createHmac } from "node:crypto";
import type { Clock, Random, SetAlarm } from "../contract/clock.ts";
import { findWebAddressFault } from "../contract/rules/web-address.ts";
import {
  describeEnd,
  findAddresses,
  limitTime,
  noPublicHost,
  resolveHost,
  sendPinned,
  type HostPolicy,
} from "../network/hosts/pinned-connection.ts";
import {
  dropBrackets,
  isLoopbackHost,
  matchNetworks,
  normalizeAddress,
  isPublicAddress,
  type Network,
} from "../network/ip-address.ts";
import type { DeliveryTable, WebhookTable } from "../store/tables.ts";

/**
 * Sends a message, signed as standardwebhooks.com specifies (`v1`). Its receiver must be a public
 * server or in a network that the operator allows.
 */

export type SendOptions = {
  readonly policy: HostPolicy;
  readonly setAlarm: SetAlarm;
  readonly clock: Pick<Clock, "now">;
};

type WebhookMessage = Pick<DeliveryTable, "event_id" | "body">;

const secretPrefix = "whsec_";
/** The timeout for DNS lookup, connection and response together. */
const attempt_ms = 10_000;

export function createSecret(random: Random): string {
  return secretPrefix + Buffer.from(random.bytes(32)).toString("base64");
}

/** Sends a message. Returns null if the receiver accepted it. Otherwise returns why it failed. */
export async function sendMessage(
  message: WebhookMessage,
  receiver: Pick<WebhookTable, "url" | "secret">,
  { policy, setAlarm, clock }: SendOptions,
  outer: AbortSignal,
): Promise<string | null> {
  const { signal, stop } = limitTime(outer, attempt_ms, setAlarm);
  try {
    const url = new URL(receiver.url);
    const addresses = await findAddresses(url, policy, signal);
    const fault = findPublicFault(url, addresses);
    if (fault !== undefined) return fault;
    const headers = writeHeaders(message, receiver.secret, clock.now());
    const request = { url, method: "POST", headers, body: message.body };
    const response = await sendPinned(request, addresses, policy, signal);
    // Only the status is needed, so the body is not read.
    response.on("error", () => undefined).destroy();
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode < 300) return null;
    const isRedirect = statusCode >= 300 && statusCode < 400;
    return `status ${statusCode}${isRedirect ? ": redirects are not followed" : ""}`;
  } catch (error) {
    return describeEnd(error, signal);
  } finally {
    stop();
  }
}

/**
 * Returns the headers. The signature covers the time of this attempt, so that receivers can reject
 * replayed messages.
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

export function allowReceivers(networks: readonly Network[]): HostPolicy {
  const isAllowed = matchNetworks(networks);
  const isPublic = (text: string) => {
    const address = normalizeAddress(text);
    return address !== undefined && (isPublicAddress(address) || isAllowed(address));
  };
  return { resolve: resolveHost, isPublic };
}

/**
 * Returns what is wrong with a new webhook's URL, as the end of a sentence. The IP addresses of a
 * host name may change, so they are checked at every attempt instead.
 */
export function findUrlFault(url: string, networks: readonly Network[]): string | undefined {
  const fault = findWebAddressFault(url);
  if (fault !== undefined) return fault;
  const parsed = new URL(url);
  if (parsed.hash !== "") return "can't have a fragment";
  const { hostname } = parsed;
  const addresses = listKnownAddresses(hostname);
  // A host name may have an IP address in a network that the operator allows.
  if (addresses.length === 0 && networks.length > 0) return undefined;
  if (addresses.length === 0 || addresses.some(allowReceivers(networks).isPublic)) {
    return findPublicFault(parsed, addresses);
  }
  return `points to ${hostname}, which is not on the public internet. ${nameNetwork}`;
}

/** Lists the IP addresses of a host that needs no DNS lookup. */
function listKnownAddresses(hostname: string): readonly string[] {
  const literal = normalizeAddress(dropBrackets(hostname));
  if (literal !== undefined) return [literal];
  return isLoopbackHost(hostname) ? ["127.0.0.1", "::1"] : [];
}

/**
 * Returns what is wrong with the URL of a public receiver. Plain HTTP and low ports are allowed
 * only in networks that the operator lists.
 */
function findPublicFault(url: URL, addresses: readonly string[]): string | undefined {
  if (addresses.length > 0 && !addresses.some(isPublicAddress)) return undefined;
  if (url.protocol !== "https:") return plainHttp;
  const isUsual = url.port === "" || Number(url.port) >= 1024;
  return isUsual ? undefined : "can't have a port below 1024 other than 443";
}

/** Suggests how to fix the fault, without a final period. */
export function findFix(fault: string | null): string | undefined {
  if (fault !== noPublicHost) return undefined;
  return `${nameNetwork}; for a public receiver, check its DNS record`;
}

const nameNetwork =
  "Set WAYPOST_WEBHOOK_PRIVATE to the receiver's network, for waypost serve and all other commands";

const plainHttp =
  "must be an https address; plain http works only in networks listed in WAYPOST_WEBHOOK_PRIVATE";
