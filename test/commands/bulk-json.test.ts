import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createToolbox } from "../../src/mcp/tools/toolbox.ts";
import { begin, createFolder, run, type Folder } from "../support/command.ts";
import { openForEach } from "../support/open-for.ts";

/** `--json` output is for scripts, so it must not name MCP tools or resources. */

const toolNames = createToolbox({ mode: "guarded", selection: [] }).tools.map(({ name }) => name);
const forAssistants = new RegExp(`waypost://|"next":"(?!waypost )|\\b(${toolNames.join("|")})\\b`);

let folder: Folder;
let file: string;

openForEach(createFolder, async (opened) => {
  folder = opened;
  file = join(dirname(folder.path), "links.csv");
});

const data = () => ["--data", folder.path];

async function runJson(...words: readonly string[]) {
  const { stdout } = await run([...words, "--json", ...data()]);
  return readOwn(stdout);
}

function readOwn(stdout: string) {
  expect(stdout).not.toMatch(forAssistants);
  return JSON.parse(stdout);
}

async function importRows(count: number, name: string) {
  const rows = Array.from({ length: count }, (_, index) => `p${index},https://x.example/,${name}`);
  await writeFile(file, `path,url,name\n${rows.join("\n")}\n`);
  return runJson("import", file, "--yes");
}

test("the pattern in these tests matches text that mentions MCP tools or resources", () => {
  expect('{"next":"Applying its plan (plan_id) again resumes it."}').toMatch(forAssistants);
  expect("Call apply_plan again.").toMatch(forAssistants);
  expect('"uri":"waypost://plans/1"').toMatch(forAssistants);
});

test("--json output of import, jobs and export mentions no MCP tools or resources", async () => {
  const made = await importRows(3, "old");
  expect(made.plan).toMatchObject({ counts: { create: 3 }, sample: [{}, {}, {}] });
  const { plan, job } = await importRows(3, "new");
  expect(plan.counts.update).toBe(3);
  expect(job).toMatchObject({ state: "done", plan_id: plan.id, failed: [] });
  expect((await importRows(3, "new")).plan.counts.unchanged).toBe(3);
  expect((await runJson("jobs", "list")).jobs).toHaveLength(2);
  expect((await runJson("jobs", "show", job.id)).job.receipts).toHaveLength(3);
  expect((await runJson("jobs", "resume", job.id)).job.state).toBe("done");
  expect((await runJson("jobs", "cancel", job.id)).job.state).toBe("done");
  const undone = await runJson("jobs", "undo", job.id, "--yes");
  expect(undone.plan).toMatchObject({ undoes: job.id, counts: { update: 3 } });
  const output = join(dirname(folder.path), "out.csv");
  expect((await runJson("export", "--output", output)).export.count).toBe(3);
  await writeFile(file, "path,url\na,nonsense\n");
  expect((await runJson("import", file, "--yes")).plan.problems).toHaveLength(1);
});

test("--json output of an interrupted job includes the command that resumes it", async () => {
  const rows = Array.from({ length: 300 }, (_, index) => `p${index},https://x.example/`);
  await writeFile(file, `path,url\n${rows.join("\n")}\n`);
  const running = begin(["import", file, "--yes", "--json", ...data()]);
  await running.untilSaid(/\d+ of 300,/);
  running.send("SIGINT");
  const { job } = readOwn((await running.finished).stdout);
  const next = `waypost jobs resume ${job.id}`;
  expect(job).toMatchObject({ state: "interrupted", next });
  expect((await runJson("jobs", "list")).jobs).toMatchObject([{ state: "interrupted", next }]);
  expect((await runJson("jobs", "show", job.id)).job).toMatchObject({ next });
  expect((await runJson("jobs", "cancel", job.id)).job).toMatchObject({ state: "cancelled", next });
  expect((await runJson("jobs", "list")).jobs).toMatchObject([{ state: "cancelled", next }]);
  expect((await runJson("jobs", "undo", job.id, "--yes")).job.state).toBe("done");
});
