/** Each call gets the result of work that begins after it. Calls made meanwhile share the next. */
export function shareNext<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;

  function begin(): Promise<Result> {
    next = undefined;
    current = work().finally(() => {
      if (next === undefined) current = undefined;
    });
    return current;
  }

  // A failure is only for those who called before it.
  return () => (current === undefined ? begin() : (next ??= current.then(begin, begin)));
}
