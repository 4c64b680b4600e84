import type { Mutation } from "./mutation.ts";

/** Who may call what. */
export const access: readonly Mutation[] = [
  {
    id: "A1",
    file: "src/contract/access.ts",
    what: "suspended is told of after the kind of key, not first",
    find: `
  if (key.suspended) return { cause: "account_suspended", message: messages.account_suspended };
  if (key.kind !== auth) {
    const isMaster = key.kind === "master";
    const message = isMaster ? messages.project_key_required : messages.master_required;
    return { cause: "key_invalid", message };
  }
`,
    replace: `
  if (key.kind !== auth) {
    const isMaster = key.kind === "master";
    const message = isMaster ? messages.project_key_required : messages.master_required;
    return { cause: "key_invalid", message };
  }
  if (key.suspended) return { cause: "account_suspended", message: messages.account_suspended };
`,
    tests: ["test/service/errors.test.ts"],
  },
  {
    id: "A2",
    file: "src/contract/access.ts",
    what: "scope named in a 401 found by includes (short_links.create also names links.create)",
    find: "words.has(scope)",
    replace: "words.size > 0 && message.includes(scope)",
    tests: ["test/mcp/access/learned.test.ts"],
  },
  {
    id: "A3",
    file: "src/contract/links.ts",
    what: "a viewer's key writes links",
    find: `const writes = {
  auth: "project",
  role: "manager",
`,
    replace: `const writes = {
  auth: "project",
`,
    tests: ["test/service/access-matrix.test.ts"],
  },
  {
    id: "A4",
    file: "src/mcp/access/key-access.ts",
    what: "one lacking call hides a tool that was granted before",
    find: `
      if (isLacking && !isDenied && before === "granted") return;
`,
    replace: `
`,
    tests: ["test/mcp/access/learned.test.ts"],
  },
  {
    id: "A5",
    file: "src/service/handlers/links.ts",
    what: "upsert overwrite does not ask for its second scope",
    find: `      requireScope(call.caller, links.upsert.overwrite_scope);
`,
    replace: "",
    tests: ["test/service/access-matrix.test.ts"],
  },
  {
    id: "A6",
    file: "src/mcp/access/key-access.ts",
    what: "declared scopes no longer rule out master endpoints",
    find: `
  if (auth === "master") return { state: "denied", reason: messages.master_required };
`,
    replace: `
`,
    tests: ["test/mcp/tools/listed.test.ts"],
  },
  {
    id: "A7",
    file: "src/mcp/access/denials.ts",
    what: "a refusal that names no scope no longer counts against the tool",
    find: "named.length === 0 || ",
    replace: "",
    tests: ["test/mcp/access/learned.test.ts"],
  },
  {
    id: "A14",
    file: "src/mcp/access/key-access.ts",
    what: "a key that is suspended for a while seems to have every right again",
    find: `
      if (!isLacking && before === "denied") return;
`,
    replace: `
`,
    tests: ["test/mcp/access/explore-access.test.ts"],
  },
  {
    id: "A15",
    file: "src/mcp/access/denials.ts",
    what: "a refusal goes for others though one that demands as much is granted",
    find: " && !granted.some(demands)",
    replace: "",
    tests: ["test/mcp/access/probe-answers.test.ts"],
  },
  {
    id: "A16",
    file: "src/state/known-access.ts",
    what: "what was learned earlier replaces what was learned later",
    find: `
        .where("known_access.at", "<=", known.at),
`,
    replace: `,
`,
    tests: ["test/state/known-access.test.ts"],
  },
  {
    id: "A8",
    file: "src/service/write-link.ts",
    what: "scope no longer asked for an app made on the fly",
    find: `  requireScope(call.caller, kind.createScope);
`,
    replace: "",
    tests: ["test/service/access-matrix.test.ts"],
  },
  {
    id: "A9",
    file: "src/bulk/plan/known-apps.ts",
    what: "a plan registers apps with a key that is known not to be allowed to",
    find: "if (wouldRegister(choice)) requireRight?.(choice.create);",
    replace: "if (choice.name === null) requireRight?.(choice.create);",
    tests: ["test/mcp/tools/bulk/registration-rights.test.ts"],
  },
];
