import { dirname, join } from "node:path";
import { writeFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { begin, createFolder, run, startServe, type Folder } from "../support/command.ts";

/** `waypost jobs`: what was stopped half way is seen, gone on with, called off and undone. */

let folder: Folder;
let file: string;

beforeEach(async () => {
  folder = await createFolder();
  file = join(dirname(folder.path), "links.csv");
});
afterEach(async () => {
  await folder[Symbol.asyncDispose]();
});

const total = 24;
const data = () => ["--data", folder.path];

/** A file of links whose names tell which writing they are from. */
async function writeLinks(name: string, count = total): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => `p${index},https://x.example/,${name}`);
  await writeFile(file, `path,url,name\n${rows.join("\n")}\n`);
}

async function countLinks(...words: readonly string[]): Promise<number> {
  const { stdout } = await run(["export", "--format", "json", ...data(), ...words]);
  return JSON.parse(stdout).length;
}

async function runJson(...words: readonly string[]) {
  const finished = await run([...words, "--json", ...data()]);
  return { ...finished, told: JSON.parse(finished.stdout) };
}

/** Starts an import and does something to it when some of it is done. */
async function importHalf(signal: "SIGINT" | "SIGTERM" | "SIGKILL", words: readonly string[] = []) {
  const running = begin(["import", file, "--yes", ...words, ...data()]);
  await running.untilSaid(/\d+ of 24,/);
  running.send(signal);
  return running.finished;
}

async function findNewest() {
  return (await runJson("jobs", "list")).told.jobs[0];
}

type Shown = {
  readonly job: { readonly receipts: readonly { readonly outcome: string }[] };
  readonly meta: object;
};

async function showPage(id: string, page: number): Promise<Shown> {
  return (await runJson("jobs", "show", id, "--page", String(page))).told;
}

test.each(["SIGINT", "SIGTERM"] as const)(
  "%s stops an import cleanly, and jobs resume does the rest of it",
  async (signal) => {
    await writeLinks("new");
    const stopped = await importHalf(signal);
    expect(stopped.code).toBe(130);
    const [, id = "", done = ""] =
      /^Job (\S+) is interrupted: (\d+) done/.exec(stopped.stdout) ?? [];
    expect(stopped.stderr).toMatch(
      new RegExp(
        `\nwaypost: stopped after ${done} of ${total} links; waypost jobs resume ${id} [^\n]*\n$`,
      ),
    );
    expect(Number(done)).toBeGreaterThan(0);
    expect(Number(done)).toBeLessThan(total);
    expect(await countLinks()).toBe(Number(done));

    const listed = await run(["jobs", ...data()]);
    expect(listed.stdout).toMatch(
      new RegExp(
        `^${id} +upsert +interrupted +${done} +0 +0 +\\d+ +\\d+ s +waypost jobs resume ${id}$`,
        "m",
      ),
    );
    const resumed = await run(["jobs", "resume", id, ...data()]);
    expect(resumed.code).toBe(0);
    expect(resumed.stdout).toBe(`Job ${id} is done: 24 done, 0 rejected, 0 unknown, 0 left.\n`);
    expect(resumed.stderr).toContain(`waypost jobs undo ${id}`);
    expect(await countLinks("--filter", "name_eq=new")).toBe(total);
    expect(await run(["jobs", "resume", id, ...data()])).toMatchObject({ code: 0 });
  },
);

test("with --json a stopped import is one document, and nothing else is on stdout", async () => {
  await writeLinks("new");
  const stopped = await importHalf("SIGINT", ["--json"]);
  expect(stopped.code).toBe(130);
  const { plan, job } = JSON.parse(stopped.stdout);
  expect(plan.counts.create).toBe(total);
  expect(job).toMatchObject({ plan_id: plan.id, state: "interrupted", failed: [] });
  expect(job.counts.done + job.counts.left).toBe(total);
  expect(job.next).toBe(`waypost jobs resume ${job.id}`);
});

test("an import that was killed is gone on with, and each link is there once", async () => {
  await writeLinks("new");
  expect((await importHalf("SIGKILL")).code).toBeNull();
  const { id } = await findNewest();
  const { code, told } = await runJson("jobs", "resume", id);
  expect(code).toBe(0);
  expect(told.job).toMatchObject({ id, state: "done", counts: { done: total, left: 0 } });
  expect(await countLinks()).toBe(total);
});

test("a job that the deployment refuses says why, and goes on when it may again", async () => {
  // Others take their time to suspend it.
  await writeLinks("new", 60);
  const suspend = (how: string) =>
    run(["projects", "update", "default", "--suspend", how, ...data()]);
  const running = begin(["import", file, "--yes", ...data()]);
  await running.untilSaid(/\d+ of 60,/);
  await suspend("on");
  const finished = await running.finished;
  expect(finished.code).toBe(1);
  expect(finished.stderr).toContain("\nIt could not go on: Account is suspended.");
  const [, id = ""] = /\nwaypost jobs resume (\S+) goes on/.exec(finished.stderr) ?? [];
  expect((await run(["jobs", "show", id, ...data()])).stderr).toContain("Account is suspended.");
  const refused = await run(["jobs", "resume", id, ...data()]);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("waypost: Account is suspended; ");
  await suspend("off");
  expect(await run(["jobs", "resume", id, ...data()])).toMatchObject({ code: 0 });
  expect(await countLinks()).toBe(60);
});

