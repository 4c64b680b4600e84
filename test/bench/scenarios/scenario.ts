import type { Ground } from "../ground/ground.ts";
import type { Finding } from "../results/finding.ts";

export type Scenario = {
  readonly name: string;
  /** How many rounds a full run takes. */
  readonly rounds: number;
  readonly measure: (subject: Subject) => Rounds;
};

/** A round is measured when it is asked for; the end of the loop closes what was opened. */
export type Rounds = AsyncGenerator<readonly Finding[], void, void>;

export type Subject = {
  /** The large data folder, made when a scenario first asks for it. */
  readonly findGround: () => Promise<Ground>;
  readonly extent: Extent;
};

/** How much is measured. */
export type Extent = {
  /** Of the large project. */
  readonly links: number;
  /** For how long each thing is measured in a round. */
  readonly seconds: number;
  /** Of calls and redirects before any is counted. */
  readonly warming: number;
  /** MCP clients at once. */
  readonly clients: number;
  /** Of a tool, over how many the memory is watched. */
  readonly calls: number;
  readonly kills: number;
};
