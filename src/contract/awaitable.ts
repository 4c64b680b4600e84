/**
 * What is there at once where it is known, and is promised where it has to be waited for: each
 * promise between a request and what is answered from memory costs as much as a step of the answer.
 */
export type Awaitable<Value> = Value | Promise<Value>;

/** Goes on with a value as soon as it is there, and in the same turn where it is there already. */
export function andThen<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
