import { parse, stringify } from "smol-toml";
import { readLineBreak, serverName, type FileFormat } from "./file-format.ts";

/** TOML. An edit changes only the lines of our own tables. */
export const tomlFormat: FileFormat = {
  name: "TOML",
  parse: (text) => {
    try {
      // Its tables have no prototype, so they would equal no object of ours.
      return { value: structuredClone(parse(text, { integersAsBigInt: "asNeeded" })) };
    } catch (error) {
      // The build loads the package with its first call, so that its errors cannot be imported.
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
    const start = text.indexOf(first);
    const [blank = ""] = /^[ \t]*\r?\n/.exec(first) ?? [];
    const rest = text.slice(start + first.length).replaceAll(tables, "");
    return text.slice(0, start) + blank + table + rest;
  },
};

/**
 * Our table and the tables inside it, each with the empty line before it. Comments and empty lines
 * behind a table belong to the next one.
 */
function matchTables(key: string): RegExp {
  const [parent, own] = [key, serverName].map((word) => `(?:${word}|"${word}"|'${word}')`);
  const empty = "[ \\t]*\\r?\\n";
  const header = `[ \\t]*\\[\\s*${parent}\\s*\\.\\s*${own}\\s*[.\\]][^\\n]*(?:\\n|$)`;
  const quiet = `(?:${empty}|[ \\t]*#[^\\n]*\\n)`;
  const content = "[ \\t]*[^\\s#[][^\\n]*(?:\\n|$)";
  return new RegExp(`(?:^${empty})?^${header}(?:${quiet}*${content})*`, "gm");
}
