import { configDefaults, defineConfig } from "vitest/config";

/** Leaves out the tests that start the built command, because they never run the changed file. */
const startsCommand = "test/{bench,commands,soak,tasks,web}/**";

export default defineConfig({
  test: {
    include: process.env["MUTATE_TESTS"]?.split(",") ?? ["test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, startsCommand, "test/**/postgres*.test.ts"],
    // Stryker starts a new worker for each mutant, so the test files of one run can share modules.
    isolate: false,
    // Stryker itself stops a run that hangs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
