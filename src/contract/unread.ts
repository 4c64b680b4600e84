/** What of an answer could not be read: kept beside it, so that no result or JSON ever has it. */
export type UnreadPart = {
  /** The place on its page, from 0, of a row that has no usable id and was left out. */
  readonly row?: number;
  /** A field of a wrong type, which was dropped. */
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

/** The places of the rows of a list that are not among its rows. */
export function listUnreadRows(body: object): readonly number[] {
  return listUnread(body).flatMap(({ row }) => row ?? []);
}
