import { basename, relative } from "node:path";

/** How the person who started this process starts `waypost` again, from the same folder. */
export function nameCommand(program: string, folder: string): string {
  // A link in node_modules/.bin is on no shell's path, but on npx's.
  if (/[\\/]node_modules[\\/]\.bin[\\/]/.test(program)) return "npx waypost";
  if (basename(program) === "waypost") return "waypost";
  const near = relative(folder, program);
  return `node ${quoteWord(near.length < program.length ? near : program)}`;
}

/** As a shell reads it as one word. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
