import type { Mutation } from "./mutation.ts";

/** Jobs, their journal and their leases. */
export const bulk: readonly Mutation[] = [
  {
    id: "E1",
    file: "src/bulk/apply/apply-rows.ts",
    what: "drift of a row tried before is rejected without looking for its own work",
    find: `return isRepeat ? checkEarlierWrite(context, planned, end) : end;
  }`,
    replace: `return end;
  }`,
    tests: ["test/bulk/plan/plan-undo.test.ts"],
  },
  {
    id: "E2",
    file: "src/bulk/apply/apply-rows.ts",
    what: "row is sent though the job was cancelled or lost",
    find: `  if (!(await jobs.noteSent(run, planned.position))) return undefined;
`,
    replace: `  await jobs.noteSent(run, planned.position);
`,
    tests: ["test/bulk/bulk.test.ts"],
  },
  {
    id: "E3",
    file: "src/state/job-notes.ts",
    what: "an old runner writes ends into a job that is another's",
    find: `  return (await own.where("runner", "=", runner).executeTakeFirst())?.plan_id;`,
    replace: `  return runner && (await own.executeTakeFirst())?.plan_id;`,
    tests: ["test/state/job-journal.test.ts"],
  },
  {
    id: "E4",
    file: "src/state/job-leases.ts",
    what: "an old runner's release ends the new runner's lease",
    find: `    .where("id", "=", id)
    .where("runner", "=", runner)
    .returning(["id", "realm", "state"])`,
    replace: `    .where("id", "=", id)
    .where((row) => row.or([row("runner", "=", runner), row("runner", "is not", null)]))
    .returning(["id", "realm", "state"])`,
    tests: ["test/state/job-journal.test.ts"],
  },
  {
    id: "E5",
    file: "src/state/job-leases.ts",
    what: "a lease from before the clock was set back holds the job",
    find: `    row("runs_until", ">", now + lease_ms + mostSkew_ms),
`,
    replace: "",
    tests: ["test/state/job-journal.test.ts"],
  },
  {
    id: "E6",
    file: "src/state/job-leases.ts",
    what: "a run's end overwrites a cancellation",
    find: `        .when("state", "=", "cancelled")
        .then(raw<JobRow["state"]>\`'cancelled'\`)`,
    replace: `        .when("state", "=", "done")
        .then(raw<JobRow["state"]>\`'done'\`)`,
    tests: ["test/state/job-journal.test.ts"],
  },
  {
    id: "E7",
    file: "src/bulk/apply/apply-rows.ts",
    what: "rows go on behind a moved path of which nobody knows",
    find: `    if ((await applying)?.status === "unknown") break;
`,
    replace: `    await applying;
`,
    tests: ["test/bulk/apply/doubt.test.ts"],
  },
  {
    id: "E8",
    file: "src/state/job-leases.ts",
    what: "a cancelled job's runner may keep its lease and go on",
    find: `renewed?.state === "running" ? renewed.plan_id : undefined`,
    replace: `renewed?.plan_id`,
    tests: ["test/state/job-journal.test.ts"],
  },
  {
    id: "E9",
    file: "src/bulk/apply/apply-rows.ts",
    what: "a new app's rows do not go alone",
    find: "return isNew || movesPath(row);",
    replace: "return (isNew && names.length > 9) || movesPath(row);",
    tests: ["test/bulk/apply/doubt.test.ts"],
  },
  {
    id: "E10",
    file: "src/bulk/apply/job-runner.ts",
    what: "undo does not cancel the job that it undoes",
    find: `  if (undoes !== null) await jobs.cancel(undoes);
`,
    replace: "",
    tests: ["test/bulk/apply/doubt.test.ts"],
  },
  {
    id: "E11",
    file: "src/bulk/apply/apply-rows.ts",
    what: "rows begin behind one that goes alone before it is noted how that ended",
    find: `    await noting;
`,
    replace: "",
    tests: ["test/bulk/apply/every-step.test.ts"],
  },
  {
    id: "E12",
    file: "src/bulk/apply/apply-rows.ts",
    what: "any number of rows wait for the note of their end",
    find: "const mostInHand = 2 * mostAtOnce;",
    replace: "const mostInHand = 200 * mostAtOnce;",
    tests: ["test/bulk/apply/every-step.test.ts"],
  },
  {
    id: "E13",
    file: "src/state/job-notes.ts",
    what: "rows of a cancelled job begin, where others' ends are noted with them",
    find: "  if (isGoing && begun.length > 0) {",
    replace: "  if (begun.length > 0) {",
    tests: ["test/state/job-journal.test.ts"],
  },
  {
    id: "E14",
    file: "src/state/job-notes.ts",
    what: "notes that are done again are forgotten",
    find: "      if (taken !== undefined) return taken;",
    replace: "      if (taken !== undefined && taken.length === 0) return taken;",
    tests: ["test/state/lost-transaction.test.ts"],
  },
  {
    id: "E15",
    file: "src/bulk/apply/apply-rows.ts",
    what: "a job is let go of with rows on the way, where the next ones cannot be read",
    find: `  } finally {
    // Whatever has ended it: who goes on with the job must find no row of ours on the way.
    await Promise.all(inHand);
  }
`,
    replace: `  } catch (error) {
    throw error;
  }
  await Promise.all(inHand);
`,
    tests: ["test/bulk/apply/every-step.test.ts"],
  },
];
