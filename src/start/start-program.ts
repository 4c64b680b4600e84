import { join } from "node:path";
import { findDataFolder } from "./find-data-folder.ts";
import { runProgram } from "./compiled-program.ts";

/** Starts the program from the code cache in the data folder. */
export function startProgram(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): void {
  runProgram(join(import.meta.dirname, "program.js"), guessDataFolder(words, environment));
}

/** Finds the data folder as `main.ts` does. Ignores invalid arguments, which `main.ts` rejects. */
function guessDataFolder(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const last = words.findLastIndex((word) => /^--data(?:=|$)/.test(word));
  const given = words[last]?.split("=").slice(1).join("=") || words[last + 1];
  const named = last < 0 ? environment["WAYPOST_DATA"] : given;
  return named || findDataFolder(environment);
}
