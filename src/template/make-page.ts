import { setImmediate as waitForLoop } from "node:timers/promises";

/** A page takes a fraction of it, the worst that there can be several times as much. */
const slice_ms = 10;

/** Makes a visitor's page, or what it takes. */
export type MakePage = <Page>(make: () => Page) => Promise<Page>;

/**
 * At once, as long as the pages of this turn of the event loop have not used up its slice of time;
 * then the next turn is waited for, so that everybody else has theirs.
 */
export function createPageMaker(monotonic: () => number): MakePage {
  let used_ms = 0;
  return async (make) => {
    while (used_ms > slice_ms) await waitForLoop();
    if (used_ms === 0) setImmediate(() => (used_ms = 0));
    const started = monotonic();
    try {
      return make();
    } finally {
      used_ms += monotonic() - started;
    }
  };
}
