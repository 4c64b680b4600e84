import { exitCodes } from "../../../src/commands/help.ts";
import { commands } from "../../../src/commands/run-command.ts";
import { code, writeTable } from "./table.ts";

/** Writes the tables of commands and their flags. */

export function writeCommands(): string {
  const rows = Object.values(commands).flatMap(({ usages }) =>
    Object.entries(usages).map(([usage, [help]]) => [code(`waypost ${usage}`.trim()), help]),
  );
  return writeTable(["command", "what it does"], rows);
}

/** The flags of every command; what each prints with `--json` is in the help text. */
export function writeCommandFlags(): string {
  const rows = Object.entries(commands).flatMap(([name, { flags }]) => {
    const described = Object.entries(flags).filter(([flag]) => flag !== "--json");
    return described.map(([flag, help], at) => [at === 0 ? code(name) : "", code(flag), help]);
  });
  return writeTable(["command", "flag", "meaning"], rows);
}

export function writeExitCodes(): string {
  return writeTable(["code", "meaning"], exitCodes);
}
