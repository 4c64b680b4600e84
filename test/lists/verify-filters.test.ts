import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ServerAccess } from "../../src/client/client.ts";
import { collectList } from "../../src/lists/read-list.ts";
import { selectParts } from "../../src/lists/select-links.ts";
import {
  conditions,
  linkFilters,
  type FieldKind,
  type FilterInput,
  type ListInput,
} from "../../src/contract/filters.ts";
import { links, type Link } from "../../src/contract/links.ts";
import { findFilterFault } from "../../src/mcp/schemas/check-filters.ts";
import { openForAll } from "../support/open-for.ts";
import { day, plantLinks, type Seed } from "../support/planting.ts";
import { openPlanner, type Planner } from "../bulk/planner.ts";

/** Tests checking each link of a server's response against the requested filters. */

let planner: Planner;
let all: readonly Link[];

const words = [
  "spring",
  "SPRING",
  "prin",
  "ΟΔΟΣ",
  "οδος",
  "ÉTÉ",
  "été",
  "e\u0301",
  "ß",
  "İ",
  "T\u0308",
];
const others = ["日本", "😀", "-", "1", " ", "%", "_", "'", '"', "\\", "\u202e", "="];
const seeds: readonly Seed[] = [...words, ...others, null].map((word, index) => ({
  name: word === null ? null : `${word}${index % 3 === 0 ? words[index % words.length] : ""}`,
  path: `${["a", "Été", "spring", "ß"][index % 4]}${index}`,
  isShortened: index % 2 === 0,
  clicks: [0, 0, 1, 3, 12][index % 5] ?? 0,
  created_via: index % 4 === 0 ? "console" : "api",
  ios_app_bundle_id: [null, "com.a", "com.A"][index % 3],
  android_app_package_name: index % 5 === 0 ? "com.a.b" : null,
  pause: index % 4 === 0 ? 0 : day / 2,
}));

openForAll(openPlanner, async (opened) => {
  planner = opened;
  await plantLinks(planner.world, seeds);
  all = await planner.listLinks();
});

const signal = new AbortController().signal;
const part = fc
  .tuple(
    fc.constantFrom("", "/", " "),
    fc.array(fc.constantFrom(...words, ...others, "a1"), { maxLength: 2 }),
  )
  .map(([first, rest]) => first + rest.join(""));
const texts = fc.oneof(
  part,
  fc.constantFrom(...seeds.flatMap(({ name, path }) => [name ?? "x", path, path.toUpperCase()])),
  fc.constantFrom("api", "console", "com.a", "COM.A", "com.a.b"),
);
const values: Readonly<Record<FieldKind, fc.Arbitrary<string | number>>> = {
  text: texts,
  path: texts,
  integer: fc.oneof(fc.integer({ min: -1, max: 13 }), fc.constantFrom("3", "+3", " 1 ", "007")),
  time: fc.constantFrom("2026-01-16", "2026-01-20T12:00:00Z", "2026-01-15T14:00:00+02:00"),
};

const filter: fc.Arbitrary<FilterInput> = fc
  .constantFrom(...Object.entries(linkFilters))
  .chain(([field, kind]) =>
    fc.constantFrom(...conditions).chain((condition): fc.Arbitrary<FilterInput> => {
      const flag = fc.boolean();
      const list = fc.array<string | number>(values[kind], { minLength: 1, maxLength: 3 });
      const isFlag = condition === "null" || condition === "present";
      const value = isFlag ? flag : condition === "in" ? list : values[kind];
      return fc.record({
        field: fc.constant(field),
        condition: fc.constant(condition),
        // Each value is valid for its filter.
        value: value as fc.Arbitrary<FilterInput["value"]>,
      });
    }),
  )
  .filter((given) => findFilterFault(linkFilters, given) === undefined);

const name = ({ field, condition }: FilterInput) => `${field} ${condition}`;
describe("the filter check", () => {
  test("accepts the results of a server that supports every filter", async () => {
    const asking = { call: planner.owner.call, signal };
    await fc.assert(
      fc.asyncProperty(filter, async (given) => {
        const found = (await collectList(selectParts(asking, [given]))).rows;
        const { meta } = await planner.owner.call(links.index, { filters: [given] }, signal);
        expect(found).toHaveLength(meta.count ?? -1);
      }),
      { seed: 5, numRuns: 150 },
    );
  });

  test("rejects a server that ignores a filter, unless all links match", async () => {
    await fc.assert(
      fc.asyncProperty(filter, async (given) => {
        const call: ServerAccess["call"] = (endpoint, input, ended) => {
          // Only lists are read here.
          const query = input as ListInput;
          const known = query.filters?.filter((each) => name(each) !== name(given));
          const twisted = { ...query, ...(known && { filters: known }) };
          return planner.owner.call(endpoint, twisted as typeof input, ended);
        };
        const { meta } = await planner.owner.call(links.index, { filters: [given] }, signal);
        const selecting = collectList(selectParts({ call, signal }, [given]));
        const refusal = `do not match the filter ${name(given)};`;
        if (meta.count === all.length) expect((await selecting).rows).toHaveLength(all.length);
        else await expect(selecting).rejects.toThrow(refusal);
      }),
      { seed: 5, numRuns: 150 },
    );
  });
});
