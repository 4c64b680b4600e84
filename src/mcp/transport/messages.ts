import { isJsonObject } from "../../contract/json.ts";

/** What is read of a JSON-RPC message over any transport, before the SDK has it. */

export type Id = string | number;

/** More than any honest message needs, and little enough to be read whole. */
export const messageBytes = 4 * 1024 * 1024;

/** The id matches an answer to its request: two open requests with one id would swap answers. */
export const idIsOpen =
  "Another request with this id is still running. Each request in a session needs its own id. " +
  "Nothing was done.";

/** The requests of a message, or of a batch of them: what has no method may be an answer. */
export function listRequestIds(body: unknown): readonly Id[] {
  return [body].flat().flatMap((message: unknown) => {
    if (!isJsonObject(message) || typeof message["method"] !== "string") return [];
    return isId(message["id"]) ? [message["id"]] : [];
  });
}

/** The request that a message gives up. */
export function readCancelled(message: unknown): Id | undefined {
  if (!isJsonObject(message) || message["method"] !== "notifications/cancelled") return undefined;
  const { requestId } = isJsonObject(message["params"]) ? message["params"] : {};
  return isId(requestId) ? requestId : undefined;
}

export function isId(value: unknown): value is Id {
  return typeof value === "string" || typeof value === "number";
}

/** Whether it opens a session of an earlier revision; a batch of one does as well. */
export function isHandshake(body: unknown): boolean {
  return [body].flat().some((one) => isJsonObject(one) && one["method"] === "initialize");
}

/** Whether it asks for a stream of notifications, which is not answered before it ends. */
export function isListen(body: unknown): boolean {
  return isJsonObject(body) && body["method"] === "subscriptions/listen";
}
