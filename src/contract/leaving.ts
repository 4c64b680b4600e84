/**
 * Somebody who waits for an answer and may leave. An `AbortSignal` is one; but to make a signal
 * costs as much as a whole read, and few calls have a use for one.
 */
export type Leaving = {
  readonly aborted: boolean;
  readonly addEventListener: (type: "abort", end: () => void, options?: { once: boolean }) => void;
  readonly removeEventListener: (type: "abort", end: () => void) => void;
};

export const nobodyLeaves: Leaving = {
  aborted: false,
  addEventListener: () => {},
  removeEventListener: () => {},
};

/** Like an `AbortController`, without its signal. */
export function createLeaving(): { readonly leaving: Leaving; readonly leave: () => void } {
  const ends = new Set<() => void>();
  const leaving = {
    aborted: false,
    addEventListener: (_: "abort", end: () => void) => void ends.add(end),
    removeEventListener: (_: "abort", end: () => void) => void ends.delete(end),
  };
  return {
    leaving,
    leave: () => {
      leaving.aborted = true;
      for (const end of ends) end();
      ends.clear();
    },
  };
}

/** For what takes nothing but a signal. */
export function toSignal(leaving: Leaving): AbortSignal {
  if (leaving instanceof AbortSignal) return leaving;
  const controller = new AbortController();
  if (leaving.aborted) controller.abort();
  leaving.addEventListener("abort", () => controller.abort(), { once: true });
  return controller.signal;
}
