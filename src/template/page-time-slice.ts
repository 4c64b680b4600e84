import { setImmediate as waitForLoop } from "node:timers/promises";

/** A usual page takes a fraction of this time, the worst one several times as much. */
const slice_ms = 10;

/** Renders a visitor's page, or compiles its template. */
export type MakePage = <Page>(make: () => Page) => Promise<Page>;

/**
 * Runs at once until the pages of this turn of the event loop have used up their time. Then it
 * waits for the next turn, so that other requests are answered.
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
