/**
 * A value that may be available synchronously. Answers from memory avoid promises, which would take
 * a large part of their time.
 */
export type Awaitable<Value> = Value | Promise<Value>;

/** Calls `next` synchronously if the value is available, otherwise when its promise resolves. */
export function andThen<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
