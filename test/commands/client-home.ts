import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parse as parseJson } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { bundle, runHere } from "../support/command.ts";
import { createEmptyFolder } from "../support/folders.ts";
import { openForEach } from "../support/open-for.ts";

/** Gives each test an empty home folder for the settings files of MCP clients. */
export function useHome() {
  let home = "";
  openForEach(createEmptyFolder, ({ path }) => (home = path));
  return {
    home: () => home,
    run: (words: readonly string[], typed?: Iterable<string>) =>
      runHere(
        ["connect", ...words],
        { HOME: home, XDG_CONFIG_HOME: "" },
        typed === undefined ? {} : { typed },
      ),
    fill: (file: string, text: string | Buffer) => {
      const path = join(home, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      return path;
    },
    read: (file: string) => readFileSync(join(home, file), "utf8"),
    /** The backups of a file, the oldest first. */
    listBackups: (file: string) => {
      const folder = dirname(file);
      const names = existsSync(join(home, folder)) ? readdirSync(join(home, folder)) : [];
      const start = `${basename(file)}.waypost-backup-`;
      return names
        .filter((name) => name.startsWith(start))
        .toSorted()
        .map((name) => join(folder, name));
    },
  };
}

// The files have no fixed type, as each client has its own format.
// oxlint-disable-next-line typescript/no-explicit-any
export function parse(file: string, text: string): any {
  return file.endsWith(".toml") ? parseToml(text) : parseJson(text, []);
}

export const startsHere = { command: process.execPath, args: [bundle] };
