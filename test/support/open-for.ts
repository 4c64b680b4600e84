import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";

/** What has to be put away again. */
type Opened = { readonly [Symbol.asyncDispose]: () => Promise<void> };

/** Opens one before each test of a file, hands it over, and puts it away after the test. */
export function openForEach<Thing extends Opened>(
  open: () => Promise<Thing>,
  take: (opened: Thing) => void,
): void {
  let opened: Thing | undefined;
  beforeEach(async () => {
    opened = await open();
    take(opened);
  });
  afterEach(() => opened?.[Symbol.asyncDispose]());
}

/** The same one for all tests of a file. */
export function openForAll<Thing extends Opened>(
  open: () => Promise<Thing>,
  take: (opened: Thing) => void,
): void {
  let opened: Thing | undefined;
  beforeAll(async () => {
    opened = await open();
    take(opened);
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());
}
