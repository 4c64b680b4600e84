import { setImmediate as waitForLoop } from "node:timers/promises";

/** A usual page takes a fraction of this time, the worst one several times as much. */
const slice_ms = 10;

/** Makes a visitor's page, or compiles what it is made from. */
export type MakePage = <Page>(make: () => Page) => Promise<Page>;

/**
 * A page is made at once, as long as the pages of this turn of the event loop have not used up
 * their slice of time; then it waits for the next turn, so that other requests are answered.
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
