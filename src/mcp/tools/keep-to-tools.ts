import { isJsonObject, type JsonObject } from "../../contract/json.ts";

/**
 * Our sentences and next calls lead from one tool to another. One that leads to a tool which is not
 * there, by the mode, the operator's choice or the key, is left out, wherever it was written: an
 * assistant would try the tool, or promise it.
 */

/** Whether this is the name of a tool that the caller does not have. */
export type IsAbsent = (name: string) => boolean;

const nothingLeft = "Tell the user.";

/** A result, with what its `next` and `fix` lead to, and those of its members and their lists. */
export function keepNextToTools<Result extends JsonObject>(
  result: Result,
  isAbsent: IsAbsent,
): Result {
  // Most results lead nowhere, and a look is cheaper than a copy.
  if (!Object.entries(result).some(mayLead)) return result;
  const members = Object.entries(result).flatMap(([name, value]) => {
    if (name === "next" && typeof value === "string") {
      return [[name, keepToTools(value, isAbsent) || nothingLeft] as const];
    }
    if (isLead(name, value)) return isAbsent(value.tool) ? [] : [[name, value] as const];
    return [[name, keepInside(value, isAbsent)] as const];
  });
  // Each member is what it was, but for the words of a text, and a call that may be left out.
  return Object.fromEntries(members) as Result;
}

function mayLead([name, value]: readonly [string, unknown]): boolean {
  return name === "next" || name === "fix" || isRecordThatLeads(value) || isListThatLeads(value);
}

/** Only records of ours are gone into: what else a member's name is, a stranger may have chosen. */
function keepInside(value: unknown, isAbsent: IsAbsent): unknown {
  if (isListThatLeads(value)) return value.map((item) => keepInside(item, isAbsent));
  return isRecordThatLeads(value) ? keepNextToTools(value, isAbsent) : value;
}

function isLeading(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const { next, fix } = value;
  return typeof next === "string" || isLead("next", next) || isLead("fix", fix);
}

function isListThatLeads(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.some(isLeading);
}

function isRecordThatLeads(value: unknown): value is JsonObject {
  if (isLeading(value)) return true;
  return isJsonObject(value) && Object.values(value).some(isListThatLeads);
}

/** A call that a result says is to be made. */
type Lead = { readonly tool: string; readonly arguments: unknown };

function isLead(name: string, value: unknown): value is Lead {
  if ((name !== "next" && name !== "fix") || !isJsonObject(value)) return false;
  return typeof value["tool"] === "string" && isJsonObject(value["arguments"]);
}

export function keepToTools(text: string, isAbsent: IsAbsent): string {
  if (!leadsAway(text, isAbsent)) return text;
  const kept = text.split(/(?<=[.;]) /).filter((part) => !leadsAway(part, isAbsent));
  return kept.join(" ").replace(/;$/, ".");
}

function leadsAway(text: string, isAbsent: IsAbsent): boolean {
  return (text.match(/[a-z]+(?:_[a-z]+)+/g) ?? []).some(isAbsent);
}
