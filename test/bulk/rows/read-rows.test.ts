import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { exportColumns, writeLink } from "../../../src/bulk/files/columns.ts";
import { writeRecord } from "../../../src/bulk/files/csv.ts";
import { readRows, type RowSource } from "../../../src/bulk/rows/read-rows.ts";
import { link } from "../../contract/sample-link.ts";
import { readSource } from "../read-source.ts";
import { checkLink } from "../../../src/contract/rules/link-rules.ts";

/** Reading a source into checked rows for a plan. */

const one = "0192f0c0-0000-7000-8000-000000000001";

describe("a source of rows", () => {
  test("that Waypost exported is read back unchanged", async () => {
    const saved = { ...link, id: one, ios_app_id: one, android_app_id: null, name: "=1+1" };
    const csv = [exportColumns, writeLink(saved)].map(writeRecord).join("");
    const table = await readSource({ csv });
    const list = await readSource({ rows: { links: [saved], meta: {} } });
    expect(table.rows[0]).toMatchObject({ row: 2, link_id: one, path: "spring", problems: [] });
    expect(list.rows[0]).toMatchObject({ row: 1, link_id: one, path: "spring", problems: [] });
    const [values, others] = [table, list].map(({ rows }) => {
      return checkLink(rows[0]?.fields ?? {}, "create").values;
    });
    expect(values).toEqual(others);
    expect(values).toMatchObject({ name: "=1+1", social_title: null });
    expect(table.rows[0]?.fields).toMatchObject({ ios_app: { id: one }, android_app: null });
    expect(list.rows[0]?.fields).toMatchObject({ ios_app: { id: one }, android_app: null });
  });

  test.each<[string, RowSource, string]>([
    ["an empty text", { csv: "" }, "It has no rows"],
    ["an empty list", { rows: [] }, "It has no rows"],
    ["no list", { rows: "path" }, "Rows must be a list of objects"],
    ["an object without a list", { rows: { a: 1 } }, "Rows must be a list of objects"],
    ["an object with two lists", { rows: { a: [{}], b: [{}] } }, "Rows must be a list of objects"],
    ["only columns", { csv: "path,url\n" }, "It has no rows"],
  ])("that is %s is rejected", async (_, source, message) => {
    const { rows, findings } = await readSource(source);
    expect(rows).toEqual([]);
    expect(findings.problems).toMatchObject([{ message }]);
  });

  test("whose file fails midway throws the error", async () => {
    await expect(readSource({ csv: lost() })).rejects.toThrow("the disk is gone");
  });

  test("for a deletion reports columns other than id and path only once", async () => {
    const csv = `id,path,name,ios_app_id,clicks\n${one},a,A,,7\n,b,B,,8\n`;
    const { rows, findings } = await readSource({ csv }, "delete");
    expect(rows.map(({ problems }) => problems)).toEqual([[], []]);
    expect(findings.problems).toEqual([
      {
        row: 1,
        field: "name",
        message: "A deletion list can have only the column id or path; remove name, ios_app_id",
      },
    ]);
  });
});

describe("a CSV file of 40,000 rows", () => {
  const count = 40_000;

  test("is read as a stream without keeping its rows in memory", async () => {
    setFlagsFromString("--expose-gc");
    // The flag above creates this function of the engine.
    const collect = runInNewContext("gc") as () => void;
    let given = 0;
    const file = async function* () {
      yield Buffer.from("id,path,name,url\r\n");
      for (; given < count; given += 100) {
        const rows = Array.from({ length: 100 }, (_, index) => writeRow(given + index));
        yield Buffer.from(rows.join(""));
      }
    };
    collect();
    const before = process.memoryUsage().heapUsed;
    const { rows, listFindings } = readRows({ csv: file() }, "upsert");
    let read = 0;
    let ahead = 0;
    let kept = 0;
    for await (const { row, problems } of rows) {
      read += 1;
      expect([row, problems.length]).toEqual([read + 1, 0]);
      ahead = Math.max(ahead, given - read);
      if (read < count) continue;
      collect();
      kept = process.memoryUsage().heapUsed - before;
    }
    expect(read).toBe(count);
    expect(ahead).toBeLessThan(500);
    expect(listFindings().problems).toEqual([]);
    // The file has 20 MB. Only the ID and path of each row are kept.
    expect(kept).toBeLessThan(16_000_000);
  });
});

async function* lost(): AsyncGenerator<string> {
  yield "path\na\n";
  throw new Error("the disk is gone");
}

function writeRow(index: number): string {
  const id = `0192f0c0-0000-7000-8000-${String(index).padStart(12, "0")}`;
  const address = `https://shop.example/${index}?${"x".repeat(400)}`;
  return writeRecord([id, `spring/${index}`, `Link ${index}`, address]);
}
