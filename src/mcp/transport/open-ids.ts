import { isJsonObject } from "../../contract/json.ts";

export type Id = string | number;

/**
 * Requests of one client that are not answered yet, by their ids. JSON-RPC tells answers apart by
 * nothing else: of two with one id, each would be answered with what the other asked for.
 */
export type OpenIds = {
  /** None of them, and false, where one is open already, or stands there twice. */
  readonly open: (ids: readonly Id[]) => boolean;
  readonly close: (ids: readonly Id[]) => void;
};

export const idIsOpen =
  "Another request with this id is still running. Each request in a session needs its own id. " +
  "Nothing was done.";

export function trackOpenIds(): OpenIds {
  const all = new Set<Id>();
  return {
    open: (ids) => {
      if (new Set(ids).size < ids.length || ids.some((id) => all.has(id))) return false;
      for (const id of ids) all.add(id);
      return true;
    },
    close: (ids) => {
      for (const id of ids) all.delete(id);
    },
  };
}

/** Of many clients, each with ids of its own. */
export const anyIds: OpenIds = { open: () => true, close: () => {} };

/** The requests of a message, or of a batch of them: what has no method may be an answer. */
export function listRequestIds(body: unknown): readonly Id[] {
  return [body].flat().flatMap((message: unknown) => {
    if (!isJsonObject(message) || typeof message["method"] !== "string") return [];
    return isId(message["id"]) ? [message["id"]] : [];
  });
}

export function isId(value: unknown): value is Id {
  return typeof value === "string" || typeof value === "number";
}
