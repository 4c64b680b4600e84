import type { Mutation } from "./mutation.ts";

/** Calls, jobs, paths, pages and ways in: found by reading the source alone. */
export const furtherWork: readonly Mutation[] = [
  {
    id: "N16",
    file: "src/client/explain-end.ts",
    what: "a 429 after a doubtful try says that nothing has changed",
    find: `
  if (doubt !== undefined && endpoint.effect !== "read") return failUnknown(call, doubt);`,
    replace: "",
    tests: ["test/client/rate-limit.test.ts"],
  },
  {
    id: "N17",
    file: "src/client/find-written.ts",
    what: "what cannot be read back counts as deleted",
    find: "if (error instanceof Problem && error.status === 404) return undefined;",
    replace: "if (error instanceof Problem) return undefined;",
    tests: ["test/client/find-written.test.ts"],
  },
  {
    id: "N18",
    file: "src/state/job-leases.ts",
    what: "a job that is done can be cancelled",
    find: `.where("id", "=", id).where("state", "!=", "done")`,
    replace: `.where("id", "=", id)`,
    tests: ["test/state/job-journal.test.ts"],
  },
  {
    id: "N19",
    file: "src/bulk/apply/job-runner.ts",
    what: "a cancelled job goes on for whoever has seen an earlier state of it",
    find: ` || seen.updated_at !== job.updated_at) return job;`,
    replace: ") return job;",
    tests: ["test/bulk/bulk.test.ts"],
  },
  {
    id: "N20",
    file: "src/bulk/plan/plan-undo.ts",
    what: "an undo says nothing of rows that were on the way when their runner went",
    find: `return status === "sent" || status === "unknown";`,
    replace: `return status === "unknown";`,
    tests: ["test/bulk/plan/plan-undo.test.ts"],
  },
  {
    id: "N21",
    file: "src/contract/rules/link-path.ts",
    what: "a path's slash is dropped after it was decoded, and not before",
    find: `    return decodeURIComponent(relative).normalize("NFC");
`,
    replace: `    return decodeURIComponent(path).replace(/^\\//, "").normalize("NFC");
`,
    tests: ["test/contract/rules/link-rules.test.ts"],
  },
  {
    id: "N22",
    file: "src/store/links.ts",
    what: "a link that is written its own path gives it up",
    find: "if (changes.path !== undefined && changes.path !== before.path) {",
    replace: "if (changes.path !== undefined) {",
    tests: ["test/service/links.test.ts"],
  },
  {
    id: "N23",
    file: "src/template/check-css.ts",
    what: "nobody looks at what the parser of CSS leaves as it is",
    find: `if (node.type === "Raw" && node.value !== ";") checkRaw(node.value, offset, to);`,
    replace: `if (node.type === "Raw" && node.value === "") checkRaw(node.value, offset, to);`,
    tests: ["test/template/css-rules.test.ts"],
  },
  {
    id: "N24",
    file: "src/service/write-template.ts",
    what: "a stylesheet that somebody saves meanwhile is written over unseen",
    find: "if (body !== checked.body || css !== checked.css) return undefined;",
    replace: "if (body !== checked.body) return undefined;",
    tests: ["test/service/write-template.test.ts"],
  },
  {
    id: "N25",
    file: "src/host/answer-qr.ts",
    what: "the two pictures of a code have one tag",
    find: "makeTag(name)",
    replace: "makeTag(address)",
    tests: ["test/host/qr.test.ts"],
  },
  {
    id: "N26",
    file: "src/host/sites.ts",
    what: "a visit by the subdomain tells the address of the project's own domain",
    find: "visitedOrigin: isFirst ? fillSubdomain(linkOrigin, project) : origin,",
    replace: "visitedOrigin: origin,",
    tests: ["test/host/hosts.test.ts"],
  },
  {
    id: "N27",
    file: "src/mcp/transport/earlier-sessions.ts",
    what: "room is made by a session whose client listens",
    find: "(open === 0 ? usedAt : undefined)",
    replace: "usedAt",
    tests: ["test/mcp/transport/earlier-sessions.test.ts"],
  },
  {
    id: "N28",
    file: "src/mcp/transport/response-end.ts",
    what: "an exchange whose client leaves is never over",
    find: `    cancel: async (reason) => {
      end(true);
`,
    replace: `    cancel: async (reason) => {
`,
    tests: ["test/mcp/transport/earlier-sessions.test.ts"],
  },
  {
    id: "N29",
    file: "src/mcp/transport/stdio-transport.ts",
    what: "the end of input waits for a subscription",
    find: ` && message.method === "subscriptions/listen";`,
    replace: " && false;",
    tests: ["test/mcp/transport/stdio-transport.test.ts"],
  },
  {
    id: "N30",
    file: "src/bulk/files/write-links.ts",
    what: "a page of an export is measured in characters, not in bytes",
    find: "const size = Buffer.byteLength(item) + 4;",
    replace: "const size = item.length + 4;",
    tests: ["test/bulk/files/write-links.test.ts"],
  },
];
