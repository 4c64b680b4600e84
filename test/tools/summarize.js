import { existsSync, readFileSync } from "node:fs";

/** Prints `N passed, N failed, N skipped` from the report of the last test run. */

const path = ".report/vitest.json";
const [, , code = "0"] = process.argv;

if (existsSync(path)) {
  const report = JSON.parse(readFileSync(path, "utf8"));
  const skipped = report.numPendingTests + report.numTodoTests;
  // A file that cannot be loaded has no tests that fail, and counts as one.
  const unloaded = report.testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  ).length;
  // An error in a hook or between tests fails the run, but no test.
  const failed = Math.max(report.numFailedTests + unloaded, code === "0" ? 0 : 1);
  console.log(`${report.numPassedTests} passed, ${failed} failed, ${skipped} skipped`);
} else {
  console.error("The checks before the tests failed, so no test ran.");
  console.log("0 passed, 1 failed, 0 skipped");
}
