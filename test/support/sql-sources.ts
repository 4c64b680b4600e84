import { isGroup, isSign, isWord, readName, type Node } from "./sql-nodes.ts";

/** The tables that a statement names where it says from what it reads, or what it writes. */

export type Source = {
  /** Undefined for a query in parentheses. */
  readonly table: string | undefined;
  readonly alias: string;
  /** The names of columns behind it. */
  readonly columns: readonly (string | undefined)[];
  /** How it is joined to those before it. */
  readonly on: readonly Node[];
  /** Those before it stay, though nothing of it fits: what is said in `on` is said of it alone. */
  readonly isOptional: boolean;
};

const joining = ["left", "right", "full", "inner", "cross", "outer", "join", "lateral", "only"];

export function readSources(nodes: readonly Node[]): readonly Source[] {
  const sources: Source[] = [];
  let at = 0;
  while (at < nodes.length) {
    const words: string[] = [];
    for (; isSign(nodes[at], ",") || isWord(nodes[at], ...joining); at += 1) {
      words.push(readName(nodes[at]) ?? ",");
    }
    if (words.includes("right") || words.includes("full")) {
      throw new Error("nobody has thought of what such a join says of the tables on its sides");
    }
    const first = nodes[at];
    if (isSign(nodes[at + 1], ".")) at += 2;
    const table = isGroup(first) ? undefined : readName(nodes[at]);
    at += 1;
    if (isWord(nodes[at], "as")) at += 1;
    const isNamed = readName(nodes[at]) !== undefined && !isWord(nodes[at], "on", ...joining);
    const alias = (isNamed ? readName(nodes[at]) : table) ?? "";
    if (isNamed) at += 1;
    const list = nodes[at];
    if (isGroup(list)) at += 1;
    const on: Node[] = [];
    if (isWord(nodes[at], "on")) at += 1;
    for (
      ;
      at < nodes.length && !isSign(nodes[at], ",") && !isWord(nodes[at], ...joining);
      at += 1
    ) {
      const node = nodes[at];
      if (node !== undefined) on.push(node);
    }
    const columns = isGroup(list) ? list.nodes.map(readName) : [];
    sources.push({ table, alias, columns, on, isOptional: words.includes("left") });
  }
  return sources;
}
