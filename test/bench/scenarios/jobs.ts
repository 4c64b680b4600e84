import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../../tools/bundle.js";
import { makeDataFile } from "../ground/data-file.ts";
import { addPlot } from "../ground/plots.ts";
import { startWorker } from "../servers/processes.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** A job with nothing to wait for, beside the same number of plain calls one after another. */

const rowsPerSecond = 300;

export async function* measureJobs({ build, extent }: Subject): Rounds {
  await using file = await makeDataFile(build);
  const { keys } = await addPlot(file, "jobs");
  const rows = String(rowsPerSecond * extent.seconds);
  await using driver = await startDriver(build.root, [file.folder, keys.join(), rows]);
  for (;;) {
    const { job, calls, missing } = await driver.ask("round");
    yield [
      { what: "rows of a job, unpaced", unit: "a second", value: job },
      { what: "plain calls, one after another", unit: "a second", value: calls },
      {
        what: "rate of a job to that of plain calls",
        unit: "times",
        value: job / calls,
        target: { least: 0.8 },
      },
      { what: "links missing", unit: "links", value: missing, target: { most: 0 }, gather: "sum" },
    ];
  }
}

type Round = { readonly job: number; readonly calls: number; readonly missing: number };

/** The driver of this checkout on the sources of another one. */
async function startDriver(root: string, words: readonly string[]) {
  const folder = join(root, ".report/bench");
  const script = join(folder, "drive-job.mjs");
  await bundle({
    entryPoints: [fileURLToPath(new URL("./drive-job.ts", import.meta.url))],
    outfile: script,
    external: ["@photostructure/sqlite"],
    plugins: [
      {
        name: "sources of the measured commit",
        setup: (bundling) => {
          bundling.onResolve({ filter: /^\.\.\/\.\.\/\.\.\/src\// }, ({ path }) => {
            return { path: join(root, path.slice("../../../".length)) };
          });
        },
      },
    ],
  });
  // Long lists are read by a program beside it, which an earlier commit may not have.
  const reader = join(root, "dist/reader-thread.js");
  if (existsSync(reader)) copyFileSync(reader, join(folder, "reader-thread.js"));
  return startWorker<"round", Round>(script, { words });
}
