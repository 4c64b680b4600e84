import { expect, test } from "vitest";
import { isPackedId, packId, packIds, packNumbers } from "../../src/stats/link-ids.ts";
import { createLinkSet, type LinkSet } from "../../src/stats/link-set.ts";
import { compareSums, createLinkSums, type LinkRow } from "../../src/stats/link-sums.ts";
import { createSum, type Sum } from "../../src/stats/sums.ts";
import { createNamer } from "../bench/ground/names.ts";

/** Sums by link, however their rows overlap, are those of a plain addition. */

const { share, random } = createNamer();

function makeId(): string {
  const hex = Buffer.from(random.bytes(16)).toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const ids = Array.from({ length: 3000 }, makeId).toSorted();

/** Some are more than 32 bits hold, and many are nothing. */
function makeNumber(): number {
  if (share() < 0.3) return 0;
  return Math.floor(share() ** 4 * (share() < 0.01 ? 2 ** 40 : 300));
}

type Day = ReadonlyMap<string, Sum>;

function makeSum(): Sum {
  return { click: makeNumber(), open: makeNumber(), install: makeNumber() };
}

function makeDay(): Day {
  const known = ids.filter(() => share() < 0.2);
  return new Map(known.map((id) => [id, makeSum()]));
}

/** Rows of any length, in the order of their first ids, as the store reads them. */
function makeRows(days: readonly Day[]): readonly (LinkRow & { readonly first: string })[] {
  const rows = days.flatMap((day) => {
    const links = [...day];
    const parts: (typeof links)[] = [];
    while (links.length > 0) parts.push(links.splice(0, 1 + Math.floor(share() * 100)));
    return parts.map((part) => ({
      first: part[0]?.[0] ?? "",
      ids: packIds(part.map(([id]) => id)),
      sums: packNumbers(part.flatMap(([, { click, open, install }]) => [click, open, install])),
    }));
  });
  return rows.toSorted((one, other) => (one.first < other.first ? -1 : 1));
}

function addUp(days: readonly Day[], only: readonly string[] = ids) {
  const all = new Map<string, Sum>();
  const total = createSum();
  for (const day of days) {
    for (const [id, { click, open, install }] of day) {
      if (click + open + install === 0 || !only.includes(id)) continue;
      const sum = all.get(id) ?? createSum();
      all.set(id, sum);
      for (const one of [sum, total]) {
        one.click += click;
        one.open += open;
        one.install += install;
      }
    }
  }
  return { all, total, sorted: [...all].toSorted(compareSums) };
}

function addRows(
  days: readonly Day[],
  atOnce: number,
  named: readonly string[],
  only: LinkSet | undefined,
) {
  const rows = makeRows(days);
  const sums = createLinkSums({ most: 10, only, named });
  for (let start = 0; start < rows.length; start += atOnce) {
    sums.add(rows.slice(start, start + atOnce), rows[start + atOnce]?.first);
  }
  return sums.read();
}

test("rows of many days are added up range by range", () => {
  const days = Array.from({ length: 12 }, makeDay);
  const { all, total, sorted } = addUp(days);
  const named = ids.filter(() => share() < 0.01);
  for (const atOnce of [1, 7, 1000]) {
    const read = addRows(days, atOnce, named, undefined);
    expect(read.total).toEqual(total);
    expect(read.links).toBe(all.size);
    expect(read.best).toEqual(sorted.slice(0, 10));
    const known = named.flatMap((id) => all.get(id) ?? []);
    expect([...read.named.values()]).toEqual(expect.arrayContaining(known));
  }
});

test("some links are added up alone", async () => {
  const days = Array.from({ length: 5 }, makeDay);
  const only = ids.filter((_, place) => place % 7 === 0);
  const set = await createLinkSet(packId(only.toReversed().join("")), undefined);
  expect(set.size).toBe(only.length);
  const { all, total, sorted } = addUp(days, only);
  const read = addRows(days, 20, [], set);
  expect([read.total, read.links]).toEqual([total, all.size]);
  expect(read.best).toEqual(sorted.slice(0, 10));
  const none = await createLinkSet(packId(""), undefined);
  expect(addRows(days, 20, [], none)).toMatchObject({ total: createSum(), links: 0, best: [] });
});

test("fewer links than are told apart are all of them", () => {
  const few = ids
    .slice(0, 3)
    .map((id, place) => [id, { ...createSum(), click: place % 2 }] as const);
  expect(few.every(([id]) => isPackedId(id))).toBe(true);
  const { best, links, total } = addRows([new Map(few)], 5, [], undefined);
  expect(links).toBe(1);
  expect(total.click).toBe(1);
  expect(best.map(([id]) => id)).toEqual([ids[1]]);
});
