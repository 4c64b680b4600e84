import { basename, relative, resolve } from "node:path";
import type { Config } from "../../config.ts";
import { quoteWord } from "../../text/quote-word.ts";

/** How the person who started this process starts `waypost` again, from the same folder. */
export function nameCommand(program: string, folder: string): string {
  if (isInModules(program)) return "npx waypost";
  if (basename(program) === "waypost") return "waypost";
  const near = relative(folder, program);
  return `node ${quoteWord(near.length < program.length ? near : program)}`;
}

/** How anybody on this machine starts `waypost`, from any folder. */
export function nameCommandAnywhere(program: string): string {
  const isOnPath = basename(program) === "waypost" && !isInModules(program);
  return isOnPath ? "waypost" : `node ${quoteWord(program)}`;
}

/** A link in node_modules/.bin is on no shell's path, but on npx's. */
function isInModules(program: string): boolean {
  return /[\\/]node_modules[\\/]\.bin[\\/]/.test(program);
}

/** What Node is started with, from any folder. */
export function locateProgram(program: string): string {
  return resolve(program);
}

/** What else it must be told, to work on the same data. */
export function nameData({ data, isDataNamed, isDatabaseNamed }: Named): string {
  const folder = isDataNamed ? ` --data ${quoteWord(data)}` : "";
  // Its address may hold a password, and whoever typed it knows it.
  return isDatabaseNamed ? `${folder} --database-url URL` : folder;
}

/** What makes a key of the project that the first start has made. */
export function nameMakeKey(config: Named, command: string): string {
  return `${command} keys create --project default${nameData(config)}`;
}

type Named = Pick<Config, "data" | "isDataNamed" | "isDatabaseNamed">;
