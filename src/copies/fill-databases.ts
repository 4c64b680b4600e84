import {
  CopyFault,
  type CopiedDatabase,
  type CopiedSum,
  type DatabaseName,
  type TablePlace,
} from "./copied-database.ts";
import { claimDatabase, isHalfFilled, type Claim, type Filling } from "./fill-database.ts";
import { readRows } from "./read-rows.ts";
import { createTableSum, writeRow, type Row } from "./row-digest.ts";

/** Rows on their way into a table. */
type Pouring = TablePlace & { readonly rows: readonly Row[] };

export type Take = (rows: Pouring) => Promise<void>;

type Copy = {
  readonly claim: Claim;
  /** Hands on all rows, and answers what they come to. */
  readonly pour: (take: Take) => Promise<readonly CopiedSum[]>;
  /** What has to be so before any process may open the databases. */
  readonly complete: () => Promise<void>;
  /** Takes that away again. */
  readonly undo: () => void;
};

type Target = CopiedDatabase & { readonly filling: Filling };

/**
 * Puts a copy into databases that are empty, or half filled by one that was ended. The last of them
 * is claimed first and opened last: as long as it has its mark, the others are nobody's.
 */
export async function fillDatabases(
  databases: readonly CopiedDatabase[],
  copy: Copy,
): Promise<readonly CopiedSum[]> {
  const targets: Target[] = [];
  try {
    await claimAll(databases, copy.claim, targets);
    for (const { filling } of targets) await filling.makeTables();
    const sums = await copy.pour((pouring) => insert(targets, pouring));
    await compare(targets, sums);
    await copy.complete();
    for (const { filling } of targets.toReversed()) await filling.finish();
    return sums;
  } catch (error) {
    // Where that fails as well, the marks are left, and the next try begins with them.
    for (const { filling } of targets) await filling.abandon(copy.undo).catch(() => undefined);
    throw error;
  }
}

async function claimAll(
  databases: readonly CopiedDatabase[],
  claim: Claim,
  targets: Target[],
): Promise<void> {
  const last = databases.at(-1);
  const isRepeated = last !== undefined && (await isHalfFilled(last));
  for (const database of databases.toReversed()) {
    const isOurs = isRepeated && database !== last;
    targets.push({ ...database, filling: await claimDatabase(database, claim, isOurs) });
  }
}

async function insert(targets: readonly Target[], pouring: Pouring): Promise<void> {
  const { database, table, columns, rows } = pouring;
  for (const { filling } of targets) await filling.hold();
  await findTarget(targets, database).filling.insert(table, columns, rows);
}

/** Reads everything again: what was written is what was handed on. */
async function compare(targets: readonly Target[], wanted: readonly CopiedSum[]): Promise<void> {
  for (const { database, table: name, columns, rows, digest } of wanted) {
    const { sql, copied } = findTarget(targets, database);
    const table = copied.tables.find((known) => known.name === name);
    if (table === undefined) throw new CopyFault(`the table ${name} is unknown`);
    const sum = createTableSum();
    for await (const page of readRows(sql.db, table, columns)) {
      for (const { filling } of targets) await filling.hold();
      for (const row of page) sum.add(writeRow(row));
    }
    const found = sum.read();
    if (found.rows === rows && found.digest === digest) continue;
    throw new CopyFault(`the copy of the table ${name} differs from the original`);
  }
}

function findTarget(targets: readonly Target[], database: DatabaseName): Target {
  const target = targets.find(({ name }) => name === database);
  if (target === undefined) throw new CopyFault(`the copy has no database ${database}`);
  return target;
}
