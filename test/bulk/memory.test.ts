import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openEmbedded } from "../../src/app/process/embedded.ts";
import { openDataFile, type DataFile } from "../bench/data/data-file.ts";
import { addBenchProject, type BenchProject } from "../bench/data/bench-project.ts";
import { seedProject } from "../bench/data/seed.ts";
import { createFolder } from "../support/command.ts";
import { buildProgram, type Program } from "./program.ts";
import { openForAll } from "../support/open-for.ts";

/** A plan of many links fits in a heap that is too small for all of them. */

const heap_mb = 32;
const links = 20_000;

let program: Program;
let file: DataFile;
let empty: BenchProject;
let full: BenchProject;

openForAll(createFolder, async (folder, keep) => {
  program = keep(await buildProgram(new URL("plan-many.ts", import.meta.url)));
  const { store } = await openEmbedded({ data: folder.path });
  await store.close();
  file = keep(openDataFile(folder.path));
  empty = await addBenchProject(file, "empty", 1);
  full = await addBenchProject(file, "full", 1);
  await seedProject(file, full, links);
});

async function plan(key: string | undefined, words: readonly string[]) {
  // With little room for new objects, the limit is about those that are kept.
  const limits = [`--max-old-space-size=${heap_mb}`, "--max-semi-space-size=2"];
  const given = [...limits, program.file, "--data", file.folder];
  const env = { WAYPOST_API_KEY: key };
  const { stdout } = await promisify(execFile)(process.execPath, [...given, ...words], { env });
  return JSON.parse(stdout);
}

const none = { create: 0, update: 0, unchanged: 0, delete: 0, conflict: 0, invalid: 0 };

test("planning an import of 20,000 CSV rows needs only a small heap", async () => {
  const words = ["--source", "csv", "--rows", String(links)];
  expect(await plan(empty.keys[0], words)).toEqual({
    counts: { ...none, create: links },
    problems: 0,
  });
});

test("planning a rule-based change of 20,000 links needs only a small heap", async () => {
  expect(await plan(full.keys[0], ["--source", "rules"])).toEqual({
    counts: { ...none, update: links },
    problems: 0,
  });
});
