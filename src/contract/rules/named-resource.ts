import { fold } from "../text.ts";

/** Which of some apps or projects a text names. */

type Names<Row> = {
  /** What no two of them share, such as a bundle id. */
  readonly unique: (row: Row) => string;
  readonly name: (row: Row) => string;
};

/** The first way that fits any: what is theirs alone, the name, and either in any case. */
export function pickNamed<Row>(
  rows: readonly Row[],
  given: string,
  { unique, name }: Names<Row>,
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
