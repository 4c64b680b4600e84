import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./tools/longest-first.ts";

/** V8 counts the blocks of what it compiles from then on: these files load every module anew. */
const counting = ["test/template/bombs.test.ts"];

/** These are about PostgreSQL. */
const onPostgres = ["test/**/postgres*.test.ts"];

/** These are run on either engine, but for those to which it makes no difference. */
const onBoth = [
  "test/service/**/*.test.ts",
  "test/state/*.test.ts",
  "test/bulk/apply/two-jobs.test.ts",
  "test/mcp/tools/bulk/jobs.test.ts",
  "test/mcp/tools/history/approved-undo.test.ts",
  "test/mcp/approval/pin.test.ts",
  "test/commands/two-servers.test.ts",
  "test/commands/two-servers-share.test.ts",
];
const onEither = [
  "budgets",
  "every-form",
  "link-paths",
  "lost-transaction",
  "template-queue",
  "web-addresses",
];

/** Most of what a test makes is gone before 64 MB are full: half of all collecting is saved. */
const execArgv = ["--max-semi-space-size=64"];

export default defineConfig({
  test: {
    reporters: ["default", ["json", { outputFile: ".report/vitest.json" }]],
    // No test is judged by its time: these end what hangs, on however slow a machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // One more than the processors of the machine that this has to be quick on: many tests wait for
    // a process that they started, a browser or the database.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "shared",
          globalSetup: "test/tools/bundle-reader-thread.js",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...counting, ...onPostgres],
          // The files of a worker share its modules: loading them anew was a fifth of the time.
          isolate: false,
          execArgv,
        },
      },
      { extends: true, test: { name: "counting", include: counting } },
      {
        extends: true,
        test: {
          name: "postgres",
          globalSetup: "test/support/postgres-setup.ts",
          setupFiles: "test/support/postgres-statements.ts",
          include: [...onPostgres, ...onBoth],
          exclude: [
            ...configDefaults.exclude,
            ...onEither.map((name) => `test/**/${name}.test.ts`),
          ],
          env: { WAYPOST_TEST_ENGINE: "postgres" },
          isolate: false,
          execArgv,
        },
      },
    ],
  },
});
