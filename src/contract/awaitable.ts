/**
 * A value that may be available at once. Answers from memory skip promises, because each promise
 * costs about as much as a whole step of the answer.
 */
export type Awaitable<Value> = Value | Promise<Value>;

/** Continues in the same turn if the value is available, else when its promise resolves. */
export function andThen<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
