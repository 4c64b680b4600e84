import { basename, resolve } from "node:path";
import type { Config } from "../../config.ts";
import { quoteWord } from "../../text/quote-word.ts";

/** How anybody on this machine starts `waypost`, from any folder. */
export function nameCommand(program: string): string {
  // A link in node_modules/.bin is not on the path of a shell.
  const isInModules = /[\\/]node_modules[\\/]\.bin[\\/]/.test(program);
  const isOnPath = basename(program) === "waypost" && !isInModules;
  return isOnPath ? "waypost" : `node ${quoteWord(program)}`;
}

/** What Node is started with, from any folder. */
export function locateProgram(program: string): string {
  return resolve(program);
}

/** What else it must be told, to work on the same data. */
export function nameData({ data, isDataNamed, isDatabaseNamed }: Named): string {
  const folder = isDataNamed ? ` --data ${quoteWord(resolve(data))}` : "";
  // Its address may hold a password, and whoever typed it knows it.
  return isDatabaseNamed ? `${folder} --database-url URL` : folder;
}

/** What makes a key of the project that the first start has made. */
export function nameMakeKey(config: Named, command: string): string {
  return `${command} keys create --project default${nameData(config)}`;
}

type Named = Pick<Config, "data" | "isDataNamed" | "isDatabaseNamed">;
