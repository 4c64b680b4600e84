/** How the entry is read from and written into the text of a client's file. */
export type FileFormat = {
  readonly name: string;
  /** Throws a `BrokenText` where the text is not of this format. */
  readonly parse: (text: string) => unknown;
  /** The text of a file with nothing else in it. */
  readonly write: (key: string, entry: unknown) => string;
  /** Returns the text with the entry added, or with an existing entry replaced. */
  readonly put: (text: string, key: string, entry: unknown) => string;
  readonly remove: (text: string, key: string) => string;
};

export const serverName = "waypost";

export class BrokenText extends Error {
  override readonly name = "BrokenText";
  readonly line: number;

  constructor(line: number) {
    super(`line ${line} is broken`);
    this.line = line;
  }
}

export function readLineBreak(text: string): "\r\n" | "\n" {
  return text.includes("\r\n") ? "\r\n" : "\n";
}
