import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Without the times of an earlier run, files are started by their size. These are long for their
 * size: begun last, they would be waited for while all other workers have nothing to do.
 */
const long = [
  "bulk/simulator",
  "bulk/memory",
  "bulk/apply/kill",
  "tasks/tasks",
  "mcp/protocol/conformance",
  "mcp/schemas/fuzz",
  "mcp/approval/interleavings",
  "mcp/transport/clients",
  "commands/bulk-acceptance",
];
const isLong = ({ moduleId }: TestSpecification) =>
  long.some((name) => moduleId.endsWith(`/test/${name}.test.ts`));

/** vitest makes one of these for a run. */
export class LongestFirst extends BaseSequencer {
  /** The files of a project stay together: a worker of one is none of another's. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is no array that is sorted here
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) => {
      const own = sorted.filter((file) => file.project === project);
      return [...own.filter(isLong), ...own.filter((file) => !isLong(file))];
    });
  }
}
