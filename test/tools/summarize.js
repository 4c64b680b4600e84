import { existsSync, readFileSync } from "node:fs";

/** Prints `N passed, N failed, N skipped` from the report that the test run left behind. */

const path = ".report/vitest.json";
/** How the run itself ended. */
const [, , code = "0"] = process.argv;

if (existsSync(path)) {
  const report = JSON.parse(readFileSync(path, "utf8"));
  const skipped = report.numPendingTests + report.numTodoTests;
  // A file that cannot even be loaded has no tests to fail, and counts as one.
  const unloaded = report.testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  ).length;
  // A hook that throws, or an error between the tests, fails the run and no test of it.
  const failed = Math.max(report.numFailedTests + unloaded, code === "0" ? 0 : 1);
  console.log(`${report.numPassedTests} passed, ${failed} failed, ${skipped} skipped`);
} else {
  console.error("The checks before the tests failed, so no test ran.");
  console.log("0 passed, 1 failed, 0 skipped");
}
