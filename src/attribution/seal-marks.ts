import { createHmac } from "node:crypto";
import type { SeenPhone } from "./compare-phones.ts";
import { markNames, type Marks } from "./marks.ts";

/**
 * Hashes properties and IP addresses before they are stored. The hash needs a secret key and
 * differs in each project, so the stored values can only be compared.
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

/** Hashes all properties together, to recognize repeated visits. */
export function sealAll({ marks, address }: SeenPhone, seal: Seal): string {
  const all = markNames.map((name) => marks[name] ?? "");
  return seal("all", JSON.stringify([address?.group ?? "", ...all]));
}

/** Hashes the id of an app on one phone. Returns undefined if the phone sent no id. */
export function sealInstance(instance: string | undefined, marks: Marks, seal: Seal) {
  if (instance === undefined) return undefined;
  return seal("asker", JSON.stringify([instance, ...markNames.map((name) => marks[name] ?? "")]));
}
