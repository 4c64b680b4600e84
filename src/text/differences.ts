import { diffWordsWithSpace, structuredPatch } from "diff";

/** Compares two strings, to show what changed. */

export type TextPart = { readonly text: string; readonly isChanged: boolean };

type ComparedWords = {
  readonly before: readonly TextPart[];
  readonly after: readonly TextPart[];
};

/**
 * The search stops at this many edits, because its time grows with their square. Strings with more
 * edits are shown without marks.
 */
const mostEdits = { words: 200, lines: 1000 } as const;
/**
 * If less than this share is unchanged, no changes are marked, because many marks are hard to read.
 */
const leastCommon = 1 / 4;

export function compareWords(before: string, after: string): ComparedWords {
  const parts = diffWordsWithSpace(before, after, { maxEditLength: mostEdits.words });
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

/** One changed section of a text. Line numbers start at 1. */
export type Hunk = {
  readonly old_start: number;
  readonly new_start: number;
  readonly lines: readonly DiffLine[];
};

export type DiffLine = { readonly kind: "removed" | "added" | "kept"; readonly text: string };

const contextLines = 3;

const kinds: Readonly<Record<string, DiffLine["kind"]>> = { "-": "removed", "+": "added" };

/** Compares two texts line by line, with a few unchanged lines around each change. */
export function diffLines(before: string, after: string): readonly Hunk[] {
  const [old, current] = [splitLines(before), splitLines(after)];
  const [oldText, newText] = [joinLines(old), joinLines(current)];
  const options = { context: contextLines, maxEditLength: mostEdits.lines };
  const patch = structuredPatch("", "", oldText, newText, undefined, undefined, options);
  const hunks = patch?.hunks.map(({ oldStart, newStart, lines }) => ({
    old_start: oldStart,
    new_start: newStart,
    lines: lines.map((line) => ({ kind: kinds[line.charAt(0)] ?? "kept", text: line.slice(1) })),
  }));
  const removed = countLines(hunks ?? [], "removed");
  const common = hunks === undefined ? 0 : old.length - removed;
  if (hunks !== undefined && common >= leastCommon * Math.max(old.length, current.length)) {
    return hunks;
  }
  const lines = [
    ...old.map((text) => ({ kind: "removed", text }) as const),
    ...current.map((text) => ({ kind: "added", text }) as const),
  ];
  return [{ old_start: 1, new_start: 1, lines }];
}

export function countLines(hunks: readonly Hunk[], kind: DiffLine["kind"]): number {
  return hunks.reduce((sum, { lines }) => sum + lines.filter((one) => one.kind === kind).length, 0);
}

function splitLines(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}

function joinLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
