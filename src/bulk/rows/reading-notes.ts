import type { PlanProblem } from "../../state/plans.ts";
import type { Unmapped } from "../files/foreign/detect.ts";
import type { Format } from "../files/foreign/format.ts";

/** What is found out about a source while its rows are read. */

export type Findings = {
  /** Whose export it is; undefined for columns and members of ours. */
  readonly format: string | undefined;
  /** The first problems, of the source and of its rows, as they were met. */
  readonly problems: readonly PlanProblem[];
  readonly unmapped: readonly Unmapped[];
};

export type Notes = {
  readonly recognize: (format: Format) => void;
  readonly add: (problems: readonly PlanProblem[]) => void;
  readonly unmapped: Map<string, Unmapped>;
  readonly list: () => Findings;
};

/** A file with nothing right in it must not fill the memory with what is wrong. */
const mostProblems = 1000;

export function createNotes(): Notes {
  const problems: PlanProblem[] = [];
  const unmapped = new Map<string, Unmapped>();
  let format: Format | undefined;
  return {
    recognize: (found) => {
      format = found;
    },
    add: (found) => {
      problems.push(...found.slice(0, mostProblems - problems.length));
    },
    unmapped,
    list: () => ({
      format: format?.title,
      problems: [...problems],
      unmapped: [...unmapped.values()],
    }),
  };
}
