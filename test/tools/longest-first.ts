import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Without times of an earlier run, files start by size. These are slow for their size. */
const long = [
  "bulk/simulator",
  "bulk/memory",
  "bulk/apply/kill",
  "tasks/tasks",
  "mcp/schemas/fuzz",
  "mcp/approval/interleavings",
  "mcp/transport/clients",
  "commands/bulk-acceptance",
];
const isLong = ({ moduleId }: TestSpecification) =>
  long.some((name) => moduleId.endsWith(`/test/${name}.test.ts`));

export class LongestFirst extends BaseSequencer {
  /** The files of a project stay together, because projects do not share workers. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- this does not sort an array
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) => {
      const own = sorted.filter((file) => file.project === project);
      return [...own.filter(isLong), ...own.filter((file) => !isLong(file))];
    });
  }
}
