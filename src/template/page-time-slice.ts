import { setImmediate as waitForLoop } from "node:timers/promises";

/** Renders pages in short time slices, so that they do not delay other requests. */

/**
 * The time that pages may take in one iteration of the event loop. A typical page takes much less
 * time, and the slowest page several times as much.
 */
const slice_ms = 10;

/**
 * Runs a function that renders a page or compiles a template. If pages have used up the time of
 * this event loop iteration, the function runs in a later one.
 */
export type MakePage = <Page>(make: () => Page) => Promise<Page>;

/**
 * Limits the time spent on pages in each iteration of the event loop. Once the time is used up,
 * pages wait for the next iteration, so that other requests are answered in between.
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
