import type { Mutation } from "./mutation.ts";

/** Messages over stdin and stdout. */
export const stdio: readonly Mutation[] = [
  {
    id: "J1",
    file: "src/mcp/transport/lines.ts",
    what: "a line of exactly the limit is too long",
    find: "const isTooLong = size > mostBytes;",
    replace: "const isTooLong = size >= mostBytes;",
    tests: ["test/mcp/transport/stdio.test.ts"],
  },
  {
    id: "J3",
    file: "src/mcp/transport/stdio-transport.ts",
    what: "an error is answered under the id of what may be an answer to us",
    find: `if (!("id" in given) || !("method" in given)) return null;`,
    replace: `if (!("id" in given)) return null;`,
    tests: ["test/mcp/transport/stdio.test.ts"],
  },
  {
    id: "J4",
    file: "src/mcp/transport/stdio-transport.ts",
    what: "a cancelled request is waited for at the end",
    find: "  running.end(cancelled);\n",
    replace: "",
    tests: ["test/mcp/transport/stdio-transport.test.ts"],
  },
];
