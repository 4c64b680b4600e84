import { diffWordsWithSpace } from "diff";

/** Compares two texts word by word, for a person who looks for what became another one. */

export type Part = { readonly text: string; readonly isChanged: boolean };

export type ComparedWords = { readonly before: readonly Part[]; readonly after: readonly Part[] };

/** The work grows with the square of the edits: texts that differ in more are shown whole. */
const mostEdits = 200;
/** Where less than this is common, marks at every other word would hide what is there. */
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

function markWhole(text: string, isChanged: boolean): readonly Part[] {
  return text === "" ? [] : [{ text, isChanged }];
}
