import { tidyDeliveries } from "../store/old-deliveries.ts";
import { StoreBusy } from "../store/store.ts";
import { listDue } from "../store/webhook-turns.ts";
import {
  deliverToOne,
  planTurn,
  type Courier,
  type Given,
  type Outcome,
} from "./deliver-to-one.ts";

/** Delivers what webhooks are to be told, for as long as a process serves. */

export type Deliverer = {
  /** Looks for what is due until it is closed. */
  readonly watch: () => void;
  /** Delivers what is due now, and resolves when all of it was tried. */
  readonly deliverDue: () => Promise<void>;
  /** What came of it so far, in this process. */
  readonly measure: () => Readonly<Record<Outcome, number>>;
  readonly close: () => Promise<void>;
};

export type DelivererOptions = Omit<Given, "count"> & {
  /** Takes over what came about elsewhere. */
  readonly collect: () => Promise<void>;
  /** Notes an unexpected error where the operator looks. */
  readonly report: (error: unknown) => unknown;
};

const lookEvery_ms = 1000;
const tidyEvery_ms = 10 * 60_000;
/** Webhooks that are delivered to at the same time. */
const mostAtOnce = 48;
const runnerBytes = 9;
/** What is on the way when the process stops may end by itself within this time. */
const finish_ms = 3000;

export function createDeliverer(options: DelivererOptions): Deliverer {
  const { clock, setAlarm, collect, report } = options;
  const breaking = new AbortController();
  let isStopping = false;
  let watching: Promise<void> | undefined;
  let wake: (() => void) | undefined;
  // Another process holds the store, or it is away: there is nothing to report each time.
  const note = (error: unknown) => {
    if (!(error instanceof StoreBusy)) report(error);
  };
  const stopping = { isStopping: () => isStopping, signal: breaking.signal };
  const counts: Record<Outcome, number> = { delivered: 0, failed: 0, given_up: 0 };
  const given: Given = {
    ...options,
    count: (outcome) => {
      counts[outcome] += 1;
    },
  };
  const turns = createTurns(given, stopping, note);

  const tidy = doNowAndThen(clock, tidyEvery_ms, () => tidyAll(given, stopping.isStopping));

  async function look(): Promise<void> {
    while (!isStopping) {
      await collect().catch(note);
      await turns.startDue().catch(note);
      await tidy().catch(note);
      if (!isStopping) await sleep();
    }
  }

  function sleep(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = setAlarm(lookEvery_ms, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });
  }

  return {
    watch: () => {
      watching ??= look();
    },
    deliverDue: async () => {
      await collect();
      await turns.startDue();
      await turns.end();
      await tidy();
    },
    measure: () => ({ ...counts }),
    close: async () => {
      isStopping = true;
      wake?.();
      const stopAlarm = setAlarm(finish_ms, () => breaking.abort());
      await watching;
      await turns.end();
      stopAlarm();
    },
  };
}

type Stopping = Omit<Courier, "runner">;

function createTurns(given: Given, stopping: Stopping, note: (error: unknown) => void) {
  const { store, clock, random } = given;
  const runner = Buffer.from(random.bytes(runnerBytes)).toString("base64url");
  const running = new Map<string, Promise<void>>();
  return {
    /** Begins the turns of those that something is due for, as far as there are places. */
    startDue: async () => {
      for (const receiver of await listDue(store.db, planTurn(clock.now()), mostAtOnce)) {
        const { id } = receiver;
        if (stopping.isStopping() || running.size >= mostAtOnce) return;
        if (running.has(id)) continue;
        const ended = deliverToOne(receiver, given, { ...stopping, runner })
          .catch(note)
          .finally(() => running.delete(id));
        running.set(id, ended);
      }
    },
    /** Resolves when the turns that have begun are over. */
    end: async () => {
      await Promise.all(running.values());
    },
  };
}

/** Does nothing where it was done less than so long ago. */
function doNowAndThen({ monotonic }: Given["clock"], every_ms: number, work: () => Promise<void>) {
  let doneAt = -Infinity;
  return async () => {
    if (monotonic() - doneAt < every_ms) return;
    doneAt = monotonic();
    await work();
  };
}

async function tidyAll({ store, clock }: Given, isStopping: () => boolean): Promise<void> {
  const all = await store.db.selectFrom("webhooks").select(["project_id", "id"]).execute();
  for (const webhook of all) {
    while (!isStopping()) {
      const isPatient = true;
      const tidy = store.write((db) => tidyDeliveries(db, webhook, clock.now()), { isPatient });
      if (await tidy) break;
    }
  }
}
