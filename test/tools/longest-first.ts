import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Without the times of an earlier run, files are started by their size. These take long for their
 * size and would run last, while other workers have nothing to do.
 */
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

/** vitest creates one of these for each run. */
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
