import type { Chance } from "../bulk/simulator/chance.ts";
import type { PostgresServer } from "../support/postgres.ts";
import type { Check } from "./check.ts";
import type { Site } from "./site.ts";

/** Something that goes wrong, for real, and what must hold all the same. */
export type Fault = {
  readonly name: string;
  readonly what: string;
  readonly engines: readonly Engine[];
  readonly play: (stage: Stage) => Promise<readonly Check[]>;
};

export const engines = ["sqlite", "postgres"] as const;
export type Engine = (typeof engines)[number];

/** Where a fault is played, and how much of it. */
export type Stage = {
  readonly engine: Engine;
  readonly chance: Chance;
  /** So much of something, in full or in the short cut of it. */
  readonly scale: (full: number, short: number) => number;
  /** The limit of something that a busy machine makes worse: in a short cut nobody judges it. */
  readonly judge: (most: number) => number | undefined;
  /** A store of its own with nothing in it. */
  readonly openSite: () => Promise<Site>;
  /** A server that nobody else uses; started when it is first asked for. */
  readonly findPostgres: () => Promise<PostgresServer>;
};
