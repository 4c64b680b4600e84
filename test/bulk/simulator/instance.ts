import { createBulk, type Bulk } from "../../../src/bulk/bulk.ts";
import type { Owner } from "../../../src/bulk/owner.ts";
import { createClient } from "../../../src/client/client.ts";
import type { Send } from "../../../src/client/send-once.ts";
import { budgets, readSpan } from "../../../src/contract/limits.ts";
import type { Clock, Random } from "../../../src/contract/clock.ts";
import type { PlanRow } from "../../../src/state/plans.ts";
import type { State } from "../../../src/state/state.ts";
import { origin } from "../../support/world.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** A simulated process of bulk work that can be killed between any two steps, or suspended. */
export type Instance = {
  readonly name: string;
  readonly bulk: Bulk;
  readonly owner: Owner;
  /** Resolves when the process is killed. It gets no results after that. */
  readonly killed: Promise<typeof wasKilled>;
  readonly isDead: () => boolean;
  readonly kill: () => void;
  readonly killAfter: (steps: number) => void;
  readonly killAfterWrites: (writes: number) => void;
  readonly suspendAfter: (steps: number, milliseconds: number) => void;
};

export const wasKilled = Symbol("killed");

export type Machine = {
  readonly time: VirtualTime;
  readonly state: State;
  readonly clock: Clock;
  readonly random: Random;
  readonly key: string;
  readonly keyPrint: string;
  readonly connect: (name: string, isGone: () => boolean) => Send;
  readonly note: (text: string) => void;
  /** Called when the state records that a row is about to be sent. */
  readonly watchSent: (name: string, position: number) => void;
  readonly watchEnd?: (position: number) => void;
};

export function startInstance(machine: Machine, name: string): Instance {
  const { time, clock, random, key, keyPrint, note } = machine;
  const fate = createFate(machine, name);
  const state = guardState(machine, fate, name);
  const sleep = (milliseconds: number, signal: AbortSignal) =>
    fate.through(() => time.sleep(milliseconds, signal));
  const client = createClient({
    target: { origin, key },
    send: guardSend(machine.connect(name, fate.isDead), fate),
    clock,
    random,
    sleep,
    ledger: {
      queue: (budget) => {
        const line = { kind: budget, subject: keyPrint, window_ms: readSpan(budget) };
        const { readWait_ms, leave } = state.counters.queue(line);
        return { readWait_ms: () => readWait_ms(budgets[budget].limit), leave };
      },
    },
    setAlarm: (milliseconds, ring) => fate.setTimer(ring, milliseconds),
  });
  const report = (error: unknown) => {
    note(`${name} reports ${String(error)}`);
    return "reference";
  };
  const openState = () => Promise.resolve(state);
  return {
    name,
    bulk: createBulk({ openState, clock, random, sleep, report }),
    owner: { key_print: keyPrint, origin, call: client.call },
    killed: fate.killed,
    isDead: fate.isDead,
    kill: fate.kill,
    killAfter: fate.killAfter,
    killAfterWrites: fate.killAfterWrites,
    suspendAfter: fate.suspendAfter,
  };
}

type InstanceControl = Omit<Instance, "name" | "bulk" | "owner"> & {
  readonly countWrite: () => void;
  /** A step. It never ends in a killed process, and ends late in a suspended one. */
  readonly step: () => Promise<void>;
  /** An act with an outside effect. The process may be killed before or after it. */
  readonly through: <Result>(act: () => Promise<Result>) => Promise<Result>;
  readonly setTimer: VirtualTime["setTimer"];
};

