import type { MarkName, Marks } from "./marks.ts";

/** Two phones as they are seen from here, and whether they can be one. */

/** A phone's marks, and where its requests come from. */
export type Seen = {
  readonly marks: Marks;
  /** Undefined where it is not known. */
  readonly address: SeenAddress | undefined;
};

/** Behind a shared address, the number of other phones is unknown. */
type SeenAddress = { readonly group: string; readonly isShared: boolean };

/** Marks that one phone has but once: where they differ, it is another one. */
export const decisive = [
  "device",
  "screen",
  "zone",
  "language",
] as const satisfies readonly MarkName[];

export function isAnother(one: Marks, other: Marks): boolean {
  return decisive.some((name) => differ(one, other, name));
}

/** Where one of them tells nothing, nothing differs. */
export function differ(one: Marks, other: Marks, name: MarkName): boolean {
  return one[name] !== undefined && other[name] !== undefined && one[name] !== other[name];
}

export function isAlike(one: Marks, other: Marks, name: MarkName): boolean {
  return one[name] !== undefined && one[name] === other[name];
}

export function isSamePlace({ address: one }: Seen, { address: other }: Seen): boolean {
  return one !== undefined && one.group === other?.group;
}
