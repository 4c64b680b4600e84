import { Session, type Profiler } from "node:inspector/promises";

/**
 * Counts executed JavaScript independently of the machine: V8 counts how often each function and
 * block is entered, in our code and in packages.
 */
export type StepCounter = {
  readonly count: <Result>(work: () => Result | Promise<Result>) => Promise<Counted<Result>>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type Counted<Result> = { readonly result: Result; readonly steps: number };

export async function openStepCounter(): Promise<StepCounter> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  /** The steps since the last call. */
  const take = async () => (await session.post("Profiler.takePreciseCoverage")).result;
  return {
    count: async (work) => {
      await take();
      const result = await work();
      return { result, steps: sumSteps(await take()) };
    },
    [Symbol.asyncDispose]: async () => {
      await session.post("Profiler.stopPreciseCoverage");
      session.disconnect();
    },
  };
}

function sumSteps(scripts: readonly Profiler.ScriptCoverage[]): number {
  return scripts
    .filter(({ url }) => !isRunner.test(url))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
    .reduce((sum, { count }) => sum + count, 0);
}

/** The test runner's own code also runs. */
const isRunner = /\/node_modules\/(?:@vitest|vitest|vite|tinyrainbow|chai|expect)|^node:/;
