import type { Mutation } from "./mutation.ts";

/** What is written to disk: tables for spreadsheets, and files that hold secrets. */
export const files: readonly Mutation[] = [
  {
    id: "K1",
    file: "src/bulk/files/escape-formula.ts",
    what: "full-width = + - @ are no formulas",
    find: String.raw`[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]`,
    replace: String.raw`[=+\-@\t\r\n]`,
    tests: ["test/bulk/files/columns.test.ts"],
  },
  {
    id: "K2",
    file: "src/bulk/files/escape-formula.ts",
    what: "an apostrophe before a formula is not doubled",
    find: "new RegExp(`^'*${beginning}`)",
    replace: "new RegExp(`^${beginning}`)",
    tests: ["test/bulk/files/round-trip.test.ts"],
  },
  {
    id: "L1",
    file: "src/compose/data-folder.ts",
    what: "a folder open to its group alone is left open",
    find: "& 0o077) !== 0",
    replace: "& 0o007) !== 0",
    tests: ["test/compose/data-folder.test.ts"],
  },
  {
    id: "L2",
    file: "src/compose/data-folder.ts",
    what: "key files readable by all",
    find: "writeFileSync(draft, `${token}\\n`, { mode: 0o600, flag",
    replace: "writeFileSync(draft, `${token}\\n`, { mode: 0o644, flag",
    tests: ["test/commands/serve.test.ts"],
  },
  {
    id: "L3",
    file: "src/compose/pin-file.ts",
    what: "the PIN file stays as open as it was",
    find: `    chmodSync(path, 0o600);
`,
    replace: "",
    tests: ["test/mcp/approval/pin.test.ts"],
  },
  {
    id: "L4",
    file: "src/compose/data-folder.ts",
    what: "someone else's open folder is closed instead of refused",
    find: "const isOurs = names.length === 0 || ours.some((name) => names.includes(name));",
    replace: "const isOurs = names.length >= 0 || ours.some((name) => names.includes(name));",
    tests: ["test/commands/serve.test.ts"],
  },
];
