/** Parameters of a query that stand together in brackets behind one letter. */
export type GroupedParameters = {
  readonly given: ReadonlyMap<string, readonly string[]>;
  /** What begins with the letter, and is written in another way. */
  readonly strange: ReadonlySet<string>;
};

/**
 * The values of each `q[name]`, and of lists as clients write them: `q[name][]`, `q[name][0]`. Of a
 * name that is given twice the last counts.
 */
export function groupByName(query: URLSearchParams, letter: "q" | "f"): GroupedParameters {
  const given = new Map<string, readonly string[]>();
  const strange = new Set<string>();
  for (const [key, value] of query) {
    if (!key.startsWith(letter)) continue;
    const [, name, list] = /^.\[([^[\]]+)\](\[\d*\])?$/.exec(key) ?? [];
    if (name === undefined) {
      if (/^.(\[|$)/.test(key)) strange.add(key);
      continue;
    }
    const group = list === undefined ? [] : (given.get(name) ?? []);
    given.set(name, [...group, value.trim()]);
  }
  return { given, strange };
}
