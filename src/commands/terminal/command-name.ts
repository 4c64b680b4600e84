import { basename, resolve } from "node:path";
import type { Config } from "../../config.ts";
import { isPlainPath, quoteWord } from "../../text/escape.ts";

/** Returns the command that starts `waypost` on this machine, from any folder. */
export function nameCommand(program: string): string {
  // Programs in node_modules/.bin are usually not on the shell's path.
  const isInModules = /[\\/]node_modules[\\/]\.bin[\\/]/.test(program);
  const isOnPath = basename(program) === "waypost" && !isInModules;
  return isOnPath ? "waypost" : `node ${quoteWord(program)}`;
}

/** Writes a command with the flags and variables that select the data of this configuration. */
export function writeCommand(config: NamedConfig, command: string, words: string): string {
  const { secrets, data, isDataNamed } = config;
  const { database_url: url, database_url_file: file } = secrets;
  const folder = isDataNamed ? ` --data ${quoteWord(resolve(data))}` : "";
  // The database URL may contain a password, so it is never shown.
  if (url !== undefined) return `${command} ${words}${folder} --database-url URL`;
  if (file === undefined) return `${command} ${words}${folder}`;
  const shown = isPlainPath(file) ? resolve(file) : "FILE";
  return `env WAYPOST_DATABASE_URL_FILE=${shown} ${command} ${words}${folder}`;
}

export function nameMakeKey(config: NamedConfig, command: string): string {
  return writeCommand(config, command, "keys create --project default");
}

type NamedConfig = Pick<Config, "data" | "isDataNamed" | "secrets">;
