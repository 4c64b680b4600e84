import type { Mutation } from "./mutation.ts";

const groups = "src/sql/group-commit.ts";
const tests = ["test/sql/group-commit.test.ts"];
const lost = ["test/state/lost-transaction.test.ts"];

/** Writers that share a transaction. */
export const writes: readonly Mutation[] = [
  {
    id: "W1",
    file: groups,
    what: "a writer that failed leaves its work in the transaction",
    find: "    steps.undoSavepoint();\n  } catch {",
    replace: "    steps.keepSavepoint();\n  } catch {",
    tests: ["test/sql/group-faults.test.ts"],
  },
  {
    id: "W2",
    file: groups,
    what: "a writer that failed is told before the commit",
    find: "tell: () => writer.reject(error), isKept: false });",
    replace: "tell: () => undefined, isKept: false });\n    writer.reject(error);",
    tests,
  },
  {
    id: "W3",
    file: groups,
    what: "where the commit fails, only those whose work is lost are told",
    find: "else for (const { writer } of served) writer.reject(error);",
    replace:
      "else for (const { writer, isKept, tell } of served) isKept ? writer.reject(error) : tell();",
    tests,
  },
  {
    id: "W4",
    file: "src/sql/write-line.ts",
    what: "patient writers are passed over for ever",
    find: "(hurried.length === 0 || passings >= mostPassings)",
    replace: "hurried.length === 0",
    tests,
  },
  {
    id: "W5",
    file: groups,
    what: "a writer that is done again was told already",
    find: "served.pop()?.writer.reject(cause);",
    replace: "for (const { writer } of served) writer.reject(cause);",
    tests,
  },
  {
    id: "W6",
    file: "src/state/approvals.ts",
    what: "an approval that is over is forgotten before its row is gone",
    find: "    const ended = listEnded();\n",
    replace: "    const ended = listEnded();\n    forget(ended);\n",
    tests: lost,
  },
  {
    id: "W7",
    file: "src/state/budget-ledger.ts",
    what: "the place of a transaction that was lost is kept",
    find: "return { id: place, wait_ms: at - time };",
    replace: "id = place;\n            return { id: place, wait_ms: at - time };",
    tests: lost,
  },
  {
    id: "W8",
    file: "src/host/clicks.ts",
    what: "a reader waits for clicks that let everybody go first",
    find: "() => readers === 0",
    replace: "() => true",
    tests: ["test/host/clicks.test.ts"],
  },
];
