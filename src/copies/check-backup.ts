import type { CopiedTables } from "../sql/copied-tables.ts";
import type { FileLine, Head } from "./backup-lines.ts";
import {
  CopyFault,
  databaseNames,
  type CopiedSum,
  type DatabaseName,
  type TablePlace,
} from "./copied-database.ts";
import { describeOther, readBackup } from "./read-backup.ts";
import type { Row } from "./row-digest.ts";
import { planTables, type Column, type TablePlan } from "./table-plan.ts";

/** What a backup is found to hold, when it was read to its end. */
export type Checked = {
  readonly head: Head;
  readonly files: readonly FileLine[];
  readonly sums: readonly CopiedSum[];
};

/** What this Waypost knows: a backup has the same tables. */
export type Known = {
  readonly databases: Readonly<Record<DatabaseName, CopiedTables>>;
  readonly files: readonly string[];
};

type Plans = ReadonlyMap<string, TablePlan>;

const unfit = "it is damaged, or Waypost did not write it";

/**
 * Reads a backup to its end, and looks at each row. A file that fits in itself may still be forged:
 * what is put into tables must be what they are for.
 */
export async function checkBackup(
  chunks: AsyncIterable<Buffer>,
  { databases, files: knownFiles }: Known,
): Promise<Checked> {
  let head: Head | undefined;
  let plans: Plans = new Map();
  const files = new Map<string, FileLine>();
  const sums = new Map<string, CopiedSum>();
  for await (const piece of readBackup(chunks)) {
    if (piece.kind === "head") {
      head = piece.head;
      plans = await planAll(piece.head, databases);
    } else if (piece.kind === "file") {
      const { file, text } = piece.file;
      const isFit = knownFiles.includes(file) && !files.has(file) && /^[\x21-\x7e]+$/.test(text);
      if (!isFit) throw new CopyFault(unfit);
      files.set(file, piece.file);
    } else if (piece.kind === "table") {
      requireColumns(piece.place, plans);
    } else if (piece.kind === "rows") {
      const columns = pickColumns(piece.place, plans);
      if (!piece.rows.every((row) => isFitting(row, columns))) throw new CopyFault(unfit);
    } else {
      const name = nameTable(piece.sum);
      if (sums.has(name)) throw new CopyFault(unfit);
      sums.set(name, piece.sum);
    }
  }
  if (head === undefined || sums.size !== plans.size) throw new CopyFault(unfit);
  return { head, files: [...files.values()], sums: [...sums.values()] };
}

async function planAll(head: Head, databases: Known["databases"]): Promise<Plans> {
  const plans = new Map<string, TablePlan>();
  const present = databaseNames.flatMap((name) => {
    const done = head.databases[name];
    return done === undefined ? [] : [{ name, done }];
  });
  if (present.length === 0) throw new CopyFault(unfit);
  for (const { name: database, done } of present) {
    const copied = databases[database];
    // A gateway may have a state without tables.
    if (done.length === 0) continue;
    const names = copied.migrations.list.map(({ name }) => name);
    if (done.join() !== names.join()) throw new CopyFault(describeOther(head));
    for (const plan of await planTables(copied)) {
      plans.set(nameTable({ database, table: plan.table.name }), plan);
    }
  }
  return plans;
}

function requireColumns(place: TablePlace, plans: Plans): void {
  const known = plans.get(nameTable(place))?.columns;
  if (known === undefined) throw new CopyFault(unfit);
  const { columns } = place;
  const isFit =
    columns.length > 0 &&
    new Set(columns).size === columns.length &&
    columns.every((name) => known.some((column) => column.name === name)) &&
    known.every(({ name, isRequired }) => !isRequired || columns.includes(name));
  if (!isFit) throw new CopyFault(unfit);
}

function pickColumns(place: TablePlace, plans: Plans): readonly (Column | undefined)[] {
  const known = plans.get(nameTable(place))?.columns;
  return place.columns.map((name) => known?.find((column) => column.name === name));
}

function isFitting(row: Row, columns: readonly (Column | undefined)[]): boolean {
  return row.length === columns.length && row.every((cell, at) => isCell(cell, columns[at]));
}

/** No engine takes a NUL, and only whole characters have the same bytes in each. */
function isCell(cell: unknown, column: Column | undefined): boolean {
  if (column === undefined) return false;
  if (cell === null) return !column.isRequired;
  if (column.type === "number") return Number.isSafeInteger(cell);
  return typeof cell === "string" && !cell.includes("\0") && !/\p{Surrogate}/u.test(cell);
}

function nameTable({ database, table }: Omit<TablePlace, "columns">): string {
  return `${database} ${table}`;
}
