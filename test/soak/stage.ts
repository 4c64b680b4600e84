import { createChance } from "../bulk/simulator/chance.ts";
import { startPostgres, type PostgresServer } from "../support/postgres.ts";
import type { Check } from "./check.ts";
import type { Engine, Fault } from "./fault.ts";
import { openSite } from "./site.ts";

/** What all faults of a run share: a PostgreSQL server, if one of them needs it. */
export type Soak = {
  readonly play: (fault: Fault, engine: Engine) => Promise<readonly Check[]>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type Extent = { readonly seed: number; readonly isShort: boolean };

export function openSoak({ seed, isShort }: Extent): Soak {
  let starting: Promise<PostgresServer> | undefined;
  const findPostgres = () => (starting ??= startPostgres());
  return {
    play: async ({ name, play }, engine) => {
      const server = engine === "postgres" ? await findPostgres() : undefined;
      return play({
        engine,
        chance: createChance(seed, `${name} ${engine}`),
        scale: (full, short) => (isShort ? short : full),
        judge: (most) => (isShort ? undefined : most),
        openSite: () => openSite(server),
        findPostgres,
      });
    },
    [Symbol.asyncDispose]: async () => {
      await (await starting)?.stop();
    },
  };
}
