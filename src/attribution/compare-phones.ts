import type { MarkName, Marks } from "./marks.ts";

/** Compares two phones by their properties and IP addresses. */

/** A phone's properties and the IP address of its requests. */
export type SeenPhone = {
  readonly marks: Marks;
  /** Undefined if unknown. */
  readonly address: SeenAddress | undefined;
};

/** An IP address. If it is shared, an unknown number of other phones use it as well. */
type SeenAddress = { readonly group: string; readonly isShared: boolean };

/** The properties that prove two phones different if any of them differs. */
export const decisive = [
  "device",
  "screen",
  "zone",
  "language",
] as const satisfies readonly MarkName[];

export function isAnother(one: Marks, other: Marks): boolean {
  return decisive.some((name) => differ(one, other, name));
}

/** Checks whether both phones have this property, with different values. */
export function differ(one: Marks, other: Marks, name: MarkName): boolean {
  return one[name] !== undefined && other[name] !== undefined && one[name] !== other[name];
}

export function isAlike(one: Marks, other: Marks, name: MarkName): boolean {
  return one[name] !== undefined && one[name] === other[name];
}

export function isSamePlace({ address: one }: SeenPhone, { address: other }: SeenPhone): boolean {
  return one !== undefined && one.group === other?.group;
}
