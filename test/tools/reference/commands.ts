import { exitCodes } from "../../../src/commands/help.ts";
import { commandList, type Command } from "../../../src/commands/terminal/command-list.ts";
import { code, writeTable } from "./table.ts";

const commands: readonly Command[] = Object.values(commandList);

export function writeCommands(): string {
  const rows = commands.flatMap(({ usages }) =>
    Object.entries(usages).map(([usage, help]) => [code(`waypost ${usage}`.trim()), help]),
  );
  return writeTable(["command", "what it does"], rows);
}

/** The flags of every command; what each prints with `--json` is in the help text. */
export function writeCommandFlags(): string {
  const rows = Object.entries<Command>(commandList).flatMap(([name, { operand, flags }]) => {
    const described = Object.entries(flags)
      .filter(([flag]) => flag !== "json")
      .map(([flag, { value = "", help }]) => [code(`--${flag} ${value}`.trim()), help]);
    const operands = operand === undefined ? [] : [[code(operand[0]), operand[1]]];
    const all = [...operands, ...described];
    return all.map((cells, at) => [at === 0 ? code(name) : "", ...cells]);
  });
  return writeTable(["command", "flag", "meaning"], rows);
}

export function writeExitCodes(): string {
  return writeTable(["code", "meaning"], exitCodes);
}
