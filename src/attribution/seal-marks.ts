import { createHmac } from "node:crypto";
import type { Seen } from "./compare-phones.ts";
import { markNames, type Marks } from "./marks.ts";

/**
 * What is kept of a visit: of each mark and of the address a hash that nobody can make without the
 * key, another one in each project. They can be compared, and no more.
 */
export type Seal = (name: string, value: string) => string;

const hash_characters = 22;

export function createSeal(key: string, projectId: string): Seal {
  return (name, value) => {
    const text = JSON.stringify([projectId, name, value]);
    return createHmac("sha256", key).update(text).digest("base64url").slice(0, hash_characters);
  };
}

export function sealMarks(marks: Marks, seal: Seal): Marks {
  const sealed = markNames.flatMap((name) => {
    const value = marks[name];
    return value === undefined ? [] : [[name, seal(name, value)] as const];
  });
  return Object.fromEntries(sealed);
}

/** One hash for everything: what has the same was seen twice. */
export function sealAll({ marks, address }: Seen, seal: Seal): string {
  const all = markNames.map((name) => marks[name] ?? "");
  return seal("all", JSON.stringify([address?.group ?? "", ...all]));
}

/** One hash for an app on a phone that asks; undefined where it does not tell which it is. */
export function sealAsker(asker: string | undefined, marks: Marks, seal: Seal) {
  if (asker === undefined) return undefined;
  return seal("asker", JSON.stringify([asker, ...markNames.map((name) => marks[name] ?? "")]));
}
