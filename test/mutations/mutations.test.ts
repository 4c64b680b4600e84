import { expect, test } from "vitest";
import { mutations } from "./all.ts";
import { listFaults } from "./check-mutations.ts";
import type { Mutation } from "./mutation.ts";
import { usesBundle } from "./uses-bundle.ts";

test("each mutation has its text once in its file, tests that are there, and a name", () => {
  expect(mutations.length).toBeGreaterThan(100);
  expect(listFaults(mutations)).toEqual([]);
});

test("a mutation whose text or test has gone, or is there twice, is told of", () => {
  const [known] = mutations;
  const tell = (changes: Partial<Mutation>) =>
    listFaults(known === undefined ? [] : [{ ...known, ...changes }]).map(({ fault }) => fault);
  expect(tell({})).toEqual([]);
  expect(tell({ find: "no such text" })).toEqual([`its text is 0 times in ${known?.file}`]);
  expect(tell({ find: "suspended" })[0]).toMatch(/^its text is \d+ times in/);
  expect(tell({ find: "" })).toHaveLength(1);
  expect(tell({ replace: known?.find ?? "" })).toEqual(["it changes nothing"]);
  expect(tell({ replace: "someNameThatIsNowhere" })[0]).toMatch(/would not know someNameThatIsNo/);
  expect(tell({ file: "src/gone.ts" })).toEqual(["there is no src/gone.ts"]);
  expect(tell({ tests: ["test/gone.test.ts"] })).toEqual(["there is no test/gone.test.ts"]);
  expect(tell({ tests: [] })).toHaveLength(1);
  expect(listFaults([...mutations, ...mutations])).toHaveLength(mutations.length);
});

test("a test that runs the built command is known by what it imports", () => {
  expect(usesBundle("test/commands/serve.test.ts")).toBe(true);
  expect(usesBundle("test/mcp/transport/stdio.test.ts")).toBe(true);
  expect(usesBundle("test/service/isolation.test.ts")).toBe(false);
  expect(usesBundle("test/template/hostile.test.ts")).toBe(false);
});
