import { parse, stringify } from "smol-toml";
import { BrokenText, readLineBreak, serverName, type FileFormat } from "./file-format.ts";

/** TOML. An edit changes only the lines of our own tables. */
export const tomlFormat: FileFormat = {
  name: "TOML",
  parse: (text) => {
    try {
      // Its tables have no prototype, so they would equal no object of ours.
      return structuredClone(parse(text, { integersAsBigInt: "asNeeded" }));
    } catch (error) {
      // The build loads the package with its first call, so that its errors cannot be imported.
      if (!(error instanceof Error && "line" in error)) throw error;
      throw new BrokenText(Number(error.line));
    }
  },
  write: writeTable,
  put: (text, key, entry) => {
    const lineBreak = readLineBreak(text);
    const table = writeTable(key, entry).replaceAll("\n", lineBreak);
    const lines = markLines(text, key);
    const first = lines.findIndex(({ isOurs }) => isOurs);
    if (first >= 0) return joinLines(lines.slice(0, first)) + table + dropOurs(lines.slice(first));
    if (text.trim() === "") return text + table;
    return `${text}${text.endsWith("\n") ? "" : lineBreak}${lineBreak}${table}`;
  },
  remove: (text, key) => dropOurs(markLines(text, key)),
};

function writeTable(key: string, entry: unknown): string {
  return `${stringify({ [key]: { [serverName]: entry } }).trimEnd()}\n`;
}

type Line = { readonly text: string; readonly isOurs: boolean };

/** Which lines are our table and the tables inside it, by their headers. */
function markLines(text: string, key: string): readonly Line[] {
  const [parent, own] = [key, serverName].map((word) => `(?:${word}|"${word}"|'${word}')`);
  const ours = new RegExp(`^\\s*\\[\\s*${parent}\\s*\\.\\s*${own}\\s*[.\\]]`);
  let isOurs = false;
  const lines = text.split(/(?<=\n)/).map((line) => {
    if (/^\s*\[/.test(line)) isOurs = ours.test(line);
    return { text: line, isOurs };
  });
  // Comments and empty lines before the next table belong to that table.
  let isBeforeOther = true;
  return lines
    .toReversed()
    .map((line) => {
      const isSeparate = isBeforeOther && /^\s*(?:#|$)/.test(line.text);
      isBeforeOther = !line.isOurs || isSeparate;
      return { text: line.text, isOurs: line.isOurs && !isSeparate };
    })
    .toReversed();
}

/** Removes our tables, each with the empty line before it. */
function dropOurs(lines: readonly Line[]): string {
  const isSpaceBefore = ({ text }: Line, index: number) =>
    text.trim() === "" && lines[index + 1]?.isOurs === true;
  return joinLines(lines.filter((line, index) => !line.isOurs && !isSpaceBefore(line, index)));
}

function joinLines(lines: readonly Line[]): string {
  return lines.map(({ text }) => text).join("");
}
