import type { Mutation } from "./mutation.ts";

/** Pages of lists, and what is kept of their counts. */
export const lists: readonly Mutation[] = [
  {
    id: "I1",
    file: "src/contract/describe-page.ts",
    what: "previous of a page past the end is the page before it",
    find: "isPast ? last : page - 1",
    replace: "page - 1",
    tests: ["test/service/pages.test.ts"],
  },
  {
    id: "I2",
    file: "src/store/filtered-counts.ts",
    what: "kept counts: newest thrown out instead of the oldest",
    find: "const [oldest] = remembered.keys();",
    replace: "const oldest = [...remembered.keys()].at(-1);",
    tests: ["test/store/filtered-counts.test.ts"],
  },
  {
    id: "I3",
    file: "src/store/list-page.ts",
    what: "far pages read from the end are not turned round",
    find: "isReversed ? rows.toReversed() : rows",
    replace: "isReversed && rows.length > 100 ? rows.toReversed() : rows",
    tests: ["test/service/pages.test.ts"],
  },
  {
    id: "I4",
    file: "src/store/project-tallies.ts",
    what: "a write that adds no link leaves the generation as it was",
    find: "generation = generation + 1",
    replace: "generation = generation + abs(${added})",
    tests: ["test/host/hosts.test.ts"],
  },
];
