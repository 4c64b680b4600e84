import type { Mutation } from "./mutation.ts";

/** One process of a data folder listens, and no other program speaks in its name. */
export const listening: readonly Mutation[] = [
  {
    id: "U1",
    file: "src/compose/listening/signer.ts",
    what: "what is signed for one port is good for any",
    find: `.update(JSON.stringify(said))`,
    replace: `.update(JSON.stringify(said.filter((each) => typeof each === "string")))`,
    tests: ["test/compose/listening/strangers.test.ts"],
  },
  {
    id: "U2",
    file: "src/compose/listening/folder-note.ts",
    what: "two processes that found nobody both listen",
    find: `    if (readNote(folder).text !== known.text) return false;
`,
    replace: "",
    tests: ["test/compose/listening/folder-note.test.ts"],
  },
  {
    id: "U3",
    file: "src/compose/listening/look-or-listen.ts",
    what: "a port where nobody answers is waited for again and again",
    find: `of looked.silent) silent.add(other);`,
    replace: `of looked.silent) silent.delete(other);`,
    tests: ["test/compose/listening/strangers.test.ts"],
  },
];
