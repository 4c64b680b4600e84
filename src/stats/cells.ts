/** Counts by a row, such as a link, and by kind. */
export type Cells = Map<string, Map<string, number>>;

export function addCell(cells: Cells, row: string, kind: string, count: number): void {
  const known = cells.get(row);
  if (known === undefined) cells.set(row, new Map([[kind, count]]));
  else known.set(kind, (known.get(kind) ?? 0) + count);
}

/** What is counted belongs to the row that was started last. */
export type CellsWriter = {
  readonly startRow: (row: string) => void;
  readonly count: (kind: string, count: number) => void;
  readonly write: () => string;
};

/** Each kind is written once, and then stands for itself by its place. */
export function createCellsWriter(): CellsWriter {
  const kinds = new Map<string, number>();
  let rows = "";
  let end = "";
  return {
    startRow: (row) => {
      rows += `${end},[${JSON.stringify(row)}`;
      end = "]";
    },
    count: (kind, count) => {
      let place = kinds.get(kind);
      if (place === undefined) kinds.set(kind, (place = kinds.size));
      rows += `,${place},${count}`;
    },
    write: () => `[${JSON.stringify([...kinds.keys()])}${rows}${end}]`,
  };
}

export function writeCells(cells: Cells): string {
  const writer = createCellsWriter();
  for (const [row, counts] of cells) {
    writer.startRow(row);
    for (const [kind, count] of counts) writer.count(kind, count);
  }
  return writer.write();
}

/** Rows with the places of their kinds and the counts of those, one behind the other. */
export type ReadCells = {
  readonly kinds: readonly string[];
  readonly rows: readonly (readonly [string, ...number[]])[];
};

export function readCells(text: string): ReadCells {
  // We wrote it ourselves.
  const [kinds, ...rows] = JSON.parse(text) as [string[], ...[string, ...number[]][]];
  return { kinds, rows };
}

/** Calls `take` with each kind's place and count of a row. */
export function eachCell(
  row: readonly [string, ...number[]],
  take: (kind: number, count: number) => void,
): void {
  for (let place = 1; place < row.length; place += 2) {
    // Behind the row's name there are numbers alone, two for each kind.
    take(row[place] as number, row[place + 1] as number);
  }
}

/** Answers how many counts there were. */
export function addCells(cells: Cells, text: string): number {
  const { kinds, rows } = readCells(text);
  let added = 0;
  for (const row of rows) {
    eachCell(row, (kind, count) => addCell(cells, row[0], kinds[kind] ?? "", count));
    added += (row.length - 1) / 2;
  }
  return added;
}
