import { AggregatorRegistry, Gauge, type Registry } from "prom-client";

/**
 * The numbers of several processes as one: counts and most gauges are added up. What a process has
 * counted stays counted when it ends, for a count that falls is taken for a new one.
 */

/** All that one process has measured, as it travels to another one. */
export type Numbers = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>;

export type Sums = {
  /** The last that a process told counts. */
  readonly note: (process: number, numbers: Numbers) => void;
  /** It has ended. */
  readonly leave: (process: number) => void;
  readonly write: (processes: Processes) => Promise<string>;
};

/** Those that tell their numbers now, and those that are there and do not. */
type Processes = Readonly<Record<"answering" | "silent", number>>;

const kept = new Set(["counter", "histogram"]);

export function createSums(): Sums {
  const told = new Map<number, Numbers>();
  const ended: Numbers[] = [];

  return {
    note: (process, numbers) => told.set(process, numbers),
    leave: (process) => {
      const numbers = told.get(process);
      if (numbers === undefined) return;
      ended.push(numbers.filter(({ type }) => kept.has(String(type))));
      told.delete(process);
    },
    write: async (processes) => {
      // Those of many that have ended are kept as those of one.
      if (ended.length > 1) {
        const all = ended.splice(0);
        ended.push(await add(all).getMetricsAsJSON());
      }
      const registry = add([...told.values(), ...ended]);
      const name = "waypost_processes";
      const help = "Processes behind one port, by whether they told their numbers just now";
      const gauge = new Gauge({ name, help, labelNames: ["state"], registers: [registry] });
      for (const [state, count] of Object.entries(processes)) gauge.set({ state }, count);
      return registry.metrics();
    },
  };
}

function add(all: readonly Numbers[]): Registry {
  return AggregatorRegistry.aggregate([...all]);
}
