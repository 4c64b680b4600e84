import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";

/**
 * Use these to open something before the tests of a file, or before each, and to close it after
 * them.
 */

/** Something to close after the tests, which may also report unexpected errors. */
type Opened = {
  readonly reported?: readonly unknown[];
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type OpenFor = <Thing extends Opened>(
  open: () => Promise<Thing>,
  /** Gets the opened thing, and prepares it for the tests. */
  take: (opened: Thing) => unknown,
) => void;

/** Opens one before each test of a file and closes it afterwards. It must report no error. */
export const openForEach = between(beforeEach, afterEach);

/** Opens one for all tests of a file. */
export const openForAll = between(beforeAll, afterAll);

type Hook = (work: () => Promise<void>) => void;

function between(before: Hook, after: Hook): OpenFor {
  return (open, take) => {
    let opened: Opened | undefined;
    before(async () => {
      const thing = await open();
      opened = thing;
      await take(thing);
    });
    after(async () => {
      expect(opened?.reported ?? []).toEqual([]);
      await opened?.[Symbol.asyncDispose]();
    });
  };
}
