import { diffWordsWithSpace } from "diff";

/** Compares two texts word by word, to show what changed. */

export type TextPart = { readonly text: string; readonly isChanged: boolean };

export type ComparedWords = {
  readonly before: readonly TextPart[];
  readonly after: readonly TextPart[];
};

/**
 * Limits the time, which grows with the square of the changes. Very different texts are shown
 * whole.
 */
const mostEdits = 200;
/** With less text in common, marks at every other word would be unreadable. */
const leastCommon = 1 / 4;

export function compareWords(before: string, after: string): ComparedWords {
  const parts = diffWordsWithSpace(before, after, { maxEditLength: mostEdits });
  const common = parts?.filter(({ added, removed }) => !added && !removed) ?? [];
  const length = common.reduce((sum, { value }) => sum + value.length, 0);
  if (parts === undefined || length < leastCommon * Math.max(before.length, after.length)) {
    return { before: markWhole(before, false), after: markWhole(after, false) };
  }
  return {
    before: parts.flatMap(({ value, added, removed }) => (added ? [] : markWhole(value, removed))),
    after: parts.flatMap(({ value, added, removed }) => (removed ? [] : markWhole(value, added))),
  };
}

function markWhole(text: string, isChanged: boolean): readonly TextPart[] {
  return text === "" ? [] : [{ text, isChanged }];
}
