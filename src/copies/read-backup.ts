import { createHash, type Hash } from "node:crypto";
import {
  backupFormat,
  mostLineBytes,
  readEnd,
  readFileLine,
  readHead,
  readTableHead,
  readTableSum,
  type FileLine,
  type Head,
} from "./backup-lines.ts";
import { CopyFault, type CopiedSum, type TablePlace } from "./copied-database.ts";
import { readLines } from "./read-lines.ts";
import { createTableSum, type Row } from "./row-digest.ts";

/** What a backup holds, piece by piece. Whether its rows fit our tables is another question. */
export type Piece =
  | { readonly kind: "head"; readonly head: Head }
  | { readonly kind: "file"; readonly file: FileLine }
  | TablePiece;

export type TablePiece =
  | { readonly kind: "table"; readonly place: TablePlace }
  | RowsPiece
  | { readonly kind: "sum"; readonly sum: CopiedSum };

export type RowsPiece = {
  readonly kind: "rows";
  readonly place: TablePlace;
  readonly rows: readonly Row[];
};

/** So many rows, or characters, are handed on at once. */
const mostRows = 1000;
const wantedSize = 1_000_000;

const foreign = "it is not a Waypost backup";
const damaged = "it is damaged";
const cutOff = "the file is cut off";

/** Throws a CopyFault where the file is not just as it was written. */
export async function* readBackup(chunks: AsyncIterable<Buffer>): AsyncGenerator<Piece> {
  const whole = createHash("sha256");
  const lines = readTexts(chunks, whole);
  const head = readHead(parse(await readNext(lines, foreign), foreign));
  if (head === undefined) throw new CopyFault(foreign);
  if (head.waypost_backup !== backupFormat) throw new CopyFault(describeOther(head));
  yield { kind: "head", head };
  for (let rows = 0; ;) {
    const value = parse(await readNext(lines, cutOff), damaged);
    const place = readTableHead(value);
    const file = readFileLine(value);
    if (place !== undefined) {
      yield { kind: "table", place };
      rows += yield* readTable(lines, place);
    } else if (file !== undefined) {
      yield { kind: "file", file };
    } else {
      const end = readEnd(value)?.end;
      const isWhole = end?.rows === rows && end.sha256 === whole.copy().digest("hex");
      if (!isWhole || (await lines.next()).done !== true) throw new CopyFault(damaged);
      return;
    }
  }
}

export function describeOther({ version }: Head): string {
  return `another version of Waypost made it (${version}); use that version`;
}

/** Answers how many rows there were. */
async function* readTable(lines: Lines, place: TablePlace): AsyncGenerator<Piece, number> {
  const sum = createTableSum();
  let rows: Row[] = [];
  let size = 0;
  for (;;) {
    const text = await readNext(lines, cutOff);
    const value = parse(text, damaged);
    const isRow = Array.isArray(value);
    // What is in the row is looked at where its table is known.
    if (isRow) rows.push(value as Row);
    if (isRow) sum.add(text);
    size += text.length;
    if (rows.length >= mostRows || size >= wantedSize || (!isRow && rows.length > 0)) {
      yield { kind: "rows", place, rows };
      [rows, size] = [[], 0];
    }
    if (isRow) continue;
    const told = readTableSum(value);
    const counted = sum.read();
    if (told?.rows !== counted.rows || told.digest !== counted.digest) throw new CopyFault(damaged);
    yield { kind: "sum", sum: { ...place, ...counted } };
    return counted.rows;
  }
}

type Lines = AsyncGenerator<string, undefined>;

/** Each line; those before the one that was read last are in the digest. */
async function* readTexts(chunks: AsyncIterable<Buffer>, whole: Hash): Lines {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let isBegun = false;
  try {
    for await (const line of readLines(chunks, mostLineBytes)) {
      const text = decoder.decode(line);
      isBegun = true;
      yield text;
      whole.update(line).update("\n");
    }
  } catch (error) {
    throw explainUnread(error, isBegun);
  }
}

function explainUnread(error: unknown, isBegun: boolean): unknown {
  if (error instanceof CopyFault || !(error instanceof Error)) return error;
  const code = "code" in error ? error.code : undefined;
  if (code === "Z_BUF_ERROR") return new CopyFault(cutOff, { cause: error });
  // Whatever begins as gzip does may have been ours.
  const isPacked = code === "Z_DATA_ERROR" && error.message !== "incorrect header check";
  if (isPacked) return new CopyFault(damaged, { cause: error });
  const isText = error instanceof TypeError;
  if (!isText && code !== "Z_DATA_ERROR") return error;
  return new CopyFault(isBegun ? damaged : foreign, { cause: error });
}

async function readNext(lines: Lines, fault: string): Promise<string> {
  const next = await lines.next();
  if (next.done === true) throw new CopyFault(fault);
  return next.value;
}

function parse(text: string, fault: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CopyFault(fault, { cause: error });
  }
}