function createFate({ time, note }: Machine, name: string): InstanceControl {
  let isDead = false;
  let stepsToDeath = Infinity;
  let writesToDeath = Infinity;
  let suspension: { steps: number; readonly milliseconds: number } | undefined;
  let awakeAt = 0;
  let tell: ((how: typeof wasKilled) => void) | undefined;
  const killed = new Promise<typeof wasKilled>((resolve) => (tell = resolve));

  function kill(): void {
    if (isDead) return;
    isDead = true;
    note(`${name} is killed`);
    tell?.(wasKilled);
  }

  function count(): void {
    if ((stepsToDeath -= 1) <= 0) kill();
    if (suspension === undefined || (suspension.steps -= 1) > 0) return;
    awakeAt = time.elapsed() + suspension.milliseconds;
    note(`${name} is suspended for ${suspension.milliseconds} ms`);
    suspension = undefined;
  }

  async function step(): Promise<void> {
    count();
    while (!isDead && time.elapsed() < awakeAt) await time.sleep(awakeAt - time.elapsed());
    // Each step gets its own promise. A shared one would keep all of them in memory.
    if (isDead) await new Promise<never>(() => undefined);
  }

  return {
    killed,
    isDead: () => isDead,
    kill,
    killAfter: (steps) => (stepsToDeath = steps),
    killAfterWrites: (writes) => (writesToDeath = writes),
    countWrite: () => {
      if ((writesToDeath -= 1) <= 0) kill();
    },
    suspendAfter: (steps, milliseconds) => (suspension = { steps, milliseconds }),
    step,
    through: async (act) => {
      await step();
      try {
        return await act();
      } finally {
        await step();
      }
    },
    setTimer: (ring, milliseconds) => {
      let stop = time.setTimer(alarm, milliseconds);
      return () => stop();

      function alarm(): void {
        if (isDead) return;
        if (time.elapsed() >= awakeAt) ring();
        else stop = time.setTimer(alarm, awakeAt - time.elapsed());
      }
    },
  };
}

function guardSend(send: Send, { through, countWrite }: InstanceControl): Send {
  return async (request, signal) => {
    const reply = await through(() => {
      const sent = send(request, signal);
      if (request.method !== "GET") countWrite();
      return sent;
    });
    return { ...reply, readBody: () => through(reply.readBody) };
  };
}

/** Wraps the parts of the state that bulk work uses. Each statement becomes a step. */
function guardState(machine: Machine, fate: InstanceControl, name: string): State {
  const { state, time, watchSent, watchEnd } = machine;
  const perform = <Result>(work: () => Promise<Result>): Promise<Result> =>
    fate.through(() =>
      time.perform(() => {
        // A process killed while others had the job has not started, and gets no result.
        if (fate.isDead()) throw new Error("killed");
        return work();
      }),
    );
  const { jobs, plans, counters } = state;
  return {
    ...state,
    plans: {
      ...guardRoom(plans, perform),
      // Planning reads from the service meanwhile, which is no database work.
      save: async (wanted, rows) => {
        const planned = await collect(rows);
        return perform(() => plans.save(wanted, pour(planned)));
      },
    },
    jobs: {
      ...guardRoom(jobs, perform),
      noteSent: (run, position) =>
        perform(async () => {
          const isAllowed = await jobs.noteSent(run, position);
          if (isAllowed) watchSent(name, position);
          return isAllowed;
        }),
      noteEnd: (run, position, end) =>
        perform(async () => {
          await jobs.noteEnd(run, position, end);
          watchEnd?.(position);
        }),
    },
    counters: {
      ...counters,
      queue: (line) => guardRoom(counters.queue(line), perform),
    },
  };
}

type Perform = <Result>(work: () => Promise<Result>) => Promise<Result>;

function guardRoom<Room extends object>(room: Room, perform: Perform): Room {
  const acts = Object.entries(room).map(([name, act]) => [
    name,
    (...given: readonly unknown[]) => perform(() => act(...given)),
  ]);
  // Every member is a function that returns a promise, and keeps its type.
  return Object.fromEntries(acts) as Room;
}

async function collect(rows: AsyncIterable<PlanRow>): Promise<readonly PlanRow[]> {
  const all: PlanRow[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

async function* pour(rows: readonly PlanRow[]): AsyncGenerator<PlanRow> {
  yield* await Promise.resolve(rows);
}