describe("a job", () => {
  test("that another process runs is called off here, and its rows are told apart", async () => {
    await writeLinks("new", 200);
    const running = begin(["import", file, "--yes", ...data()]);
    await running.untilSaid(/\d+ of 200,/);
    const { id } = await findNewest();
    const undone = await run(["jobs", "undo", id, "--yes", ...data()]);
    expect(undone).toMatchObject({ code: 2, stdout: "" });
    expect(undone.stderr).toContain(`waypost jobs cancel ${id}`);
    const cancelled = await run(["jobs", "cancel", id, ...data()]);
    expect(cancelled).toMatchObject({ code: 0 });
    expect(cancelled.stdout).toMatch(/ is cancelled: /);
    const finished = await running.finished;
    expect(finished.code).toBe(1);
    expect(finished.stdout).toMatch(/ is cancelled: /);
    expect(finished.stderr).toContain(`waypost jobs resume ${id}`);
    const { counts } = await findNewest();
    expect(await countLinks()).toBe(counts.done);
    const pages = [await showPage(id, 1), await showPage(id, 2)];
    for (const { meta } of pages) expect(meta).toMatchObject({ count: 200, last: 2 });
    const outcomes = pages.flatMap(({ job }) => job.receipts).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === "done")).toHaveLength(counts.done);
    expect(outcomes.filter((outcome) => outcome === "left")).toHaveLength(counts.left);
  });

  test("is undone with the same plan and question, and can be done again", async () => {
    await writeLinks("old");
    await run(["import", file, "--yes", ...data()]);
    await writeLinks("new");
    await run(["import", file, "--yes", ...data()]);
    const { id } = await findNewest();
    const asked = await run(["jobs", "undo", id, ...data()]);
    expect(asked).toMatchObject({ code: 2, stdout: "" });
    expect(asked.stderr).toContain("Plan: 24 to overwrite.");
    expect(asked.stderr).toContain('name: "new" becomes "old"');
    expect(await countLinks("--filter", "name_eq=new")).toBe(total);
    const undone = await run(["jobs", "undo", id, "--yes", ...data()]);
    expect(undone).toMatchObject({ code: 0 });
    expect(await countLinks("--filter", "name_eq=old")).toBe(total);
  });

  test("tells the rows that could not be done, with the reason, and ends with 1", async () => {
    await using serving = await startServe(folder.path);
    await writeLinks("old");
    await run(["import", file, "--yes", ...data()]);
    await writeLinks("new");
    const running = begin(["import", file, "--yes", "--json", ...data()]);
    await running.untilSaid(/\d+ of 24,/);
    const { body } = await serving.call("GET", "/links", { query: "q[path_eq]=p23" });
    await serving.call("PATCH", `/links/${body.links[0].id}`, { body: { name: "mine" } });
    const { code, stdout } = await running.finished;
    expect(code).toBe(1);
    const { job } = JSON.parse(stdout);
    expect(job.counts).toMatchObject({ done: 23, rejected: 1, left: 0 });
    const failed = { row: 25, action: "update", outcome: "rejected", path: "p23" };
    expect(job.failed).toMatchObject([{ ...failed, message: expect.stringContaining("name") }]);
    const shown = await run(["jobs", "show", job.id, "--failed", ...data()]);
    expect(shown.stdout.trim().split("\n")).toHaveLength(3);
    expect(shown.stdout).toMatch(
      /^25 +update +"p23" +rejected +plan_changed: name changed since$/m,
    );
    const again = await run(["jobs", "resume", job.id, ...data()]);
    expect(again.code).toBe(1);
    expect(again.stdout).toContain('rejected: row 25 update "p23": plan_changed');
  });
});

describe("where there is no job yet", () => {
  let empty: Folder;
  const none = "AAAAAAAAAAAAAAAAAAAAAA";
  const jobs = (...words: readonly string[]) => run(["jobs", ...words, "--data", empty.path]);

  beforeAll(async () => {
    empty = await createFolder();
    // Opens the folder for the first time.
    await run(["tools", "--data", empty.path]);
  });
  afterAll(async () => {
    await empty[Symbol.asyncDispose]();
  });

  test("the list says so", async () => {
    const stderr = "This key has no jobs; waypost import makes one.\n";
    expect(await jobs()).toEqual({ code: 0, stdout: "", stderr });
    const { stdout } = await jobs("list", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ jobs: [], meta: { page: 1, count: 0 } });
  });

  test.each([
    [["show"], "use jobs list, jobs show ID"],
    [["frob", none], "use jobs list, jobs show ID"],
    [["show", none, none], "use jobs list, jobs show ID"],
    [["show", none], `this key has no job "${none}"`],
    [["undo", none], `this key has no job "${none}"`],
    [["list", "--page", "0"], "--page must be a whole number"],
    [["resume", none, "--mode", "read-only"], "has no jobs resume"],
    [["undo", none, "--mode", "read-only"], "has no jobs undo"],
  ])("jobs %j is refused in one line", async (words, message) => {
    const finished = await jobs(...words);
    expect(finished).toMatchObject({ code: 2, stdout: "" });
    expect(finished.stderr).toMatch(/^waypost: [^\n]+\n$/);
    expect(finished.stderr).toContain(message);
  });
});

test("a folder without data is a mistyped one", async () => {
  expect((await run(["jobs", ...data()])).stderr).toContain("see --data");
});
