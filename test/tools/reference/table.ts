/** A table in Markdown; prettier aligns it. */
export function writeTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map(writeRow).join("\n");
}

function writeRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

export function code(text: string): string {
  return `\`${text}\``;
}

export function listCodes(texts: readonly string[]): string {
  return texts.map(code).join(", ");
}
