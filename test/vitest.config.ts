import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./tools/longest-first.ts";

/** V8 counts the blocks of what it compiles from then on: these files load every module anew. */
const counting = ["test/template/bombs.test.ts"];

/** These are about PostgreSQL. */
const onPostgres = ["test/**/postgres*.test.ts"];

/**
 * These are run on either engine: all of the API, and of the other rooms what asks the tables, or
 * remembers something in them. Left out is
 * - what makes no use of a store, or has another one put in its place (client, template, network);
 * - texts, pages and the protocol, which are the same whatever answers below them;
 * - what starts the command, but for `postgres*.test.ts` and two servers, where a job that was
 *   killed goes on as in `bulk-acceptance`, and need not keep the budget's pace;
 * - approvals and the assistant's tools, except for a few files: they reach the tables through the
 *   API and the state, whose tests run on both;
 * - the largest of the bins, over and over in one database (bin); the API's tests restore from
 *   them;
 * - what is about SQLite's own file, thread, index of texts and shared transactions.
 */
const onBoth = [
  "test/service/**/*.test.ts",
  "test/state/*.test.ts",
  "test/web/session.test.ts",
  "test/store/{chores,visit-backlog,visits}.test.ts",
  "test/compose/primary-keys.test.ts",
  "test/webhooks/*.test.ts",
  "test/attribution/population-in-stores.test.ts",
  "test/host/{clicks,first-visits,hosts,paths,restored}.test.ts",
  "test/bulk/{bulk,simulator,virtual-time}.test.ts",
  "test/bulk/apply/{apply-rows,doubt,every-step,resume-recent,lease,two-jobs}.test.ts",
  "test/bulk/files/round-trip.test.ts",
  "test/bulk/plan/{make-plan,plan-undo}.test.ts",
  "test/bulk/select/*.test.ts",
  "test/mcp/approval/interleavings.test.ts",
  "test/mcp/tools/tools.test.ts",
  "test/mcp/tools/bulk/plan-links.test.ts",
  "test/mcp/tools/history/{approved-undo,list-changes,undo}*.test.ts",
  "test/commands/two-servers.test.ts",
  "test/sdk/exchange.test.ts",
];
/**
 * Of them these are not: the transaction that the writers of a SQLite file share; thousands of
 * requests to the end of each budget, which `shared-windows` counts on PostgreSQL too; and which of
 * two writes is first, which nobody knows where both are looked at over a wire before.
 */
const onSqlite = [
  "test/state/lost-transaction.test.ts",
  "test/service/{budgets,patient-writes}.test.ts",
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
          globalSetup: "test/support/build-if-older.ts",
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
          globalSetup: ["test/support/build-if-older.ts", "test/support/postgres-setup.ts"],
          include: [...onPostgres, ...onBoth],
          exclude: [...configDefaults.exclude, ...onSqlite],
          env: { WAYPOST_TEST_ENGINE: "postgres" },
          isolate: false,
          execArgv,
        },
      },
    ],
  },
});
