import type { Mutation } from "./mutation.ts";

/** What may stand in a path, an address and a name. */
export const paths: readonly Mutation[] = [
  {
    id: "F1",
    file: "src/contract/rules/link-path.ts",
    what: ".qr reserved only in small letters",
    find: `lower.endsWith(".qr")`,
    replace: `path.endsWith(".qr")`,
    tests: ["test/service/link-paths.test.ts", "test/host/paths.test.ts"],
  },
  {
    id: "F2",
    file: "src/contract/rules/link-path.ts",
    what: "a path's length counted in characters, not bytes",
    find: "new TextEncoder().encode(path).length > limits.path_bytes",
    replace: "path.length > limits.path_bytes",
    tests: ["test/service/link-paths.test.ts"],
  },
  {
    id: "F3",
    file: "src/contract/rules/web-address.ts",
    what: "backslash in a web address is let in",
    find: String.raw`  if (address.includes("\\")) return "can't contain a backslash";
`,
    replace: "",
    tests: ["test/contract/rules/link-rules.test.ts"],
  },
  {
    id: "F4",
    file: "src/contract/rules/web-address.ts",
    what: "an empty user name before @ is let in",
    find: String.raw`/^https?:\/\/[^/?#]*@/i.test(address)`,
    replace: String.raw`/^https?:\/\/[^/?#]+@/i.test(address)`,
    tests: ["test/contract/rules/link-rules.test.ts"],
  },
  {
    id: "F5",
    file: "src/contract/rules/app-rules.ts",
    what: "forbidden schemes compared with their case (JavaScript: passes)",
    find: "!forbiddenSchemes.has(value.toLowerCase())",
    replace: "!forbiddenSchemes.has(value)",
    tests: ["test/service/apps.test.ts"],
  },
  {
    id: "F6",
    file: "src/contract/rules/app-rules.ts",
    what: "only one team id dropped from a clip's bundle id",
    find: `    bundleId = bundleId.slice(teamIdLength + 1);
  }`,
    replace: `    return bundleId.slice(teamIdLength + 1);
  }`,
    tests: ["test/service/apps.test.ts"],
  },
  {
    id: "F7",
    file: "src/contract/rules/app-rules.ts",
    what: "app names with NUL or half a character pass",
    find: "value.length <= limits.name_characters && isStorable(value);",
    replace: "value.length <= limits.name_characters;",
    tests: ["test/service/apps.test.ts"],
  },
];
