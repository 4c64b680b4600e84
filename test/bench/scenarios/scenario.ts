import type { Build } from "../builds.ts";
import type { Ground } from "../ground/ground.ts";
import type { Finding } from "../results/finding.ts";

/** Something that is measured in rounds, of one build or of two in turns. */
export type Scenario = {
  readonly name: string;
  readonly rounds: number;
  /** The earlier commit takes no part: its figures would say nothing. */
  readonly isAlone?: true;
  readonly measure: (subject: Subject) => Rounds;
};

/**
 * A round is made when the next one is asked for; what a scenario has opened ends when it is asked
 * for no more.
 */
export type Rounds = AsyncGenerator<readonly Finding[], void, void>;

/** What is measured, and how much of it. */
export type Subject = {
  readonly build: Build;
  /** The large data folder of this build, made when it is first asked for. */
  readonly findGround: () => Promise<Ground>;
  readonly extent: Extent;
};

export type Extent = {
  /** Of the large project. */
  readonly links: number;
  /** For how long each thing is measured in a round. */
  readonly seconds: number;
  /** Of calls and redirects before any is counted. */
  readonly warming: number;
  /** Over how many the memory is watched. */
  readonly visits: number;
  /** Of a tool, over how many the memory is watched. */
  readonly calls: number;
  readonly kills: number;
  /** Versions of Node that a start is measured on, beside the one that runs the bench. */
  readonly nodes: readonly string[];
  /** That are imported at the budget's pace. */
  readonly rows: number;
};
