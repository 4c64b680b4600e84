import type { Command } from "./terminal/command.ts";
import { settingGroups, settingList, type Setting } from "../config/settings.ts";

/** Writes the text of `waypost --help`. */
export function renderHelp(commands: readonly Command[]): string {
  return [
    "Waypost: dynamic links that an assistant can manage and that you host yourself.",
    commands.flatMap(renderUsages).join("\n"),
    "A flag overrides its variable. Secrets have no flag.",
    ...settingGroups.map(renderSettings),
    ...commands.flatMap(renderFlags),
    "  --help               this text  --version",
    wrap(`Exit codes: ${exitCodes.map((each) => each.join(" ")).join("; ")}.`, 100).join("\n"),
  ].join("\n\n");
}

export const exitCodes: readonly (readonly [code: string, meaning: string])[] = [
  ["0", "done"],
  ["1", "unexpected error, an unreachable database, a fault that doctor found, or a failed row"],
  ["2", "a mistake in the input or settings, explained in one line on stderr"],
  ["130", "stopped by Ctrl-C"],
];

function renderUsages({ usages }: Command): readonly string[] {
  return Object.entries(usages).flatMap(([usage, [help]]) =>
    indent(`  waypost ${usage}`, help, 29),
  );
}

function renderSettings(group: (typeof settingGroups)[number]): string {
  const members = settingList.filter((setting) => setting.group === group);
  return [`Settings: ${group.toLowerCase()}`, ...members.flatMap(renderSetting)].join("\n");
}

function renderSetting({ flag, value, variable, help, ...setting }: Setting): readonly string[] {
  const named = flag === undefined ? "" : `  --${flag} ${value}`;
  const usual = setting.default || setting.unset;
  const hasDefault = usual !== undefined && usual !== "none";
  const text = hasDefault ? `${help} Default: ${usual}` : help;
  return indent(`${named.padEnd(25)}${variable}`, text, 52);
}

function renderFlags({ usages, flags, notes }: Command): readonly string[] {
  const rows = Object.entries(flags).flatMap(([flag, help]) => indent(`  ${flag}`, help, 23));
  if (rows.length === 0) return [];
  const last = notes === undefined ? [] : indent("", notes, 2);
  return [[Object.keys(usages).join(", "), ...rows, ...last].join("\n")];
}

/** Wraps the text in a column to the right of `head`, or below `head` if it is too long. */
function indent(head: string, text: string, column: number): readonly string[] {
  const lines = wrap(text.replaceAll("`", ""), 100 - column);
  const isLong = head.length >= column && head !== "";
  const [first, ...rest] = isLong
    ? [head, ...lines]
    : [head.padEnd(column) + lines[0], ...lines.slice(1)];
  return [first ?? "", ...rest.map((line) => " ".repeat(column) + line)];
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    const isFull = last === undefined || last.length + 1 + word.length > width;
    if (isFull) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
