import { dirname, join } from "node:path";
import { writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { updateProject } from "../../src/store/projects.ts";
import { createGate, type Gate } from "../support/clock.ts";
import { expectRefused, begin, createUsedFolder, run, type Folder } from "../support/command.ts";
import { openHostile, type Hostile } from "../support/hostile.ts";
import { openForAll, openForEach } from "../support/open-for.ts";
import { listEmbedded } from "./plant-embedded.ts";
import { createWorld, type World } from "../support/world.ts";

/** `waypost jobs`: interrupted jobs are listed, resumed, cancelled and undone. */

let folder: Folder;
let file: string;

openForEach(createUsedFolder, async (opened) => {
  folder = opened;
  file = join(dirname(folder.path), "links.csv");
});

const data = () => ["--data", folder.path];

async function writeLinks(name: string, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => `p${index},https://x.example/,${name}`);
  await writeFile(file, `path,url,name\n${rows.join("\n")}\n`);
}

const countLinks = async (filter?: string) => (await listEmbedded(folder.path, filter)).length;

const many = 300;

test("SIGTERM interrupts a running import", async () => {
  await writeLinks("new", many);
  const running = begin(["import", file, "--yes", ...data()]);
  await running.untilSaid(/\d+ of 300,/);
  running.send("SIGTERM");
  const stopped = await running.finished;
  expect(stopped.code).toBe(130);
  const [, id = "", done = ""] =
    /^Job (\S+) is interrupted: (\d+) of 300 links done, /.exec(stopped.stdout) ?? [];
  expect(stopped.stderr).toMatch(
    new RegExp(
      `\nwaypost: stopped after ${done} of ${many} links; run waypost jobs resume ${id} [^\n]*\n$`,
    ),
  );
  expect(Number(done)).toBeGreaterThan(0);
  expect(Number(done)).toBeLessThan(many);
  expect(await countLinks()).toBe(Number(done));

  const listed = await run(["jobs", ...data()]);
  expect(listed.stdout).toMatch(
    new RegExp(
      `^${id} +interrupted +${done} +0 +0 +\\d+ +\\d+ s +created ${done} of ${many} links ` +
        `\\(from links.csv\\) +waypost jobs resume ${id}$`,
      "m",
    ),
  );
});

test("waypost jobs undo shows a plan and asks for approval before it changes links", async () => {
  await writeLinks("old", few);
  await run(["import", file, "--yes", ...data()]);
  await writeLinks("new", few);
  await run(["import", file, "--yes", ...data()]);
  const { stdout } = await run(["jobs", "list", "--json", ...data()]);
  const { id } = JSON.parse(stdout).jobs[0];
  const asked = await run(["jobs", "undo", id, ...data()]);
  expect(asked).toMatchObject({ code: 2, stdout: "" });
  expect(asked.stderr).toContain("Plan: 8 to overwrite.");
  expect(asked.stderr).toContain('name: "new" becomes "old"');
  expect(await countLinks("q[name_eq]=new")).toBe(few);
  const undone = await run(["jobs", "undo", id, "--yes", ...data()]);
  expect(undone).toMatchObject({ code: 0 });
  expect(await countLinks("q[name_eq]=old")).toBe(few);
});

const few = 8;

/** Matches the requests that look up the paths of new links from this one on. */
const asksFrom = (first: number) => (url: string) =>
  Number(/path_eq\]=p(\d+)/.exec(url)?.[1] ?? 0) >= first;

