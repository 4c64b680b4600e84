import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./tools/longest-first.ts";

/** V8 counts only what it compiles from then on, so these files load every module again. */
const counting = ["test/template/bombs.test.ts"];

const onPostgres = ["test/**/postgres*.test.ts"];

/**
 * Tests that run on both engines: those of the API and of other folders that query or store
 * something in tables. Not included are tests of
 * - code without a store, or with a replaced one (client, template, network);
 * - text, pages and the protocol, which do not depend on the engine; in the API these are rights,
 *   request forms, body sizes and the rate limits of a single process;
 * - commands, except for `postgres*.test.ts` and two servers, where a killed job is resumed as in
 *   `bulk-acceptance` without keeping the rate limit's pace;
 * - approvals, assistant tools, plans and selections, except for a few files: they use the tables
 *   through the API and the state, whose tests run on both;
 * - SQLite's own file, thread, text index and shared transactions: `test/sql/engines.test.ts` tests
 *   what both engines guarantee.
 */
const onBoth = [
  "test/service/{apps,begun-writes,bin,browser-paths,client-keys,filter-engine,filters}.test.ts",
  "test/service/{held-locks,install-addresses,isolation,issue-key,key-cache,key-uses}.test.ts",
  "test/service/{abandoned-writes,late-visit-reports,link-*,links,long-lists}.test.ts",
  "test/service/{match-*,own-filters,page-templates}.test.ts",
  "test/service/{pages,preconditions,pricing-plans,projects,shared-budgets,short-links}.test.ts",
  "test/service/{shortened-queries,stats-*,store-fallbacks}.test.ts",
  "test/service/errors.test.ts",
  "test/sql/engines.test.ts",
  "test/state/*.test.ts",
  "test/console/session.test.ts",
  "test/store/{background-tasks,bin,store,visits}.test.ts",
  "test/app/process/primary-keys.test.ts",
  "test/webhooks/{delivery,events,jobs,outbox}.test.ts",
  "test/host/{clicks,first-visits,hosts,paths,restored,visit-facts}.test.ts",
  "test/bulk/{bulk,simulator}.test.ts",
  "test/bulk/apply/{apply-rows,doubt,resume-recent,lease}.test.ts",
  "test/bulk/plan/plan-undo.test.ts",
  "test/mcp/approval/interleavings.test.ts",
  "test/mcp/tools/bulk/plan-links.test.ts",
  "test/mcp/tools/history/{list-changes,undo}.test.ts",
  "test/commands/two-servers.test.ts",
];

/** Most of a test's memory is garbage before 64 MB are full, which halves garbage collection. */
const execArgv = ["--max-semi-space-size=64"];

export default defineConfig({
  test: {
    reporters: ["default", ["json", { outputFile: ".report/vitest.json" }]],
    // Tests are not judged by their time. These limits end tests that hang, on any machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // One more than the usual machine's processors, because many tests wait for other processes.
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
          // The files of a worker share its modules: loading them again took a fifth of the time.
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
          exclude: configDefaults.exclude,
          env: { WAYPOST_TEST_ENGINE: "postgres" },
          isolate: false,
          execArgv,
        },
      },
    ],
  },
});
