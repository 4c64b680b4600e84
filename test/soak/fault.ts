import type { Chance } from "../bulk/simulator/chance.ts";
import type { PostgresServer } from "../support/postgres.ts";
import type { Check } from "./check.ts";
import type { Site } from "./site.ts";

/** Something that really goes wrong, and what must still hold. */
export type Fault = {
  readonly name: string;
  readonly what: string;
  readonly engines: readonly Engine[];
  readonly play: (stage: Stage) => Promise<readonly Check[]>;
};

export const engines = ["sqlite", "postgres"] as const;
export type Engine = (typeof engines)[number];

/** Where a fault happens, and how much of it. */
export type Stage = {
  readonly engine: Engine;
  readonly chance: Chance;
  /** A size: the first in a full run, the second in a short one. */
  readonly scale: (full: number, short: number) => number;
  /** A limit that depends on how busy the machine is; undefined in a short run. */
  readonly judge: (most: number) => number | undefined;
  /** Opens a separate, empty store. */
  readonly openSite: () => Promise<Site>;
  /** Returns a separate server, started on first use. */
  readonly findPostgres: () => Promise<PostgresServer>;
};
