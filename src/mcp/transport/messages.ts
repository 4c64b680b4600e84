import { isJsonObject } from "../../contract/json.ts";

/** Reads the parts of a JSON-RPC message that transports need before the SDK handles it. */

export type RpcId = string | number;

export const messageBytes = 4 * 1024 * 1024;

/**
 * The error for a request ID that is already in use. Two open requests with the same ID could get
 * each other's response.
 */
export const idIsOpen =
  "Another request with this id is still running. Each request in a session needs its own id. " +
  "Nothing was done.";

/**
 * Lists the IDs of the requests in a message or batch. A message without a method is a response.
 */
export function listRequestIds(body: unknown): readonly RpcId[] {
  return [body].flat().flatMap((message: unknown) => {
    if (!isJsonObject(message) || typeof message["method"] !== "string") return [];
    return isId(message["id"]) ? [message["id"]] : [];
  });
}

export function readCancelled(message: unknown): RpcId | undefined {
  if (!isJsonObject(message) || message["method"] !== "notifications/cancelled") return undefined;
  const { requestId } = isJsonObject(message["params"]) ? message["params"] : {};
  return isId(requestId) ? requestId : undefined;
}

export function isId(value: unknown): value is RpcId {
  return typeof value === "string" || typeof value === "number";
}

/** Whether a message or batch opens a session. MCP version 2026-07-28 has no sessions. */
export function isHandshake(body: unknown): boolean {
  return [body].flat().some((one) => isJsonObject(one) && one["method"] === "initialize");
}

/** Whether a message opens a stream of notifications. */
export function isListen(body: unknown): boolean {
  return isJsonObject(body) && body["method"] === "subscriptions/listen";
}
