/** The settings of `npm run mutate`, which changes src and expects the tests to fail. */
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "test/stryker-vitest.config.ts" },
  reporters: ["clear-text", "progress"],
  clearTextReporter: { reportTests: false, logTests: false },
  concurrency: 2,
  dryRunTimeoutMinutes: 30,
  // A new test process loads every module first. A busy machine must not count that as a hang.
  timeoutMS: 60_000,
  disableTypeChecks: false,
  // Stryker cannot read tsconfig.json with TypeScript 7. With another name it copies the file.
  tsconfigFile: "none",
  ignorePatterns: [".report"],
};
