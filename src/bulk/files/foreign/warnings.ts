import { isBlank } from "../../../contract/text.ts";
import { readFlag } from "../columns.ts";
import type { Converted } from "./format.ts";

/** Rows of another service that become links its user may not expect. */

type Kind = keyof typeof sentences;

/** How many rows of each kind a source has, and the number of the first one. */
export type CountedWarnings = Map<Kind, { readonly count: number; readonly first: number }>;

const sentences = {
  noDestination: {
    one: "row has no destination",
    many: "rows have no destination",
    effect: "Desktop visitors will see a page instead of being redirected.",
  },
  archived: {
    one: "row is archived",
    many: "rows are archived",
    effect: "Waypost has no archive, so these links work like all others.",
  },
} as const;

const archivedKeys: ReadonlySet<string> = new Set(["archived", "isdeleted"]);

export function countWarnings(
  warnings: CountedWarnings,
  { fields, unmapped }: Converted,
  row: number,
): void {
  const isArchived = unmapped.some(
    ({ key, text }) => archivedKeys.has(key) && readFlag(text) === true,
  );
  if (isBlank(fields.url)) countWarning(warnings, "noDestination", row);
  if (isArchived) countWarning(warnings, "archived", row);
}

function countWarning(warnings: CountedWarnings, kind: Kind, row: number): void {
  const { count, first } = warnings.get(kind) ?? { count: 0, first: row };
  warnings.set(kind, { count: count + 1, first });
}

export function describeWarnings(
  warnings: CountedWarnings,
  unit: "line" | "row",
): readonly string[] {
  return [...warnings].map(([kind, { count, first }]) => {
    const { one, many, effect } = sentences[kind];
    if (count === 1) return `1 ${one} (${unit} ${first}). ${effect}`;
    return `${count} ${many} (the first is ${unit} ${first}). ${effect}`;
  });
}
