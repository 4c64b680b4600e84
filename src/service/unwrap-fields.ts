import type { Endpoint } from "../contract/endpoint.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { messages } from "../contract/messages.ts";
import { badRequest } from "../contract/problem.ts";

export type SentFields = {
  readonly fields: JsonObject;
  /** The object that they came in, and the members that stand beside it and count for nothing. */
  readonly wrapper?: string;
  readonly beside: readonly string[];
};

/** Clients of such an API send `{"link": {…}}` also where nothing asks for it. */
export function unwrapFields(
  json: JsonObject,
  { wrapper, optional_wrapper }: Endpoint,
): SentFields {
  const name = wrapper ?? optional_wrapper ?? "";
  const fields = Object.hasOwn(json, name) ? json[name] : undefined;
  if (isJsonObject(fields)) {
    return { fields, wrapper: name, beside: Object.keys(json).filter((other) => other !== name) };
  }
  if (wrapper !== undefined) throw badRequest(messages.parameter_missing(wrapper));
  return { fields: json, beside: [] };
}
