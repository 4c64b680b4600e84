import { expect, test } from "vitest";
import type { ServerAccess } from "../../../src/bulk/owner.ts";
import { collectList, readList } from "../../../src/bulk/select/read-list.ts";
import { links } from "../../../src/contract/links.ts";

/** Tests the number of requests to read a whole list, because remote requests are slow. */

type PageAsked = { readonly page: number; readonly limit: number };

/** A list that does not change, on a server with a largest page size. */
function openList(count: number, largest = 100) {
  const rows = Array.from({ length: count }, (_, index) => ({ id: `row ${index}` }));
  const asked: PageAsked[] = [];
  const call: ServerAccess["call"] = async (_, input) => {
    // Only lists are read here.
    const given = input as unknown as PageAsked;
    asked.push(given);
    const { page } = given;
    const limit = Math.min(given.limit, largest);
    const from = (page - 1) * limit;
    const found = rows.slice(from, from + limit);
    const last = Math.max(1, Math.ceil(count / limit));
    const meta = { page, limit, count, last, from: from + 1, to: from + found.length };
    const body = { links: found, meta: { ...meta, ...(page < last && { next: page + 1 }) } };
    return body as never;
  };
  const asking = { call, signal: new AbortController().signal };
  return { rows, asked, read: () => collectList(readList(asking, links.index)) };
}

test.each([0, 1, 99, 100, 101, 5000])("a list of %i rows needs few requests", async (count) => {
  const { rows, asked, read } = openList(count);
  expect(await read()).toEqual({ rows, unread: 0 });
  expect(asked.length).toBeLessThanOrEqual(1 + count / 88);
});

test("a list is read completely from a server with smaller pages", async () => {
  const { rows, asked, read } = openList(1000, 20);
  expect(await read()).toEqual({ rows, unread: 0 });
  expect(asked.length).toBeLessThanOrEqual(1 + 1000 / 10);
});
