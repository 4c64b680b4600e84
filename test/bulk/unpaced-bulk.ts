import { join } from "node:path";
import { createBulk, type Bulk } from "../../src/bulk/bulk.ts";
import type { Owner } from "../../src/bulk/owner.ts";
import { prepareDataFolder, stateFile } from "../../src/app/data/data-folder.ts";
import { openDeployment } from "../../src/app/process/deployment.ts";
import { random } from "../../src/app/process/embedded.ts";
import { createLog, createReport } from "../../src/app/process/log.ts";
import { openClient, sleep } from "../../src/app/process/open-client.ts";
import { readApiKey } from "../../src/app/data/secrets.ts";
import { readConfig } from "../../src/config.ts";
import type { Clock } from "../../src/contract/clock.ts";
import type { Job } from "../../src/state/jobs.ts";
import type { Plan } from "../../src/state/plans.ts";
import { openStateFile } from "../../src/state/state.ts";
import { waitForEnd } from "./wait-for-end.ts";

/** Bulk work as the commands open it, but without pauses and with a clock that can be moved. */
export type UnpacedDesk = {
  readonly bulk: Bulk;
  readonly owner: Owner;
  readonly run: (plan: Plan) => Promise<Job>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type DeskOptions = {
  readonly data: string;
  /** Without it, the folder has its own service. */
  readonly base_url?: string | undefined;
  readonly key?: string | undefined;
  readonly ahead_ms?: number;
};

const readLinkOrigin = () => "http://localhost";

export async function openDesk(options: DeskOptions): Promise<UnpacedDesk> {
  const { data, base_url, key: given, ahead_ms = 0 } = options;
  const config = readConfig(
    { WAYPOST_API_KEY: given, WAYPOST_BASE_URL: base_url },
    { data, log: "error" },
  );
  const clock: Clock = {
    now: () => Date.now() + ahead_ms,
    monotonic: () => performance.now(),
  };
  const report = createReport(createLog(config));
  const deployment = await openDeployment({ config, readLinkOrigin, report });
  prepareDataFolder(data);
  const state = await openStateFile(join(data, stateFile), { clock, random });
  const open = () => Promise.resolve(state);
  const bulk = createBulk({ openState: open, clock, random, sleep, spacing_ms: 0, report });
  const key = readApiKey(config);
  const life = new AbortController();
  const { call } = openClient(deployment, { key, life: life.signal, openState: open, report });
  const owner = { key_print: "key", origin: deployment.origin, call };
  return {
    bulk,
    owner,
    run: (plan) => waitForEnd(bulk, bulk.apply(plan, owner)),
    [Symbol.asyncDispose]: async () => {
      await bulk.close();
      life.abort();
      await state.close();
      await deployment.close();
    },
  };
}
