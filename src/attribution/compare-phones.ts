import type { MarkName, Marks } from "./marks.ts";

/** Compares two phones by their marks and addresses. */

/** The marks of a phone, and the address of its requests. */
export type SeenPhone = {
  readonly marks: Marks;
  /** Undefined if it is unknown. */
  readonly address: SeenAddress | undefined;
};

/** An unknown number of other phones is behind a shared address. */
type SeenAddress = { readonly group: string; readonly isShared: boolean };

/** If one of these marks differs, it is another phone. */
export const decisive = [
  "device",
  "screen",
  "zone",
  "language",
] as const satisfies readonly MarkName[];

export function isAnother(one: Marks, other: Marks): boolean {
  return decisive.some((name) => differ(one, other, name));
}

/** A missing mark does not differ. */
export function differ(one: Marks, other: Marks, name: MarkName): boolean {
  return one[name] !== undefined && other[name] !== undefined && one[name] !== other[name];
}

export function isAlike(one: Marks, other: Marks, name: MarkName): boolean {
  return one[name] !== undefined && one[name] === other[name];
}

export function isSamePlace({ address: one }: SeenPhone, { address: other }: SeenPhone): boolean {
  return one !== undefined && one.group === other?.group;
}
