/** SQL as words, names, values and signs, with what stands in parentheses as one. */

type Leaf = {
  /** A name is a word in quotes, which is never a word of SQL itself. */
  readonly kind: "word" | "name" | "value" | "sign";
  readonly text: string;
};
export type Group = { readonly kind: "group"; readonly nodes: readonly Node[] };
export type Node = Leaf | Group;

const value = /('(?:[^']|'')*'|\$\d+|\d+(?:\.\d+)?)/;
const name = /"((?:[^"]|"")*)"/;
const word = /([a-z_][\w$]*)/;
const sign = /(<>|<=|>=|!=|\|\||::|[^\s\w])/;
const kinds = [/\s+/, value, name, word, sign].map(({ source }) => source);
const token = new RegExp(kinds.join("|"), "giy");

/** The statements of a text, one after the other. */
export function readStatements(text: string): readonly (readonly Node[])[] {
  const leaves = readLeaves(text);
  const nodes = readGroup(leaves[Symbol.iterator]());
  return splitAt(nodes, (node) => isSign(node, ";")).filter(({ length }) => length > 0);
}

function readLeaves(text: string): readonly Leaf[] {
  const leaves: Leaf[] = [];
  token.lastIndex = 0;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [, ofValue, ofName, ofWord, ofSign] = found;
    if (ofValue !== undefined) leaves.push({ kind: "value", text: ofValue });
    else if (ofName !== undefined) leaves.push({ kind: "name", text: ofName });
    else if (ofWord !== undefined) leaves.push({ kind: "word", text: ofWord.toLowerCase() });
    else if (ofSign !== undefined) leaves.push({ kind: "sign", text: ofSign });
    if (token.lastIndex >= text.length) return leaves;
  }
  if (text.trim() !== "") throw new Error(`cannot read: ${text}`);
  return leaves;
}

/** Up to the parenthesis that closes it, or the end. */
function readGroup(leaves: Iterator<Leaf, unknown>): readonly Node[] {
  const nodes: Node[] = [];
  for (let next = leaves.next(); next.done !== true; next = leaves.next()) {
    const leaf = next.value;
    if (isSign(leaf, ")")) break;
    nodes.push(isSign(leaf, "(") ? { kind: "group", nodes: readGroup(leaves) } : leaf);
  }
  return nodes;
}

export function isWord(node: Node | undefined, ...words: readonly string[]): boolean {
  return node?.kind === "word" && (words.length === 0 || words.includes(node.text));
}

export function isSign(node: Node | undefined, sign: string): boolean {
  return node?.kind === "sign" && node.text === sign;
}

export function isGroup(node: Node | undefined): node is Group {
  return node?.kind === "group";
}

/** A table's, a column's or another's own name, however it is written. */
export function readName(node: Node | undefined): string | undefined {
  return node?.kind === "name" || node?.kind === "word" ? node.text : undefined;
}

export function splitAt(
  nodes: readonly Node[],
  isBorder: (node: Node, at: number) => boolean,
): readonly (readonly Node[])[] {
  const parts: Node[][] = [[]];
  nodes.forEach((node, at) => {
    if (isBorder(node, at)) parts.push([]);
    else parts.at(-1)?.push(node);
  });
  return parts;
}
