import { setImmediate as waitForLoop } from "node:timers/promises";

/**
 * The time budget for pages per event loop iteration. A typical page takes much less, the slowest
 * one several times as much.
 */
const slice_ms = 10;

/** Renders a visitor's page or compiles its template, perhaps in a later event loop iteration. */
export type MakePage = <Page>(make: () => Page) => Promise<Page>;

/**
 * Limits the time spent on pages in each iteration of the event loop. Further pages wait for the
 * next iteration, so that other requests are answered in between.
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
