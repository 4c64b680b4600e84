import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";

/** Use these to open something before the tests of a file, or before each, and close it. */

/** Something to close after the tests, which may also report unexpected errors. */
type TestResource = {
  readonly reported?: readonly unknown[];
  readonly close?: () => unknown;
  readonly [Symbol.asyncDispose]?: () => Promise<void>;
};

/** Closes this as well, before everything that was opened earlier. */
type Keep = <Thing extends TestResource>(thing: Thing) => Thing;

type OpenFor = <Thing extends TestResource>(
  open: () => Promise<Thing>,
  take: (opened: Thing, keep: Keep) => unknown,
) => void;

/** Opens one before each test of a file and closes it afterwards. It must report no error. */
export const openForEach = between(beforeEach, afterEach);

export const openForAll = between(beforeAll, afterAll);

type Hook = (work: () => Promise<void>) => void;

function between(before: Hook, after: Hook): OpenFor {
  return (open, take) => {
    const opened: TestResource[] = [];
    const keep: Keep = (thing) => {
      opened.push(thing);
      return thing;
    };
    before(async () => {
      await take(keep(await open()), keep);
    });
    after(async () => {
      const last = opened.splice(0).toReversed();
      expect(last.flatMap(({ reported = [] }) => reported)).toEqual([]);
      for (const thing of last) await (thing[Symbol.asyncDispose]?.() ?? thing.close?.());
    });
  };
}
