import { createHash } from "node:crypto";

/** Hashes a value. The order of an object's members does not matter. */
export function hashValue(value: unknown): string {
  return createHash("sha256").update(canonize(value)).digest("base64url");
}

/** Writes JSON with sorted members, so that equal objects result in equal text. */
export function canonize(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonize).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonize(member)}`);
  return `{${members.join(",")}}`;
}
