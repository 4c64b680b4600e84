import type { Mutation } from "./mutation.ts";

/** What becomes of calls that went wrong. */
export const retry: readonly Mutation[] = [
  {
    id: "D1",
    file: "src/client/accepted.ts",
    what: "what was found of an accepted call is not told",
    find: `if (finding?.kind === "done") return finding.body;`,
    replace: `if (finding?.kind === "undone") return null;`,
    tests: ["test/client/retry-table.test.ts"],
  },
  {
    id: "D2",
    file: "src/client/retry-policy.ts",
    what: "an upsert that shortens may be repeated",
    find: `  if (tool === links.upsert.tool && isShortening) return "never";
`,
    replace: `  if (tool === links.create.tool && isShortening) return "never";
`,
    tests: ["test/client/find-written.test.ts"],
  },
  {
    id: "D3",
    file: "src/client/find-written.ts",
    what: "of several young links to the address the first is claimed",
    find: "if (first !== undefined && found.length === 1)",
    replace: "if (first !== undefined)",
    tests: ["test/client/find-written.test.ts"],
  },
  {
    id: "D4",
    file: "src/client/find-written.ts",
    what: "an android app that differs is not noticed",
    find: `(await isApp(androidApp, fields`,
    replace: `((fields.android_app ?? null) !== null || await isApp(androidApp, fields`,
    tests: ["test/client/find-written.test.ts"],
  },
  {
    id: "D5",
    file: "src/client/read-refusal.ts",
    what: "key hidden only after the words were cut",
    find: "showHidden(hideSecret(text, secret).slice(0, most)).slice(0, most);",
    replace: "showHidden(hideSecret(text.slice(0, most), secret)).slice(0, most);",
    tests: ["test/client/secrets.test.ts"],
  },
  {
    id: "D6",
    file: "src/client/client.ts",
    what: "a read-back looks from the last try on, not from the call's beginning",
    find: "since = new Date(call.since_ms).toISOString()",
    replace: "since = new Date(Math.max(call.since_ms, state.clock.now())).toISOString()",
    tests: ["test/client/retry-table.test.ts"],
  },
  {
    id: "D7",
    file: "src/client/client.ts",
    what: "one try more than the most",
    find: "tries < mostTries &&",
    replace: "tries <= mostTries &&",
    tests: ["test/client/retry-table.test.ts"],
  },
  {
    id: "D8",
    file: "src/client/next-step.ts",
    what: "a refusal after doubt is final even where the look is unclear",
    find: `finding.kind === "undone" ? over :`,
    replace: `finding.kind !== "done" ? over :`,
    tests: ["test/client/find-written.test.ts"],
  },
  {
    id: "D9",
    file: "src/contract/budgets.ts",
    what: "a call counts for no longer than the deployment's own window",
    find: "budgets[budget].window_ms + margin_ms",
    replace: "budgets[budget].window_ms",
    tests: ["test/client/rate-limit.test.ts"],
  },
];
