import { findNodeAtLocation, parse, parseTree, type Node, type ParseError } from "jsonc-parser";
import { BrokenText, readLineBreak, serverName, type FileFormat } from "./file-format.ts";

/** JSON with comments and trailing commas, as editors read it. */
export const jsonFormat: FileFormat = {
  name: "JSON",
  parse: (text) => {
    const errors: ParseError[] = [];
    const value: unknown = parse(text, errors, { ...tolerant, allowEmptyContent: true });
    const [first] = errors;
    if (first === undefined) return value === undefined ? {} : value;
    throw new BrokenText(text.slice(0, first.offset).split("\n").length);
  },
  write: (key, entry) => writeJson({ [key]: { [serverName]: entry } }, 0, usualStyle),
  put: (text, key, entry) => {
    const root = parseTree(text, [], tolerant);
    const style = readStyle(text);
    if (root === undefined) return writeAfter(text, { [key]: { [serverName]: entry } }, style);
    const old = findNodeAtLocation(root, [key, serverName]);
    if (old !== undefined) {
      return replace(text, old.offset, old.offset + old.length, writeJson(entry, 2, style));
    }
    const servers = findNodeAtLocation(root, [key]);
    if (servers !== undefined) return append(text, servers, serverName, entry, { style, depth: 2 });
    return append(text, root, key, { [serverName]: entry }, { style, depth: 1 });
  },
  remove: (text, key) => {
    const root = parseTree(text, [], tolerant);
    const member = root && findNodeAtLocation(root, [key, serverName])?.parent;
    return member === undefined ? text : cutMember(text, member);
  },
};

const tolerant = { allowTrailingComma: true };

type Style = { readonly indent: string; readonly lineBreak: string };

const usualStyle: Style = { indent: "  ", lineBreak: "\n" };

function readStyle(text: string): Style {
  const [, indent = usualStyle.indent] = /^([ \t]+)\S/m.exec(text) ?? [];
  return { indent, lineBreak: readLineBreak(text) };
}

function writeJson(value: unknown, depth: number, { indent, lineBreak }: Style): string {
  const text = JSON.stringify(value, null, indent);
  return text.replaceAll("\n", lineBreak + indent.repeat(depth));
}

/** The file is empty, or has nothing but comments. */
function writeAfter(text: string, value: unknown, style: Style): string {
  const before = text.trim() === "" ? "" : `${text.trimEnd()}${style.lineBreak}`;
  return `${before}${writeJson(value, 0, style)}${style.lineBreak}`;
}

/** Adds a last member. A comment behind the member before it stays there. */
function append(
  text: string,
  parent: Node,
  name: string,
  value: unknown,
  { style, depth }: { readonly style: Style; readonly depth: number },
): string {
  const { indent, lineBreak } = style;
  const close = parent.offset + parent.length - 1;
  const last = parent.children?.at(-1);
  const lastEnd = last === undefined ? parent.offset + 1 : last.offset + last.length;
  const end = text.slice(0, close).trimEnd().length;
  const hasTrailingComma = findComma(text, lastEnd, close) !== undefined;
  const space = text.slice(end, close);
  return [
    text.slice(0, lastEnd),
    last === undefined || hasTrailingComma ? "" : ",",
    text.slice(lastEnd, end),
    lineBreak + indent.repeat(depth),
    `${JSON.stringify(name)}: ${writeJson(value, depth, style)}`,
    hasTrailingComma ? "," : "",
    space.includes("\n") ? space : lineBreak + indent.repeat(depth - 1),
    text.slice(close),
  ].join("");
}

/** Takes out a member and one comma, and its line where nothing else is in it. */
function cutMember(text: string, member: Node): string {
  const siblings = member.parent?.children ?? [];
  const end = member.offset + member.length;
  const before = siblings[siblings.indexOf(member) - 1];
  const after = findComma(text, end, text.length);
  const rest =
    after === undefined ? text.slice(end) : text.slice(end, after) + text.slice(after + 1);
  const isAloneInLine = /^[ \t]*\r?\n/.test(rest);
  const head = text.slice(0, member.offset);
  const kept = isAloneInLine ? head.trimEnd() : head;
  if (after !== undefined || before === undefined) return kept + rest;
  const beforeEnd = before.offset + before.length;
  const comma = findComma(text, beforeEnd, member.offset);
  return (comma === undefined ? kept : replace(kept, comma, comma + 1, "")) + rest;
}

/** The next comma, if nothing but space and comments is before it. */
function findComma(text: string, from: number, to: number): number | undefined {
  const found = /^(?:\s|\/\/[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*,/.exec(text.slice(from, to));
  return found === null ? undefined : from + found[0].length - 1;
}

function replace(text: string, from: number, to: number, by: string): string {
  return text.slice(0, from) + by + text.slice(to);
}
