import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", ["json", { outputFile: ".report/vitest.json" }]],
    // No test is judged by its time: these end what hangs, on however slow a machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
    // The files of a worker share its modules: loading them anew for each was a fifth of the time.
    isolate: false,
  },
});
