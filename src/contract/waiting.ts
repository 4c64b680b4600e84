/** Values that may arrive later, and callers that may stop waiting for them. */

/**
 * A value that may be available synchronously. Lookups in memory return no promise, because
 * creating one would take a large share of their time.
 */
export type Awaitable<Value> = Value | Promise<Value>;

/** Calls `next` at once if the value is available, otherwise when its promise resolves. */
export function andThen<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Wraps a function so that it runs only once, when its value is first needed. */
export function once<Made>(make: () => Made): () => Made {
  let made: { readonly value: Made } | undefined;
  return () => (made ??= { value: make() }).value;
}

/**
 * A lightweight AbortSignal for callers that may stop waiting. Creating a real AbortSignal costs as
 * much as a whole read, and few calls need one.
 */
export type CallerSignal = {
  readonly aborted: boolean;
  readonly addEventListener: (type: "abort", end: () => void, options?: { once: boolean }) => void;
  readonly removeEventListener: (type: "abort", end: () => void) => void;
};

export const neverAborted: CallerSignal = {
  aborted: false,
  addEventListener: () => {},
  removeEventListener: () => {},
};

/** Like an AbortController: `leave` signals that the caller stopped waiting. */
export function createCallerSignal(): { signal: CallerSignal; leave: () => void } {
  const ends = new Set<() => void>();
  const signal = {
    aborted: false,
    addEventListener: (_: "abort", end: () => void) => void ends.add(end),
    removeEventListener: (_: "abort", end: () => void) => void ends.delete(end),
  };
  return {
    signal,
    leave: () => {
      signal.aborted = true;
      for (const end of ends) end();
      ends.clear();
    },
  };
}

/** Cached, because a call may request the signal again for each page of a long list. */
const signals = new WeakMap<CallerSignal, AbortSignal>();

/** Converts to an AbortSignal for functions that need one. Returns the same signal each time. */
export function toSignal(signal: CallerSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const known = signals.get(signal);
  if (known !== undefined) return known;
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  signal.addEventListener("abort", () => controller.abort(), { once: true });
  signals.set(signal, controller.signal);
  return controller.signal;
}
