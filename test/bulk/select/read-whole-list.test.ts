import { expect, test } from "vitest";
import { readWholeList, type PageAsked } from "../../../src/bulk/select/read-whole-list.ts";

/** What it costs to read a whole list, for a deployment far away takes its time for each page. */

/** A list that holds still, behind a deployment that gives so many rows at most. */
function openList(count: number, largest = 100) {
  const rows = Array.from({ length: count }, (_, index) => ({ id: `row ${index}` }));
  const asked: PageAsked[] = [];
  const read = async (given: PageAsked) => {
    asked.push(given);
    const { page } = given;
    const limit = Math.min(given.limit, largest);
    const from = (page - 1) * limit;
    const found = rows.slice(from, from + limit);
    const last = Math.max(1, Math.ceil(count / limit));
    const meta = { page, limit, count, last, from: from + 1, to: from + found.length };
    return { rows: found, unread: [], meta: { ...meta, ...(page < last && { next: page + 1 }) } };
  };
  return { rows, asked, read };
}

test.each([0, 1, 99, 100, 101, 5000])("%i rows are read in hardly more pages", async (count) => {
  const { rows, asked, read } = openList(count);
  expect(await readWholeList(read, "path")).toEqual({ rows, unread: 0 });
  expect(asked.length).toBeLessThanOrEqual(1 + count / 88);
});

test("a deployment with smaller pages is read in as many as that takes", async () => {
  const { rows, asked, read } = openList(1000, 20);
  expect(await readWholeList(read, "path")).toEqual({ rows, unread: 0 });
  expect(asked.length).toBeLessThanOrEqual(1 + 1000 / 10);
});
