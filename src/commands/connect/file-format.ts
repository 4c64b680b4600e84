/** How our entry is read from and written into the text of a client's file. */
export type FileFormat = {
  readonly name: string;
  readonly parse: (text: string) => { readonly value: unknown } | { readonly brokenLine: number };
  /** Returns the text with the entry added, replaced, or removed where none is given. */
  readonly edit: (text: string, key: string, entry: unknown) => string;
};

export const serverName = "waypost";

export function readLineBreak(text: string): "\r\n" | "\n" {
  return text.includes("\r\n") ? "\r\n" : "\n";
}
