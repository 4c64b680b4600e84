import { settingGroups, settingList, type Setting } from "../../../src/config/settings.ts";
import { code, writeTable } from "./table.ts";

/** A table for each group of settings. */
export function writeSettings(): string {
  const sections = settingGroups.map((group) => {
    const members = settingList.filter((setting) => setting.group === group);
    const head = ["variable", "flag", "default", "meaning"];
    return `## ${group}\n\n${writeTable(head, members.map(describeSetting))}`;
  });
  return sections.join("\n\n");
}

function describeSetting({ variable, flag, value, help, docs, ...usual }: Setting) {
  return [
    code(variable),
    flag === undefined ? "" : code(`--${flag} ${value}`),
    describeDefault(usual),
    [help, ...(docs === undefined ? [] : [docs])].join(" "),
  ];
}

function describeDefault({ default: value, unset }: Pick<Setting, "default" | "unset">): string {
  if (value) return code(value);
  if (unset === undefined) return "";
  return /[/{]/.test(unset) ? code(unset) : unset;
}
