import { fold } from "../text.ts";

/** Finds the apps or projects that a text names. */

type NamingFields<Row> = {
  /** A value that is unique among the rows, such as a bundle ID. */
  readonly unique: (row: Row) => string;
  readonly name: (row: Row) => string;
};

/** Tries the unique value, then the name, then either without case; the first match is used. */
export function pickNamed<Row>(
  rows: readonly Row[],
  given: string,
  { unique, name }: NamingFields<Row>,
): readonly Row[] {
  const text = given.trim().normalize("NFC");
  const folded = fold(text);
  const ways = [
    (row: Row) => unique(row).normalize("NFC") === text,
    (row: Row) => name(row).normalize("NFC") === text,
    (row: Row) => fold(unique(row)) === folded || fold(name(row)) === folded,
  ];
  const found = ways.map((fits) => rows.filter(fits));
  return text === "" ? [] : (found.find(({ length }) => length > 0) ?? []);
}
