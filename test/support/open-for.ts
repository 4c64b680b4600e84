import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";

/**
 * Use these to open something before the tests of a file, or before each, and to close it after
 * them.
 */

/** What has to be put away again, and perhaps notes what it reports as unexpected. */
type Opened = {
  readonly reported?: readonly unknown[];
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type OpenFor = <Thing extends Opened>(
  open: () => Promise<Thing>,
  /** Takes it over, and makes in it what the tests need. */
  take: (opened: Thing) => unknown,
) => void;

/** Opens one before each test of a file, and puts it away; nothing may have been reported. */
export const openForEach = between(beforeEach, afterEach);

/** The same one for all tests of a file. */
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
