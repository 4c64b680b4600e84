import type { Mutation } from "./mutation.ts";

/** Whose it is: nothing of a stranger's is read, changed or counted. */
export const tenancy: readonly Mutation[] = [
  {
    id: "C1",
    file: "src/store/links.ts",
    what: "releasing an address forgets the project",
    find: `    .deleteFrom("addresses")
    .where("project_id", "=", projectId)
`,
    replace: `    .deleteFrom("addresses")
`,
    tests: ["test/service/isolation.test.ts"],
  },
  {
    id: "C2",
    file: "src/store/app-bin.ts",
    what: "deleting an app by its id alone",
    find: "where project_id = ${projectId} and id = ${id} returning *",
    replace: "where id = ${id} returning *",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    id: "C3",
    file: "src/store/page-templates.ts",
    what: "reading a template version by its id alone",
    find: `    .select(["body", "css", "published_at"])
    .where("project_id", "=", projectId)
`,
    replace: `    .select(["body", "css", "published_at"])
`,
    tests: ["test/service/isolation.test.ts"],
  },
  {
    id: "C4",
    file: "src/store/page-templates.ts",
    what: "dropping old versions drops every project's",
    find: `    .deleteFrom("page_template_versions")
    .where("project_id", "=", projectId)
`,
    replace: `    .deleteFrom("page_template_versions")
`,
    tests: ["test/service/isolation.test.ts"],
  },
  {
    id: "C5",
    file: "src/store/chores.ts",
    what: "purging a project frees same addresses of other projects",
    find: "delete from addresses where project_id = ${projectId} and address in (",
    replace: "delete from addresses where address in (",
    tests: ["test/store/chores.test.ts"],
  },
  {
    id: "C6",
    file: "src/store/links.ts",
    what: "kept counts of filtered lists keyed without the project",
    find: "isByClicks ? `${projectId} ${clicked} ${filters}` : `${projectId} ${filters}`",
    replace: "isByClicks ? `${projectId} ${clicked} ${filters}` : filters",
    tests: ["test/store/filtered-counts.test.ts"],
  },
  {
    id: "C7",
    file: "src/state/jobs.ts",
    what: "list of jobs shows every key's",
    find: `      const own = selectJobs(db).where("key_print", "=", keyPrint);
`,
    replace: `      const own = keyPrint === "" ? selectJobs(db).limit(0) : selectJobs(db);
`,
    tests: ["test/mcp/tools/bulk/failures.test.ts"],
  },
  {
    id: "C8",
    file: "src/store/page-templates.ts",
    what: "publishing sets every project's live version",
    find: `    .set({ live_id: id, updated_at: now })
    .where("project_id", "=", tenant.projectId)
`,
    replace: `    .set({ live_id: id, updated_at: now })
`,
    tests: ["test/service/isolation.test.ts"],
  },
];
