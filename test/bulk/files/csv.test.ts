import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CsvFault,
  readCsv,
  writeRecord,
  type CsvRecord,
  type TextSource,
} from "../../../src/bulk/files/csv.ts";
import { cut, drain, pour } from "../streams.ts";

/** Reading and writing CSV: RFC 4180, and the variants of spreadsheets. */

const cell = fc
  .array(
    fc.constantFrom(
      '"',
      '""',
      ",",
      ";",
      "\t",
      "\n",
      "\r",
      "\r\n",
      " ",
      "a",
      "é",
      "😀",
      "\ufeff",
      "=",
    ),
  )
  .map((parts) => parts.join(""));
const record = fc.array(cell, { minLength: 1, maxLength: 4 });
const filled = record.filter((cells) => cells.some((text) => text !== ""));

describe("written CSV", () => {
  test("is read back exactly, whatever the cells contain", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(filled, { minLength: 1, maxLength: 5 }), async (records) => {
        const text = ["a,b\r\n", ...records.map(writeRecord)].join("");
        const [, ...read] = cellsOf(await collect(text));
        expect(read).toEqual(records);
      }),
      { numRuns: 500 },
    );
  });

  test("is parsed into the same records whatever the size of the chunks", async () => {
    const chunks = fc.tuple(
      fc.array(filled, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 9 }),
    );
    await fc.assert(
      fc.asyncProperty(chunks, async ([records, size]) => {
        const text = records.map(writeRecord).join("");
        expect(await collectAll(cut(text, size))).toEqual(await collectAll(text));
      }),
    );
  });

  test("contains quotes only around cells that need them", () => {
    expect(writeRecord(["a", "b c", "d,e", 'f"g', "h\ni", " j", ""])).toBe(
      'a,b c,"d,e","f""g","h\ni"," j",\r\n',
    );
  });
});

describe("CSV from other programs", () => {
  test.each([
    ["lines that end in LF", "a,b\n1,2\n"],
    ["lines that end in CRLF", "a,b\r\n1,2\r\n"],
    ["lines that end in CR", "a,b\r1,2\r"],
    ["no newline at the end", "a,b\n1,2"],
    ["a byte order mark", "\ufeffa,b\n1,2\n"],
    ["empty lines and lines of only commas", "\n\na,b\n\n,\n1,2\n\r\n,\n"],
    ["semicolons", "a;b\n1;2\n"],
    ["tabs", "a\tb\n1\t2\n"],
    ["quotes around everything", '"a","b"\n"1","2"\n'],
    ["separators inside quotes", '"a","b"\n"1","2"'],
  ])("is read as the same two records if it has %s", async (_, text) => {
    expect(cellsOf(await collect(text))).toEqual([
      ["a", "b"],
      ["1", "2"],
    ]);
  });

  test("is split at commas even if a quoted header cell contains semicolons", async () => {
    expect(cellsOf(await collect('"a;;;",b\n1,2\n'))).toEqual([
      ["a;;;", "b"],
      ["1", "2"],
    ]);
  });

  test.each([
    ["LF", "\n"],
    ["CRLF", "\r\n"],
    ["CR", "\r"],
  ])("is read with the correct line numbers if lines end in %s", async (_, end) => {
    const text = ["a,b", '1,"x', "", 'y"', "", "2,z", '3,"', '"', "4,w"].join(end);
    for (const source of [text, cut(text, 1), cut(text, 4)]) {
      const items = await collect(source);
      expect(items.map(({ line }) => line)).toEqual([1, 2, 6, 7, 9]);
    }
  });
});

