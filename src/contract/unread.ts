/**
 * Records the parts of a server's answer that could not be read. They are stored separately from
 * the answer, so that they never appear in results.
 */
export type UnreadPart = {
  /** The index of a dropped row on its page. The row had no usable id. */
  readonly row?: number;
  /** A field that was dropped because it has the wrong type. */
  readonly field?: string;
  readonly message: string;
};

const unreadParts = new WeakMap<object, readonly UnreadPart[]>();

export function noteUnread<Body extends object>(body: Body, parts: readonly UnreadPart[]): Body {
  if (parts.length > 0) unreadParts.set(body, parts);
  return body;
}

export function listUnread(body: object): readonly UnreadPart[] {
  return unreadParts.get(body) ?? [];
}

/** The indexes of the rows that were dropped. */
export function listUnreadRows(body: object): readonly number[] {
  return listUnread(body).flatMap(({ row }) => row ?? []);
}
