import { createHash } from "node:crypto";

/** Two values with the same digest are the same data, in whichever order their members came. */
export function digestOf(value: unknown): string {
  return createHash("sha256").update(canonize(value)).digest("base64url");
}

/** JSON in one form only: the order in which a client sends members means nothing. */
export function canonize(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonize).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonize(member)}`);
  return `{${members.join(",")}}`;
}
