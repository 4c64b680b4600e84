import type { BenchFolder } from "../data/bench-folder.ts";
import type { BenchStore } from "../data/data-file.ts";
import type { Finding } from "../results/finding.ts";

/** What every scenario of the bench has: its name, its rounds and what it measures. */

export type Scenario = {
  readonly name: string;
  readonly rounds: number;
  readonly measure: (subject: Subject) => Rounds;
};

/** Each `next` measures one round. The end of the loop closes the resources. */
export type Rounds = AsyncGenerator<readonly Finding[], void, void>;

export type Subject = {
  /** Creates a store on the engine that is measured. */
  readonly makeStore: () => Promise<BenchStore>;
  /** The large data folder. It is created for the first scenario that needs it. */
  readonly findBenchFolder: () => Promise<BenchFolder>;
  readonly extent: Extent;
};

export type Extent = {
  readonly links: number;
  /** The duration of each measurement in a round. */
  readonly seconds: number;
  /** The number of calls and redirects before the measurement. */
  readonly warming: number;
  readonly clients: number;
  /** The number of tool calls during which the memory is measured. */
  readonly calls: number;
  readonly kills: number;
};
