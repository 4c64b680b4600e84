import {
  applyEdits,
  findNodeAtLocation,
  modify,
  parse,
  parseTree,
  type Node,
  type ParseError,
} from "jsonc-parser";
import { parse as parseToml, stringify } from "smol-toml";

/** Reads and edits Waypost's entry in the text of a client's file. */
type FileFormat = {
  readonly name: string;
  readonly parse: (text: string) => { readonly value: unknown } | { readonly brokenLine: number };
  /** Returns the text with the entry added or replaced, or removed if `entry` is undefined. */
  readonly edit: (text: string, key: string, entry: unknown) => string;
};

export const serverName = "waypost";

function readLineBreak(text: string): "\r\n" | "\n" {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** JSON that may contain comments and trailing commas, as editors allow in settings files. */
const json: FileFormat = {
  name: "JSON",
  parse: (text) => {
    const errors: ParseError[] = [];
    const value: unknown = parse(text, errors, { ...tolerant, allowEmptyContent: true });
    const [first] = errors;
    if (first === undefined) return { value: value === undefined ? {} : value };
    return { brokenLine: text.slice(0, first.offset).split("\n").length };
  },
  edit: (text, key, entry) => {
    if (entry === undefined) return remove(text, key);
    const [, indent = "  "] = /^([ \t]+)\S/m.exec(text) ?? [];
    const eol = readLineBreak(text);
    const insertSpaces = !indent.startsWith("\t");
    const formattingOptions = { insertSpaces, tabSize: indent.length, eol };
    // Waypost's entry is inserted first, so that existing commas and comments stay in place.
    const options = { formattingOptions, getInsertionIndex: () => 0 };
    const changed = applyEdits(text, modify(text, [key, serverName], entry, options));
    return text.trim() === "" ? changed + eol : changed;
  },
};

const tolerant = { allowTrailingComma: true };

/** Removes Waypost's property, or the whole object if it contains no other server. */
function remove(text: string, key: string): string {
  const root = parseTree(text, [], tolerant);
  const servers = root && findNodeAtLocation(root, [key]);
  const member = root && findNodeAtLocation(root, [key, serverName])?.parent;
  if (servers === undefined || member === undefined) return text;
  const before = text.slice(servers.offset + 1, member.offset);
  const after = text.slice(member.offset + member.length, servers.offset + servers.length - 1);
  const isOnly = /^[\s,]*$/.test(before + after) && servers.parent !== undefined;
  return cut(text, isOnly ? servers.parent : member);
}

/** Removes a property and one comma. Also removes its line if nothing else is on it. */
function cut(text: string, { offset, length, parent }: Node): string {
  const end = offset + length;
  const before = parent?.children?.findLast((each) => each.offset < offset);
  // The last property has no comma after it, so the comma before it is removed.
  const comma = findComma(text, end) ?? (before && findComma(text, before.offset + before.length));
  const isAloneInLine = /^[ \t]*,?[ \t]*\r?\n/.test(text.slice(end));
  const start = isAloneInLine ? text.slice(0, offset).trimEnd().length : offset;
  const member = { offset: start, length: end - start, content: "" };
  const edits = comma === undefined ? [] : [{ offset: comma, length: 1, content: "" }];
  return applyEdits(text, [member, ...edits]);
}

/** Finds the next comma, skipping only whitespace and comments. */
function findComma(text: string, from: number): number | undefined {
  const found = /^(?:\s|\/\/[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*,/.exec(text.slice(from));
  return found === null ? undefined : from + found[0].length - 1;
}

/** TOML. An edit changes only the lines of Waypost's own tables. */
const toml: FileFormat = {
  name: "TOML",
  parse: (text) => {
    try {
      // The parser's objects have no prototype, so only clones of them compare as equal.
      return { value: structuredClone(parseToml(text, { integersAsBigInt: "asNeeded" })) };
    } catch (error) {
      // The parser is loaded only when needed, so its errors are recognized by their `line`.
      if (!(error instanceof Error && "line" in error)) throw error;
      return { brokenLine: Number(error.line) };
    }
  },
  edit: (text, key, entry) => {
    const tables = matchTables(key);
    if (entry === undefined) return text.replaceAll(tables, "");
    const lineBreak = readLineBreak(text);
    const written = `${stringify({ [key]: { [serverName]: entry } }).trimEnd()}\n`;
    const table = written.replaceAll("\n", lineBreak);
    const [first] = text.match(tables) ?? [];
    if (first === undefined) {
      if (text.trim() === "") return text + table;
      return `${text}${text.endsWith("\n") ? "" : lineBreak}${lineBreak}${table}`;
    }
    const [blank = ""] = /^[ \t]*\r?\n/.exec(first) ?? [];
    // The new table replaces the first of Waypost's tables. All others are removed.
    const replacements = [blank + table];
    return text.replaceAll(tables, () => replacements.pop() ?? "");
  },
};

/**
 * Matches Waypost's table and its nested tables, each with the empty line before it. Comments and
 * empty lines after a table belong to the next table.
 */
function matchTables(key: string): RegExp {
  const [parent, own] = [key, serverName].map((word) => `(?:${word}|"${word}"|'${word}')`);
  const empty = "[ \\t]*\\r?\\n";
  const header = `[ \\t]*\\[\\s*${parent}\\s*\\.\\s*${own}\\s*[.\\]][^\\n]*(?:\\n|$)`;
  const quiet = `(?:${empty}|[ \\t]*#[^\\n]*\\n)`;
  const content = "[ \\t]*[^\\s#[][^\\n]*(?:\\n|$)";
  return new RegExp(`(?:^${empty})?^${header}(?:${quiet}*${content})*`, "gm");
}

export const formats = { json, toml } as const;
