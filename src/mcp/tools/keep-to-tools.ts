import { isJsonObject, type JsonObject } from "../../contract/json.ts";

/**
 * Our sentences lead from one tool to another. A sentence that leads to a tool which is not there,
 * by the mode, the operator's choice or the key, is left out, wherever it was written: an assistant
 * would try the tool, or promise it.
 */

/** Whether this is the name of a tool that the caller does not have. */
export type IsAbsent = (name: string) => boolean;

const nothingLeft = "Tell the user.";

/** A result, with the sentences of its `next`, or of those of its members. */
export function keepNextToTools<Result extends JsonObject>(
  result: Result,
  isAbsent: IsAbsent,
): Result {
  const members = Object.entries(result).map(([name, value]) => {
    if (name === "next" && typeof value === "string") {
      return [name, keepToTools(value, isAbsent) || nothingLeft];
    }
    const isWorded = isJsonObject(value) && typeof value["next"] === "string";
    return [name, isWorded ? keepNextToTools(value, isAbsent) : value];
  });
  // Each member is what it was, but for the words of a text.
  return Object.fromEntries(members) as Result;
}

export function keepToTools(text: string, isAbsent: IsAbsent): string {
  if (!leadsAway(text, isAbsent)) return text;
  const kept = text.split(/(?<=[.;]) /).filter((part) => !leadsAway(part, isAbsent));
  return kept.join(" ").replace(/;$/, ".");
}

export function leadsAway(text: string, isAbsent: IsAbsent): boolean {
  return (text.match(/[a-z]+(?:_[a-z]+)+/g) ?? []).some(isAbsent);
}