describe("the CSV reader", () => {
  test.each([
    ["with a quote inside an unquoted cell", '1,x"y', "A cell contains a quote"],
    ["with text after a closing quote", '1,"x"y', "There is text after the closing quote"],
    ["with a quoted cell that is never closed", '1,"xy', "A quoted cell has no closing quote"],
  ])("reports the line number of invalid CSV %s", async (_, line, message) => {
    const text = `a,b\n0,"o\r\nk"\n\n${line}\n2,ok\n3,ok\n`;
    for (const source of [text, cut(text, 1), cut(text, 3)]) {
      expect(await collectAll(source)).toEqual([
        { line: 1, cells: ["a", "b"] },
        { line: 2, cells: ["0", "o\r\nk"] },
        { line: 5, fault: expect.stringContaining(message) },
      ]);
    }
  });

  test("reads UTF-16 text like UTF-8 text", async () => {
    const little = Buffer.from("\ufeffa\tb\r\n1\té🎉\r\n", "utf16le");
    for (const bytes of [little, Buffer.from(little).swap16()]) {
      expect(await collect(pour([bytes]))).toEqual([
        { line: 1, cells: ["a", "b"] },
        { line: 2, cells: ["1", "é🎉"] },
      ]);
    }
  });

  test("reports the line number of invalid UTF-8 or UTF-16 text", async () => {
    const bytes = Buffer.concat([
      Buffer.from("a,b\n1,é\n2,"),
      Buffer.from([0xe9]),
      Buffer.from("\n3,x\n"),
    ]);
    expect(await collectAll(pour([bytes]))).toEqual([
      { line: 1, cells: ["a", "b"] },
      { line: 2, cells: ["1", "é"] },
      { line: 3, fault: expect.stringContaining("not UTF-8") },
    ]);
    expect(await collectAll(pour([Buffer.from("a,b\n1,"), Buffer.from([0xc3])]))).toContainEqual({
      line: 2,
      fault: expect.stringContaining("not UTF-8"),
    });
    // Half a character in UTF-16.
    const half = Buffer.from("\ufeffa,b\n1,", "utf16le").subarray(0, -1);
    expect(await collectAll(pour([half]))).toContainEqual({
      line: 2,
      fault: expect.stringContaining("save the file as UTF-8"),
    });
  });

  test("reports a missing closing quote before it has read the rest of a long file", async () => {
    let given = 0;
    const endless = async function* () {
      yield 'a,b\n1,"lost\n';
      for (; given < 1000; given += 1) yield `${"x".repeat(65_530)},y\n`;
    };
    const items = readCsv(endless());
    await items.next();
    const fault = await items.next().catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(CsvFault);
    expect(fault).toMatchObject({ line: 2, message: expect.stringContaining("longer than 1 MiB") });
    expect(given).toBeLessThan(50);
  });

  test("reads any CSV up to the first error, whatever the size of the chunks", async () => {
    const letters = fc.constantFrom('"', ",", "\n", "\r", "a", ";", "\t");
    const text = fc.array(letters, { maxLength: 60 }).map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 5 }), async (given, size) => {
        const items = await collectAll(given);
        const lines = items.map(({ line }) => line);
        expect(lines).toEqual([...new Set(lines)].toSorted((one, other) => one - other));
        expect(await collectAll(cut(given, size))).toEqual(items);
      }),
      { numRuns: 1000 },
    );
  });
});

test.each([
  ["4 MB of blank lines", "\n".repeat(4_000_000), 900],
  ["1 MB of short records", "a\n".repeat(500_000), 200],
])("reading %s as CSV does not block the event loop", async (_, text, least) => {
  const turns = await countTurns(async () => {
    for await (const _ of readCsv(text));
  });
  expect(turns).toBeGreaterThanOrEqual(least);
});

async function countTurns(work: () => Promise<void>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const taking = (async () => {
    for (; !isDone; turns += 1) await setImmediate();
  })();
  await work().finally(() => (isDone = true));
  await taking;
  return turns;
}

function collect(source: TextSource): Promise<readonly CsvRecord[]> {
  return drain(readCsv(source));
}

type Fault = { readonly line: number; readonly fault: string };

async function collectAll(source: TextSource): Promise<readonly (CsvRecord | Fault)[]> {
  const items: (CsvRecord | Fault)[] = [];
  try {
    for await (const record of readCsv(source)) items.push(record);
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error;
    items.push({ line: error.line, fault: error.message });
  }
  return items;
}

function cellsOf(items: readonly CsvRecord[]): readonly (readonly string[])[] {
  return items.map(({ cells }) => cells);
}
