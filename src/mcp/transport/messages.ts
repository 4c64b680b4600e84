import { isJsonObject } from "../../contract/json.ts";

/** Reads what the transports need to know about a JSON-RPC message before the SDK gets it. */

export type RpcId = string | number;

/** No valid message is longer, and one of this size fits in memory. */
export const messageBytes = 4 * 1024 * 1024;

/**
 * The id assigns a response to its request. With two open requests of one id, the responses could
 * be swapped.
 */
export const idIsOpen =
  "Another request with this id is still running. Each request in a session needs its own id. " +
  "Nothing was done.";

/** The ids of the requests in a message or a batch. A message without a method is a response. */
export function listRequestIds(body: unknown): readonly RpcId[] {
  return [body].flat().flatMap((message: unknown) => {
    if (!isJsonObject(message) || typeof message["method"] !== "string") return [];
    return isId(message["id"]) ? [message["id"]] : [];
  });
}

/** The id of the request that a message cancels. */
export function readCancelled(message: unknown): RpcId | undefined {
  if (!isJsonObject(message) || message["method"] !== "notifications/cancelled") return undefined;
  const { requestId } = isJsonObject(message["params"]) ? message["params"] : {};
  return isId(requestId) ? requestId : undefined;
}

export function isId(value: unknown): value is RpcId {
  return typeof value === "string" || typeof value === "number";
}

/**
 * Whether a message opens a session. Sessions exist in revisions before 2026-07-28, which also
 * allow a batch here.
 */
export function isHandshake(body: unknown): boolean {
  return [body].flat().some((one) => isJsonObject(one) && one["method"] === "initialize");
}

/** Whether a message opens a stream of notifications. Its response ends only with the stream. */
export function isListen(body: unknown): boolean {
  return isJsonObject(body) && body["method"] === "subscriptions/listen";
}