/** A server that can delay its responses decides how far the job gets. */
describe("a job", () => {
  /** The number of rows that are done before requests for later rows have to wait. */
  const done = 3;
  let world: World;
  let hostile: Hostile;
  let gate: Gate;

  openForEach(createWorld, async (opened, keep) => {
    world = opened;
    hostile = keep(await openHostile(world));
    gate = createGate();
  });

  const env = () => ({ WAYPOST_BASE_URL: hostile.origin, WAYPOST_API_KEY: world.key });
  const command = (...words: readonly string[]) => run([...words, ...data()], { env: env() });
  const startImport = (...words: readonly string[]) =>
    begin(["import", file, "--yes", ...words, ...data()], { env: env() });

  async function runJson(...words: readonly string[]) {
    const finished = await command(...words, "--json");
    return { ...finished, told: JSON.parse(finished.stdout) };
  }

  /** Starts an import and waits for this progress. Requests for later rows have to wait. */
  async function importTo(told: string, isLater: (url: string) => boolean, isJson = false) {
    hostile.hold(isLater, gate);
    const running = startImport(...(isJson ? ["--json"] : []));
    await running.untilSaid(new RegExp(`^${told},`, "m"));
    return running;
  }

  const suspend = (suspended: boolean) =>
    world.store.write((db) => updateProject(db, world.project.id, { suspended }, world.now()));

  async function countNamed(name: string): Promise<number> {
    const { body } = await world.call("GET", "/links", { query: `q[name_eq]=${name}` });
    return body.meta.count;
  }

  const findNewest = async () => (await runJson("jobs", "list")).told.jobs[0];

  const showPage = async (id: string, page: number): Promise<JobOutput> =>
    (await runJson("jobs", "show", id, "--page", String(page))).told;

  test("interrupted with Ctrl-C can be completed with waypost jobs resume", async () => {
    await writeLinks("new", few);
    const running = await importTo("3 of 8", asksFrom(done));
    running.send("SIGINT");
    const stopped = await running.finished;
    expect(stopped.code).toBe(130);
    expect(stopped.stdout).toMatch(/^Job \S+ is interrupted: 3 of 8 links done, 5 left\.$/m);
    expect(stopped.stderr).toContain("\nwaypost: stopped after 3 of 8 links; ");
    expect(await countNamed("new")).toBe(done);
    const { id } = await findNewest();
    gate.open();
    const resumed = await command("jobs", "resume", id);
    expect(resumed.code).toBe(0);
    expect(resumed.stdout).toBe(`Job ${id} is done: 8 of 8 links done.\n`);
    expect(resumed.stderr).toContain(`waypost jobs undo ${id}`);
    expect(await countNamed("new")).toBe(few);
    expect(await command("jobs", "resume", id)).toMatchObject({ code: 0 });
  });

  test("stops when its project is suspended and can be resumed afterwards", async () => {
    await writeLinks("new", few);
    const running = await importTo("3 of 8", asksFrom(done));
    await suspend(true);
    gate.open();
    const finished = await running.finished;
    expect(finished.code).toBe(1);
    expect(finished.stderr).toContain('answered: "Account is suspended."');
    const [, id = ""] = /\nRun waypost jobs resume (\S+) to resume it/.exec(finished.stderr) ?? [];
    expect((await command("jobs", "show", id)).stderr).toContain("Account is suspended.");
    expectRefused(await command("jobs", "resume", id), 'answered: "Account is suspended."');
    await suspend(false);
    expect(await command("jobs", "resume", id)).toMatchObject({ code: 0 });
    expect(await countNamed("new")).toBe(few);
  });

  test("can be cancelled by another process, and each row's outcome can be listed", async () => {
    // More rows than a page of receipts. Progress is shown for each tenth.
    const total = 101;
    await writeLinks("new", total);
    const running = await importTo("11 of 101", asksFrom(11));
    const { id } = await findNewest();
    expectRefused(await command("jobs", "undo", id, "--yes"), `waypost jobs cancel ${id}`);
    const cancelled = await command("jobs", "cancel", id);
    expect(cancelled).toMatchObject({ code: 0 });
    expect(cancelled.stdout).toMatch(/ is cancelled: /);
    const finished = await running.finished;
    expect(finished.code).toBe(1);
    expect(finished.stdout).toMatch(/ is cancelled: /);
    expect(finished.stderr).toContain(`waypost jobs resume ${id}`);
    const { counts } = await findNewest();
    expect(await countNamed("new")).toBe(counts.done);
    const pages = [await showPage(id, 1), await showPage(id, 2)];
    for (const { meta } of pages) expect(meta).toMatchObject({ count: total, last: 2 });
    const outcomes = pages.flatMap(({ job }) => job.receipts).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === "done")).toHaveLength(counts.done);
    expect(outcomes.filter((outcome) => outcome === "left")).toHaveLength(counts.left);
  });

  test("with rejected rows makes waypost import exit with 1 and list the reasons", async () => {
    const ids: string[] = [];
    for (let index = 0; index < few; index += 1) {
      const body = { path: `p${index}`, url: "https://x.example/", name: "old" };
      ids.push((await world.call("POST", "/links", { body })).body.id);
    }
    await writeLinks("new", few);
    const later = ids.slice(done);
    const running = await importTo("3 of 8", (url) => later.some((id) => url.includes(id)), true);
    await world.call("PATCH", `/links/${later.at(-1)}`, { body: { name: "mine" } });
    gate.open();
    const { code, stdout } = await running.finished;
    expect(code).toBe(1);
    const { job } = JSON.parse(stdout);
    expect(job.counts).toMatchObject({ done: 7, rejected: 1, left: 0 });
    const failed = { row: 9, action: "update", outcome: "rejected", path: "p7" };
    expect(job.failed).toMatchObject([{ ...failed, message: expect.stringContaining("name") }]);
    const shown = await command("jobs", "show", job.id, "--failed");
    expect(shown.stdout.trim().split("\n")).toHaveLength(3);
    expect(shown.stdout).toMatch(
      /^9 +update +"p7" +rejected +plan_changed: name changed after the plan was made$/m,
    );
    const again = await command("jobs", "resume", job.id);
    expect(again.code).toBe(1);
    expect(again.stdout).toContain('rejected: row 9 update "p7": plan_changed');
  });
});

type JobOutput = {
  readonly job: { readonly receipts: readonly { readonly outcome: string }[] };
  readonly meta: object;
};

describe("a data folder without jobs", () => {
  let empty: Folder;
  const none = "AAAAAAAAAAAAAAAAAAAAAA";
  const jobs = (...words: readonly string[]) => run(["jobs", ...words, "--data", empty.path]);

  openForAll(createUsedFolder, async (opened) => {
    empty = opened;
    // Opens the folder for the first time.
    await run(["tools", "--data", empty.path]);
  });

  test("waypost jobs shows an empty list", async () => {
    const stderr = "This key has no jobs. waypost import starts one.\n";
    expect(await jobs()).toEqual({ code: 0, stdout: "", stderr });
    const { stdout } = await jobs("list", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ jobs: [], meta: { page: 1, count: 0 } });
  });

  test.each([
    [["show"], "use jobs [list], jobs show ID"],
    [["frob", none], "use jobs [list], jobs show ID"],
    [["show", none, none], "use jobs [list], jobs show ID"],
    [["show", none], `this key has no job "${none}"`],
    [["undo", none], `this key has no job "${none}"`],
    [["list", "--page", "0"], "--page must be a whole number"],
    [["resume", none, "--mode", "read-only"], "jobs resume changes links"],
    [["undo", none, "--mode", "read-only"], "jobs undo changes links"],
  ])("waypost jobs %j is refused with a one-line error", async (words, message) => {
    expectRefused(await jobs(...words), message);
  });
});

test("waypost jobs refuses a data folder that contains no Waypost data", async () => {
  expect((await run(["jobs", ...data()])).stderr).toContain("choose another with --data");
});
