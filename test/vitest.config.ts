import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", ["json", { outputFile: ".report/vitest.json" }]],
    // Real processes, real disks and thousands of generated cases take their time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Many tests wait for real time, so that two share what one would leave idle.
    maxWorkers: 2,
  },
});
