import type { Mutation } from "./mutation.ts";

/** Who may, who approved of it, and whose it is: found by reading the source alone. */
export const furtherRights: readonly Mutation[] = [
  {
    id: "N1",
    file: "src/service/token-cache.ts",
    what: "a key that was looked up before a change is kept after it",
    find: "if (holder !== undefined && current === epoch) holders.set(token, holder);",
    replace: "if (holder !== undefined) holders.set(token, holder);",
    tests: ["test/service/key-cache.test.ts"],
  },
  {
    id: "N2",
    file: "src/mcp/access/key-access.ts",
    what: "what a master endpoint says of scopes makes the key a master key",
    find: `isLacking && endpoint.auth === "project";`,
    replace: "isLacking;",
    tests: ["test/mcp/access/learned.test.ts"],
  },
  {
    id: "N3",
    file: "src/service/handlers/page-templates.ts",
    what: "a preview shows a link to a key that may not read links",
    find: "if (call.body.link_id !== undefined) requireScope(",
    replace: `if (call.body.link_id === "") requireScope(`,
    tests: ["test/service/template-previews.test.ts"],
  },
  {
    id: "N5",
    file: "src/mcp/approval/require-approval.ts",
    what: "a form lets any number through, not only the number of rows",
    find: "if (count !== undefined && answer.count !== count)",
    replace: "if (count !== undefined && answer.count === undefined)",
    tests: ["test/mcp/tools/bulk/plan-links.test.ts"],
  },
  {
    id: "N6",
    file: "src/state/approval-lifetimes.ts",
    what: "what was made before the clock was set back lives on in another process",
    find: "created_at <= time + mostSkew_ms && time < expires_at",
    replace: "time < expires_at",
    tests: ["test/state/approvals.test.ts"],
  },
  {
    id: "N7",
    file: "src/mcp/approval/page.ts",
    what: "to decline on the page takes the PIN and the number as well",
    find: `decision === "approve" ? await findYesFault(approval, form, options) : undefined`,
    replace: "await findYesFault(approval, form, options)",
    tests: ["test/mcp/approval/pin.test.ts"],
  },
  {
    id: "N8",
    file: "src/mcp/approval/check-pin.ts",
    what: "a right PIN on the page counts as a wrong one",
    find: `
  await taken.giveBack();`,
    replace: "",
    tests: ["test/mcp/approval/pin.test.ts"],
  },
  {
    id: "N9",
    file: "src/mcp/approval/require-approval.ts",
    what: "a question that grew old is refused, and not asked anew",
    find: `
    if (isStale) throw await askClient(request, digest);
    if (!isFirst) throw refuseDeclined(request, "This approval was used already, or is over.");
`,
    replace: `
    if (!isFirst) throw refuseDeclined(request, "This approval was used already, or is over.");
    if (isStale) throw await askClient(request, digest);
`,
    tests: ["test/mcp/approval/form.test.ts"],
  },
  {
    id: "N10",
    file: "src/mcp/tools/endpoints/prepare-act.ts",
    what: "a key that may not read its target changes it without an approval",
    find: `if (target.state !== "known") return true;`,
    replace: `if (target.state !== "known") return false;`,
    tests: ["test/mcp/approval/preview.test.ts"],
  },
  {
    id: "N11",
    file: "src/store/filters.ts",
    what: "a filter by app finds another project's app of the same name",
    find: "where project_id = ${column.app.projectId} and ${appTextToSql(test, column)}",
    replace: "where ${appTextToSql(test, column)}",
    tests: ["test/service/isolation.test.ts"],
  },
  {
    id: "N12",
    file: "src/state/drop-plans.ts",
    what: "who plans often throws out other keys' plans",
    find: `const own = idle.where("key_print", "=", key_print).where("counts", "!=", draft);`,
    replace: `const own = idle.where("counts", "!=", draft);`,
    tests: ["test/state/plans.test.ts"],
  },
  {
    id: "N13",
    file: "src/state/budget-ledger.ts",
    what: "two keys on one machine spend one budget",
    find: `
    .where("key_print", "=", key_print)`,
    replace: "",
    tests: ["test/state/job-spacing.test.ts"],
  },
  {
    id: "N14",
    file: "src/service/handlers/short-links.ts",
    what: "an address of another project is looked for among the own links",
    find: `project?.id === tenant.projectId && address.pathname !== "/"`,
    replace: `project !== undefined && address.pathname !== "/"`,
    tests: ["test/service/isolation.test.ts"],
  },
  {
    id: "N15",
    file: "src/service/write-project.ts",
    what: "another custom domain counts as verified because the last one was",
    find: "const isMoved = before.custom_domain !== values.custom_domain;",
    replace: "const isMoved = before.custom_domain === null;",
    tests: ["test/service/projects.test.ts"],
  },
];
